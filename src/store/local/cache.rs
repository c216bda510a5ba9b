//! Keeps decompressed blocks of packs, up to a budget of bytes.
//!
//! The lock is held for lookups only, never while a block is read or decompressed. Which block goes
//! when there is no room is decided by a clock: a hand goes round, spares what was used since it
//! last came by, and takes the first that was not.
//!
//! Not here: any check of what a block holds. Whoever takes an object out of one hashes it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::Id;

/// Room of that many blocks is kept for the next, and of no longer ones than this: memory that is
/// new to a process costs as much time as unpacking half a block into it.
const SPARES_MAX: usize = 10;
const SPARE_BYTES_MAX: usize = 256 << 10;

/// The budget where nobody set one.
pub(crate) const CACHE_BYTES_DEFAULT: usize = 64 << 20;

/// A block's name: its pack and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockKey {
    pub(crate) pack: Id,
    pub(crate) block: u32,
}

impl Hash for BlockKey {
    /// A pack's id is a hash already: a word of it will do.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (word, _) = self.pack.as_bytes().split_first_chunk().expect("an id is longer");
        state.write_u64(u64::from_ne_bytes(*word).wrapping_add(u64::from(self.block)));
    }
}

/// Spreads one word over all bits.
#[derive(Debug, Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }
}

/// Decompressed blocks, shared by all readers of a store.
#[derive(Debug)]
pub(crate) struct BlockCache {
    bytes_max: usize,
    clock: Mutex<Clock>,
    spares: Mutex<Vec<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct Clock {
    slots: Vec<Slot>,
    places: HashMap<BlockKey, usize, BuildHasherDefault<WordHasher>>,
    bytes: usize,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    key: BlockKey,
    block: Arc<Vec<u8>>,
    used: bool,
}

impl BlockCache {
    /// Makes an empty cache with a budget.
    pub(crate) fn new(bytes_max: usize) -> BlockCache {
        BlockCache { bytes_max, clock: Mutex::default(), spares: Mutex::default() }
    }

    /// Finds a block.
    pub(crate) fn get(&self, key: &BlockKey) -> Option<Arc<Vec<u8>>> {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let place = *clock.places.get(key)?;
        let slot = &mut clock.slots[place];
        slot.used = true;
        Some(Arc::clone(&slot.block))
    }

    /// Keeps a block, and drops others if there is no room; one beyond the budget is not kept.
    pub(crate) fn put(&self, key: BlockKey, block: &Arc<Vec<u8>>) {
        if block.len() > self.bytes_max {
            return;
        }
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        if clock.places.contains_key(&key) {
            return;
        }
        while clock.bytes + block.len() > self.bytes_max {
            clock.evict();
        }
        let place = clock.slots.len();
        clock.places.insert(key, place);
        clock.bytes += block.len();
        clock.slots.push(Slot { key, block: Arc::clone(block), used: false });
    }

    /// Gives room for a block, which is empty: that of one that nobody needs any more.
    pub(crate) fn room(&self) -> Vec<u8> {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        spares.pop().unwrap_or_default()
    }

    /// Takes back a block that one reader is done with; its room is kept if no other has it.
    pub(crate) fn done_with(&self, block: Arc<Vec<u8>>) {
        if let Ok(mut room) = Arc::try_unwrap(block)
            && room.capacity() <= SPARE_BYTES_MAX
        {
            room.clear();
            let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
            if spares.len() < SPARES_MAX {
                spares.push(room);
            }
        }
    }

    /// Gives the bytes that are kept now.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.bytes
    }
}

impl Default for BlockCache {
    fn default() -> BlockCache {
        BlockCache::new(CACHE_BYTES_DEFAULT)
    }
}

impl Clock {
    /// Drops the first block under the hand that was not used since the hand last came by.
    fn evict(&mut self) {
        loop {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let slot = &mut self.slots[self.hand];
            if !std::mem::take(&mut slot.used) {
                break;
            }
            self.hand += 1;
        }
        let gone = self.slots.swap_remove(self.hand);
        self.bytes -= gone.block.len();
        self.places.remove(&gone.key);
        if let Some(moved) = self.slots.get(self.hand) {
            self.places.insert(moved.key, self.hand);
        }
        self.hand += 1;
    }
}

/// Remembers the block that one reader used last, so that a walk asks the cache once a block.
#[derive(Debug)]
pub(crate) struct Cursor<'c> {
    cache: &'c BlockCache,
    last: Option<(BlockKey, Arc<Vec<u8>>)>,
}

impl<'c> Cursor<'c> {
    /// Begins with no block.
    pub(crate) fn new(cache: &'c BlockCache) -> Cursor<'c> {
        Cursor { cache, last: None }
    }

    /// Gives a block: the last one, or a kept one, or what `load` makes.
    pub(crate) fn block<E>(
        &mut self,
        key: BlockKey,
        load: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<&Arc<Vec<u8>>, E> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != key) {
            let block = match self.cache.get(&key) {
                Some(block) => block,
                None => {
                    let block = Arc::new(load()?);
                    self.cache.put(key, &block);
                    block
                }
            };
            self.last = Some((key, block));
        }
        let (_, block) = self.last.as_ref().expect("it was set above");
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(block: u32) -> BlockKey {
        BlockKey { pack: Id::from_bytes([1; 32]), block }
    }

    #[test]
    fn the_budget_holds_and_used_blocks_stay() {
        let cache = BlockCache::new(1000);
        cache.put(key(0), &Arc::new(vec![0; 100]));
        for block in 1..200 {
            cache.put(key(block), &Arc::new(vec![block as u8; 100]));
            assert!(cache.bytes() <= 1000);
            assert!(cache.get(&key(0)).is_some(), "used before each new block");
        }
        let kept: Vec<u32> = (0..200).filter(|block| cache.get(&key(*block)).is_some()).collect();
        assert_eq!(kept.len(), 10);
        assert!(kept.contains(&199));
        for block in kept {
            assert_eq!(cache.get(&key(block)).unwrap()[0], block as u8);
        }
    }

    #[test]
    fn a_block_beyond_the_budget_is_served_but_not_kept() {
        let cache = BlockCache::new(10);
        let mut cursor = Cursor::new(&cache);
        let block = cursor.block(key(1), || Ok::<_, ()>(vec![1; 11])).unwrap();
        assert_eq!(block.len(), 11);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn a_cursor_loads_a_block_once() {
        let cache = BlockCache::default();
        let mut loads = 0;
        let mut cursor = Cursor::new(&cache);
        for block in [1, 1, 2, 2, 1] {
            cursor
                .block(key(block), || {
                    loads += 1;
                    Ok::<_, ()>(vec![0; 8])
                })
                .unwrap();
        }
        assert_eq!(loads, 2);
        assert_eq!(cursor.block(key(3), || Err("bad")), Err("bad"));
    }
}
