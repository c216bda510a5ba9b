//! Where blocks end.
//!
//! What may become the tail of a pack is held back, so that the newest objects are in blocks that
//! are not compressed, whatever the length of those before.

use super::super::block::BLOCK_RAW_BYTES_MAX;
use super::super::press::Full;
use super::PackWriter;
use crate::error::Result;

/// How long the blocks of a tail are: who wants the newest object alone sums one of them.
const TAIL_BLOCK_BYTES: usize = 16 << 10;

/// A part of so few bytes is not compressed where the tail is not.
const STORED_PART_BYTES_MAX: usize = 4 << 10;

impl PackWriter {
    /// Ends what is read by itself: what is added next lies in other blocks.
    ///
    /// Little stays as it is: who reads it and the newest objects needs no decompressor.
    pub(crate) fn end_part(&mut self) -> Result<()> {
        let stored_max = STORED_PART_BYTES_MAX.min(self.options.tail_bytes);
        self.end_blocks(if self.raw.len() <= stored_max { stored_max } else { 0 })
    }

    /// Ends all blocks; the last objects, up to `tail_bytes`, stay as they are, in short ones.
    pub(super) fn end_blocks(&mut self, tail_bytes: usize) -> Result<()> {
        while !self.raw.is_empty() {
            let is_stored = self.raw.len() <= tail_bytes;
            let kept = if is_stored { TAIL_BLOCK_BYTES } else { tail_bytes };
            let objects = match self.raw.len().checked_sub(kept) {
                None | Some(0) => self.raw_ids.len(),
                Some(before) => self.filling().take_while(|start| *start < before).count(),
            };
            self.end_block(objects.min(self.fitting()), is_stored)?;
        }
        Ok(())
    }

    /// Gives where the objects of what is being filled begin.
    fn filling(&self) -> impl Iterator<Item = usize> {
        let first = self.positions.len() - self.raw_ids.len();
        self.positions[first..].iter().map(|(_, position)| position.offset as usize)
    }

    /// Gives how many of the objects being filled fit a block; one does, whatever its length.
    pub(super) fn fitting(&self) -> usize {
        let ends = self.filling().skip(1).chain([self.raw.len()]);
        ends.take_while(|end| *end <= self.options.block_bytes).count().max(1)
    }

    /// Makes a block of the first objects being filled; the others begin the next one.
    pub(super) fn end_block(&mut self, objects: usize, is_stored: bool) -> Result<()> {
        let cut = self.filling().nth(objects).unwrap_or(self.raw.len());
        assert!(cut <= BLOCK_RAW_BYTES_MAX as usize, "objects are bounded");
        let mut rest = self.rooms.pop().unwrap_or_default();
        rest.reserve(self.raw.len());
        rest.extend_from_slice(&self.raw[cut..]);
        self.raw.truncate(cut);
        let rest_ids = self.raw_ids.split_off(objects);
        let first = self.positions.len() - rest_ids.len();
        for (_, position) in &mut self.positions[first..] {
            position.block += 1;
            position.offset -= cut as u32;
        }
        let raw = std::mem::replace(&mut self.raw, rest);
        let ids = std::mem::replace(&mut self.raw_ids, rest_ids);
        self.press.give(Full { raw, ids, is_stored })?;
        self.full_blocks += 1;
        self.flush(false)
    }
}
