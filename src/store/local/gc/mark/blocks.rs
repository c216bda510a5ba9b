//! What marking reads of packs: blocks, unpacked by a thread while others are looked into.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::Marker;
use crate::error::Result;
use crate::slots::begin_of;
use crate::store::local::pack::Pack;
use crate::store::local::state::State;

/// So much is unpacked at once.
pub(super) const AHEAD_BYTES: u64 = 2 << 20;
/// What is unpacked is kept if all packs together have no more than this.
pub(super) const KEPT_BYTES_MAX: usize = 96 << 20;

/// Unpacked blocks, by their numbers.
type Loaded = Vec<(u32, Result<Arc<Vec<u8>>>)>;

/// Blocks of a pack that were unpacked ahead, and those that a thread is unpacking.
#[derive(Default)]
pub(super) struct Ahead {
    ready: HashMap<(usize, u32), Arc<Vec<u8>>>,
    coming: Option<Coming>,
}

struct Coming {
    /// The place of the pack, and its blocks, the last one first.
    number: usize,
    blocks: Vec<u32>,
    thread: JoinHandle<Loaded>,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(coming) = self.coming.take() {
            // Nobody wants them.
            let _ = coming.thread.join();
        }
    }
}

impl Marker<'_> {
    /// Unpacks a block; a thread unpacks those before it, which are probably wanted next.
    pub(super) fn unpacked(
        &mut self,
        pack: &Arc<Pack>,
        number: usize,
        block: u32,
    ) -> Result<Arc<Vec<u8>>> {
        let (unpacked, keeps) = (&self.unpacked, self.keeps);
        let Some(ahead) = self.ahead.as_mut().filter(|_| !pack.is_held()) else {
            return pack.block_of(block, unpacked, keeps);
        };
        let wanted = (number, block);
        if let Some(raw) = ahead.ready.remove(&wanted) {
            return Ok(raw);
        }
        ahead.ready.clear();
        let mut before = block;
        if let Some(Coming { number: of, blocks, thread }) = ahead.coming.take() {
            // What it did not unpack is unpacked when it is looked for.
            let loaded = thread.join().unwrap_or_default();
            if of == number && blocks.contains(&block) {
                before = blocks.last().copied().unwrap_or(block);
                let loaded = loaded.into_iter().filter_map(|(it, raw)| Some(((of, it), raw.ok()?)));
                ahead.ready.extend(loaded);
            }
        }
        let blocks = blocks_before(pack, before)?;
        if !blocks.is_empty() {
            let (pack, unpacked, wanted) = (Arc::clone(pack), Arc::clone(unpacked), blocks.clone());
            let load = move |block: u32| (block, pack.block_of(block, &unpacked, keeps));
            let thread = thread::spawn(move || wanted.into_iter().map(load).collect());
            ahead.coming = Some(Coming { number, blocks, thread });
        }
        let raw = ahead.ready.remove(&wanted);
        raw.map_or_else(|| pack.block_of(block, unpacked, keeps), Ok)
    }
}

/// Lists the blocks before one, the last first, as many as are unpacked at once.
fn blocks_before(pack: &Pack, block: u32) -> Result<Vec<u32>> {
    let (mut blocks, mut bytes) = (Vec::new(), 0);
    for block in (0..block).rev() {
        if bytes > AHEAD_BYTES {
            break;
        }
        if !pack.block_rows(block)?.is_empty() {
            bytes += u64::from(pack.block_place(block)?.raw_bytes);
            blocks.push(block);
        }
    }
    Ok(blocks)
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
