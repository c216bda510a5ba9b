//! Removing for good: a store rewritten without some of its objects, in one step.
//!
//! Who redacts or forgets decides as a [`Rewriter`] what goes and what takes its place. The rest is
//! done here, under the maintenance lock:
//!
//! 1. All objects in packs and loose files are shown; what replaces some of them becomes a pack,
//!    and every pack that has something which goes is written anew without it. Others write
//!    meanwhile. A crash leaves files that no manifest names.
//! 2. Under the writer lock: what was written meanwhile is shown too. Then a refs snapshot, a file
//!    of all operations, the list of what is refused from now on, the list of loose files that no
//!    longer count, and one manifest that names these, the new packs, and a new segment. All refs
//!    move with it at once. A crash leaves the store before or the store after.
//! 3. Loose files, mirrors, caches and all files that no manifest names are removed, and their
//!    directories synced. Then a manifest without the second list. A crash leaves the list; who
//!    writes next, or maintains, does this step again.
//!
//! Nothing is overwritten: files are removed, and what becomes of their blocks is the file system's
//! business. Not here: what is looked for, and how an object is rewritten.

mod inspect;
mod repacked;
mod residue;

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::manifest::{FileRecord, LogRecord, Manifest};
use crate::store::local::oplog::OperationLog;
use crate::store::local::pack::held_by_any;
use crate::store::local::pack::{PackOptions, PackWriter};
use crate::store::local::packed_refs::PackedRefs;
use crate::store::local::refused::{IdList, PURGE_MAGIC, REFUSED_MAGIC};
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::state::State;
use crate::store::local::{Inner, LocalStore};
use crate::store::{Operation, RefMove, RefName, RefValue, Snapshot};

pub use inspect::Part;
use repacked::Repacked;

/// Takes the objects that come.
pub type Put<'a> = &'a mut dyn FnMut(NewObject) -> Result<()>;

/// All operations of a store, oldest first.
pub type Operations = Vec<(Operation, Vec<RefMove>)>;

/// Decides what goes for good, and what takes its place.
pub trait Rewriter {
    /// Is shown an object, perhaps more than once.
    fn see(&mut self, id: &Id, kind: Kind, content: &[u8]) -> Result<()>;

    /// Makes what takes the place of objects that go. All that they link was shown before; called
    /// again when more was shown.
    fn replace(&mut self, snapshot: &dyn Snapshot, put: Put<'_>) -> Result<()>;

    /// Says whether an object goes.
    fn drops(&self, id: &Id) -> bool;

    /// Says what becomes of the refs and the operations; nothing if nothing has to be done. Comes
    /// last, when nobody else writes.
    fn finish(
        &mut self,
        snapshot: &dyn Snapshot,
        refs: BTreeMap<RefName, RefValue>,
        operations: Operations,
        put: Put<'_>,
    ) -> Result<Option<Ending>>;
}

/// What a store is left with beside its objects.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// All refs.
    pub refs: BTreeMap<RefName, RefValue>,
    /// All operations.
    pub operations: Operations,
    /// The objects that may not come back.
    pub refused: Vec<Id>,
}

impl LocalStore {
    /// Rewrites the store as a rewriter decides, and says whether anything had to be done.
    ///
    /// With `dry_run` the rewriter is asked all the same, and nothing is written.
    pub fn rewrite(&self, rewriter: &mut dyn Rewriter, dry_run: bool) -> Result<bool> {
        let inner = &self.inner;
        if dry_run {
            return inner.rehearse(rewriter);
        }
        inner.check_writable()?;
        inner.alone_or_wait(|inner| inner.rewrite_all(rewriter))
    }

    /// Says whether old bytes are left to be removed, because a rewrite was cut off at it.
    pub fn has_purge_left(&self) -> Result<bool> {
        Ok(self.inner.refresh()?.purge.is_some())
    }

    /// Gives how many objects are refused.
    pub fn refused(&self) -> Result<u64> {
        Ok(self.inner.refresh()?.refused.as_ref().map_or(0, |list| list.len()))
    }
}

