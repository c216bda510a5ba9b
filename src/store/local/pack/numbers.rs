//! Which number an object has in a pack that is being written.
//!
//! The ids stand in the writer's list already. Here are only their places in it, by a part of the
//! id, which is a hash: six to twelve bytes an object, where a map with the ids would take seventy.

use crate::id::Id;

/// A slot that is free; no pack has so many objects.
const FREE: u32 = u32::MAX;
const SLOTS_MIN: usize = 64;

/// Numbers of objects, found by their ids. The ids of all numbers are given with each call.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// A power of two of them; two thirds are taken at the most.
    slots: Vec<u32>,
    taken: usize,
}

impl Numbers {
    /// Finds the number of an id.
    pub(super) fn get<'a>(&self, id: &Id, id_of: impl Fn(u32) -> &'a Id) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut slot = self.first_slot(id);
        loop {
            match self.slots[slot] {
                FREE => return None,
                number if id_of(number) == id => return Some(number),
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Adds the next number, whose id is not there yet.
    pub(super) fn push<'a>(&mut self, id: &Id, id_of: impl Fn(u32) -> &'a Id) {
        let number = self.taken as u32;
        if (self.taken + 1) * 3 > self.slots.len() * 2 {
            let count = (self.slots.len() * 2).max(SLOTS_MIN);
            self.slots = vec![FREE; count];
            for known in 0..number {
                self.take(id_of(known), known);
            }
        }
        self.take(id, number);
        self.taken += 1;
    }

    fn take(&mut self, id: &Id, number: u32) {
        let mut slot = self.first_slot(id);
        while self.slots[slot] != FREE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = number;
    }

    fn first_slot(&self, id: &Id) -> usize {
        let [.., a, b, c, d] = *id.as_bytes();
        u32::from_le_bytes([a, b, c, d]) as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Kind;

    #[test]
    fn every_id_has_the_number_it_was_given() {
        let ids: Vec<Id> = (0..5000u32).map(|n| Id::of(Kind::Blob, &n.to_le_bytes())).collect();
        let mut numbers = Numbers::default();
        let id_of = |number: u32| &ids[number as usize];
        for (number, id) in ids.iter().enumerate() {
            assert_eq!(numbers.get(id, id_of), None);
            numbers.push(id, id_of);
            assert_eq!(numbers.get(id, id_of), Some(number as u32));
        }
        let found = ids.iter().map(|id| numbers.get(id, id_of));
        assert!(found.eq((0..5000).map(Some)));
        assert_eq!(numbers.get(&Id::of(Kind::Entry, b"other"), id_of), None);
    }

    #[test]
    fn ids_that_end_alike_are_told_apart() {
        let id = |first: u8| {
            let mut bytes = [7; 32];
            bytes[0] = first;
            Id::from_bytes(bytes)
        };
        let ids: Vec<Id> = (0..200).map(id).collect();
        let mut numbers = Numbers::default();
        ids.iter().for_each(|id| numbers.push(id, |number| &ids[number as usize]));
        let found = ids.iter().map(|id| numbers.get(id, |number| &ids[number as usize]));
        assert!(found.eq((0..200).map(Some)));
    }
}
