//! Mirror files of long ago, as a power cut leaves them, beside a journal that lost something.

use std::path::PathBuf;

use sapwood::id::Id;
use sapwood::store::{Durability, Expected, RefUpdate, RefValue, Snapshot, Store, Transaction};

use super::oracle::{Ids, Oracle};
use super::{check, fix};
use crate::faults::{file, operation};
use crate::sim::SimDisk;
use crate::support::{append, branch, init, message, open_read_only, target, update};

/// Flips a bit of what the first segment says in some words.
fn hit(disk: &SimDisk, words: &str) {
    let segments = disk.files().into_iter().filter(|path| {
        let journal = path.parent() == Some(&file("objects/journal"));
        journal && !path.ends_with("synced")
    });
    for path in segments {
        let bytes = disk.read(&path);
        if let Some(at) = bytes.windows(words.len()).position(|part| part == words.as_bytes()) {
            return disk.flip(&path, at);
        }
    }
    panic!("no segment says {words}");
}

fn mirror(disk: &SimDisk, name: &str, id: &Id) {
    disk.write(file(&format!("refs/{}", branch(name))), format!("{id}\n"));
}

#[test]
fn a_mirror_that_is_behind_moves_no_branch_back() {
    let oracle = Oracle::new();
    let path = oracle.path(&branch("main"));
    assert!(path.len() > 12);
    for behind in &path[1..] {
        let disk = oracle.disk.copy();
        mirror(&disk, "main", behind);
        hit(&disk, "third 1");
        let lost = Ids::from([path[path.len() - 11]]);
        check(&disk, &oracle, &lost, &format!("the mirror says {behind}"));
    }
}

#[test]
fn a_mirror_of_what_was_undone_and_sealed_brings_nothing_back() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let first = append(&store, "main", "the first").unwrap();
    let left = append(&store, "main", "to be left").unwrap();
    append(&store, "gone", "to be removed").unwrap();
    let gone = target(&*store.snapshot().unwrap(), &branch("gone")).unwrap().unwrap();
    let undo = &mut |_: &dyn Snapshot| {
        let removed = RefUpdate { name: branch("gone"), expected: Expected::Any, new: None };
        let refs = vec![update(branch("main"), first), removed];
        Ok(Transaction { objects: vec![], refs, operation: Some(operation("undo")) })
    };
    store.commit(Durability::Full, undo).unwrap();
    store.seal().unwrap();
    append(&store, "other", "to be hit").unwrap();
    drop(store);

    mirror(&disk, "main", &left);
    mirror(&disk, "gone", &gone);
    hit(&disk, "to be hit");
    fix(&disk).unwrap();
    let store = open_read_only(&disk).unwrap();
    let snapshot = store.snapshot().unwrap();
    let main = snapshot.reference(&branch("main")).unwrap();
    assert_eq!(main, Some(RefValue::Id(first)));
    assert_eq!(snapshot.reference(&branch("gone")).unwrap(), None);
}

#[test]
fn a_mirror_counts_where_the_log_is_newer_than_the_refs_that_are_left() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "the first").unwrap();
    store.seal().unwrap();
    let (older, bytes) = packed(&disk);
    let newest = message("the second", vec![]);
    let go_on = &mut |_: &dyn Snapshot| {
        let refs = vec![update(branch("main"), newest.id())];
        let objects = vec![newest.clone()];
        Ok(Transaction { objects, refs, operation: Some(operation("go on")) })
    };
    store.commit(Durability::Full, go_on).unwrap();
    store.seal().unwrap();
    drop(store);

    let (newer, _) = packed(&disk);
    assert_ne!(older, newer);
    disk.write(&older, bytes);
    disk.flip(&newer, 8);
    disk.flip(file("current"), 40);
    fix(&disk).unwrap();
    let store = open_read_only(&disk).unwrap();
    let main = store.snapshot().unwrap().reference(&branch("main")).unwrap();
    assert_eq!(main, Some(RefValue::Id(newest.id())));
}

/// Finds the newest snapshot of refs.
fn packed(disk: &SimDisk) -> (PathBuf, Vec<u8>) {
    let packed = |path: &PathBuf| path.to_string_lossy().contains("/refs/packed-");
    let path = disk.files().into_iter().filter(packed).max().unwrap();
    let bytes = disk.read(&path);
    (path, bytes)
}
