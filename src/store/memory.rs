//! A store in memory, for tests, for trying things out, and as the model of what a store does.
//!
//! Everything is kept with the number of the commit that brought it, and nothing is ever taken
//! away: a snapshot is a commit number, and costs nothing to make or to hold.
//!
//! Not here: durability (both kinds mean the same), limits on memory, garbage collection.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};
use crate::object::{self, NewObject};
use crate::store::{
    Content, Durability, OBJECT_BYTES_MAX, OperationRecord, RefMove, RefName, RefValue, Snapshot,
    Store, Stored, Topology, Transaction,
};

/// How many objects a visit copies at a time, so that the visitor runs outside the lock.
const VISIT_BATCH: usize = 256;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// Held from the plan to the end of a commit, so that plans see the state they follow.
    writer: Mutex<()>,
    state: Arc<RwLock<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last commit.
    commit: u64,
    objects: BTreeMap<Id, Kept>,
    /// Each name's values, oldest first, with the commits that set them.
    refs: BTreeMap<String, Vec<(u64, Option<RefValue>)>>,
    operations: Vec<(u64, OperationRecord)>,
}

#[derive(Debug)]
struct Kept {
    commit: u64,
    stored: Stored,
    topology: Topology,
}

/// What was committed up to one commit.
#[derive(Debug)]
struct MemorySnapshot {
    commit: u64,
    state: Arc<RwLock<State>>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn at_present(&self) -> MemorySnapshot {
        MemorySnapshot { commit: read(&self.state).commit, state: Arc::clone(&self.state) }
    }
}

