//! How long segments are, who prepares the next one, and who seals.

use super::*;
use crate::disk::OsDisk;
use crate::object::NewObject;
use crate::store::local::{LocalStore, Options};
use crate::store::{Durability, Snapshot, Store as _, Transaction};

#[test]
fn long_objects_get_long_segments() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { background: false, ..Options::default() };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
    let put = |byte: u8, bytes: usize| {
        let object = NewObject::blob(vec![byte; bytes]).unwrap();
        let mut plan = |_: &dyn Snapshot| {
            Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
        };
        store.commit(Durability::Relaxed, &mut plan).unwrap();
    };
    let next_bytes = || {
        let state = store.inner.state();
        store.inner.segment_bytes(state.open_segment(), 0)
    };
    assert_eq!(next_bytes(), 512 << 10, "an empty one is followed by one twice as long");
    put(1, 700);
    assert_eq!(next_bytes(), 512 << 10);
    (2..6).for_each(|byte| put(byte, 50_000));
    assert_eq!(next_bytes(), 2 << 20);
    (6..46).for_each(|byte| put(byte, 700));
    assert_eq!(next_bytes(), 512 << 10, "most are short");

    let spare = store.inner.layout.spare();
    std::fs::write(&spare, [0; 4096]).unwrap();
    store.inner.prepare_spare().unwrap();
    assert_eq!(spare.metadata().unwrap().len(), next_bytes(), "a short one is replaced");
}

/// Commits six blobs of so many bytes.
fn put(store: &LocalStore, byte: u8, bytes: usize) {
    let blob = |number: u8| {
        let mut content = vec![byte; bytes];
        content[0] = number;
        NewObject::blob(content).unwrap()
    };
    let objects: Vec<NewObject> = (0..6).map(blob).collect();
    let mut plan =
        |_: &dyn Snapshot| Ok(Transaction { objects: objects.clone(), ..Transaction::default() });
    store.commit(Durability::Relaxed, &mut plan).unwrap();
}

#[test]
fn who_writes_large_groups_waits_for_no_sealing() {
    let dir = tempfile::tempdir().unwrap();
    let options = |background: bool| {
        let segment_bytes_max = 512 << 10;
        Options { background, segment_bytes_max, ..Options::default() }
    };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options(true)).unwrap().0;
    let inner = Arc::clone(&store.inner);
    (1..8).for_each(|byte| put(&store, byte, 60_000));
    assert!(inner.state().segments.len() > 1 && !inner.is_pressing(&inner.state()));
    assert!(inner.state().packs.is_empty() && !inner.spare_due(&inner.state()));
    drop(store);
    assert!(!inner.state().packs.is_empty(), "then it is sealed");

    let store = LocalStore::open(Arc::new(OsDisk), dir.path(), options(false)).unwrap();
    let is_pressing = || store.inner.is_pressing(&store.inner.state());
    (8..32).for_each(|byte| put(&store, byte, 60_000));
    assert!(is_pressing(), "there is too much of it");
    store.seal().unwrap();
    (32..40).for_each(|byte| put(&store, byte, 60_000));
    assert!(!is_pressing());
}

#[test]
fn one_process_prepares_the_next_segment_for_all() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options { background: false, segment_bytes_min: 4096, ..Options::default() };
    let one = LocalStore::init(Arc::new(OsDisk), dir.path(), options()).unwrap().0;
    let object = NewObject::blob(vec![7; 2048]).unwrap();
    let mut plan = |_: &dyn Snapshot| {
        Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
    };
    one.commit(Durability::Full, &mut plan).unwrap();
    let open = || LocalStore::open(Arc::new(OsDisk), dir.path(), options()).unwrap();
    let (other, late) = (open(), open());
    let spare = one.inner.layout.spare();

    let state = one.inner.state();
    let claim = state.open_segment().claim_successor().unwrap().unwrap();
    other.inner.prepare_spare().unwrap();
    assert!(!spare.exists(), "another is at it");
    drop(claim);
    late.inner.prepare_spare().unwrap();
    assert!(spare.exists());
    assert!(!other.inner.spare_due(&other.inner.state()), "it does not ask again");
}
