//! Small packs become large, so that whoever looks for something asks few of them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::id::Id;
use crate::store::local::Inner;
use crate::store::local::pack::{Pack, PackInfo};

/// That many packs of about one size become one of the next.
pub(super) const MERGE_PACKS: usize = 8;
/// Packs up to this length are of the smallest size.
const SMALL_PACK_BYTES: u64 = 512 << 10;

impl Inner {
    /// Merges packs of about one size when there are many of them, block by block.
    pub(super) fn merge_packs(self: &Arc<Inner>) -> Result<()> {
        let state = self.refresh()?;
        for size in 0..64 {
            let same: Vec<&Arc<Pack>> =
                state.packs.iter().filter(|pack| size_class(pack.info()) == size).collect();
            if same.len() < MERGE_PACKS {
                continue;
            }
            let (mut fold, mut dictionaries) = (false, false);
            for pack in &same {
                fold |= pack.may_be_folded()?;
                dictionaries |= pack.may_have_dictionaries()?;
            }
            let mut writer = self.pack_writer(fold, dictionaries)?;
            writer.reserve(same.iter().map(|pack| pack.len() as usize).sum());
            for about in [true, false] {
                for pack in &same {
                    for block in 0..pack.blocks() {
                        if holds_about(pack, block)? == about {
                            writer.add_block(pack, block, &mut |_| true)?;
                        }
                    }
                    pack.release();
                }
                if about {
                    writer.end_part()?;
                }
            }
            let merged = self.finish_pack(writer, &state)?;
            let dropped: HashSet<Id> = same.iter().map(|pack| pack.info().id).collect();
            self.edit_manifest(|manifest| {
                manifest.packs.retain(|info| !dropped.contains(&info.id));
                manifest.packs.insert(0, merged);
            })?;
            return self.merge_packs();
        }
        Ok(())
    }
}

/// Says whether all objects of a block are about sessions.
fn holds_about(pack: &Pack, block: u32) -> Result<bool> {
    let rows = pack.block_rows(block)?;
    for row in rows {
        if !pack.kind(*row)?.is_about_sessions() {
            return Ok(false);
        }
    }
    Ok(!rows.is_empty())
}

fn size_class(info: &PackInfo) -> u32 {
    (info.pack_bytes / SMALL_PACK_BYTES).checked_ilog(MERGE_PACKS as u64).map_or(0, |size| size + 1)
}