impl Store for MemoryStore {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(self.at_present()))
    }

    fn commit(
        &self,
        _durability: Durability,
        plan: &mut dyn FnMut(&dyn Snapshot) -> Result<Transaction>,
    ) -> Result<()> {
        // A plan that panicked left nothing behind: the state changes only after it.
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.at_present();
        let mut transaction = plan(&snapshot)?;
        let moves = transaction.settle(&snapshot)?;
        let objects = arrange(transaction.objects, &snapshot)?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let commit = state.commit + 1;
        for (id, stored, topology) in objects {
            let kept = Kept { commit, stored, topology };
            state.objects.insert(id, kept);
        }
        for RefMove { name, new, .. } in &moves {
            let values = state.refs.entry(name.as_str().to_owned()).or_default();
            values.push((commit, new.clone()));
        }
        if let Some(operation) = transaction.operation {
            let record =
                OperationRecord { number: state.operations.len() as u64 + 1, operation, moves };
            state.operations.push((commit, record));
        }
        state.commit = commit;
        Ok(())
    }

    fn put_blob(&self, source: &mut dyn Read, bytes: u64) -> Result<Id> {
        if bytes > OBJECT_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "the blob",
                found: bytes,
                limit: OBJECT_BYTES_MAX,
            });
        }
        let mut content = Vec::new();
        let found = source
            .take(bytes + 1)
            .read_to_end(&mut content)
            .map_err(Error::io("read", "the blob"))?;
        if found as u64 != bytes {
            return Err(Error::InvalidObject {
                kind: Kind::Blob.name(),
                why: format!("expected {bytes} bytes, the source gave another number"),
            });
        }
        let blob = NewObject::blob(content)?;
        self.put_alone(&blob)?;
        Ok(blob.id)
    }

    fn put_alone(&self, object: &NewObject) -> Result<()> {
        self.commit(Durability::Full, &mut |_| {
            Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl Snapshot for MemorySnapshot {
    fn get(&self, id: &Id) -> Result<Option<Stored>> {
        Ok(self.kept(id, |kept| kept.stored.clone()))
    }

    fn kinds(&self, ids: &[Id]) -> Result<Vec<Option<Kind>>> {
        let kind = |id| self.kept(id, |kept| kept.stored.kind);
        Ok(ids.iter().map(kind).collect())
    }

    fn topology(&self, id: &Id) -> Result<Option<Topology>> {
        Ok(self.kept(id, |kept| kept.topology.clone()))
    }

    fn with_prefix(&self, prefix: &Prefix, limit: usize) -> Result<Vec<Id>> {
        let state = read(&self.state);
        let range = state.objects.range(prefix.low()..=prefix.high());
        let seen = range.filter(|(_, kept)| kept.commit <= self.commit);
        Ok(seen.map(|(id, _)| *id).take(limit).collect())
    }

    fn for_each(
        &self,
        visit: &mut dyn FnMut(&Id, &Topology) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut after = Unbounded;
        loop {
            let batch = self.batch(after);
            for (id, topology) in &batch {
                if visit(id, topology)?.is_break() {
                    return Ok(());
                }
            }
            match batch.last() {
                Some((id, _)) => after = Excluded(*id),
                None => return Ok(()),
            }
        }
    }

    fn reference(&self, name: &RefName) -> Result<Option<RefValue>> {
        let state = read(&self.state);
        let values = state.refs.get(name.as_str());
        Ok(values.and_then(|values| value_at(values, self.commit).cloned()))
    }

    fn references(&self, prefix: &str) -> Result<Vec<(RefName, RefValue)>> {
        let state = read(&self.state);
        let range = state
            .refs
            .range::<str, _>((Included(prefix), Unbounded))
            .take_while(|(name, _)| name.starts_with(prefix));
        let mut found = Vec::new();
        for (name, values) in range {
            if let Some(value) = value_at(values, self.commit) {
                found.push((RefName::new(name.as_str())?, value.clone()));
            }
        }
        Ok(found)
    }

    fn operations(
        &self,
        visit: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let seen =
            read(&self.state).operations.partition_point(|(commit, _)| *commit <= self.commit);
        for place in (0..seen).rev() {
            let record = read(&self.state).operations[place].1.clone();
            if visit(&record)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl MemorySnapshot {
    fn kept<T>(&self, id: &Id, look: impl FnOnce(&Kept) -> T) -> Option<T> {
        let state = read(&self.state);
        let kept = state.objects.get(id)?;
        (kept.commit <= self.commit).then(|| look(kept))
    }

    fn batch(&self, after: std::ops::Bound<Id>) -> Vec<(Id, Topology)> {
        let state = read(&self.state);
        let range = state.objects.range((after, Unbounded));
        let seen = range.filter(|(_, kept)| kept.commit <= self.commit);
        seen.map(|(id, kept)| (*id, kept.topology.clone())).take(VISIT_BATCH).collect()
    }
}

fn read(state: &RwLock<State>) -> RwLockReadGuard<'_, State> {
    state.read().unwrap_or_else(PoisonError::into_inner)
}

fn value_at(values: &[(u64, Option<RefValue>)], commit: u64) -> Option<&RefValue> {
    let count = values.partition_point(|(set, _)| *set <= commit);
    values[..count].last()?.1.as_ref()
}

/// Finds each object's place in the history.
fn arrange(
    objects: Vec<NewObject>,
    snapshot: &MemorySnapshot,
) -> Result<Vec<(Id, Stored, Topology)>> {
    let mut arranged = Vec::with_capacity(objects.len());
    let mut places = HashMap::new();
    for object in objects {
        let outline = object::outline(object.kind, &object.content)?;
        let topology = Topology {
            kind: object.kind,
            label: outline.label.into(),
            parents: outline.parents,
            time: outline.time,
            depth: 0,
        };
        let whole = 0..object.content.len();
        let stored = Stored { kind: object.kind, content: Content::part(object.content, whole) };
        places.insert(object.id, arranged.len());
        arranged.push((object.id, stored, topology));
    }
    set_depths(&mut arranged, &places, snapshot);
    Ok(arranged)
}

/// Sets each object's depth, whichever of a transaction's objects comes first.
fn set_depths(
    objects: &mut [(Id, Stored, Topology)],
    places: &HashMap<Id, usize>,
    snapshot: &MemorySnapshot,
) {
    let mut known = vec![false; objects.len()];
    let mut chain = Vec::new();
    for start in 0..objects.len() {
        let mut place = start;
        // Hashes make no circles, so the chain ends.
        let mut depth = loop {
            if known[place] {
                break objects[place].2.depth + 1;
            }
            chain.push(place);
            let Some(parent) = objects[place].2.parents.first() else {
                break 0;
            };
            match places.get(parent) {
                Some(next) => place = *next,
                None => {
                    let before = snapshot.kept(parent, |kept| kept.topology.depth);
                    break before.map_or(0, |depth| depth + 1);
                }
            }
        };
        while let Some(place) = chain.pop() {
            objects[place].2.depth = depth;
            known[place] = true;
            depth += 1;
        }
    }
}

#[cfg(test)]
mod tests;
