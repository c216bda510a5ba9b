//! Keeps decompressed blocks of packs, and single objects of them, up to a budget of bytes.
//!
//! Who reads one object is likely to read its neighbours, so its block is kept. Who reads it again
//! need not have all of the block in memory for that: an object that was read alone is kept apart,
//! for as long as there is room for it, and that is for a hundred times as many. It was hashed when
//! it was put there, and is not hashed again.
//!
//! A lock is held for lookups only, never while a block is read or decompressed. Which block goes
//! when there is no room is decided by a clock: a hand goes round, spares what was used since it
//! last came by, and takes the first that was not.
//!
//! Not here: any check of what a block holds. Whoever takes an object out of one hashes it, before
//! it is kept.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::id::Id;

/// So much room of blocks is kept for the next, and of no longer ones than this: memory that is
/// new to a process costs as much time as unpacking half a block into it.
const SPARES_BYTES_MAX: usize = 2560 << 10;
const SPARE_BYTES_MAX: usize = 256 << 10;

/// Single objects have one part in so many of the budget.
const OBJECTS_SHARE: usize = 3;
/// What a kept object takes beside its bytes.
const OBJECT_EXTRA_BYTES: usize = 200;
/// A longer object is not kept apart: it is most of its block.
const OBJECT_BYTES_MAX: usize = 32 << 10;

/// Up to so many are looked through one by one: who reads a little keeps a few blocks, and making a
/// table of them would run code, and touch memory, for nothing else.
const COMPARED_MAX: usize = 8;

/// The budget where nobody set one.
pub(crate) const CACHE_BYTES_DEFAULT: usize = 64 << 20;

/// The name of a block or an object: its pack, and its number or row in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheKey {
    pub(crate) number: u32,
    pub(crate) pack: Id,
}

impl Hash for CacheKey {
    /// A pack's id is a hash already: a word of it will do.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (word, _) = self.pack.as_bytes().split_first_chunk().expect("an id is longer");
        state.write_u64(u64::from_ne_bytes(*word).wrapping_add(u64::from(self.number)));
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
    blocks: Mutex<Clock>,
    objects: Mutex<Clock>,
    spares: Mutex<Vec<Vec<u8>>>,
}

/// What is kept, and which of it goes next.
#[derive(Debug, Default)]
struct Clock {
    bytes_max: usize,
    slots: Vec<Slot>,
    /// Where each is, if there are more than are looked through.
    places: HashMap<CacheKey, usize, BuildHasherDefault<WordHasher>>,
    bytes: usize,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    key: CacheKey,
    kept: Arc<Vec<u8>>,
    /// What it counts against the budget.
    bytes: usize,
    used: bool,
}

impl BlockCache {
    /// Makes an empty cache with a budget.
    pub(crate) fn new(bytes_max: usize) -> BlockCache {
        let objects_max = bytes_max / OBJECTS_SHARE;
        BlockCache::of(bytes_max - objects_max, objects_max)
    }

    /// Makes an empty cache for who asks for no single objects.
    pub(crate) fn of_blocks(bytes_max: usize) -> BlockCache {
        BlockCache::of(bytes_max, 0)
    }

    fn of(blocks_max: usize, objects_max: usize) -> BlockCache {
        let clock = |bytes_max| Mutex::new(Clock { bytes_max, ..Clock::default() });
        BlockCache {
            blocks: clock(blocks_max),
            objects: clock(objects_max),
            spares: Mutex::default(),
        }
    }

    /// Finds a block.
    pub(crate) fn get(&self, key: &CacheKey) -> Option<Arc<Vec<u8>>> {
        lock(&self.blocks).get(key)
    }

    /// Keeps a block, and drops others if there is no room; one beyond the budget is not kept.
    pub(crate) fn put(&self, key: CacheKey, block: &Arc<Vec<u8>>) {
        lock(&self.blocks).put(key, block, block.len());
    }

    /// Finds an object, its header before its content, as it was when it was hashed.
    pub(crate) fn object(&self, key: &CacheKey) -> Option<Arc<Vec<u8>>> {
        lock(&self.objects).get(key)
    }

    /// Keeps an object, which was hashed, as [`BlockCache::put`] keeps a block.
    pub(crate) fn put_object(&self, key: CacheKey, object: &[u8]) {
        if object.len() <= OBJECT_BYTES_MAX {
            let bytes = object.len() + OBJECT_EXTRA_BYTES;
            lock(&self.objects).put(key, &Arc::new(object.to_vec()), bytes);
        }
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
            if spares.iter().map(Vec::capacity).sum::<usize>() < SPARES_BYTES_MAX {
                spares.push(room);
            }
        }
    }

    /// Gives the bytes that are kept now.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.blocks).bytes + lock(&self.objects).bytes
    }
}

