//! What a collection did, or would do.

use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::Kind;
use crate::store::local::Inner;

/// Objects by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounts([u64; Kind::ALL.len()]);

impl KindCounts {
    /// Counts one more.
    pub(super) fn add(&mut self, kind: Kind) {
        let place = Kind::ALL.iter().position(|other| *other == kind);
        self.0[place.expect("every kind is listed")] += 1;
    }

    /// Gives how many there are of each kind.
    pub fn each(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.0)
    }

    /// Gives how many there are of all kinds.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Garbage that waits until it is old enough to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
    /// How many objects.
    pub objects: u64,
    /// What they take on disk.
    pub bytes: u64,
}

/// What a collection did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcReport {
    /// Objects before, cruft left out.
    pub objects_before: u64,
    /// Objects afterwards.
    pub objects_after: u64,
    /// Packs before.
    pub packs_before: u64,
    /// Packs afterwards.
    pub packs_after: u64,
    /// Bytes of all containers before, cruft included.
    pub bytes_before: u64,
    /// Bytes afterwards.
    pub bytes_after: u64,
    /// What nothing leads to, and was set aside.
    pub set_aside: KindCounts,
    /// What was brought back, because something leads to it after all.
    pub brought_back: u64,
    /// What was dropped for good.
    pub dropped: u64,
    /// Operations that were dropped for their age.
    pub operations: u64,
    /// Files of killed processes that were removed.
    pub leftovers: u64,
    /// What waits to be dropped, oldest first.
    pub waiting: Vec<Waiting>,
    /// Whether there was time for everything.
    pub is_finished: bool,
}

impl Default for GcReport {
    fn default() -> GcReport {
        GcReport {
            objects_before: 0,
            objects_after: 0,
            packs_before: 0,
            packs_after: 0,
            bytes_before: 0,
            bytes_after: 0,
            set_aside: KindCounts::default(),
            brought_back: 0,
            dropped: 0,
            operations: 0,
            leftovers: 0,
            waiting: Vec::new(),
            is_finished: true,
        }
    }
}

impl GcReport {
    /// Says whether anything is gone for good.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped > 0
    }

    pub(super) fn before(&mut self, inner: &Arc<Inner>) -> Result<()> {
        let counts = inner.count_objects()?;
        self.objects_before = counts.live_objects();
        self.packs_before = counts.packs;
        self.bytes_before = bytes_below(&*inner.disk, &inner.layout.objects_dir())?;
        self.wait(inner)
    }

    pub(super) fn after(&mut self, inner: &Arc<Inner>) -> Result<()> {
        let counts = inner.count_objects()?;
        self.objects_after = counts.live_objects();
        self.packs_after = counts.packs;
        self.bytes_after = bytes_below(&*inner.disk, &inner.layout.objects_dir())?;
        self.wait(inner)
    }

    fn wait(&mut self, inner: &Arc<Inner>) -> Result<()> {
        let packs = inner.state().manifest.cruft.clone().into_iter().map(|record| Waiting {
            since_ms: record.since_ms,
            objects: record.pack.objects,
            bytes: record.pack.pack_bytes + record.pack.index_bytes,
        });
        let loose = inner.loose.list_aside()?.into_iter();
        let loose =
            loose.map(|aside| Waiting { since_ms: aside.since_ms, objects: 1, bytes: aside.bytes });
        let mut waiting: Vec<Waiting> = packs.chain(loose).collect();
        waiting.sort_unstable_by_key(|waiting| waiting.since_ms);
        waiting.dedup_by(|more, first| {
            let is_same = more.since_ms == first.since_ms;
            if is_same {
                first.objects += more.objects;
                first.bytes += more.bytes;
            }
            is_same
        });
        self.waiting = waiting;
        Ok(())
    }
}

/// Gives the bytes of all files below a directory.
pub(crate) fn bytes_below(disk: &dyn Disk, dir: &Path) -> Result<u64> {
    let (mut bytes, mut open) = (0, vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in disk.list(&dir).map_err(Error::io("list", &dir))? {
            bytes += entry.bytes;
            if entry.is_dir {
                open.push(dir.join(entry.name));
            }
        }
    }
    Ok(bytes)
}
