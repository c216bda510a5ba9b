//! Reading: a state, and where its journal ended.
//!
//! A snapshot sees whole transactions up to its end, whatever is committed afterwards. It takes no
//! lock and repairs nothing.

mod ahead;
pub(super) mod names;
mod near;
mod prefix;
mod refs;
mod sift;
mod topology;
mod walk;

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::id::{Id, IdMap, IdSet, Kind, Prefix};
use crate::object::NewObject;
use crate::store::local::Inner;
use crate::store::local::durable::Position;
use crate::store::local::pack::{Pack, held_by_any};
use crate::store::local::refused::refuse;
use crate::store::local::segment::{Location, Segment};
use crate::store::local::state::State;
use crate::store::{
    Finds, OperationRecord, RefName, RefValue, Snapshot, Stored, Streamed, Topology, Visit,
};

/// What was committed up to some moment.
#[derive(Debug)]
pub(crate) struct LocalSnapshot {
    inner: Arc<Inner>,
    pub(crate) state: Arc<State>,
    /// Where the open segment ended.
    pub(crate) end: u64,
    /// The loose objects that an answer relied on.
    loose_seen: Mutex<HashSet<Id>>,
    /// Whether an object that is not here is looked for under a newer manifest.
    follows: bool,
    /// The refs that a plan asked for: it asks for most of them more than once.
    refs_seen: Mutex<Vec<(RefName, Option<RefValue>)>>,
    /// What is at hand since the packs were sifted.
    kept: OnceLock<IdMap<Stored>>,
    /// Of each byte, whether loose objects begin with it; once somebody looked for one so.
    loose_firsts: OnceLock<Vec<bool>>,
}

/// Where an object was found.
enum Place<'a> {
    Journal(&'a Segment, Location),
    Pack(&'a Pack, u32),
    Loose,
    /// Loose, and cruft.
    Aside,
}

impl LocalSnapshot {
    pub(crate) fn new(inner: Arc<Inner>, state: Arc<State>) -> LocalSnapshot {
        let end = state.open_segment().end().offset;
        let (loose_seen, refs_seen, kept, loose_firsts) = Default::default();
        let follows = true;
        LocalSnapshot { inner, state, end, loose_seen, follows, refs_seen, kept, loose_firsts }
    }

    /// Makes a snapshot for planning a commit, which sees no more than this state: a plan made on
    /// less than there is will be made again.
    pub(crate) fn for_commit(inner: &Arc<Inner>, state: Arc<State>) -> LocalSnapshot {
        LocalSnapshot { follows: false, ..LocalSnapshot::new(Arc::clone(inner), state) }
    }

    /// Gives the place in the journal up to which this snapshot sees.
    pub(crate) fn position(&self) -> Position {
        Position { sequence: self.state.open_segment().sequence, offset: self.end }
    }

    /// Says whether nothing was committed to a state since.
    pub(crate) fn is_all_of(&self, state: &State) -> bool {
        self.state.manifest.generation == state.manifest.generation
            && self.position() == state.open_segment().end()
    }

    /// Gives the loose objects that answers relied on so far.
    pub(crate) fn loose_seen(&self) -> Vec<Id> {
        let seen = self.loose_seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().copied().collect()
    }

    /// Gives the segments, newest first, each with the end up to which it is seen.
    fn segments(&self) -> impl Iterator<Item = (&Segment, u64)> {
        let ends = std::iter::once(self.end).chain(std::iter::repeat(u64::MAX));
        self.state.segments.iter().rev().map(|segment| &**segment).zip(ends)
    }

    /// Finds an object for a reader: cruft too.
    fn find(&self, id: &Id) -> Result<Option<Place<'_>>> {
        match self.find_live(id)? {
            None => self.find_cruft(id),
            found => Ok(found),
        }
    }

    /// Finds an object as writers see it.
    fn find_live(&self, id: &Id) -> Result<Option<Place<'_>>> {
        match self.find_contained(id)? {
            None if self.state.is_purged(id)? => Ok(None),
            None => Ok(self.inner.loose.contains(id)?.then_some(Place::Loose)),
            found => Ok(found),
        }
    }

    /// Finds an object that was set aside because nothing led to it.
    fn find_cruft(&self, id: &Id) -> Result<Option<Place<'_>>> {
        for pack in &self.state.cruft {
            if let Some(row) = pack.find(id)? {
                return Ok(Some(Place::Pack(pack, row)));
            }
        }
        let is_aside = self.state.manifest.moved > 0
            && !self.state.is_purged(id)?
            && self.inner.loose.find_aside(id)?.is_some();
        Ok(is_aside.then_some(Place::Aside))
    }

    /// Finds an object in the journal or a pack.
    fn find_contained(&self, id: &Id) -> Result<Option<Place<'_>>> {
        for (segment, end) in self.segments() {
            if let Some(location) = segment.table().objects.get(id)
                && location.group_end <= end
            {
                return Ok(Some(Place::Journal(segment, *location)));
            }
        }
        for pack in self.state.packs.iter().rev() {
            if let Some(row) = pack.find(id)? {
                return Ok(Some(Place::Pack(pack, row)));
            }
        }
        Ok(None)
    }

    fn in_open_segment(&self, id: &Id) -> bool {
        let table = self.state.open_segment().table();
        table.objects.get(id).is_some_and(|location| location.group_end <= self.end)
    }

    /// Gives an object's kind, if it is there: to a plan, cruft is not.
    fn kind(&self, id: &Id) -> Result<Option<Kind>> {
        let found = match self.find_live(id)? {
            None if self.follows => self.find_cruft(id)?,
            found => found,
        };
        match found {
            Some(Place::Journal(_, location)) => Ok(Some(location.kind)),
            Some(Place::Pack(pack, row)) => pack.kind(row).map(Some),
            Some(Place::Loose) => {
                let kind = self.inner.loose.kind(id)?;
                if kind.is_some() {
                    self.loose_seen.lock().unwrap_or_else(PoisonError::into_inner).insert(*id);
                }
                Ok(kind)
            }
            Some(Place::Aside) => self.inner.loose.kind_aside(id),
            None => Ok(None),
        }
    }

    /// Gives a snapshot of today, if a newer manifest was published since this one was taken.
    ///
    /// It is asked for objects that are not here: a loose file may have moved into a pack that only
    /// the newer manifest names.
    fn newer(&self) -> Result<Option<LocalSnapshot>> {
        if !self.follows {
            return Ok(None);
        }
        let state = self.inner.refresh()?;
        let moved = state.manifest.generation != self.state.manifest.generation;
        Ok(moved.then(|| LocalSnapshot::new(Arc::clone(&self.inner), state)))
    }

    fn get_here(&self, id: &Id) -> Result<Option<Stored>> {
        match self.find(id)? {
            Some(Place::Journal(segment, location)) => {
                let content = segment.read(id, &location)?.into();
                Ok(Some(Stored { kind: location.kind, content }))
            }
            Some(Place::Pack(pack, row)) => pack.read(row, &self.inner.cache).map(Some),
            Some(Place::Loose) => self.inner.loose.get(id),
            Some(Place::Aside) => self.inner.loose.get_aside(id),
            None => Ok(None),
        }
    }

    /// Lists, once each, the objects in packs that none of these other packs has.
    fn ids_of_packs_beyond(&self, others: &[Arc<Pack>]) -> Result<BTreeSet<Id>> {
        let known: HashSet<Id> = others.iter().map(|pack| pack.info().id).collect();
        let mut ids = BTreeSet::new();
        for pack in self.state.packs.iter().filter(|pack| !known.contains(&pack.info().id)) {
            for row in 0..pack.len() {
                let id = pack.id(row)?;
                if !held_by_any(others, &id)? {
                    ids.insert(id);
                }
            }
        }
        Ok(ids)
    }
}

