//! When the lock is kept, and that it is given back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};

use super::*;
use crate::codec::Value;
use crate::disk::{Disk as _, DiskFile, OpenMode, OsDisk, OverOs};
use crate::object::Entry;
use crate::store::local::{LocalStore, Options};
use crate::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Store as _, Transaction,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn init(dir: &Path, background: bool) -> LocalStore {
    let options = Options { background, ..Options::default() };
    LocalStore::init(Arc::new(OsDisk), dir, options).unwrap().0
}

fn head(session: &str) -> RefName {
    RefName::new(format!("sessions/{session}/heads/main")).unwrap()
}

/// Moves the branch of a session to a new entry, and gives its value.
fn commit(store: &LocalStore, session: &str, time: i64) -> RefValue {
    let (label, body) = ("message".to_owned(), Value::Null);
    let entry = Entry { label, time, parents: Vec::new(), body, raw: None }.encode().unwrap();
    let new = RefValue::Id(entry.id());
    let mut plan = |_: &dyn Snapshot| {
        let (expected, new) = (Expected::Any, Some(new.clone()));
        let refs = vec![RefUpdate { name: head(session), expected, new }];
        Ok(Transaction { objects: vec![entry.clone()], refs, operation: None })
    };
    store.commit(Durability::Relaxed, &mut plan).unwrap();
    new
}

/// Commits until the lock is kept and a mirror is owed. Until what is given back is dropped,
/// nobody can end that.
fn keep(store: &LocalStore) -> (MutexGuard<'_, Option<Writer>>, RefValue) {
    let begun = Instant::now();
    for time in 0.. {
        let value = commit(store, "busy", time);
        let writer = store.inner.writer.lock().unwrap();
        let lease = writer.as_ref().and_then(|writer| writer.lease.as_ref());
        if lease.is_some_and(|lease| !lease.owed.is_empty()) {
            return (writer, value);
        }
        assert!(begun.elapsed() < PATIENCE, "it is never kept");
    }
    unreachable!("the loop has no end")
}

fn is_silent(dir: &Path) -> bool {
    OsDisk.bells(&dir.join("bells")).0.is_silent()
}

fn shows(store: &LocalStore, session: &str, value: &RefValue) -> bool {
    store.inner.mirrors().shows(&head(session), value).unwrap()
}

/// Takes the lock as another process would, and gives it back; says whether it was in order.
fn take(store: &LocalStore) -> Option<bool> {
    let lock = LockFile::open(&OsDisk, store.inner.layout.lock()).unwrap();
    let guard = lock.try_acquire().unwrap()?;
    let (in_order, generation) = (!guard.holder_died, guard.generation);
    guard.release(generation).unwrap();
    Some(in_order)
}

#[test]
fn a_busy_handle_keeps_the_lock_for_as_long_as_it_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (init(dir.path(), true), init(dir.path(), true));
    if is_silent(dir.path()) {
        return;
    }
    let (writer, value) = keep(&store);
    assert_eq!(take(&other), None);
    drop(writer);
    let begun = Instant::now();
    let in_order = loop {
        if let Some(in_order) = take(&other) {
            break in_order;
        }
        assert!(begun.elapsed() < PATIENCE, "it is never given back");
        std::thread::yield_now();
    };
    assert!(in_order && shows(&other, "busy", &value));
}

#[test]
fn who_kept_the_lock_for_long_or_was_waited_for_rests() {
    for (is_long, is_awaited) in [(false, false), (true, false), (false, true), (true, true)] {
        let now = Instant::now();
        let begun = if is_long { now - KEPT_MAX } else { now + PATIENCE };
        let lease = Lease { begun, owed: Owed::new() };
        let pause = match (is_long, is_awaited) {
            (false, false) => Duration::ZERO,
            (true, false) => PAUSE,
            (_, true) => CROWD_PAUSE,
        };
        assert_eq!(lease.pause(is_awaited, Duration::ZERO), pause);
    }
}

#[test]
fn who_waits_for_the_lock_does_not_wait_for_many_slow_mirrors() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(SlowRefs);
    let (store, _) = LocalStore::init(disk, dir.path(), Options::default()).unwrap();
    let most = KEPT_MAX.div_duration_f64(SLOW).ceil() as usize;
    let mut seen = 0;
    for number in 0..100 {
        commit(&store, &format!("new-{number}"), number);
        let writer = store.inner.writer.lock().unwrap();
        let lease = writer.as_ref().and_then(|writer| writer.lease.as_ref());
        seen = seen.max(lease.map_or(0, |lease| lease.owed.len()));
    }
    assert!(seen <= most, "{seen} mirrors wait");
    assert!(seen > 1 || is_silent(dir.path()));
}

#[test]
fn what_else_takes_the_lock_and_the_end_of_the_handle_give_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (init(dir.path(), true), init(dir.path(), true));
    if is_silent(dir.path()) {
        return;
    }
    let (writer, _) = keep(&store);
    drop(writer);
    let writer = store.inner.writer().unwrap();
    assert_eq!(take(&other), Some(true));
    drop(writer);
    let (writer, value) = keep(&store);
    drop(writer);
    drop(store);
    assert_eq!(take(&other), Some(true));
    assert!(shows(&other, "busy", &value));
}

