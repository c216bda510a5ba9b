//! What a power cut leaves.
//!
//! Durable state stays. Of what is pending, each write and each name change is asked about once;
//! what survives is applied in the order in which it was made.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::faults::{Op, Random};
use super::files::{Change, Files, overwrite};

/// The bytes that reach the disk together.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// What a crash leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// A power cut that leaves nothing.
    LoseUnsynced,
    /// The end of all processes: nothing is lost, and nothing more is durable than before.
    KeepAll,
    /// A power cut that leaves any sectors of any writes, and any name changes.
    Random(u64),
}

/// A write, or a change of length, that is not durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingWrite {
    /// The last name of the file.
    pub(crate) path: PathBuf,
    /// Where it begins; the new length for a change of length.
    pub(crate) offset: u64,
    /// How many bytes it has; zero for a change of length.
    pub(crate) bytes: u64,
    /// Its place among the pending writes of the file.
    pub(crate) index: usize,
    /// `Op::Write` or `Op::SetLen`.
    pub(crate) op: Op,
}

/// A change of names that is not durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingName {
    /// The name that it makes or removes; the new one for a rename.
    pub(crate) path: PathBuf,
    /// `Op::Create`, `Op::CreateDir`, `Op::Rename` or `Op::Remove`.
    pub(crate) op: Op,
    /// Its place among all pending name changes of the disk.
    pub(crate) index: usize,
}

/// How much of a pending write survives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The whole of it.
    All,
    /// None of it.
    Nothing,
    /// Its bytes at these offsets of the file; a change of length survives.
    Bytes(Range<u64>),
    /// Each sector, and the new length, with a chance of so many sixteenths.
    Sectors { seed: u64, sixteenths: u64 },
}

impl From<bool> for Keep {
    fn from(keep: bool) -> Keep {
        if keep { Keep::All } else { Keep::Nothing }
    }
}

impl Keep {
    fn apply(&self, change: &Change, content: &mut Vec<u8>) {
        match (self, change) {
            (Keep::Nothing, _) => {}
            (Keep::All, _) | (Keep::Bytes(_), Change::SetLen(_)) => change.apply(content),
            (Keep::Bytes(range), Change::Write { offset, bytes }) => {
                copy_range(content, *offset, bytes, range);
            }
            (Keep::Sectors { seed, sixteenths }, change) => {
                let mut random = Random(*seed);
                let mut survives = || random.below(16) < *sixteenths;
                match change {
                    Change::SetLen(_) if survives() => change.apply(content),
                    Change::SetLen(_) => {}
                    Change::Write { offset, bytes } => {
                        copy_sectors(content, *offset, bytes, survives);
                    }
                }
            }
        }
    }
}

fn copy_range(content: &mut Vec<u8>, offset: u64, bytes: &[u8], range: &Range<u64>) {
    let start = range.start.max(offset);
    let end = range.end.min(offset + bytes.len() as u64);
    if start < end {
        let kept = (start - offset) as usize..(end - offset) as usize;
        overwrite(content, start, &bytes[kept]);
    }
}

fn copy_sectors(
    content: &mut Vec<u8>,
    offset: u64,
    bytes: &[u8],
    mut survives: impl FnMut() -> bool,
) {
    let end = offset + bytes.len() as u64;
    if survives() && content.len() < end as usize {
        content.resize(end as usize, 0);
    }
    for sector in offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES) {
        if survives() {
            let start = sector * SECTOR_BYTES;
            copy_range(content, offset, bytes, &(start..start + SECTOR_BYTES));
        }
    }
}

impl Files {
    /// Gives what a power cut leaves, all of it durable.
    pub(super) fn after_power_cut<K: Into<Keep>>(
        &self,
        mut keep_write: impl FnMut(&PendingWrite) -> K,
        mut keep_name: impl FnMut(&PendingName) -> bool,
    ) -> Files {
        let mut left = self.clone();
        for file in left.files.values_mut() {
            let mut bytes = Arc::clone(&file.durable);
            for (index, change) in file.pending.iter().enumerate() {
                let (op, offset, length) = match change {
                    Change::Write { offset, bytes } => (Op::Write, *offset, bytes.len() as u64),
                    Change::SetLen(length) => (Op::SetLen, *length, 0),
                };
                let path = file.path.clone();
                let write = PendingWrite { path, offset, bytes: length, index, op };
                keep_write(&write).into().apply(change, Arc::make_mut(&mut bytes));
            }
            file.pending.clear();
            file.content = Arc::clone(&bytes);
            file.durable = bytes;
        }
        for (index, change) in std::mem::take(&mut left.pending).iter().enumerate() {
            let (path, op) = (change.path.clone(), change.op);
            if keep_name(&PendingName { path, op, index }) {
                change.apply(&mut left.dirs);
            }
        }
        for dir in left.dirs.values_mut() {
            dir.entries = dir.durable.clone();
        }
        left.prune();
        left.name_files();
        left
    }

    /// Gives what a crash leaves under a policy.
    pub(super) fn after_crash(&self, policy: Policy) -> Files {
        match policy {
            Policy::LoseUnsynced => self.after_power_cut(|_| false, |_| false),
            Policy::KeepAll => self.clone(),
            Policy::Random(seed) => {
                // Names and bytes are lost independently: over many seeds all or nothing of the one
                // survives with any part of the other.
                let mut writes = Random(seed);
                let sixteenths = writes.below(17);
                let names_sixteenths = writes.below(17);
                let mut names = Random(writes.next());
                self.after_power_cut(
                    |_| Keep::Sectors { seed: writes.next(), sixteenths },
                    |_| names.below(16) < names_sixteenths,
                )
            }
        }
    }

    /// Corrects the names that files remember: a rename may have been lost.
    fn name_files(&mut self) {
        for path in self.paths() {
            let node = self.find_file(&path).expect("the path was listed");
            self.file(node).path = path;
        }
    }
}
