//! A table that finds things in a list by their hashes, and holds their places only.
//!
//! It takes six to twelve bytes a thing, where a map would hold the keys a second time: for lists
//! of millions of ids. The hashes must be good ones: their last bits choose the slot.
//!
//! Not here: the list. Who asks says what stands at a place.

use crate::id::Id;

/// A slot that is free.
const FREE: u32 = u32::MAX;
const SLOTS_MIN: usize = 64;

/// Takes a part of an id, which is a hash, for one; its first bytes are those that indexes go by.
pub(crate) fn slot_hash(id: &Id) -> u64 {
    let last = id.as_bytes().last_chunk().expect("an id has 32 bytes");
    u64::from_be_bytes(*last)
}

/// Gives the begin of an id as a number: ids are in the order of these, where they differ.
pub(crate) fn begin_of(id: &Id) -> u64 {
    u64::from_be_bytes(*id.as_bytes().first_chunk().expect("an id has 32 bytes"))
}

/// Places of things in a list, each thing there once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// A power of two of them; two thirds are taken at the most.
    slots: Vec<u32>,
    taken: u32,
}

impl Slots {
    /// Counts the places.
    pub(crate) fn len(&self) -> usize {
        self.taken as usize
    }

    /// Finds the place of a thing by its hash; `is_it` says whether it is what stands at a place.
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                FREE => return None,
                place if is_it(place) => return Some(place),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Adds the next place; `hash_of` gives the hash of what stands at any place, this one too.
    pub(crate) fn push(&mut self, hash_of: impl Fn(u32) -> u64) {
        let place = self.taken;
        self.taken += 1;
        if self.has_room(self.len()) {
            return self.take(place, hash_of(place));
        }
        self.slots = vec![FREE; (self.slots.len() * 2).max(SLOTS_MIN)];
        (0..=place).for_each(|place| self.take(place, hash_of(place)));
    }

    /// Makes room for so many places, if there are none yet.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.taken == 0 && !self.has_room(count) {
            self.slots = vec![FREE; (count * 3 / 2 + 1).next_power_of_two().max(SLOTS_MIN)];
        }
    }

    fn has_room(&self, count: usize) -> bool {
        count * 3 <= self.slots.len() * 2
    }

    fn take(&mut self, place: u32, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != FREE {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_found_where_they_stand() {
        for reserved in [0, 10, 5000] {
            // Many share their last bits.
            let list: Vec<u64> = (0..5000).map(|number| number << (number % 20)).collect();
            let mut slots = Slots::default();
            slots.reserve(reserved);
            let mut known: Vec<u64> = Vec::new();
            for thing in list {
                let found = slots.find(thing, |place| known[place as usize] == thing);
                assert_eq!(
                    found.map(|place| known[place as usize]),
                    known.contains(&thing).then_some(thing)
                );
                if found.is_none() {
                    known.push(thing);
                    slots.push(|place| known[place as usize]);
                }
            }
            assert_eq!(slots.len(), known.len());
            assert_eq!(slots.find(u64::MAX, |place| known[place as usize] == u64::MAX), None);
        }
    }
}
