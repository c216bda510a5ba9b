//! Maintenance that a store does by itself: closed segments become packs, small packs become large.
//!
//! So a store that only ever gets appended to stays quick to open and to walk. One process at a
//! time does it, under a lock of its own; writers wait only while the manifest is swapped. A crash
//! leaves files that no manifest names, which the next maintenance removes.

mod merge;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::disk::{self, DiskFile};
use crate::error::{Error, Result};
use crate::store::local::Inner;
use crate::store::local::durable::Position;
use crate::store::local::layout::{CURRENT, Layout, PURGE, REFUSED, is_aside};
use crate::store::local::lock::LockFile;
use crate::store::local::manifest::{FileRecord, LogRecord, Manifest};
use crate::store::local::oplog::OperationLog;
use crate::store::local::pack::{PackFile, PackInfo, PackOptions, PackWriter, held_by_any};
use crate::store::local::packed_refs::PackedRefs;
use crate::store::local::paged::{Named, Ready};
use crate::store::local::segment::Segment;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::state::State;
use crate::store::{Operation, RefMove};

/// That many files of operations become one.
const MERGE_LOGS: usize = 16;

/// Says whether there is maintenance to do, but for the spare segment.
pub(crate) fn is_due(state: &State) -> bool {
    state.segments.len() > 1 || state.purge.is_some()
}

/// What takes the place of closed segments, but for their objects.
pub(crate) struct SealedNames {
    sequences: HashSet<u64>,
    refs: FileRecord,
    /// Operations, and whether those of all older files are among them.
    log: Option<(LogRecord, bool)>,
}

impl SealedNames {
    /// Puts it into a manifest, in the place of the segments.
    pub(crate) fn replace(self, manifest: &mut Manifest) {
        manifest.segments.retain(|record| !self.sequences.contains(&record.sequence));
        manifest.refs = Some(self.refs);
        match self.log {
            Some((log, true)) => manifest.logs = vec![log],
            Some((log, false)) => manifest.logs.push(log),
            None => {}
        }
    }
}

impl Inner {
    /// Does what is due, unless another process is at it, and says whether it did.
    pub(crate) fn maintain(self: &Arc<Inner>) -> Result<bool> {
        let done = self.alone(|inner| {
            inner.finish_purge()?;
            inner.prepare_spare()?;
            inner.seal(PackOptions::default())?;
            inner.merge_packs()?;
            inner.heal_graphs()?;
            inner.sweep()
        })?;
        Ok(done.is_some())
    }

    /// Runs maintenance work if no other process does any; `None` if one does.
    pub(crate) fn alone<T>(
        self: &Arc<Inner>,
        work: impl FnOnce(&Arc<Inner>) -> Result<T>,
    ) -> Result<Option<T>> {
        let lock = LockFile::open(&*self.disk, self.layout.maintenance_lock())?;
        let Some(guard) = lock.try_acquire()? else {
            return Ok(None);
        };
        let done = work(self)?;
        guard.release(0)?;
        Ok(Some(done))
    }

    /// Runs maintenance work, waiting for another process that is at it.
    pub(crate) fn alone_or_wait<T>(
        self: &Arc<Inner>,
        work: impl FnOnce(&Arc<Inner>) -> Result<T>,
    ) -> Result<T> {
        let lock = LockFile::open(&*self.disk, self.layout.maintenance_lock())?;
        let guard = lock.acquire(self.options.lock_timeout)?;
        let done = work(self)?;
        guard.release(0)?;
        Ok(done)
    }

