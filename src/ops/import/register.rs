//! Which values the sessions of the store have, by the ids that these have in their files.
//!
//! A name may stand in many files: copies have it, too. A row costs about 30 bytes, and there is a
//! limit to them; what does not fit is looked for in the store (see `elsewhere`).

use std::collections::HashMap;

use crate::ops::import::tree::Row;

/// How many values are held in memory at the most.
const SLOTS_MAX: usize = 1 << 19;

/// No slot.
const NONE: u32 = u32::MAX;

/// The values of sessions by their names.
#[derive(Debug, Default)]
pub(super) struct Register {
    /// The slot that was added last, by the hash of the name.
    last: HashMap<u64, u32>,
    slots: Vec<Slot>,
}

/// One value of a session.
#[derive(Debug)]
struct Slot {
    place: u32,
    row: Row,
    /// The slot before it with the same name.
    before: u32,
}

impl Register {
    /// Says whether so many values have room.
    pub(super) fn has_room(&self, count: usize) -> bool {
        self.slots.len() + count <= SLOTS_MAX
    }

    /// Adds a value: a row of the session at a place.
    pub(super) fn add(&mut self, name: u64, place: usize, row: Row) {
        let (slot, place) = (self.slots.len() as u32, place as u32);
        let before = self.last.insert(name, slot).unwrap_or(NONE);
        self.slots.push(Slot { place, row, before });
    }

    /// Gives the sessions that have a value of this name, and its row; the latest first.
    pub(super) fn all(&self, name: u64) -> impl Iterator<Item = (usize, Row)> {
        let mut next = self.last.get(&name).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let slot = self.slots.get(next as usize)?;
            next = slot.before;
            Some((slot.place as usize, slot.row))
        })
    }
}
