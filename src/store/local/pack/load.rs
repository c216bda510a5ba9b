//! Unpacking blocks, all of one or as far as somebody reads.
//!
//! Who asks for one object of a folded block gets the begin of the block, up to that object's end:
//! what stands before it must be unfolded and hashed, what stands behind it not. Who asks for
//! another behind it gets all, and so does everybody after some blocks.
//!
//! Invariant: the cache has whole blocks only.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::block::{BLOCK_HEADER_BYTES, Block};
use super::folded::{Folded, See};
use super::{Pack, dictionary, folded};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::cache::{BlockCache, CacheKey};
use crate::store::local::index::{BlockPlace, Position};

/// So many dictionaries of a pack are held at once; most packs have one.
const DICTIONARIES_HELD_MAX: usize = 4;
/// A pack asks its index who is in a block after so many folded blocks were read, and one in so
/// many of all; before, it hashes.
const HASHED_MIN: u32 = 2;
pub(super) const HASHED_SHARE: u32 = 32;

/// So much of a pack is asked for with the first block: the dictionary stands at its begin.
const BEGIN_BYTES: usize = 128 << 10;
/// After so many bytes of a pack, its memory is given back.
const TOUCHED_BYTES_MAX: u64 = 16 << 20;

impl Pack {
    /// Unpacks a block, unless the cache has it.
    pub(crate) fn block_of(
        &self,
        block: u32,
        cache: &BlockCache,
        keep: bool,
    ) -> Result<Arc<Vec<u8>>> {
        if let Some(kept) = self.kept_block(block, cache) {
            return Ok(kept);
        }
        // The room of another block may be larger than this one, and the cache counts the block.
        let room = if keep { Vec::new() } else { cache.room() };
        let raw = Arc::new(self.load_to(block, usize::MAX, room)?);
        if keep {
            cache.put(CacheKey { pack: self.info.id, number: block }, &raw);
        }
        Ok(raw)
    }

    /// Gives a block that is in memory.
    pub(crate) fn kept_block(&self, block: u32, cache: &BlockCache) -> Option<Arc<Vec<u8>>> {
        match &self.held {
            Some(held) => held.get(block as usize).cloned(),
            None => cache.get(&CacheKey { pack: self.info.id, number: block }),
        }
    }

    /// Unpacks a block as far as an object in it, unless the cache has it.
    pub(super) fn block_to(&self, wanted: &Position, cache: &BlockCache) -> Result<Arc<Vec<u8>>> {
        let key = CacheKey { pack: self.info.id, number: wanted.block };
        if let Some(kept) = cache.get(&key) {
            return Ok(kept);
        }
        let offset = wanted.offset as usize;
        let begun = || self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let until = match &*begun() {
            Some((block, raw)) if *block == wanted.block && raw.len() > offset => {
                return Ok(Arc::clone(raw));
            }
            Some((block, _)) if *block == wanted.block => usize::MAX,
            _ => offset,
        };
        let raw = Arc::new(self.load_to(wanted.block, until, Vec::new())?);
        match raw.len() == self.index.block(wanted.block)?.raw_bytes as usize {
            true => cache.put(key, &raw),
            false => *begun() = Some((wanted.block, Arc::clone(&raw))),
        }
        Ok(raw)
    }

    /// Unpacks a block.
    pub(super) fn load(&self, block: u32) -> Result<Vec<u8>> {
        self.load_to(block, usize::MAX, Vec::new())
    }

    /// Unpacks the dictionary that a block needs.
    pub(crate) fn unpack_dictionary(&self, block: u32) -> Result<()> {
        self.dictionary_of(&self.block(block)?).map(drop)
    }

    /// Shows the objects of a block as they lie in it, in their order. Whether it is whole is known
    /// at the end.
    pub(crate) fn pass(&self, block: u32, cache: &BlockCache, see: &mut See<'_>) -> Result<()> {
        if let Some(kept) = self.kept_block(block, cache) {
            return folded::pass(Folded::plain(&kept, kept.len()), see)?.ok_or_else(|| {
                Error::corrupt(&self.path, None, "a block in memory does not end with an object")
            });
        }
        let found = self.block(block)?;
        let dictionary = self.dictionary_of(&found)?;
        let dictionary = dictionary.as_ref().map(|text| text.as_slice());
        found.pass(self.index.block(block)?.offset, &self.path, dictionary, see)
    }

    /// Unpacks a block, at least as far as the object at `until`, unless it has none there, into
    /// room that is empty.
    fn load_to(&self, block: u32, until: usize, room: Vec<u8>) -> Result<Vec<u8>> {
        let place = self.index.block(block)?;
        let found = self.block_at(&place)?;
        let dictionary = self.dictionary_of(&found)?;
        let rows = match found.header.form.is_folded && self.asks_index() {
            true => Some(self.block_rows(block)?),
            false => None,
        };
        let id_of = rows.map(|rows| {
            move |number: usize| match rows.get(number) {
                Some(row) => self.id(*row),
                None => Err(Error::corrupt(&self.path, place.offset, "it has too few objects")),
            }
        });
        let id_of = id_of.as_ref().map(|id_of| id_of as &dyn Fn(usize) -> Result<Id>);
        let dictionary = dictionary.as_ref().map(|text| text.as_slice());
        // Who asks the index reads much.
        let until = if id_of.is_some() { usize::MAX } else { until };
        found.decompress_to(until, place.offset, &self.path, dictionary, id_of, room)
    }

    /// Gives the text of the dictionary that a block needs.
    pub(super) fn dictionary_of(&self, block: &Block<'_>) -> Result<Option<Arc<Vec<u8>>>> {
        let Some(named) = block.dictionary() else {
            return Ok(None);
        };
        let mut held = self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = held.iter().find(|(reference, _)| *reference == named) {
            return Ok(Some(Arc::clone(text)));
        }
        self.mapping.will_need(named.offset, named.bytes as usize);
        let text = Arc::new(dictionary::load(self.mapping()?, named, &self.path)?);
        if held.len() >= DICTIONARIES_HELD_MAX {
            held.remove(0);
        }
        held.push((named, Arc::clone(&text)));
        Ok(Some(text))
    }

    /// Says whether folded links are looked up: to know who is in a block, all of the index is read
    /// once, which pays after some blocks.
    fn asks_index(&self) -> bool {
        let hashed_max = HASHED_MIN + self.blocks() / HASHED_SHARE;
        self.block_rows.get().is_some()
            || self.hashed_blocks.fetch_add(1, Ordering::Relaxed) >= hashed_max
    }

    /// Finds a block, checked against its checksum and the index.
    pub(super) fn block(&self, block: u32) -> Result<Block<'_>> {
        self.block_at(&self.index.block(block)?)
    }

    fn block_at(&self, place: &BlockPlace) -> Result<Block<'_>> {
        self.mapping.will_need(place.offset, BLOCK_HEADER_BYTES + place.compressed_bytes as usize);
        if self.touched.load(Ordering::Relaxed) == 0 && self.may_have_dictionaries()? {
            self.mapping.will_need(0, BEGIN_BYTES.min(self.mapping.len()));
        }
        let found = Block::at(self.mapping()?, place.offset, &self.path)?;
        found.agree(place, &self.path)?;
        let touched = self.touched.fetch_add(found.frame.len() as u64, Ordering::Relaxed);
        if touched >= TOUCHED_BYTES_MAX {
            // Who reads a whole pack need not hold it all.
            self.touched.store(0, Ordering::Relaxed);
            self.mapping.release();
        }
        Ok(found)
    }
}