    /// Turns the closed segments into a pack, a refs snapshot and a file of operations.
    pub(crate) fn seal(self: &Arc<Inner>, options: PackOptions) -> Result<()> {
        // Another process may have sealed what this handle still knows as segments.
        self.reload()?;
        let state = self.refresh()?;
        let count = state.segments.len() - 1;
        let sealed = &state.segments[..count];
        if sealed.is_empty() {
            return Ok(());
        }
        let mut ready = Ready::default();
        let pack = match self.pack_segments(&state, sealed, options, &mut ready) {
            // In a thread of its own nobody knows whose object it was.
            Err(Error::InvalidObject { .. }) if options.threads > 0 => {
                self.pack_segments(&state, sealed, PackOptions::default(), &mut ready)?
            }
            packed => packed?,
        };
        let names = self.seal_names(&state, count, &mut ready)?;
        let named = ready.name(&*self.disk)?;
        self.edit_manifest_after(&named, |manifest| {
            manifest.packs.extend(pack);
            names.replace(manifest);
        })
    }

    /// Prepares what takes the place of the refs and operations in the first closed segments.
    pub(crate) fn seal_names(
        &self,
        state: &State,
        count: usize,
        ready: &mut Ready,
    ) -> Result<SealedNames> {
        let number = self.refresh()?.manifest.generation + 1;
        let sealed = &state.segments[..count];
        let refs = state.references(count, u64::MAX, "")?;
        let path = self.layout.packed_refs(number);
        let bytes = PackedRefs::prepare(&self.disk, &path, &refs, ready)?;
        let log = self.log_operations(state, sealed, number, ready)?;
        let sequences = sealed.iter().map(|segment| segment.sequence).collect();
        Ok(SealedNames { sequences, refs: FileRecord { number, bytes }, log })
    }

    /// Packs the objects of closed segments, in the order in which they were written.
    fn pack_segments(
        self: &Arc<Inner>,
        state: &Arc<State>,
        sealed: &[Arc<Segment>],
        options: PackOptions,
        ready: &mut Ready,
    ) -> Result<Option<PackInfo>> {
        let mut writer = self.new_pack(options)?;
        let mut empty = true;
        for about in [true, false] {
            for segment in sealed {
                segment.for_each_of(
                    &|kind| kind.is_about_sessions() == about,
                    &mut |id, place, content| {
                        if held_by_any(&state.packs, id)? {
                            return Ok(());
                        }
                        empty = false;
                        // The writer hashes it; what is wrong with it is the segment's fault.
                        let added = writer.add(id, place.kind, content);
                        added.or_else(|error| segment.check(id, place, content).and(Err(error)))
                    },
                )?;
            }
            if about {
                writer.end_part()?;
            }
        }
        if empty {
            return Ok(None);
        }
        self.finish_pack_into(writer, state, ready).map(Some)
    }

    /// Begins a pack; one that gets blocks of a form may have that form itself.
    fn pack_writer(&self, fold: bool, dictionaries: bool) -> Result<PackWriter> {
        let options = PackOptions { fold, dictionaries, ..PackOptions::default() };
        PackWriter::new(Arc::clone(&self.disk), &self.layout.pack_dir(), options)
    }

