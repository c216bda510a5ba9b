//! The tree of a file: a row for each of its values, in their order.
//!
//! Rows are small (about 60 bytes with the table of names), and in pieces that are never moved, so
//! that a file of millions of lines fits into memory. A parent's row mostly comes before its
//! children's, and values never hang on each other in a circle.

mod names;
mod pieces;

use std::collections::HashMap;

use crate::dialect::Voice;
use crate::id::Id;
use crate::object::Run;

use names::Names;
use pieces::Pieces;

/// A value's place among the values of its file.
pub(super) type Row = u32;

/// No row: the value begins a path, or hangs on an entry of another file.
const NONE: Row = Row::MAX;
/// No row: the value is not part of the tree.
const BESIDE: Row = Row::MAX - 1;

/// How many ends of paths are tried for one on which somebody speaks.
const LEAVES_TRIED: usize = 256;

/// Where a value hangs, as far as its file knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hang {
    /// On nothing of this file.
    Top,
    /// On this value.
    On(Row),
    /// It is not part of the tree.
    Beside,
}

/// The tree of a file.
#[derive(Debug, Default)]
pub(super) struct Tree {
    ids: Pieces<Id>,
    parents: Pieces<Row>,
    voices: Pieces<Voice>,
    /// By the hash of its id in the file; the last counts.
    named: Names,
    /// The last value that is part of the tree.
    last: Option<Row>,
}

/// A path of the tree that ends elsewhere than the last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// Where it ends.
    pub(super) tip: Row,
    /// The first value that is on no path before, and the first of those in which somebody speaks.
    pub(super) first: Row,
    pub(super) speaks: Row,
    /// Where it leaves one of them.
    pub(super) at: Option<Row>,
    /// Why, in the words of branch records.
    pub(super) reason: Option<&'static str>,
}

/// Hashes the id that a value has in its file.
pub(super) fn name_hash(id: &str) -> u64 {
    let hash = blake3::hash(id.as_bytes());
    let first = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    u64::from_le_bytes(*first)
}

impl Tree {
    /// Adds the next value.
    pub(super) fn add(&mut self, id: Id, name: Option<u64>, hang: Hang, voice: Voice) {
        let row = self.ids.len() as Row;
        self.ids.push(id);
        self.voices.push(voice);
        self.parents.push(match hang {
            Hang::Top => NONE,
            Hang::On(parent) => parent,
            Hang::Beside => BESIDE,
        });
        if hang != Hang::Beside {
            self.last = Some(row);
        }
        let twin = name.and_then(|name| self.named.insert(name, row));
        if let Some(twin) = twin.filter(|twin| self.hang_of(*twin) == hang) {
            // It is told again, and takes the place of what it was.
            *self.voices.at_mut(twin) = Voice::None;
        }
    }

    /// Says where a value hangs.
    pub(super) fn hang_of(&self, row: Row) -> Hang {
        match *self.parents.at(row) {
            NONE => Hang::Top,
            BESIDE => Hang::Beside,
            parent => Hang::On(parent),
        }
    }

    /// Hangs a value elsewhere.
    pub(super) fn hang(&mut self, row: Row, parent: Row) {
        *self.parents.at_mut(row) = parent;
    }

    /// Finds the last value that has an entry, for each of the entries.
    pub(super) fn rows(&self) -> HashMap<Id, Row> {
        self.ids.iter().zip(0..).map(|(id, row)| (*id, row)).collect()
    }

    /// Counts the values.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Gives the entry of a value.
    pub(super) fn id(&self, row: Row) -> Id {
        *self.ids.at(row)
    }

    /// Finds a value by its id in the file.
    pub(super) fn named(&self, name: u64) -> Option<Row> {
        self.named.get(name)
    }

    /// Gives all names and the rows that have them.
    pub(super) fn names(&self) -> impl Iterator<Item = (u64, Row)> {
        self.named.iter()
    }

    /// Gives the last value that is part of the tree.
    pub(super) fn last(&self) -> Option<Row> {
        self.last
    }

    /// Gives where the main path ends: in the last value, unless nobody speaks on the way to it.
    pub(super) fn end(&self) -> Option<Row> {
        let speaks = |tip: Row| {
            let mut next = Some(tip);
            std::iter::from_fn(|| {
                let row = next?;
                next = self.parent(row);
                Some(row)
            })
            .any(|row| *self.voices.at(row) != Voice::None)
        };
        let mut has_child = vec![false; self.len()];
        for parent in self.parents.iter().filter(|parent| **parent < BESIDE) {
            has_child[*parent as usize] = true;
        }
        let leaves = (0..self.len() as Row)
            .rev()
            .filter(|row| !has_child[*row as usize] && *self.parents.at(*row) != BESIDE);
        let mut tries = self.last.into_iter().chain(leaves.take(LEAVES_TRIED));
        tries.find(|row| speaks(*row)).or(self.last)
    }

    fn parent(&self, row: Row) -> Option<Row> {
        Some(*self.parents.at(row)).filter(|parent| *parent < BESIDE)
    }