#[test]
fn what_a_dead_holder_owed_the_next_writer_pays() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (init(dir.path(), true), init(dir.path(), true));
    if is_silent(dir.path()) {
        return;
    }
    let (mut writer, value) = keep(&store);
    assert!(!shows(&other, "busy", &value));
    // The file is closed, and with it goes the lock, as when a process ends.
    *writer = None;
    drop(writer);
    commit(&other, "next", 0);
    assert!(shows(&other, "busy", &value));
    assert_eq!(take(&other), Some(true));
}

#[test]
fn a_mirror_that_can_not_be_written_is_left_to_the_next_writer() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (init(dir.path(), true), init(dir.path(), true));
    // Where its directory should be made.
    let obstacle = dir.path().join("refs/sessions/blocked");
    std::fs::create_dir_all(obstacle.parent().unwrap()).unwrap();
    std::fs::write(&obstacle, "in the way").unwrap();
    if !is_silent(dir.path()) {
        drop(keep(&store));
    }
    let value = commit(&store, "blocked", 0);
    drop(store);
    std::fs::remove_file(&obstacle).unwrap();
    assert!(!shows(&other, "blocked", &value));
    commit(&other, "next", 0);
    assert!(shows(&other, "blocked", &value));
    assert_eq!(take(&other), Some(true));
}

#[test]
fn who_waits_has_its_turn_though_the_other_never_rests() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (init(dir.path(), true), init(dir.path(), true));
    let (ended, busy) = (AtomicBool::new(false), AtomicI64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for time in 0.. {
                commit(&store, "busy", time);
                busy.store(time, Ordering::SeqCst);
                if ended.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for time in 0..20 {
            // Alone for a while, so that the lock is kept when this one wants it.
            let seen = busy.load(Ordering::SeqCst);
            while busy.load(Ordering::SeqCst) < seen + 10 {
                std::thread::yield_now();
            }
            let value = commit(&other, "patient", time);
            assert_eq!(other.snapshot().unwrap().reference(&head("patient")).unwrap(), Some(value));
        }
        ended.store(true, Ordering::SeqCst);
    });
    let last = busy.load(Ordering::SeqCst);
    let snapshot = other.snapshot().unwrap();
    let value = snapshot.reference(&head("busy")).unwrap().unwrap();
    let RefValue::Id(id) = &value else { panic!("it points to an entry") };
    let stored = snapshot.get(id).unwrap().unwrap();
    assert_eq!(Entry::decode(&stored.content).unwrap().time, last);
    drop((store, snapshot));
    assert!(shows(&other, "busy", &value));
}

/// How long it takes at least to open a file of a ref on a slow disk.
const SLOW: Duration = Duration::from_millis(2);

/// A disk on which files of refs are opened slowly.
#[derive(Debug)]
struct SlowRefs;

impl OverOs for SlowRefs {
    fn open_file(&self, path: &Path, mode: OpenMode) -> std::io::Result<Box<dyn DiskFile>> {
        if path.components().any(|part| part.as_os_str() == "refs") {
            std::thread::sleep(SLOW);
        }
        OsDisk.open(path, mode)
    }
}

#[test]
fn a_handle_is_busy_though_its_mirrors_take_long() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = LocalStore::init(Arc::new(SlowRefs), dir.path(), Options::default()).unwrap();
    if is_silent(dir.path()) {
        return;
    }
    let begun = Instant::now();
    for number in 0.. {
        commit(&store, &format!("new-{number}"), number);
        let writer = store.inner.writer.lock().unwrap();
        if writer.as_ref().is_some_and(|writer| writer.lease.is_some()) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it is never kept");
    }
}

#[test]
fn without_a_housekeeper_it_is_never_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = init(dir.path(), false);
    for time in 0..50 {
        let value = commit(&store, "busy", time);
        assert_eq!(take(&store), Some(true));
        assert!(shows(&store, "busy", &value));
    }
}

/// What takes a while to drop.
struct Slow;

impl Drop for Slow {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_secs(2));
    }
}

#[test]
fn a_handle_that_ends_gives_the_lock_back_before_it_waits_for_what_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (init(dir.path(), true), init(dir.path(), true));
    if is_silent(dir.path()) {
        return;
    }
    store.housekeeper.give_back(vec![Box::new(Slow)]);
    let (writer, _) = keep(&store);
    // The thread that looks after the lock waits for the writer's part.
    store.housekeeper.end_soon();
    drop(writer);
    let waited = std::thread::scope(|scope| {
        scope.spawn(|| drop(store));
        std::thread::sleep(Duration::from_millis(50));
        let begun = Instant::now();
        while take(&other).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        begun.elapsed()
    });
    assert!(waited < Duration::from_secs(1), "{waited:?}");
}