impl Default for BlockCache {
    fn default() -> BlockCache {
        BlockCache::new(CACHE_BYTES_DEFAULT)
    }
}

fn lock(clock: &Mutex<Clock>) -> MutexGuard<'_, Clock> {
    clock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clock {
    fn place_of(&self, key: &CacheKey) -> Option<usize> {
        match self.places.is_empty() {
            true => self.slots.iter().position(|slot| slot.key == *key),
            false => self.places.get(key).copied(),
        }
    }

    fn get(&mut self, key: &CacheKey) -> Option<Arc<Vec<u8>>> {
        let place = self.place_of(key)?;
        let slot = &mut self.slots[place];
        slot.used = true;
        Some(Arc::clone(&slot.kept))
    }

    fn put(&mut self, key: CacheKey, kept: &Arc<Vec<u8>>, bytes: usize) {
        if bytes > self.bytes_max || self.place_of(&key).is_some() {
            return;
        }
        while self.bytes + bytes > self.bytes_max {
            self.evict();
        }
        self.bytes += bytes;
        self.slots.push(Slot { key, kept: Arc::clone(kept), bytes, used: false });
        if self.slots.len() > COMPARED_MAX || !self.places.is_empty() {
            self.note_places();
        }
    }

    /// Enters those in the table that it does not have: all, the first time.
    #[inline(never)]
    fn note_places(&mut self) {
        let slots = self.slots.iter().enumerate().skip(self.places.len());
        self.places.extend(slots.map(|(place, slot)| (slot.key, place)));
    }

    /// Drops the first under the hand that was not used since the hand last came by.
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
        self.bytes -= gone.bytes;
        // A table that was made once is kept, until nothing is.
        if self.places.remove(&gone.key).is_some()
            && let Some(moved) = self.slots.get(self.hand)
        {
            self.places.insert(moved.key, self.hand);
        }
        self.hand += 1;
    }
}

/// Remembers the block that one reader used last, so that a walk asks the cache once a block.
#[derive(Debug)]
pub(crate) struct Cursor<'c> {
    cache: &'c BlockCache,
    last: Option<(CacheKey, Arc<Vec<u8>>)>,
}

impl<'c> Cursor<'c> {
    /// Begins with no block.
    pub(crate) fn new(cache: &'c BlockCache) -> Cursor<'c> {
        Cursor { cache, last: None }
    }

    /// Gives a block: the last one, or a kept one, or what `load` makes.
    pub(crate) fn block<E>(
        &mut self,
        key: CacheKey,
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

    fn key(block: u32) -> CacheKey {
        CacheKey { pack: Id::from_bytes([1; 32]), number: block }
    }

    #[test]
    fn the_budget_holds_and_used_blocks_stay() {
        let cache = BlockCache::new(1500);
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
    fn objects_are_kept_apart_and_outlive_their_blocks() {
        let cache = BlockCache::new(30 * (OBJECT_EXTRA_BYTES + 10));
        cache.put(key(7), &Arc::new(vec![1; 10]));
        assert_eq!(cache.object(&key(7)), None, "the block of that number is another thing");
        for row in 0..8 {
            cache.put_object(key(row), &[row as u8; 10]);
        }
        let kept = || (0..999).filter(|row| cache.object(&key(*row)).is_some()).count();
        assert_eq!(kept(), 8);
        for block in 0..100 {
            cache.put(key(block), &Arc::new(vec![0; 1000]));
            assert!(cache.bytes() <= 30 * (OBJECT_EXTRA_BYTES + 10));
        }
        assert_eq!(cache.object(&key(5)).as_deref(), Some(&vec![5; 10]));
        for row in 8..999 {
            cache.put_object(key(row), &[0; 10]);
        }
        assert_eq!(kept(), 10);
        cache.put_object(key(1000), &[0; OBJECT_BYTES_MAX + 1]);
        assert_eq!(cache.object(&key(1000)), None);
    }

    #[test]
    fn what_is_kept_is_found_however_many_there_are() {
        let mut clock = Clock { bytes_max: 100, ..Clock::default() };
        for number in 0..1000 {
            // Now up to twenty short ones, now two long ones.
            let bytes = if number / 50 % 2 == 0 { 5 } else { 40 };
            clock.put(key(number), &Arc::default(), bytes);
            for (place, slot) in clock.slots.iter().enumerate() {
                assert_eq!(clock.place_of(&slot.key), Some(place));
            }
            let found = (0..1000).filter(|other| clock.place_of(&key(*other)).is_some());
            assert_eq!(found.count(), clock.slots.len());
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
