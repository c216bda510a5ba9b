//! Which value of a file has a name, by the name's hash.
//!
//! A list of names and a table of places in it: 25 bytes a name, where a map would take 40 and half
//! as much again while it grows.

use super::{Pieces, Row};
use crate::slots::Slots;

/// Rows by the hashes of names; of a name that comes twice the last row counts.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Pieces<(u64, Row)>,
    slots: Slots,
}

impl Names {
    /// Finds the row of a name.
    pub(super) fn get(&self, name: u64) -> Option<Row> {
        self.place(name).map(|place| self.names.at(place).1)
    }

    /// Gives a row a name, and says which had it before.
    pub(super) fn insert(&mut self, name: u64, row: Row) -> Option<Row> {
        if let Some(place) = self.place(name) {
            return Some(std::mem::replace(&mut self.names.at_mut(place).1, row));
        }
        self.names.push((name, row));
        self.slots.push(|place| self.names.at(place).0);
        None
    }

    /// Gives all names and their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Row)> {
        self.names.iter().copied()
    }

    fn place(&self, name: u64) -> Option<u32> {
        self.slots.find(name, |place| self.names.at(place).0 == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn names_are_found_as_in_a_map() {
        let mut names = Names::default();
        let mut model = HashMap::new();
        assert_eq!(names.get(0), None);
        for row in 0..20_000 {
            // Some come twice, many share their last bits.
            let name = u64::from(row % 7919) << (row % 40);
            assert_eq!(names.insert(name, row), model.insert(name, row));
            assert_eq!(names.get(name), Some(row));
        }
        assert_eq!(names.iter().count(), model.len());
        assert_eq!(names.iter().collect::<HashMap<_, _>>(), model);
        assert!(model.iter().all(|(name, row)| names.get(*name) == Some(*row)));
        assert_eq!(names.get(u64::MAX), None);
    }
}