impl Inner {
    /// Asks a rewriter what it would do.
    fn rehearse(self: &Arc<Inner>, rewriter: &mut dyn Rewriter) -> Result<bool> {
        let state = self.refresh()?;
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(&state));
        self.show_packs(&state, rewriter)?;
        self.show_loose(&state, rewriter, &mut HashSet::new())?;
        self.show_journal(&state, rewriter)?;
        let put: Put<'_> = &mut |_| Ok(());
        rewriter.replace(&snapshot, put)?;
        let refs = state.references(state.segments.len(), u64::MAX, "")?;
        let operations = self.all_operations(&state)?;
        Ok(rewriter.finish(&snapshot, refs, operations, put)?.is_some())
    }

    fn rewrite_all(self: &Arc<Inner>, rewriter: &mut dyn Rewriter) -> Result<bool> {
        self.reload()?;
        self.finish_purge()?;
        self.checkpoint()?;
        let state = self.refresh()?;
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(&state));
        let mut seen_loose = HashSet::new();
        self.show_packs(&state, rewriter)?;
        self.show_loose(&state, rewriter, &mut seen_loose)?;
        let mut bulk = self.pack_writer_folding()?;
        rewriter.replace(&snapshot, &mut |object| self.put_new(&mut bulk, &object))?;
        let mut packs = Repacked::default();
        self.leave_out(&state, rewriter, &mut packs)?;
        if bulk.len() > 0 {
            packs.added.push(self.finish_pack(bulk, &state)?);
        }
        if self.swap(rewriter, packs, &mut seen_loose)? {
            self.finish_purge()?;
            return Ok(true);
        }
        self.sweep()?;
        Ok(false)
    }

    /// Puts the rewritten store in the place of the one before, under the writer lock.
    fn swap(
        self: &Arc<Inner>,
        rewriter: &mut dyn Rewriter,
        mut packs: Repacked,
        seen_loose: &mut HashSet<Id>,
    ) -> Result<bool> {
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let state = self.rest(&state)?;
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(&state));
        self.show_loose(&state, rewriter, seen_loose)?;
        self.show_journal(&state, rewriter)?;
        let mut fresh = self.pack_writer_folding()?;
        rewriter.replace(&snapshot, &mut |object| self.put_new(&mut fresh, &object))?;
        self.leave_out(&state, rewriter, &mut packs)?;
        self.keep_journal(&state, rewriter, &mut fresh)?;
        for id in packs.left_out.iter().filter(|id| !rewriter.drops(id)) {
            // Somebody has used it again since it was left out.
            let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
            fresh.add(id, stored.kind, &stored.content)?;
        }
        let refs = state.references(state.segments.len(), u64::MAX, "")?;
        let operations = self.all_operations(&state)?;
        let put: Put<'_> = &mut |object| self.put_new(&mut fresh, &object);
        let Some(ending) = rewriter.finish(&snapshot, refs, operations, put)? else {
            guard.release(state.manifest.generation)?;
            return Ok(false);
        };
        let mut manifest = state.manifest.clone();
        packs.apply(&mut manifest);
        if fresh.len() > 0 {
            let between = State::open(self.access(), manifest.clone(), Some(&state))?;
            manifest.packs.push(self.finish_pack(fresh, &Arc::new(between))?);
        }
        let purged = self.loose_that_go(rewriter)?;
        self.write_ending(&state, &mut manifest, &ending, &purged)?;
        manifest.segments.drain(..manifest.segments.len() - 1);
        manifest.generation += 1;
        let generation = manifest.generation;
        let loading = self.loading();
        self.publish(&manifest)?;
        self.install(Arc::new(State::open(self.access(), manifest, Some(&state))?));
        drop(loading);
        self.topologies.lock().unwrap_or_else(PoisonError::into_inner).clear();
        guard.release(generation)?;
        Ok(true)
    }

    /// Writes the files that a manifest names beside packs and segments, and names them.
    fn write_ending(
        &self,
        state: &State,
        manifest: &mut Manifest,
        ending: &Ending,
        purged: &[Id],
    ) -> Result<()> {
        let (disk, layout, number) = (&self.disk, &self.layout, manifest.generation + 1);
        let bytes = PackedRefs::write(disk, &layout.packed_refs(number), &ending.refs)?;
        manifest.refs = Some(FileRecord { number, bytes });
        manifest.logs.clear();
        if !ending.operations.is_empty() {
            let bytes = OperationLog::write(disk, &layout.log(number), &ending.operations)?;
            let operations = ending.operations.len() as u64;
            let file = FileRecord { number, bytes };
            manifest.logs.push(LogRecord { file, operations });
        }
        let mut refused = ending.refused.clone();
        if let Some(known) = &state.refused {
            refused.extend(known.ids()?);
        }
        refused.sort_unstable();
        refused.dedup();
        // What takes the place of something may be what went once before.
        let made = State::open(self.access(), manifest.clone(), Some(state))?;
        let mut is_made = Vec::with_capacity(refused.len());
        for id in &refused {
            let is_loose = purged.binary_search(id).is_err() && self.loose.contains(id)?;
            is_made.push(is_loose || held_by_any(&made.packs, id)?);
        }
        let mut is_made = is_made.into_iter();
        refused.retain(|_| is_made.next() == Some(false));
        if !refused.is_empty() {
            let bytes = IdList::write(disk, &layout.refused(number), REFUSED_MAGIC, &refused)?;
            manifest.refused = Some(FileRecord { number, bytes });
        }
        let bytes = IdList::write(disk, &layout.purge(number), PURGE_MAGIC, purged)?;
        manifest.purge = Some(FileRecord { number, bytes });
        Ok(())
    }

    /// Lists the loose files that go, cruft too.
    fn loose_that_go(&self, rewriter: &dyn Rewriter) -> Result<Vec<Id>> {
        let listed = self.loose.list()?.into_iter().map(|(id, _)| id);
        let aside = self.loose.list_aside()?.into_iter().map(|aside| aside.id);
        let mut going: Vec<Id> = listed.chain(aside).filter(|id| rewriter.drops(id)).collect();
        going.sort_unstable();
        going.dedup();
        Ok(going)
    }

    /// Writes every pack anew that has something which goes, and notes what was left out.
    fn leave_out(
        self: &Arc<Inner>,
        state: &Arc<State>,
        rewriter: &dyn Rewriter,
        packs: &mut Repacked,
    ) -> Result<()> {
        for pack in state.all_packs() {
            let goes = |id: &Id| rewriter.drops(id) && !packs.left_out.contains(id);
            let ids = (0..pack.len()).map(|row| pack.id(row)).collect::<Result<Vec<Id>>>()?;
            if !ids.iter().any(goes) {
                continue;
            }
            let is_kept = |row: u32| !rewriter.drops(&ids[row as usize]);
            let kept = self.rewrite(pack, &is_kept, state)?;
            packs.replace(pack.info().id, kept);
            packs.left_out.extend(ids.into_iter().filter(|id| rewriter.drops(id)));
        }
        Ok(())
    }

    /// Packs what the journal has and what stays.
    fn keep_journal(
        &self,
        state: &State,
        rewriter: &dyn Rewriter,
        fresh: &mut PackWriter,
    ) -> Result<()> {
        for segment in &state.segments {
            for (id, place) in segment.in_order() {
                if !rewriter.drops(&id) && !held_by_any(&state.packs, &id)? {
                    fresh.add(&id, place.kind, &segment.read(&id, &place)?)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a pack for objects that link one another.
    fn pack_writer_folding(&self) -> Result<PackWriter> {
        let options = PackOptions { fold: true, ..PackOptions::default() };
        PackWriter::new(Arc::clone(&self.disk), &self.layout.pack_dir(), options)
    }

    fn put_new(&self, pack: &mut PackWriter, object: &NewObject) -> Result<()> {
        match object.content.len() as u64 >= LOOSE_BYTES_MIN {
            true => self.loose.put(&object.id, object.kind, &object.content),
            false => pack.add(&object.id, object.kind, &object.content),
        }
    }

    fn show_packs(&self, state: &State, rewriter: &mut dyn Rewriter) -> Result<()> {
        for pack in state.all_packs() {
            pack.for_each(&mut |id, kind, content| {
                rewriter.see(id, kind, content)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }

    fn show_loose(
        &self,
        state: &State,
        rewriter: &mut dyn Rewriter,
        seen: &mut HashSet<Id>,
    ) -> Result<()> {
        for (id, _) in self.loose.list()? {
            if seen.insert(id)
                && !state.is_purged(&id)?
                && let Some(stored) = self.loose.get(&id)?
            {
                rewriter.see(&id, stored.kind, &stored.content)?;
            }
        }
        for aside in self.loose.list_aside()? {
            if seen.insert(aside.id)
                && !state.is_purged(&aside.id)?
                && let Some(stored) = self.loose.get_aside(&aside.id)?
            {
                rewriter.see(&aside.id, stored.kind, &stored.content)?;
            }
        }
        Ok(())
    }

    fn show_journal(&self, state: &State, rewriter: &mut dyn Rewriter) -> Result<()> {
        for segment in &state.segments {
            for (id, place) in segment.in_order() {
                rewriter.see(&id, place.kind, &segment.read(&id, &place)?)?;
            }
        }
        Ok(())
    }

    /// Lists all operations, oldest first.
    fn all_operations(self: &Arc<Inner>, state: &Arc<State>) -> Result<Operations> {
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(state));
        let mut operations = Operations::new();
        snapshot.operations(&mut |record| {
            operations.push((record.operation.clone(), record.moves.clone()));
            Ok(ControlFlow::Continue(()))
        })?;
        operations.reverse();
        Ok(operations)
    }
}
