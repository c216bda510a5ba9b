//! Where an object stands: its parents and its depth, from whatever container it is in.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use super::{LocalSnapshot, Place};
use crate::error::{Error, Result};
use crate::id::{Id, IdMap};
use crate::object::{self, NewObject};
use crate::store::local::pack::{Depth, Pack};
use crate::store::{Snapshot, Stored, Topology};

/// How many topologies of objects outside packs a handle remembers.
const TOPOLOGIES_MAX: usize = if cfg!(test) { 8 } else { 1 << 16 };

impl LocalSnapshot {
    /// Gives the first parent of an object, without working out its depth.
    pub(super) fn first_parent(&self, id: &Id) -> Result<Option<Id>> {
        Ok(self.outline(id)?.parents.first().copied())
    }

    /// Gives an object's place in the history; its depth may be left at zero.
    pub(super) fn outline(&self, id: &Id) -> Result<Topology> {
        if let Some(known) = self.topologies().get(id) {
            return Ok(known.clone());
        }
        if let Some(Place::Pack(pack, row)) = self.find(id)? {
            return pack.outline(row);
        }
        topology_of(&self.get(id)?.ok_or(Error::ObjectMissing { id: *id })?)
    }

    /// Works out the topology of an object that no graph file covers, and of its first parents as
    /// far as needed for its depth.
    pub(super) fn topology_outside_packs(&self, id: &Id) -> Result<Option<Topology>> {
        if let Some(known) = self.topologies().get(id) {
            return Ok(Some(known.clone()));
        }
        let mut chain: Vec<(Id, Topology)> = Vec::new();
        let mut next = Some(*id);
        let mut depth = 0;
        while let Some(current) = next {
            if let Some(known) = self.topologies().get(&current) {
                depth = known.depth + 1;
                break;
            }
            let (stored, said) = match self.find(&current)? {
                Some(Place::Pack(pack, row)) => {
                    depth = self.topology_in(pack, row)?.depth + 1;
                    break;
                }
                Some(place) => (self.get(&current)?, place.said_depth()),
                None if chain.is_empty() => return Ok(None),
                None => {
                    let topology = self.topology(&current)?;
                    depth = topology.ok_or(Error::ObjectMissing { id: current })?.depth + 1;
                    break;
                }
            };
            let topology = topology_of(&stored.ok_or(Error::ObjectMissing { id: current })?)?;
            next = topology.parents.first().copied();
            chain.push((current, topology));
            if let Some(said) = said {
                depth = said;
                break;
            }
        }
        for ((_, topology), depth) in chain.iter_mut().rev().zip(depth..) {
            topology.depth = depth;
        }
        let found = chain.first().map(|(_, topology)| topology.clone());
        let mut topologies = self.topologies();
        if topologies.len() > TOPOLOGIES_MAX {
            topologies.clear();
        }
        topologies.extend(chain);
        Ok(found)
    }

    /// Works out the depths of objects that are to be committed; `None` where it can't be told.
    pub(crate) fn depths_of_new(&self, objects: &[NewObject]) -> Vec<Option<u64>> {
        let others = objects.len().saturating_sub(1);
        let mut known: IdMap<Option<u64>> =
            IdMap::with_capacity_and_hasher(others, Default::default());
        let mut depths = Vec::with_capacity(objects.len());
        for object in objects {
            let depth = match object.parent {
                None => Some(0),
                Some(parent) => {
                    let above = known.get(&parent).copied();
                    let above = above.unwrap_or_else(|| self.depth_of(&parent).ok().flatten());
                    above.map(|depth| depth + 1)
                }
            };
            if others > 0 {
                known.insert(object.id, depth);
            }
            depths.push(depth);
        }
        depths
    }

    pub(super) fn topologies(&self) -> MutexGuard<'_, HashMap<Id, Topology>> {
        self.inner.topologies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn topology_in(&self, pack: &Pack, row: u32) -> Result<Topology> {
        pack.topology(row, &mut |id| self.depth_of(id))
    }

    /// Gives the depth of an object, from pack to pack where their graphs leave it open.
    pub(crate) fn depth_of(&self, id: &Id) -> Result<Option<u64>> {
        let (mut next, mut steps) = (*id, 0u64);
        let steps_max: u64 = self.state.all_packs().map(|pack| u64::from(pack.len())).sum();
        while steps <= steps_max {
            let place = self.find(&next)?;
            let Some(Place::Pack(pack, row)) = place else {
                let depth = match place.and_then(|place| place.said_depth()) {
                    None => self.topology(&next)?.map(|topology| topology.depth),
                    said => said,
                };
                return Ok(depth.map(|depth| depth + steps));
            };
            match pack.depth(row)? {
                Depth::Known(depth) => return Ok(Some(depth + steps)),
                Depth::Beyond { steps: more, parent } => {
                    next = parent;
                    steps += more;
                }
            }
        }
        Err(Error::corrupt(self.inner.layout.pack_dir(), None, "parents in graphs go in circles"))
    }
}

impl Place<'_> {
    /// Gives the depth that the object's group says.
    fn said_depth(&self) -> Option<u64> {
        match self {
            Place::Journal(_, location) => location.depth.map(u64::from),
            _ => None,
        }
    }
}

/// Reads an object's outline; the depth is left to the caller.
pub(super) fn topology_of(stored: &Stored) -> Result<Topology> {
    let outline = object::outline(stored.kind, &stored.content)?;
    Ok(Topology {
        kind: stored.kind,
        label: outline.label.into(),
        parents: outline.parents,
        time: outline.time,
        depth: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::codec::Value;
    use crate::disk::OsDisk;
    use crate::object::Entry;
    use crate::store::local::{LocalStore, Options};
    use crate::store::{Durability, Store as _, Transaction};

    #[test]
    fn a_path_longer_than_what_is_remembered_has_depths_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default());
        let store = store.unwrap().0;
        let mut path: Vec<Id> = Vec::new();
        let mut objects = Vec::new();
        for time in 0..3 * TOPOLOGIES_MAX as i64 {
            let parents = path.last().copied().into_iter().collect();
            let (label, body) = ("message".to_owned(), Value::Null);
            let object = Entry { label, time, parents, body, raw: None }.encode().unwrap();
            path.push(object.id());
            objects.push(object);
        }
        let mut plan = |_: &dyn Snapshot| {
            Ok(Transaction { objects: objects.clone(), ..Transaction::default() })
        };
        store.commit(Durability::Full, &mut plan).unwrap();
        let snapshot = store.snapshot().unwrap();
        for _ in 0..2 {
            for (depth, id) in path.iter().enumerate().rev() {
                assert_eq!(snapshot.topology(id).unwrap().unwrap().depth, depth as u64);
            }
        }
    }
}
