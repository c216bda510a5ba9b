//! Which objects a block of a pack has.

use super::super::index::Index;
use crate::error::{Error, Result};

/// The rows of each block.
#[derive(Debug)]
pub(super) struct BlockRows {
    rows: Vec<u32>,
    /// Where each block's rows begin, and where the last one's end.
    starts: Vec<u32>,
}

impl BlockRows {
    /// Lists them: all of the index is read.
    pub(super) fn of(index: &Index) -> Result<BlockRows> {
        let blocks = index.blocks() as usize;
        let mut positions = Vec::with_capacity(index.len() as usize);
        let mut starts = vec![0u32; blocks + 1];
        for position in index.positions()? {
            let position = position?;
            let count = starts.get_mut(position.block as usize + 1);
            *count.ok_or_else(|| {
                Error::corrupt(index.path(), None, "an object in a block that is not there")
            })? += 1;
            positions.push((position.block as usize, position.offset));
        }
        for block in 0..blocks {
            starts[block + 1] += starts[block];
        }
        // Those of a block are brought together before they are sorted: that is less work.
        let mut placed = vec![(0, 0); positions.len()];
        let mut ends = starts.clone();
        for (row, (block, offset)) in (0..).zip(positions) {
            placed[ends[block] as usize] = (offset, row);
            ends[block] += 1;
        }
        for block in 0..blocks {
            placed[starts[block] as usize..starts[block + 1] as usize].sort_unstable();
        }
        Ok(BlockRows { rows: placed.into_iter().map(|(_, row)| row).collect(), starts })
    }

    /// Gives the rows of a block, in the order of its objects.
    pub(super) fn of_block(&self, block: u32) -> &[u32] {
        let block = block as usize;
        match self.starts.get(block..block + 2) {
            Some(ends) => &self.rows[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }
}