    /// Says whether a value is on the way from one to a later one.
    pub(super) fn is_between(&self, first: Row, tip: Row, row: Row) -> bool {
        let mut next = Some(tip);
        while let Some(passed) = next {
            if passed == row {
                return true;
            }
            next = if passed == first { None } else { self.parent(passed) };
        }
        false
    }

    /// Makes runs of the values from a row on, up to another.
    pub(super) fn runs(&self, from: usize, to: usize) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for row in from as Row..to as Row {
            let follows = row > from as Row && *self.parents.at(row) == row - 1;
            match runs.last_mut() {
                Some(run) if follows => *run = Run { tip: self.id(row), count: run.count + 1 },
                _ => runs.push(Run { tip: self.id(row), count: 1 }),
            }
        }
        runs
    }

    /// Finds the paths on which somebody speaks and that are not the main one; the one that
    /// was written to last comes first.
    pub(super) fn sides(&self) -> Vec<Side> {
        let mut is_passed = vec![false; self.len()];
        let (mut first_on_main, mut next_on_main) = (None, vec![NONE; self.len()]);
        let mut row = self.end();
        while let Some(passed) = row {
            is_passed[passed as usize] = true;
            row = self.parent(passed);
            match row {
                Some(above) => next_on_main[above as usize] = passed,
                None => first_on_main = Some(passed),
            }
        }
        let next = |row: Option<Row>| match row {
            Some(row) => Some(next_on_main[row as usize]).filter(|next| *next != NONE),
            None => first_on_main,
        };
        let mut has_child = vec![false; self.len()];
        for parent in self.parents.iter().filter(|parent| **parent < BESIDE) {
            has_child[*parent as usize] = true;
        }
        let mut sides = Vec::new();
        for tip in (0..self.len() as Row).rev() {
            let is_leaf = !has_child[tip as usize] && *self.parents.at(tip) != BESIDE;
            if !is_leaf || is_passed[tip as usize] {
                continue;
            }
            let (mut first, mut speaks, mut row) = (tip, None, Some(tip));
            while let Some(passed) = row.filter(|row| !is_passed[*row as usize]) {
                is_passed[passed as usize] = true;
                if !self.is_silent(passed) {
                    speaks = Some(passed);
                }
                first = passed;
                row = self.parent(passed);
            }
            if let Some(speaks) = speaks {
                let mut on_main = next(row);
                while let Some(silent) = on_main.filter(|row| self.is_silent(*row)) {
                    on_main = next(Some(silent));
                }
                let reason = self.reason(speaks, on_main);
                sides.push(Side { tip, first, speaks, at: row, reason });
            }
        }
        sides
    }

    fn is_silent(&self, row: Row) -> bool {
        *self.voices.at(row) == Voice::None
    }

    /// Says why a path was left, if who speaks first on both sides tells it.
    fn reason(&self, speaks: Row, on_main: Option<Row>) -> Option<&'static str> {
        let voice = |row: Row| *self.voices.at(row);
        match (voice(speaks), voice(on_main?)) {
            (Voice::Person, Voice::Person) => Some("message_edit"),
            (Voice::Model, Voice::Model) => Some("retry"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Kind;

    fn tree(rows: &[(Hang, Voice)]) -> Tree {
        let mut tree = Tree::default();
        for (place, (hang, voice)) in rows.iter().enumerate() {
            let id = Id::of(Kind::Blob, &[place as u8]);
            tree.add(id, Some(name_hash(&place.to_string())), *hang, *voice);
        }
        tree
    }

    #[test]
    fn runs_are_stretches_of_a_path() {
        use Hang::{Beside, On, Top};
        let hangs = [Beside, Top, On(1), On(2), On(1), Beside, On(4), On(6)];
        let tree = tree(&hangs.map(|hang| (hang, Voice::None)));
        let counts =
            |from, to| -> Vec<u64> { tree.runs(from, to).iter().map(|run| run.count).collect() };
        assert_eq!(counts(0, 8), [1, 3, 1, 1, 2]);
        assert_eq!(counts(2, 4), [2]);
        assert_eq!(tree.runs(0, 8)[1].tip, tree.id(3));
        assert_eq!((tree.last(), tree.named(name_hash("4"))), (Some(7), Some(4)));
    }

    #[test]
    fn a_path_on_which_nobody_speaks_is_no_branch() {
        use Hang::{On, Top};
        use Voice::{Model, None, Person};
        let rows = [
            (Top, Person),   // 0
            (On(0), Model),  // 1
            (On(1), None),   // 2: a tool's result beside the path
            (On(1), None),   // 3
            (On(3), Model),  // 4: answered, then
            (On(3), Model),  // 5: answered again
            (On(5), Person), // 6
            (On(5), Person), // 7: the edit
            (Top, Person),   // 8: another begin
            (On(7), None),   // 9
        ];
        let sides = tree(&rows).sides();
        let side = |tip, first, at, reason| Side { tip, first, speaks: first, at, reason };
        let expected = [
            side(8, 8, Option::None, Some("message_edit")),
            side(6, 6, Some(5), Some("message_edit")),
            side(4, 4, Some(3), Some("retry")),
        ];
        assert_eq!(sides, expected);
    }
}