impl Snapshot for LocalSnapshot {
    fn get(&self, id: &Id) -> Result<Option<Stored>> {
        let kept = self.kept(id).map(|kept| Ok(Some(kept)));
        if let Some(stored) = kept.unwrap_or_else(|| self.get_here(id))? {
            return Ok(Some(stored));
        }
        self.newer()?.map_or(Ok(None), |newer| newer.get(id))
    }

    fn read_among(&self, id: &Id) -> Result<Option<Stored>> {
        if let Some(kept) = self.kept(id) {
            return Ok(Some(kept));
        }
        match self.find(id)? {
            Some(Place::Pack(pack, row)) => self.read_in(pack, row).map(Some),
            _ => self.get(id),
        }
    }

    fn sift(
        &self,
        finds: Finds<'_>,
        list: &mut dyn FnMut() -> Vec<Id>,
    ) -> Option<Vec<Option<bool>>> {
        self.sift_packs(finds, list)
    }

    fn admit(&self, id: &Id, kind: Kind) -> Result<()> {
        refuse(self.state.refused.as_deref(), id, kind)
    }

    fn holds(&self, id: &Id) -> Result<bool> {
        if self.find_live(id)?.is_some() {
            return Ok(true);
        }
        let newer = self.newer()?;
        newer.map_or(Ok(false), |newer| Ok(newer.find_live(id)?.is_some()))
    }

    fn stream(&self, id: &Id) -> Result<Option<Streamed>> {
        match self.find_contained(id)? {
            Some(_) => Ok(None),
            None => self.inner.loose.stream(id),
        }
    }

