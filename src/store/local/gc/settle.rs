//! Setting aside, bringing back, dropping.

use super::Collection;
use super::mark::{Marker, Place};
use super::pack::Kept;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::pack::{PackInfo, PackOptions};
use crate::store::local::state::State;

/// So many files are set aside while the writer lock is held.
const FILES_AT_ONCE: usize = 64;

impl Collection<'_> {
    /// Sets the loose files aside that nothing leads to.
    pub(super) fn set_aside_loose(&mut self, marker: &mut Marker<'_>) -> Result<()> {
        let unreached = marker.singles.iter().filter(|(_, single)| {
            matches!(single.place, Place::Loose { .. }) && !single.is_reached
        });
        let mut unreached: Vec<Id> = unreached.map(|(id, _)| *id).collect();
        unreached.sort_unstable();
        for ids in unreached.chunks(FILES_AT_ONCE) {
            if self.is_out_of_time() {
                break;
            }
            for id in ids {
                if let Some(kind) = self.inner.loose.kind(id)? {
                    self.report.set_aside.add(kind);
                }
            }
            self.move_files(ids)?;
            for id in ids {
                marker.is_aside(id);
            }
        }
        Ok(())
    }

    /// Moves loose files, after a manifest was published that makes writers look again.
    fn move_files(&self, ids: &[Id]) -> Result<()> {
        let inner = self.inner;
        let mut writer = inner.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(inner.options.lock_timeout)?;
        let state = inner.catch_up(&guard, mirrors)?;
        let mut manifest = state.manifest.clone();
        manifest.moved += 1;
        manifest.generation += 1;
        let generation = manifest.generation;
        let loading = inner.loading();
        inner.publish(&manifest)?;
        inner.install(State::open(inner.access(), manifest, Some(&state))?.into());
        drop(loading);
        for id in ids {
            inner.loose.set_aside(id, self.options.now_ms)?;
        }
        // A thread of this process may have vouched for one of them meanwhile.
        inner.loose.forget_vouched();
        guard.release(generation)?;
        inner.loose.sync_aside(ids)
    }

    /// Marks from what was written since, and brings back what is reached.
    pub(super) fn settle(&mut self, marker: &mut Marker<'_>, kept: &mut Kept) -> Result<()> {
        marker.mark_since(&self.snapshot()?)?;
        self.bring_back(marker, kept)
    }

    /// Makes all that is cruft and was reached part of the store again.
    fn bring_back(&mut self, marker: &mut Marker<'_>, kept: &mut Kept) -> Result<()> {
        let state = self.inner.refresh()?;
        let options = PackOptions { fold: true, ..PackOptions::default() };
        let mut writer = None;
        for (marked, kept) in marker.packs.iter().zip(kept.iter_mut()) {
            let Some(stayed) = kept.as_mut().filter(|it| it.count() < marked.reached.count())
            else {
                continue;
            };
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(self.inner.new_pack(options)?),
            };
            for block in 0..marked.pack.blocks() {
                writer.add_block(&marked.pack, block, &mut |row| {
                    marked.reached.has(row) && !stayed.has(row)
                })?;
            }
            *stayed = marked.reached.clone();
        }
        if let Some(writer) = writer {
            self.report.brought_back += writer.len() as u64;
            let info = self.inner.finish_pack(writer, &state)?;
            self.inner.edit_manifest(|manifest| manifest.packs.push(info))?;
        }
        for (id, single) in &mut marker.singles {
            if single.place == Place::Aside
                && single.is_reached
                && let Some(stored) = self.inner.loose.get_aside(id)?
            {
                self.inner.loose.put(id, stored.kind, &stored.content)?;
                single.place = Place::Loose { bytes: stored.content.len() as u64 };
                self.report.brought_back += 1;
                while let Some(aside) = self.inner.loose.find_aside(id)? {
                    self.inner.loose.remove_aside(&aside)?;
                }
            }
        }
        Ok(())
    }

    /// Says whether there is cruft that is old enough to be dropped.
    pub(super) fn has_old_cruft(&self) -> Result<bool> {
        let prune_ms = self.options.prune_ms;
        let packs = &self.inner.refresh()?.manifest.cruft;
        let mut loose = self.inner.loose.list_aside()?.into_iter();
        Ok(packs.iter().any(|record| record.since_ms <= prune_ms)
            || loose.any(|aside| aside.since_ms <= prune_ms))
    }

    /// Drops the cruft that is old enough. What was reached of it has been brought back, and
    /// nothing that writers see leads into it: see [`Marker::is_closed`].
    pub(super) fn drop_old(&mut self, marker: &Marker<'_>) -> Result<()> {
        let prune_ms = self.options.prune_ms;
        let manifest = self.inner.refresh()?.manifest.clone();
        let old = manifest.cruft.iter().filter(|record| record.since_ms <= prune_ms);
        let old: Vec<PackInfo> = old.map(|record| record.pack).collect();
        if !old.is_empty() {
            self.inner.edit_manifest(|manifest| {
                manifest.cruft.retain(|record| record.since_ms > prune_ms);
            })?;
        }
        for info in old {
            let garbage = self.garbage.get(&info.id).copied();
            self.report.dropped += garbage.unwrap_or(info.objects - marker.back_of(&info.id));
        }
        for aside in self.inner.loose.list_aside()? {
            if aside.since_ms <= prune_ms {
                self.inner.loose.remove_aside(&aside)?;
                self.report.dropped += 1;
            }
        }
        Ok(())
    }

    /// Counts the cruft that is old enough to be dropped, without what would be brought back.
    fn count_old(&self, marker: &Marker<'_>) -> Result<u64> {
        let prune_ms = self.options.prune_ms;
        let mut old = 0;
        let manifest = self.inner.refresh()?.manifest.clone();
        for record in manifest.cruft.iter().filter(|record| record.since_ms <= prune_ms) {
            old += record.pack.objects - marker.back_of(&record.pack.id);
        }
        // Where the same object was written again, that one stays, and this one goes.
        let is_back = |id: &Id| {
            let single = marker.singles.get(id);
            single.is_some_and(|single| single.is_reached && single.place == Place::Aside)
        };
        for aside in self.inner.loose.list_aside()? {
            old += u64::from(aside.since_ms <= prune_ms && !is_back(&aside.id));
        }
        Ok(old)
    }

    /// Counts what a run would set aside and drop.
    pub(super) fn count(&mut self, marker: &Marker<'_>) -> Result<()> {
        for (number, marked) in marker.packs.iter().enumerate() {
            let is_live = number < marker.live;
            for row in (0..marked.pack.len()).filter(|row| marked.reached.has(*row) != is_live) {
                match is_live {
                    true => self.report.set_aside.add(marked.pack.kind(row)?),
                    false => self.report.brought_back += 1,
                }
            }
        }
        let snapshot = self.snapshot()?;
        for (id, single) in &marker.singles {
            match (single.place, single.is_reached) {
                (Place::Aside, true) => self.report.brought_back += 1,
                (Place::Journal | Place::Loose { .. }, false) => {
                    let kind: Option<Kind> = crate::store::Snapshot::kinds(&snapshot, &[*id])?[0];
                    self.report.set_aside.add(kind.ok_or(Error::ObjectMissing { id: *id })?);
                }
                _ => {}
            }
        }
        self.report.dropped = self.count_old(marker)?;
        if self.options.drops_now() {
            self.report.dropped += self.report.set_aside.count();
        }
        Ok(())
    }
}
