use std::path::Path;
use std::time::Instant;

use super::*;
use crate::disk::OsDisk;
use crate::object::NewObject;
use crate::store::local::state::State;
use crate::store::local::{LocalStore, Options};
use crate::store::{Durability, Snapshot, Store as _, Transaction};

#[test]
fn a_thread_that_panicked_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default());
    let housekeeper = store.unwrap().0.housekeeper;
    let thread = &housekeeper.maintaining;
    let changed = &housekeeper.shared.maintaining;
    housekeeper.wake(thread, changed, "panics", |_| panic!("as the test wants it"));
    while !thread.lock().unwrap().as_ref().unwrap().is_finished() {
        std::thread::yield_now();
    }
    housekeeper.wake(thread, changed, "works", |shared| shared.wanted().sync = true);
    let finished = thread.lock().unwrap().take().unwrap().join();
    assert!(finished.is_ok() && housekeeper.shared.wanted().sync);
}

#[test]
fn what_is_given_back_is_gone_when_the_handle_ends() {
    let dir = tempfile::tempdir().unwrap();
    for background in [true, false] {
        let memory = Arc::new(());
        let store = with_short_segments(dir.path(), background);
        for _ in 0..3 {
            store.housekeeper.give_back(vec![Box::new(Arc::clone(&memory))]);
        }
        assert!(background || Arc::strong_count(&memory) == 1, "nobody else drops it");
        drop(store);
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}

/// Makes a store in which a few commits close a segment.
fn with_short_segments(dir: &Path, background: bool) -> LocalStore {
    let options = Options { segment_bytes_min: 4096, background, ..Options::default() };
    LocalStore::init(Arc::new(OsDisk), dir, options).unwrap().0
}

/// Waits for something that comes by itself, however slow the machine is.
fn wait_for(is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never comes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn put(store: &LocalStore, byte: u8, bytes: usize) {
    let object = NewObject::blob(vec![byte; bytes]).unwrap();
    let mut plan = |_: &dyn Snapshot| {
        Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
    };
    store.commit(Durability::Relaxed, &mut plan).unwrap();
}

fn close_some(store: &LocalStore) {
    (0..3).for_each(|byte| put(store, byte, 3000));
}

#[test]
fn what_is_closed_waits_for_more() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_short_segments(dir.path(), true);
    let begun = Instant::now();
    close_some(&store);
    // However slow the machine is: it is not sealed sooner, and not never.
    wait_for(|| !State::load(store.inner.access(), None).unwrap().packs.is_empty());
    assert!(begun.elapsed() >= SEAL_DELAY, "{:?}", begun.elapsed());
}

#[test]
fn what_is_closed_is_sealed_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_short_segments(dir.path(), true);
    let inner = Arc::clone(&store.inner);
    close_some(&store);
    drop(store);
    let state = inner.state();
    assert_eq!((state.segments.len(), state.packs.len()), (1, 1));
}

#[test]
fn what_is_closed_presses_when_it_is_as_much_as_a_segment_may_hold() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_short_segments(dir.path(), false);
    close_some(&store);
    let state = store.inner.state();
    assert!(seal::is_due(&state) && !store.inner.is_pressing(&state));
    let closed: u64 = state.segments[..1].iter().map(|segment| segment.bytes()).sum();
    let options = Options { segment_bytes_max: closed, background: false, ..Options::default() };
    let store = LocalStore::open(Arc::new(OsDisk), dir.path(), options).unwrap();
    assert!(store.inner.is_pressing(&state));
}

#[test]
fn what_is_closed_waits_as_long_as_large_groups_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_short_segments(dir.path(), true);
    let is_sealed = || !State::load(store.inner.access(), None).unwrap().packs.is_empty();
    let last_group = |at| *store.inner.last_large_group.lock().unwrap() = at;
    last_group(Some(Instant::now() + Duration::from_secs(3600)));
    close_some(&store);
    std::thread::sleep(2 * SEAL_DELAY);
    assert!(!is_sealed());
    last_group(None);
    wait_for(is_sealed);
}

#[test]
fn a_relaxed_commit_is_synced_after_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_short_segments(dir.path(), true);
    let begun = Instant::now();
    put(&store, 1, 100);
    let end = store.inner.state().open_segment().end();
    wait_for(|| store.inner.durable_position() >= end);
    assert!(begun.elapsed() >= SYNC_DELAY, "{:?}", begun.elapsed());
}

#[test]
fn much_that_is_not_synced_waits_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes_min: 4 << 20, ..Options::default() };
    let quiet = Options { background: false, ..options };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), quiet).unwrap().0;
    let wanted = || {
        let wanted = store.housekeeper.shared.wanted();
        (wanted.sync, wanted.sync_now)
    };
    assert_eq!(wanted(), (false, false));
    put(&store, 0, 100);
    assert_eq!(wanted(), (true, false));
    (1..12).for_each(|byte| put(&store, byte, 200_000));
    assert_eq!(wanted(), (true, true));
}

#[test]
fn the_next_segment_is_there_before_it_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_short_segments(dir.path(), true);
    put(&store, 1, 3000);
    wait_for(|| store.inner.layout.spare().exists());
}
