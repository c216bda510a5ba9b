//! From one journal segment to the next; and what follows a crash, which is the same.
//!
//! Under the lock: a closing group, the old segment and the new one made durable, and the manifest
//! that names it. After a crash the old segment is closed where its last whole group ends;
//! nothing in it is overwritten, so recovery can crash and be repeated.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{self, Disk, SyncWith};
use crate::error::{Error, Result};
use crate::store::local::Inner;
use crate::store::local::group::{CLOSE_BYTES, NewGroup};
use crate::store::local::manifest::Manifest;
use crate::store::local::paged::Named;
use crate::store::local::segment::{HEADER_BYTES, Segment, Zeros};
use crate::store::local::state::{self, State};

/// A segment with this many objects is closed, so that opening the store stays quick. A long one
/// may have more.
const OBJECTS_MAX: u64 = 4096;
/// Who writes groups of this length writes many of them, and would wait at each rotation: then
/// segments grow to so many times the usual length, and hold so many such groups at once.
const BULK_GROUP_BYTES: u64 = 256 << 10;
const BULK_LENGTHS: u64 = 4;
const BULK_GROUPS: u64 = 8;
/// So many usual lengths of closed segments wait to be sealed while such a writer goes on: it needs
/// all processors for itself.
const BULK_LENGTHS_CLOSED: u64 = 8;
/// So long after its last large group, a writer is taken for such a one.
const BULK_PAUSE: Duration = Duration::from_secs(5);
/// A segment has room for so many objects of the length that they have: who writes long ones would
/// wait for a rotation after every few of them.
const OBJECTS_MIN: u64 = 32;
/// The open segment of a store that was tidied is this short: it waits for who writes next, and its
/// zeros are part of the store's size.
const RESTING_BYTES: u64 = 8 << 10;
/// Who finds no spare segment writes the zeros of one up to this length, and of a longer one says
/// how many there are: to write them takes milliseconds, under the lock.
///
/// After a segment of up to this length, the next one is not longer either unless a spare one is:
/// where zeros were only said, each write and each sync costs more.
const HURRIED_ZEROS_MAX: u64 = 512 << 10;

/// What else a manifest says than that one segment follows another.
pub(crate) type Edit<'e> = Box<dyn FnOnce(&mut Manifest) + 'e>;

/// Makes a file of zeros under its name, whole or not at all. Its directory is not synced.
pub(crate) fn allocate(disk: &dyn Disk, path: &Path, bytes: u64, zeros: Zeros) -> Result<()> {
    let aside = disk::aside(disk, path).map_err(Error::io("name", path))?;
    let allocated = Segment::allocate(disk, &aside, bytes, zeros)
        .and_then(|()| disk.rename(&aside, path).map_err(Error::io("rename", path)));
    if allocated.is_err() {
        // Best effort: the error that counts is the one above.
        let _ = disk.remove(&aside);
    }
    allocated
}

/// Gives the length of a segment that holds a group.
fn bytes_for(group_bytes: u64) -> u64 {
    group_bytes + HEADER_BYTES + CLOSE_BYTES
}

impl Inner {
    /// Says whether a segment holds as many objects as it should.
    pub(crate) fn is_crowded(&self, segment: &Segment) -> bool {
        let lengths = (segment.bytes() / self.options.segment_bytes_max.max(1)).max(1);
        segment.table().objects.len() as u64 >= OBJECTS_MAX.saturating_mul(lengths)
    }

    /// Closes the open segment and begins the next, with room for a group of `group_bytes`.
    pub(crate) fn rotate(&self, state: &State, group_bytes: u64) -> Result<Arc<State>> {
        let segment = state.open_segment();
        segment.append(&NewGroup::closing(), 0)?;
        let (usual, zeros_max) =
            (self.segment_bytes(segment, group_bytes), self.hurried_zeros_max());
        // A spare one will be there soon, where somebody prepares it.
        let is_short = self.options.background && segment.bytes() <= zeros_max;
        let bytes = match is_short && group_bytes < BULK_GROUP_BYTES {
            true => usual.min(zeros_max).max(bytes_for(group_bytes)),
            false => usual,
        };
        self.next_segment(state, bytes)
    }

    /// Notes that a group is written.
    pub(crate) fn note_group(&self, group_bytes: u64) {
        if group_bytes >= BULK_GROUP_BYTES {
            let mut last = self.last_large_group.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(Instant::now());
        }
    }

