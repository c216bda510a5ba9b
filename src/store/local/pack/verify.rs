//! Checking a pack through and through.
//!
//! What is found is reported, and the check goes on as far as it can. Nothing is changed.
//!
//! Not here: whether a depth is right whose path leaves the pack, which only the store can tell.

use super::super::graph::{Graph, Parent};
use super::super::paged::{u32_at, u64_at};
use super::block::{BLOCK_HEADER_BYTES, Block};
use super::{PACK_HEADER_BYTES, Pack, TRAILER_BYTES, TRAILER_FIELDS_BYTES, TRAILER_MAGIC};
use crate::error::{Error, Result};
use crate::object;

impl Pack {
    /// Checks every byte of the three files, and the index and the graph against the objects.
    ///
    /// Gives the number of objects that are whole. A missing graph is reported as the file that is
    /// not there.
    pub(crate) fn verify(&self, found: &mut dyn FnMut(Error)) -> u64 {
        if let Err(error) = self.index.check() {
            found(error);
        }
        let look_into =
            |number, block: &Block<'_>, offset| self.verify_block(number, block, offset);
        let whole = self.verify_blocks(&look_into, found).unwrap_or_else(|error| {
            found(error);
            0
        });
        if let Err(error) = self.verify_graph(found) {
            found(error);
        }
        whole
    }

    /// Checks every byte of pack and index against checksums, and gives the first fault. Nothing is
    /// unpacked: what a disk has damaged is found, what a writer did wrong is not.
    pub(crate) fn check_bytes(&self) -> Result<()> {
        self.index.check()?;
        let mut fault = None;
        self.verify_blocks(&|_, _, _| Ok(0), &mut |error| fault = fault.take().or(Some(error)))?;
        fault.map_or(Ok(()), Err)
    }

    /// Checks every byte of the graph against checksums.
    pub(crate) fn check_graph(&self) -> Result<()> {
        self.open_graph()?.check()
    }

    fn open_graph(&self) -> Result<Graph> {
        Graph::open(self.disk.as_ref(), &self.graph_path(), &self.info.id, self.len())
    }

    /// Checks all blocks, the trailer and the pack's id, and gives the sum of what is found in the
    /// blocks.
    fn verify_blocks(
        &self,
        look_into: &dyn Fn(u32, &Block<'_>, u64) -> Result<u64>,
        found: &mut dyn FnMut(Error),
    ) -> Result<u64> {
        let pack: &[u8] = self.mapping()?;
        let mut id = blake3::Hasher::new();
        id.update(&pack[..PACK_HEADER_BYTES]);
        let mut end = PACK_HEADER_BYTES as u64;
        let mut whole = 0;
        for number in 0..self.blocks() {
            let place = self.index.block(number)?;
            if place.offset != end {
                found(self.damaged(place.offset, "blocks do not lie back to back"));
            }
            end = place
                .offset
                .saturating_add(BLOCK_HEADER_BYTES as u64 + u64::from(place.compressed_bytes));
            match self.block(number) {
                Ok(block) => {
                    id.update(&block.header.encode());
                    match look_into(number, &block, place.offset) {
                        Ok(objects) => whole += objects,
                        Err(error) => found(error),
                    }
                }
                Err(error) => found(error),
            }
        }
        let trailer_at = pack.len() - TRAILER_BYTES;
        let trailer = &pack[trailer_at..];
        id.update(&trailer[..TRAILER_FIELDS_BYTES]);
        let said = (u32_at(trailer, 8), u64_at(trailer, 12));
        if end != trailer_at as u64
            || !trailer.starts_with(TRAILER_MAGIC)
            || said != (self.blocks(), u64::from(self.len()))
            || trailer[TRAILER_FIELDS_BYTES..] != *self.info.id.as_bytes()
        {
            found(self.damaged(trailer_at as u64, "its trailer does not match"));
        }
        if *id.finalize().as_bytes() != *self.info.id.as_bytes() {
            found(self.damaged(trailer_at as u64, "its blocks do not hash to its id"));
        }
        Ok(whole)
    }

    /// Checks that a block holds the objects that the index says, all of them and nothing else.
    fn verify_block(&self, number: u32, block: &Block<'_>, offset: u64) -> Result<u64> {
        let dictionary = self.dictionary_of(block)?;
        let dictionary = dictionary.as_ref().map(|text| text.as_slice());
        let raw = block.decompress(offset, &self.path, dictionary, None)?;
        let rows = self.block_rows(number)?;
        if rows.is_empty() && block.header.objects == 0 {
            // A dictionary, or its guard.
            return Ok(0);
        }
        let mut ids = blake3::Hasher::new();
        let mut end = 0;
        for row in rows {
            let span = self.span(&raw, *row, &self.index.position(*row)?)?;
            if span.start != end {
                return Err(self.damaged(offset, "its objects do not lie back to back"));
            }
            object::outline(span.kind, &raw[span.content.clone()])?;
            ids.update(self.id(*row)?.as_bytes());
            end = span.content.end;
        }
        let objects = rows.len() as u32;
        if end != raw.len()
            || objects != block.header.objects
            || *ids.finalize().as_bytes() != block.header.ids_hash
        {
            return Err(self.damaged(offset, "it holds other objects than the index says"));
        }
        Ok(u64::from(objects))
    }

    /// Compares the stored graph with one made from the objects.
    fn verify_graph(&self, found: &mut dyn FnMut(Error)) -> Result<()> {
        let stored = self.open_graph()?;
        stored.check()?;
        let made = self.rebuild_graph()?;
        for row in 0..self.len() {
            let Ok(right) = self.outline_by(&made, row) else {
                continue;
            };
            let (first, depth) = stored.step(row)?;
            let depth_fits = match (first, depth) {
                (Parent::None, depth) => depth == Some(0),
                (Parent::Row(parent), Some(depth)) => {
                    depth.checked_sub(1) == stored.step(parent)?.1 && depth > 0
                }
                (Parent::Outside(_), Some(depth)) => depth > 0,
                (_, None) => true,
            };
            if !depth_fits || self.outline_by(&stored, row)? != right {
                found(stored.damaged(row, "it does not say what the object says"));
            }
        }
        Ok(())
    }

    fn damaged(&self, offset: u64, why: &str) -> Error {
        Error::corrupt(&self.path, offset, why)
    }
}
