//! What marking reads of packs: blocks, unpacked some at once, on two cores.

use std::collections::HashMap;
use std::sync::Arc;

use super::Marker;
use crate::error::Result;
use crate::slots::begin_of;
use crate::store::local::pack::Pack;
use crate::store::local::state::State;

/// So much is unpacked at once.
const AHEAD_BYTES: u64 = 2 << 20;
/// What is unpacked is kept if all packs together have no more than this.
pub(super) const KEPT_BYTES_MAX: usize = 96 << 20;

/// Unpacked blocks, by the places of their packs and their own.
pub(super) type Ahead = HashMap<(usize, u32), Arc<Vec<u8>>>;

impl Marker<'_> {
    /// Unpacks a block, and those before it, which are probably wanted next.
    pub(super) fn unpacked(
        &mut self,
        pack: &Pack,
        number: usize,
        block: u32,
    ) -> Result<Arc<Vec<u8>>> {
        let load = |block: u32| pack.block_of(block, &self.unpacked, self.keeps);
        let Some(ahead) = &mut self.ahead else {
            return load(block);
        };
        if let Some(raw) = ahead.remove(&(number, block)) {
            return Ok(raw);
        }
        let (mut blocks, mut bytes) = (Vec::new(), 0);
        for block in (0..=block).rev() {
            if bytes > AHEAD_BYTES {
                break;
            }
            if !pack.block_rows(block)?.is_empty() {
                bytes += u64::from(pack.block_place(block)?.raw_bytes);
                blocks.push(block);
            }
        }
        let (odd, even): (Vec<(usize, u32)>, _) =
            blocks.into_iter().enumerate().partition(|(place, _)| place % 2 == 1);
        let load_all = |blocks: Vec<(usize, u32)>| -> Vec<_> {
            blocks.into_iter().map(|(_, block)| (block, load(block))).collect()
        };
        let loaded = std::thread::scope(|scope| {
            let beside = scope.spawn(|| load_all(odd));
            let mut loaded = load_all(even);
            // What it did not unpack is unpacked when it is looked for.
            loaded.extend(beside.join().unwrap_or_default());
            loaded
        });
        ahead.clear();
        ahead.extend(loaded.into_iter().filter_map(|(it, raw)| Some(((number, it), raw.ok()?))));
        ahead.remove(&(number, block)).map_or_else(|| load(block), Ok)
    }
}

/// Counts what all packs have, unpacked.
pub(super) fn raw_bytes(state: &State) -> Result<u64> {
    let mut bytes = 0;
    for pack in state.all_packs() {
        for block in 0..pack.blocks() {
            bytes += u64::from(pack.block_place(block)?.raw_bytes);
        }
    }
    Ok(bytes)
}

/// Says whether some object may be in more than one of the packs.
pub(super) fn has_twins(packs: &[Arc<Pack>]) -> Result<bool> {
    if packs.len() < 2 {
        return Ok(false);
    }
    let mut begins = Vec::with_capacity(packs.iter().map(|pack| pack.len() as usize).sum());
    for pack in packs {
        for row in 0..pack.len() {
            begins.push(begin_of(&pack.id(row)?));
        }
    }
    begins.sort_unstable();
    Ok(begins.windows(2).any(|pair| pair[0] == pair[1]))
}
