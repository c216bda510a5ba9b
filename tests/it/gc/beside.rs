//! Another handle that does something at one moment of a collection, and then the power is cut:
//! what it was told to be durable is there.
//!
//! The environment variable `SAPWOOD_TORTURE` tries every call; without it, every so many.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use sapwood::disk::{DirEntry, Disk, DiskFile, Mapping, OpenMode};
use sapwood::error::Result;
use sapwood::object::NewObject;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Store as _};

use super::{NOW_MS, drop_branch, hold, prune_at};
use crate::sim::{Policy, SimDisk};
use crate::support::{ROOT, append, append_with, init, open, open_read_only, texts};

/// How many calls there are from one that is tried to the next, in the short form.
const STRIDE: usize = 7;

/// A disk beside which something is done once.
#[derive(Clone)]
struct Beside(SimDisk, Arc<Mutex<Plan>>);

struct BesideFile(Box<dyn DiskFile>, Arc<Mutex<Plan>>);

/// Says whether it is time, given the directory that is about to be synced.
type IsTime = Box<dyn FnMut(Option<&Path>) -> bool + Send>;

/// What is done, and when.
#[derive(Default)]
struct Plan {
    is_time: Option<IsTime>,
    act: Option<Box<dyn FnOnce() + Send>>,
}

/// Comes before each call that changes or syncs something.
fn before_call(plan: &Mutex<Plan>, synced_dir: Option<&Path>) {
    let mut plan = plan.lock().unwrap();
    if plan.is_time.as_mut().is_some_and(|is_time| is_time(synced_dir)) {
        plan.is_time = None;
        let act = plan.act.take();
        drop(plan);
        if let Some(act) = act {
            act();
        }
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Beside")
    }
}

impl fmt::Debug for BesideFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("BesideFile")
    }
}

impl DiskFile for BesideFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        before_call(&self.1, None);
        self.0.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        before_call(&self.1, None);
        self.0.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        before_call(&self.1, None);
        self.0.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.0.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        before_call(&self.1, None);
        self.0.unlock()
    }
}

impl Disk for Beside {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(BesideFile(self.0.open(path, mode)?, Arc::clone(&self.1))))
    }

    fn map(&self, path: &Path) -> io::Result<Mapping> {
        self.0.map(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.0.len(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.0.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.create_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        before_call(&self.1, None);
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        before_call(&self.1, None);
        self.0.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        before_call(&self.1, Some(dir));
        self.0.sync_dir(dir)
    }

    fn network_filesystem(&self, path: &Path) -> Option<String> {
        self.0.network_filesystem(path)
    }

    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        self.0.random(buffer)
    }
}

/// Runs a collection beside a writer that acts when it is time, and gives how many messages are
/// acknowledged then, with all moments since; `None` if it was never time.
fn collect_beside(
    is_time: impl FnMut(Option<&Path>) -> bool + Send + 'static,
    act: fn(&LocalStore) -> Result<usize>,
) -> Option<(usize, Vec<crate::sim::Moment>)> {
    let disk = SimDisk::new(7);
    let writer = init(&disk).unwrap();
    hold(&writer, "gone", &[NewObject::blob(b"garbage".repeat(9)).unwrap()]);
    drop_branch(&writer, "gone");
    append(&writer, "main", "durable").unwrap();
    let plan = Arc::new(Mutex::new(Plan::default()));
    let collector = open(&Beside(disk.clone(), Arc::clone(&plan))).unwrap();
    append_with(&writer, "main", "relaxed", Durability::Relaxed).unwrap();
    let done = Arc::new(Mutex::new(None));
    let (note, recorded) = (Arc::clone(&done), disk.clone());
    let act = move || {
        // What could not be done was not acknowledged.
        let acknowledged = act(&writer).unwrap_or(1);
        recorded.record();
        *note.lock().unwrap() = Some((acknowledged, writer));
    };
    *plan.lock().unwrap() = Plan { is_time: Some(Box::new(is_time)), act: Some(Box::new(act)) };
    collector.gc(&prune_at(NOW_MS)).unwrap();
    drop(collector);
    let (acknowledged, _writer) = done.lock().unwrap().take()?;
    Some((acknowledged, disk.take_moments()))
}

/// Cuts the power at each moment, and checks that what was acknowledged is there.
fn check(context: &str, acknowledged: usize, moments: Vec<crate::sim::Moment>) {
    for (place, moment) in moments.into_iter().enumerate() {
        for policy in [Policy::LoseUnsynced, Policy::KeepAll, Policy::Random(place as u64)] {
            let left = moment.crash(policy);
            let found = open_read_only(&left).and_then(|store| texts(&store, "main"));
            let is_there = found.as_ref().is_ok_and(|found| found.len() >= acknowledged);
            assert!(is_there, "{context}, {place} {policy:?}: {acknowledged} of {found:?}");
        }
    }
}

/// Sees what is there, and has it synced.
fn look_and_sync(writer: &LocalStore) -> Result<usize> {
    let count = texts(writer, "main")?.len();
    writer.sync()?;
    Ok(count)
}

fn append_durably(writer: &LocalStore) -> Result<usize> {
    append(writer, "main", "full")?;
    Ok(3)
}

fn append_and_sync(writer: &LocalStore) -> Result<usize> {
    append_with(writer, "main", "more", Durability::Relaxed)?;
    look_and_sync(writer)
}

#[test]
fn what_is_synced_before_the_name_of_a_new_manifest_is_durable_is_so_itself() {
    let mut roots = 0;
    while let Some((acknowledged, moments)) = {
        let mut left = roots;
        let is_time = move |dir: Option<&Path>| {
            let is_root = dir == Some(Path::new(ROOT));
            let is_time = is_root && left == 0;
            left -= usize::from(is_root && left > 0);
            is_time
        };
        collect_beside(is_time, look_and_sync)
    } {
        assert_eq!(acknowledged, 2);
        check(&format!("root {roots}"), acknowledged, moments);
        roots += 1;
    }
    assert!(roots > 0, "a manifest was published");
}

#[test]
fn what_is_acknowledged_at_any_call_of_a_collection_survives_a_power_cut() {
    let stride = if std::env::var_os("SAPWOOD_TORTURE").is_some() { 1 } else { STRIDE };
    for (number, act) in [look_and_sync, append_durably, append_and_sync].into_iter().enumerate() {
        for call in (number..).step_by(stride) {
            let mut left = call;
            let is_time = move |_: Option<&Path>| {
                left = left.wrapping_sub(1);
                left == usize::MAX
            };
            let Some((acknowledged, moments)) = collect_beside(is_time, act) else {
                break;
            };
            check(&format!("act {number} at call {call}"), acknowledged, moments);
        }
    }
}