    /// Finishes a pack; the depths that its graph needs come from the whole store.
    pub(crate) fn finish_pack(
        self: &Arc<Inner>,
        writer: PackWriter,
        state: &Arc<State>,
    ) -> Result<PackInfo> {
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(state));
        writer.finish(&mut |id| snapshot.depth_of(id))
    }

    /// Finishes a pack whose files get their names with others.
    pub(crate) fn finish_pack_into(
        self: &Arc<Inner>,
        writer: PackWriter,
        state: &Arc<State>,
        ready: &mut Ready,
    ) -> Result<PackInfo> {
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(state));
        writer.finish_into(&mut |id| snapshot.depth_of(id), ready)
    }

    /// Writes the operations of closed segments to a file; all operations, if there are many files.
    fn log_operations(
        &self,
        state: &State,
        sealed: &[Arc<Segment>],
        number: u64,
        ready: &mut Ready,
    ) -> Result<Option<(LogRecord, bool)>> {
        let merge = state.logs.len() >= MERGE_LOGS;
        let mut operations: Vec<(Operation, Vec<RefMove>)> = Vec::new();
        if merge {
            for log in state.logs.iter().rev() {
                let _ = log.for_each(&mut |record| {
                    operations.push((record.operation.clone(), record.moves.clone()));
                    Ok(std::ops::ControlFlow::Continue(()))
                })?;
            }
            operations.reverse();
        }
        for segment in sealed {
            let ledger = segment.ledger();
            let fresh = ledger.operations.iter();
            operations
                .extend(fresh.map(|(_, operation, moves)| (operation.clone(), moves.clone())));
        }
        if operations.is_empty() {
            return Ok(None);
        }
        let path = self.layout.log(number);
        let bytes = OperationLog::prepare(&self.disk, &path, &operations, ready)?;
        let file = FileRecord { number, bytes };
        Ok(Some((LogRecord { file, operations: operations.len() as u64 }, merge)))
    }

    /// Writes the graph files again that are missing, or were found damaged.
    pub(crate) fn heal_graphs(self: &Arc<Inner>) -> Result<()> {
        let state = self.state();
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(&state));
        for pack in &state.packs {
            if pack.needs_graph() {
                pack.heal_graph(&mut |id| snapshot.depth_of(id))?;
            }
        }
        Ok(())
    }

    /// Swaps the manifest for an edited one, under the writer lock.
    pub(crate) fn edit_manifest(self: &Arc<Inner>, edit: impl FnOnce(&mut Manifest)) -> Result<()> {
        self.edit_manifest_after(&Named::default(), edit)
    }

    /// Does as [`Inner::edit_manifest`], after files that got their names are durable, which it
    /// sees to.
    pub(crate) fn edit_manifest_after(
        self: &Arc<Inner>,
        named: &Named,
        edit: impl FnOnce(&mut Manifest),
    ) -> Result<()> {
        self.check_writable()?;
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let mut manifest = state.manifest.clone();
        edit(&mut manifest);
        manifest.generation += 1;
        let loading = self.loading();
        self.publish_after(&manifest, &mut |file| {
            named.sync_with(&*self.disk, &[file], &[]).map_err(|(_, error)| error)
        })?;
        let generation = manifest.generation;
        let state = State::open(self.access(), manifest, Some(&state))?;
        self.install(Arc::new(state));
        drop(loading);
        guard.release(generation).map(drop)
    }

    /// Closes the journal if it still ends at a place, with an edited manifest that names no
    /// segment of it, after files that got their names are durable; and says whether it did.
    ///
    /// A crash leaves a closed segment that the manifest calls open, as in a rotation.
    pub(crate) fn close_journal_at(
        self: &Arc<Inner>,
        end: Position,
        named: &Named,
        edit: impl FnOnce(&mut Manifest),
    ) -> Result<bool> {
        self.check_writable()?;
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let mut state = self.catch_up(&guard, mirrors)?;
        let is_there = state.open_segment().end() == end;
        if is_there {
            state = self.rest_after(&state, named, Some(Box::new(edit)))?;
        }
        guard.release(state.manifest.generation)?;
        Ok(is_there)
    }

    /// Removes the files that a crash or an older manifest left.
    ///
    /// Under the writer lock nobody is about to name one of them; the maintenance lock, which the
    /// caller holds, keeps packs and snapshots in the making out of it. So these go when the writer
    /// lock is free, and so do segments that were sealed, which nobody names again. A segment that
    /// no manifest came to name gets its name from the next rotation, and has to go before.
    pub(crate) fn sweep(self: &Arc<Inner>) -> Result<()> {
        let later = self.sweep_unnamed()?;
        self.remove_all(&later)
    }

    /// Does as [`Inner::sweep`], but where that is not under the writer lock, files lose their
    /// names only; what holds them is given, and their room is free when that is dropped.
    pub(crate) fn sweep_held(self: &Arc<Inner>) -> Result<Vec<Box<dyn DiskFile>>> {
        let later = self.sweep_unnamed()?;
        let removed = disk::remove_held(&*self.disk, &later);
        removed.map_err(|(number, error)| Error::io("remove", &later[number])(error))
    }

    /// Removes the files that have to go under the writer lock, and lists those that may go later.
    fn sweep_unnamed(self: &Arc<Inner>) -> Result<Vec<PathBuf>> {
        if self.disk.len(&self.layout.pending()).is_ok() {
            // A repair was cut off: what no manifest names may be all that is left of something.
            return Ok(Vec::new());
        }
        let is_first = !self.swept.swap(true, Ordering::Relaxed);
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let unnamed = self.unnamed_files(&state, is_first)?;
        let layout = &self.layout;
        let maintained = [layout.pack_dir(), layout.refs_dir(), layout.logs_dir()];
        let (journal, first) = (layout.journal_dir(), layout.segment(state.segments[0].sequence));
        let (later, now): (Vec<_>, Vec<_>) = unnamed.into_iter().partition(|path| {
            path.starts_with(&journal) && *path < first
                || maintained.iter().any(|dir| path.starts_with(dir))
        });
        self.remove_all(&now)?;
        guard.release(state.manifest.generation)?;
        Ok(later)
    }

    fn remove_all(&self, paths: &[PathBuf]) -> Result<()> {
        let removed = disk::remove_all(&*self.disk, paths);
        removed.map_err(|(number, error)| Error::io("remove", &paths[number])(error))
    }

    /// Lists the files that the manifest does not name, and what was being written beside it or
    /// beside mirrors: under the writer lock nobody is at that. A spare segment in the making is
    /// left out unless `is_first`.
    fn unnamed_files(&self, state: &State, is_first: bool) -> Result<Vec<PathBuf>> {
        let layout = &self.layout;
        let named = named_files(layout, &state.manifest);
        let spare = format!("{}.", layout.spare().display());
        let is_made = |path: &PathBuf| !is_first && path.to_string_lossy().starts_with(&spare);
        let mut unnamed = Vec::new();
        let dirs = [layout.pack_dir(), layout.journal_dir(), layout.refs_dir(), layout.logs_dir()];
        for dir in dirs {
            for entry in self.disk.list_names(&dir).map_err(Error::io("list", &dir))? {
                let mirror = dir == layout.refs_dir()
                    && !entry.name.starts_with("packed-")
                    && !is_aside(&entry.name);
                let path = dir.join(&entry.name);
                if !entry.is_dir && !mirror && !named.contains(&path) && !is_made(&path) {
                    unnamed.push(path);
                }
            }
        }
        let root = layout.root();
        for entry in self.disk.list_names(root).map_err(Error::io("list", root))? {
            if !entry.is_dir && entry.name.starts_with(CURRENT) && is_aside(&entry.name) {
                unnamed.push(root.join(entry.name));
            }
        }
        let dir = layout.objects_dir();
        for entry in self.disk.list_names(&dir).map_err(Error::io("list", &dir))? {
            let is_list = [REFUSED, PURGE].iter().any(|begin| entry.name.starts_with(begin));
            let path = dir.join(&entry.name);
            if !entry.is_dir && is_list && !named.contains(&path) {
                unnamed.push(path);
            }
        }
        Ok(unnamed)
    }
}

/// Lists every file that a manifest names, and those that stand beside the journal.
pub(crate) fn named_files(layout: &Layout, manifest: &Manifest) -> HashSet<PathBuf> {
    let mut named = HashSet::from([layout.spare(), layout.synced()]);
    let segments = manifest.segments.iter();
    named.extend(segments.map(|record| layout.segment(record.sequence)));
    let refs = manifest.refs.iter();
    named.extend(refs.map(|record| layout.packed_refs(record.number)));
    let logs = manifest.logs.iter();
    named.extend(logs.map(|record| layout.log(record.file.number)));
    named.extend(manifest.refused.iter().map(|record| layout.refused(record.number)));
    named.extend(manifest.purge.iter().map(|record| layout.purge(record.number)));
    let cruft = manifest.cruft.iter().map(|record| &record.pack);
    for info in manifest.packs.iter().chain(cruft) {
        named.extend(PackFile::ALL.map(|file| file.path(&layout.pack_dir(), &info.id)));
    }
    named
}

#[cfg(test)]
mod tests;
