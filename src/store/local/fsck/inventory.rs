//! Which objects there are, which are spoken of, and how deep each lies.
//!
//! Objects have numbers here, so that one costs its id once and a few words more.

use std::collections::HashMap;

use crate::id::{Id, Kind};

/// A number that no object has.
const NONE: u32 = u32::MAX;

/// Every object that was seen or spoken of.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    numbers: HashMap<Id, u32>,
    rows: Vec<Row>,
    objects: u64,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The kind, where it is known.
    kind: Option<Kind>,
    /// Whether some container holds it.
    held: bool,
    /// Whether its links are known.
    described: bool,
    /// Whether an operation speaks of it.
    in_operation: bool,
    /// Its first parent.
    first: u32,
    /// How many first parents lie before it, once counted.
    depth: u32,
    /// The first object that was seen to link it, and how many do.
    referrer: u32,
    referrers: u32,
}

/// An object that something speaks of and no container holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub(super) id: Id,
    /// One of the objects that link it, and how many do.
    pub(super) linked: Option<(Id, u32)>,
    pub(super) in_operation: bool,
}

impl Inventory {
    /// Counts the objects that are there.
    pub(super) fn objects(&self) -> u64 {
        self.objects
    }

    /// Notes that an object is there, and says whether its links are still unknown.
    pub(super) fn hold(&mut self, id: &Id, kind: Option<Kind>) -> bool {
        let number = self.number(id);
        let row = &mut self.rows[number as usize];
        self.objects += u64::from(!row.held);
        row.held = true;
        row.kind = row.kind.or(kind);
        !row.described
    }

    /// Notes what an object links, and its first parent.
    pub(super) fn describe(&mut self, id: &Id, links: &[Id], first: Option<&Id>) {
        let number = self.number(id);
        for link in links {
            let target = self.number(link);
            let row = &mut self.rows[target as usize];
            row.referrers = row.referrers.saturating_add(1);
            if row.referrer == NONE {
                row.referrer = number;
            }
        }
        let first = first.map_or(NONE, |first| self.number(first));
        let row = &mut self.rows[number as usize];
        row.described = true;
        row.first = first;
    }

    /// Notes that an operation speaks of an object.
    pub(super) fn mention(&mut self, id: &Id) {
        let number = self.number(id);
        self.rows[number as usize].in_operation = true;
    }

    /// Says whether an object is there.
    pub(super) fn holds(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| row.held)
    }

    /// Says whether another object links an object.
    pub(super) fn is_linked(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| row.referrers > 0)
    }

    /// Gives the kind of an object, where it is known.
    pub(super) fn kind(&self, id: &Id) -> Option<Kind> {
        self.row(id)?.kind
    }

    /// Lists what is spoken of and not there, in order.
    pub(super) fn missing(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        let mut referrers = HashMap::new();
        for (id, number) in &self.numbers {
            let row = &self.rows[*number as usize];
            if !row.held && (row.in_operation || row.referrers > 0) {
                referrers.insert(row.referrer, None);
                missing.push((*id, *row));
            }
        }
        if missing.is_empty() {
            return Vec::new();
        }
        for (id, number) in &self.numbers {
            if let Some(found) = referrers.get_mut(number) {
                *found = Some(*id);
            }
        }
        missing.sort_unstable_by_key(|(id, _)| *id);
        let full = |(id, row): (Id, Row)| Missing {
            id,
            linked: referrers[&row.referrer].map(|from| (from, row.referrers)),
            in_operation: row.in_operation,
        };
        missing.into_iter().map(full).collect()
    }

    /// Counts the first parents before an object; `None` where its path can't be followed.
    pub(super) fn depth(&mut self, id: &Id) -> Option<u32> {
        let mut number = *self.numbers.get(id)?;
        let mut path = Vec::new();
        let mut depth = loop {
            let row = &self.rows[number as usize];
            if row.depth != NONE {
                break row.depth.checked_add(1)?;
            }
            if !row.described || path.len() > self.rows.len() {
                return None;
            }
            path.push(number);
            match row.first {
                NONE => break 0,
                first => number = first,
            }
        };
        for number in path.into_iter().rev() {
            self.rows[number as usize].depth = depth;
            depth = depth.checked_add(1)?;
        }
        depth.checked_sub(1)
    }

    fn row(&self, id: &Id) -> Option<&Row> {
        let number = self.numbers.get(id)?;
        Some(&self.rows[*number as usize])
    }

    fn number(&mut self, id: &Id) -> u32 {
        let next = self.rows.len() as u32;
        let number = *self.numbers.entry(*id).or_insert(next);
        if number == next {
            assert!(next < NONE, "fewer objects than memory has room for");
            self.rows.push(Row {
                kind: None,
                held: false,
                described: false,
                in_operation: false,
                first: NONE,
                depth: NONE,
                referrer: NONE,
                referrers: 0,
            });
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> Id {
        Id::from_bytes([byte; 32])
    }

    #[test]
    fn depths_are_counted_from_the_root_whatever_is_asked_first() {
        let mut inventory = Inventory::default();
        for byte in [3u8, 1, 2] {
            inventory.hold(&id(byte), Some(Kind::Entry));
            let parents: Vec<Id> = (byte > 1).then(|| id(byte - 1)).into_iter().collect();
            inventory.describe(&id(byte), &parents, parents.first());
        }
        assert_eq!(inventory.depth(&id(2)), Some(1));
        assert_eq!(inventory.depth(&id(3)), Some(2));
        assert_eq!(inventory.depth(&id(1)), Some(0));
        assert_eq!(inventory.depth(&id(9)), None);
    }

    #[test]
    fn what_is_spoken_of_and_not_there_is_missing() {
        let mut inventory = Inventory::default();
        assert!(inventory.hold(&id(1), Some(Kind::Entry)));
        inventory.describe(&id(1), &[id(2), id(3)], Some(&id(2)));
        assert!(!inventory.hold(&id(1), None));
        inventory.hold(&id(3), None);
        inventory.mention(&id(4));
        let missing = inventory.missing();
        assert_eq!(missing.len(), 2);
        assert_eq!((missing[0].id, missing[0].linked), (id(2), Some((id(1), 1))));
        assert_eq!((missing[1].id, missing[1].linked), (id(4), None));
        assert_eq!(inventory.objects(), 2);
        assert_eq!(inventory.depth(&id(1)), None);
    }
}