    fn kinds(&self, ids: &[Id]) -> Result<Vec<Option<Kind>>> {
        let mut kinds: Vec<_> = ids.iter().map(|id| self.kind(id)).collect::<Result<_>>()?;
        if kinds.contains(&None)
            && let Some(newer) = self.newer()?
        {
            for (id, kind) in ids.iter().zip(&mut kinds) {
                if kind.is_none() {
                    *kind = newer.kind(id)?;
                }
            }
            let mut seen = self.loose_seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.extend(newer.loose_seen());
        }
        Ok(kinds)
    }

    /// Leaves loose files out: a small object among them may well be in the journal too, and of a
    /// large one it is seen when its file is to be written.
    ///
    /// What links an object of the open segment, or one that is new itself, is not looked for
    /// elsewhere: nothing is committed before what it links.
    fn known(&self, objects: &[NewObject]) -> Result<Vec<bool>> {
        let others = objects.len().saturating_sub(1);
        let mut new = IdSet::with_capacity_and_hasher(others, Default::default());
        let mut known = Vec::with_capacity(objects.len());
        for object in objects {
            let is_known = self.in_open_segment(&object.id)
                || (!object
                    .links
                    .iter()
                    .any(|link| new.contains(link) || self.in_open_segment(link))
                    && self.find_contained(&object.id)?.is_some());
            if !is_known && others > 0 {
                new.insert(object.id);
            }
            known.push(is_known);
        }
        Ok(known)
    }

    fn topology(&self, id: &Id) -> Result<Option<Topology>> {
        match self.find(id)? {
            Some(Place::Pack(pack, row)) => self.topology_in(pack, row).map(Some),
            Some(_) => self.topology_outside_packs(id),
            None => self.newer()?.map_or(Ok(None), |newer| newer.topology(id)),
        }
    }

    fn depth(&self, id: &Id) -> Result<Option<u64>> {
        self.depth_of(id)
    }

    fn with_prefix(&self, prefix: &Prefix, limit: usize) -> Result<Vec<Id>> {
        self.find_with_prefix(prefix, limit)
    }

    fn for_each(
        &self,
        visit: &mut dyn FnMut(&Id, &Topology) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut outside: Vec<Id> = Vec::new();
        for (place, (segment, end)) in self.segments().enumerate() {
            let newer = &self.state.segments[self.state.segments.len() - place..];
            let table = segment.table();
            let mut seen: Vec<_> =
                table.objects.iter().filter(|(_, location)| location.group_end <= end).collect();
            seen.sort_unstable_by_key(|(_, location)| location.offset);
            let fresh = seen.into_iter().map(|(id, _)| *id);
            outside.extend(fresh.filter(|id| {
                !newer.iter().any(|segment| segment.table().objects.contains_key(id))
            }));
        }
        let in_journal: HashSet<Id> = outside.iter().copied().collect();
        for (place, pack) in self.state.packs.iter().enumerate() {
            for row in 0..pack.len() {
                let id = pack.id(row)?;
                let elsewhere = &self.state.packs[..place];
                if in_journal.contains(&id) || held_by_any(elsewhere, &id)? {
                    continue;
                }
                if visit(&id, &self.topology_in(pack, row)?)?.is_break() {
                    return Ok(());
                }
            }
        }
        for (id, _) in self.inner.loose.list()? {
            if !in_journal.contains(&id)
                && !held_by_any(&self.state.packs, &id)?
                && !self.state.is_purged(&id)?
            {
                outside.push(id);
            }
        }
        // What was loose when this snapshot was taken may be in a pack by now.
        if let Some(newer) = self.newer()? {
            let seen: HashSet<Id> = outside.iter().copied().collect();
            for id in newer.ids_of_packs_beyond(&self.state.packs)? {
                if !seen.contains(&id) {
                    outside.push(id);
                }
            }
        }
        for id in outside {
            let topology = self.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            if visit(&id, &topology)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn reference(&self, name: &RefName) -> Result<Option<RefValue>> {
        match self.follows {
            true => self.find_reference(name),
            false => self.find_reference_once(name),
        }
    }

    fn references(&self, prefix: &str) -> Result<Vec<(RefName, RefValue)>> {
        let refs = self.state.references(self.state.segments.len(), self.end, prefix)?;
        Ok(refs.into_iter().collect())
    }

    fn session_ids(&self) -> Result<Vec<String>> {
        self.state.session_ids(self.end)
    }

    fn sessions_named(&self, name: &str) -> Result<Vec<String>> {
        self.find_sessions_named(name)
    }

    fn operations(
        &self,
        visit: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.visit_operations(visit)
    }

    fn path(&self, from: &Id, limit: usize) -> Result<Vec<Id>> {
        self.walk_ids(from, limit)
    }

    fn labels(&self, from: &Id, limit: usize) -> Result<Vec<(Id, Arc<str>)>> {
        self.walk_labels(from, limit)
    }

    fn nearest(&self, from: &Id, labels: &[&str], limit: usize) -> Result<Option<Id>> {
        self.walk_to_label(from, labels, limit)
    }

    fn read_path(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        self.walk_objects(from, visit)
    }
}
