//! What the groups of a segment tell of refs and operations.
//!
//! What is read is left as it is written ([`Told`]) until more is asked for than where a few refs
//! point to: who opens a store and reads a conversation does not ask for more. What this handle
//! writes itself it knows already.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::RwLockReadGuard;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::versions::Versions;
use super::{Segment, Table};
use crate::store::local::group::{RecentNames, Told};
use crate::store::{Operation, RefMove, RefName, RefValue};

/// How many refs are looked for among what is left as it is written.
const LOOKS_MAX: usize = 4;

/// What groups tell of refs and operations, in order.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The values that each ref took.
    pub(crate) refs: BTreeMap<RefName, Versions>,
    /// The operations, each with the end of its group.
    pub(crate) operations: Vec<(u64, Operation, Vec<RefMove>)>,
    /// The refs to metadata of sessions that moved, in order, each with the end of its group.
    pub(crate) metas: Vec<(u64, RefName)>,
    /// The end of the last group that made, removed or retyped a ref: its mirror is another file.
    pub(crate) reshaped: u64,
    /// What the last groups tell, each with its end; nothing above has it yet.
    waiting: Vec<(u64, Told)>,
    /// How many refs were looked for in that.
    looks: AtomicUsize,
    /// The names that were read last.
    names: RecentNames,
}

/// A ledger that has everything in its place.
pub(crate) struct Entered<'a>(RwLockReadGuard<'a, Table>);

impl Deref for Entered<'_> {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        &self.0.ledger
    }
}

impl Segment {
    /// Gives what the groups tell of refs and operations.
    pub(crate) fn ledger(&self) -> Entered<'_> {
        loop {
            let table = self.table();
            if table.ledger.waiting.is_empty() {
                return Entered(table);
            }
            drop(table);
            self.table_mut().ledger.enter_all();
        }
    }

    /// Gives the newest value of a ref as of the groups up to `end`; `None` if they gave it none.
    pub(crate) fn value_of(&self, name: &RefName, end: u64) -> Option<Option<RefValue>> {
        let table = self.table();
        if table.ledger.may_look() {
            return table.ledger.value_of(name, end);
        }
        drop(table);
        self.ledger().value_of(name, end)
    }
}

impl Ledger {
    /// Takes what a group tells that was read.
    pub(super) fn note(&mut self, end: u64, told: Told) {
        if self.waiting.is_empty() {
            *self.looks.get_mut() = 0;
        }
        self.waiting.push((end, told));
    }

    /// Enters what a group tells that was written.
    pub(super) fn enter(&mut self, end: u64, moves: &[RefMove], operation: Option<&Operation>) {
        self.enter_all();
        self.enter_next(end, moves);
        if let Some(operation) = operation {
            self.operations.push((end, operation.clone(), moves.to_vec()));
        }
    }

    /// Enters what waits: who is about to write does so before it has the lock.
    pub(super) fn enter_all(&mut self) {
        for (end, told) in std::mem::take(&mut self.waiting) {
            let (moves, operation) = told.parse(&mut self.names);
            self.enter_next(end, &moves);
            self.operations.extend(operation.map(|operation| (end, operation, moves)));
        }
    }

    fn enter_next(&mut self, end: u64, moves: &[RefMove]) {
        for ref_move in moves {
            let moved = [&ref_move.old, &ref_move.new];
            if !moved.iter().all(|value| matches!(value, Some(RefValue::Id(_)))) {
                self.reshaped = end;
            }
            if ref_move.name.is_meta() {
                self.metas.push((end, ref_move.name.clone()));
            }
            let value = ref_move.new.clone();
            match self.refs.get_mut(&ref_move.name) {
                Some(known) => known.push(end, value),
                None => {
                    self.refs.insert(ref_move.name.clone(), Versions::new(end, value));
                }
            }
        }
    }

    /// Says whether one more ref may be looked for among what waits.
    fn may_look(&self) -> bool {
        self.waiting.is_empty() || self.looks.fetch_add(1, Ordering::Relaxed) < LOOKS_MAX
    }

    fn value_of(&self, name: &RefName, end: u64) -> Option<Option<RefValue>> {
        let seen = self.waiting.iter().rev().filter(|(at, _)| *at <= end);
        let waiting = seen.filter_map(|(_, told)| told.value_of(name)).next();
        waiting.or_else(|| self.refs.get(name)?.up_to(end).cloned())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::codec::Value;
    use crate::disk::OsDisk;
    use crate::object::Entry;
    use crate::store::local::{LocalStore, Options};
    use crate::store::{Durability, Expected, RefUpdate, Snapshot, Store as _, Transaction};

    #[test]
    fn who_follows_a_writer_leaves_no_more_than_a_few_groups_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let options = Options { background: false, ..Options::default() };
            Arc::new(LocalStore::open(Arc::new(OsDisk), dir.path(), options).unwrap())
        };
        LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default()).unwrap();
        let (writer, reader) = (open(), open());
        let moving = RefName::of_session("s", "labels/moving").unwrap();
        for number in 0..50 {
            let (label, body) = ("message".to_owned(), Value::Map(Vec::new()));
            let entry = Entry { label, time: number, parents: vec![], body, raw: None };
            let entry = entry.encode().unwrap();
            let mut plan = |_: &dyn Snapshot| {
                let new = Some(RefValue::Id(entry.id()));
                let update = RefUpdate { name: moving.clone(), expected: Expected::Any, new };
                let objects = vec![entry.clone()];
                Ok(Transaction { objects, refs: vec![update], operation: None })
            };
            writer.commit(Durability::Relaxed, &mut plan).unwrap();
            let snapshot = reader.snapshot().unwrap();
            assert_eq!(snapshot.reference(&moving).unwrap(), Some(RefValue::Id(entry.id())));
            let state = reader.inner.state();
            let waiting = state.open_segment().table().ledger.waiting.len();
            assert!(waiting <= LOOKS_MAX + 1, "{waiting} after {number}");
        }
    }
}