    /// Says whether this handle writes large groups.
    pub(crate) fn is_in_bulk(&self) -> bool {
        let last = self.last_large_group.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() < BULK_PAUSE)
    }

    /// Says whether what is closed should not wait for more before it is sealed: there is so much
    /// of it that opening takes a while.
    pub(crate) fn is_pressing(&self, state: &State) -> bool {
        let (_, closed) = state.segments.split_last().expect("a manifest names a segment");
        let bytes: u64 = closed.iter().map(|segment| segment.bytes()).sum();
        let lengths = if self.is_in_bulk() { BULK_LENGTHS_CLOSED } else { 1 };
        bytes >= self.options.segment_bytes_max.saturating_mul(lengths) || state.purge.is_some()
    }

    /// Says whether the journal holds nothing, and is as short as it can be.
    pub(crate) fn is_at_rest(&self, state: &State) -> bool {
        let open = state.open_segment();
        state.segments.len() == 1
            && open.end().offset == HEADER_BYTES
            && open.bytes() <= self.resting_bytes()
            && self.disk.len(&self.layout.spare()).is_err()
    }

    fn resting_bytes(&self) -> u64 {
        RESTING_BYTES.min(self.options.segment_bytes_min)
    }

    /// Closes the open segment and begins a short one, and drops what was prepared to follow.
    pub(crate) fn rest(&self, state: &State) -> Result<Arc<State>> {
        self.rest_after(state, &Named::default(), None)
    }

    /// Does as [`Inner::rest`], with an edited manifest, after files that got their names are
    /// durable, which it sees to.
    pub(crate) fn rest_after(
        &self,
        state: &State,
        named: &Named,
        edit: Option<Edit<'_>>,
    ) -> Result<Arc<State>> {
        // Who prepares one now would leave it behind.
        let _preparing = self.drop_spare()?;
        state.open_segment().append(&NewGroup::closing(), 0)?;
        self.next_segment_after(state, self.resting_bytes(), named, edit)
    }

    /// Removes what was prepared to follow the open segment; while what it gives is held, nobody of
    /// this process prepares another.
    fn drop_spare(&self) -> Result<MutexGuard<'_, ()>> {
        let spare = self.layout.spare();
        let preparing = self.preparing.lock().unwrap_or_else(PoisonError::into_inner);
        disk::remove_if_there(&*self.disk, &spare).map_err(Error::io("remove", spare))?;
        Ok(preparing)
    }

    /// Publishes the open segment as closed where it ends, and begins the next, of this length.
    pub(crate) fn next_segment(&self, state: &State, bytes: u64) -> Result<Arc<State>> {
        self.next_segment_after(state, bytes, &Named::default(), None)
    }

    /// Does as [`Inner::next_segment`], with an edited manifest, after files that got their names
    /// are durable.
    ///
    /// The old segment is made durable even where the manifest no longer names it: others see the
    /// new name before a crash would leave it, and take it that what they wrote there is durable.
    fn next_segment_after(
        &self,
        state: &State,
        bytes: u64,
        named: &Named,
        edit: Option<Edit<'_>>,
    ) -> Result<Arc<State>> {
        let old = state.open_segment();
        let mark = self.marked()?;
        old.write_again(state::marked_in(old, mark))?;
        let sequence = old.sequence + 1;
        let next = self.begin_segment(sequence, bytes)?;

        let followed = state.manifest.followed(old.closed_here(), sequence);
        let edited = edit.map(|edit| {
            let mut manifest = followed.clone();
            edit(&mut manifest);
            manifest
        });
        let loading = self.loading();
        self.publish_with(edited.as_ref().unwrap_or(&followed), [old, &next], named)?;

        let mut state = state.followed(followed, next);
        if let Some(manifest) = edited {
            state = State::open(self.access(), manifest, Some(&state))?;
        }
        let state = Arc::new(state);
        self.install(Arc::clone(&state));
        drop(loading);
        self.note_durable(state::begin_of(sequence), mark)?;
        Ok(state)
    }

    /// Publishes a manifest that says that one segment follows another, with both of them, and
    /// with files that got their names. Where a segment can't be made durable, the handle is dead;
    /// for lack of room it is not.
    fn publish_with(
        &self,
        manifest: &Manifest,
        segments: [&Segment; 2],
        named: &Named,
    ) -> Result<()> {
        let mut is_lost = false;
        let published = self.publish_after(manifest, &mut |current| {
            let files = [segments[0].file(), segments[1].file(), current];
            let synced = named.sync_with(&*self.disk, &files, &[&self.layout.journal_dir()]);
            synced.map_err(|(number, error)| {
                is_lost = number < segments.len();
                error
            })
        });
        published.map_err(|error| match error {
            Error::Io { source, .. } if is_lost => self.died(&segments[0].path, source),
            error => error,
        })
    }

    /// Publishes a manifest. Where that fails after it got its name, nobody knows which one a crash
    /// would leave.
    pub(crate) fn publish(&self, manifest: &Manifest) -> Result<()> {
        self.publish_after(manifest, &mut |file| file.sync_data())
    }

    /// Does as [`Inner::publish`]; the caller makes it durable, together with what it names.
    pub(crate) fn publish_after(&self, manifest: &Manifest, sync: &mut SyncWith<'_>) -> Result<()> {
        let path = self.layout.current();
        manifest.publish_after(&*self.disk, &path, sync).inspect_err(|_| {
            let older = |found: Manifest| found.generation < manifest.generation;
            if !Manifest::read(&*self.disk, &path).is_ok_and(older) {
                self.dead.store(true, Ordering::Release);
            }
        })
    }

    /// Makes the file of a segment: the spare one where it is long enough. It is not durable yet.
    fn begin_segment(&self, sequence: u64, bytes: u64) -> Result<Segment> {
        let disk = &*self.disk;
        let (path, spare) = (self.layout.segment(sequence), self.layout.spare());
        let renamed = disk.len(&spare).is_ok_and(|found| found >= bytes)
            && disk.rename(&spare, &path).is_ok();
        if !renamed {
            let zeros = match bytes > self.hurried_zeros_max() {
                true => Zeros::Said,
                false => Zeros::Written,
            };
            allocate(disk, &path, bytes, zeros)?;
        }
        Segment::begin_unsynced(disk, &path, sequence)
    }

    fn hurried_zeros_max(&self) -> u64 {
        self.options.segment_bytes_max.min(HURRIED_ZEROS_MAX)
    }

    /// Gives the length of the segment after this one.
    pub(crate) fn segment_bytes(&self, old: &Segment, group_bytes: u64) -> u64 {
        let (lengths, ahead) = match group_bytes >= BULK_GROUP_BYTES {
            true => (BULK_LENGTHS, group_bytes.saturating_mul(BULK_GROUPS)),
            false => (1, 0),
        };
        let longest = self.options.segment_bytes_max.saturating_mul(lengths);
        // Rounded, so that one long object more or less makes no other length.
        let by_object = (old.bytes_each() * OBJECTS_MIN).next_power_of_two();
        let usual = old.bytes().saturating_mul(2).max(ahead).max(by_object);
        let usual = usual.clamp(self.options.segment_bytes_min, longest);
        usual.max(bytes_for(group_bytes))
    }

    /// Zero-fills the next segment ahead of its use, if the open one is half full; a long one, if
    /// a quarter is. One that is too short by now makes room for it.
    ///
    /// One process does it for all. If it dies at it, the next rotation finds no spare segment and
    /// does without. A sweep that takes the file for a dead process's costs another try.
    pub(crate) fn prepare_spare(&self) -> Result<()> {
        let Ok(_preparing) = self.preparing.try_lock() else {
            return Ok(());
        };
        let state = self.state();
        if !self.spare_due(&state) {
            return Ok(());
        }
        let segment = state.open_segment();
        let Some(_claim) = segment.claim_successor().map_err(Error::io("lock", &segment.path))?
        else {
            self.spare_seen.store(segment.sequence, Ordering::Relaxed);
            return Ok(());
        };
        // Who had the claim before may have made it.
        if !self.spare_due(&state) {
            return Ok(());
        }
        let bytes = self.segment_bytes(segment, 0);
        allocate(&*self.disk, &self.layout.spare(), bytes, Zeros::Durable)
    }

    pub(crate) fn spare_due(&self, state: &State) -> bool {
        let segment = state.open_segment();
        // Who fills long segments is quick, and to fill a long one with zeros takes a while.
        let is_long = segment.bytes() >= self.options.segment_bytes_max;
        let enough = segment.bytes() / if is_long { 4 } else { 2 };
        if segment.end().offset < enough
            || self.spare_seen.load(Ordering::Relaxed) == segment.sequence
            // The zeros of long segments are not written.
            || self.is_in_bulk()
        {
            return false;
        }
        let wanted = self.segment_bytes(segment, 0);
        let missing = !self.disk.len(&self.layout.spare()).is_ok_and(|found| found >= wanted);
        if !missing {
            self.spare_seen.store(segment.sequence, Ordering::Relaxed);
        }
        missing
    }
}

#[cfg(test)]
mod tests;
