//! Mirror files: late, missing, lying. The engine never believes them, and writers mend them.

use std::path::PathBuf;

use sapwood::id::Id;
use sapwood::store::{Durability, Expected, RefUpdate, RefValue, Store};

use super::{commit, file};
use crate::sim::{Fault, Op, Policy, SimDisk};
use crate::support::{append, branch, init, message, open, target, texts, update};

fn mirror(name: &str) -> PathBuf {
    file(&format!("refs/sessions/s/heads/{name}"))
}

fn assert_mirrored(disk: &SimDisk, name: &str) {
    let snapshot = open(disk).unwrap().snapshot().unwrap();
    match snapshot.reference(&branch(name)).unwrap() {
        Some(value) => assert_eq!(disk.read(mirror(name)), format!("{value}\n").into_bytes()),
        None => assert!(!disk.files().contains(&mirror(name))),
    }
}

fn assert_stale(disk: &SimDisk, name: &str, value: Id) {
    assert_eq!(disk.read(mirror(name)), format!("{value}\n").into_bytes());
}

#[test]
fn the_next_write_heals_a_mirror_that_could_not_be_written() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let first = append(&store, "main", "one").unwrap();
    disk.fail_when(|op, path| op == Op::Write && path == mirror("main"), Fault::Eio);
    append(&store, "main", "two").unwrap();
    assert_stale(&disk, "main", first);
    assert_eq!(texts(&open(&disk).unwrap(), "main").unwrap(), ["one", "two"]);
    append(&open(&disk).unwrap(), "other", "elsewhere").unwrap();
    assert_mirrored(&disk, "main");
    assert_mirrored(&disk, "other");
}

#[test]
fn the_next_write_heals_the_mirror_of_a_process_that_died_before_writing_it() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let first = append(&store, "main", "one").unwrap();
    disk.fail_when(|op, path| op == Op::Write && path == mirror("main"), Fault::Crash);
    append(&store, "main", "two").unwrap_err();
    let disk = disk.crash(Policy::KeepAll);
    let found = disk.read(mirror("main"));
    assert_ne!(found, format!("{first}\n").into_bytes().repeat(2));
    append(&open(&disk).unwrap(), "other", "elsewhere").unwrap();
    assert_mirrored(&disk, "main");
    assert_eq!(texts(&open(&disk).unwrap(), "main").unwrap(), ["one", "two"]);
}

#[test]
fn making_a_store_that_is_there_does_not_forget_a_dead_writer() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let first = append(&store, "main", "one").unwrap();
    disk.fail_when(|op, path| op == Op::Write && path == mirror("main"), Fault::Eio);
    append(&store, "main", "two").unwrap();
    assert_stale(&disk, "main", first);
    let again = init(&disk).unwrap();
    append(&again, "other", "elsewhere").unwrap();
    assert_mirrored(&disk, "main");
}

#[test]
fn a_mirror_that_a_slow_process_wrote_late_is_healed_by_the_next_write_of_its_ref() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let first = append(&store, "main", "one").unwrap();
    let second = append(&store, "main", "two").unwrap();
    disk.write(mirror("main"), format!("{first}\n"));
    let other = open(&disk).unwrap();
    for store in [&store, &other] {
        let snapshot = store.snapshot().unwrap();
        let found = target(&*snapshot, &branch("main")).unwrap();
        assert_eq!(found, Some(second), "the mirror is not the truth");
    }
    append(&other, "main", "three").unwrap();
    assert_mirrored(&disk, "main");
    assert_eq!(texts(&store, "main").unwrap(), ["one", "two", "three"]);

    disk.write(mirror("main"), format!("{first}\n"));
    store.pack_refs().unwrap();
    assert_mirrored(&disk, "main");
}

#[test]
fn lies_in_every_mirror_change_nothing() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    for name in ["a", "b", "c"] {
        append(&store, name, name).unwrap();
    }
    let lie = format!("{}\n", message("a lie", vec![]).id());
    for path in disk.files() {
        if path.starts_with(file("refs/sessions")) {
            disk.write(path, lie.clone());
        }
    }
    disk.write(mirror("never"), lie);
    for store in [&store, &open(&disk).unwrap()] {
        for name in ["a", "b", "c"] {
            assert_eq!(texts(store, name).unwrap(), [name]);
        }
        assert_eq!(texts(store, "never").unwrap(), [""; 0]);
        let conflict = commit(
            store,
            Durability::Full,
            &[],
            &[RefUpdate { name: branch("never"), expected: Expected::Missing, new: None }],
        );
        conflict.unwrap();
    }
}

#[test]
fn two_processes_that_move_delete_and_make_a_ref_in_turn_keep_its_mirror_right() {
    let disk = SimDisk::new(1);
    let handles = [init(&disk).unwrap(), open(&disk).unwrap()];
    let entry = append(&handles[0], "main", "one").unwrap();
    let values = [Some(RefValue::Id(entry)), None, Some(RefValue::Symbolic(branch("other")))];
    // Every order of two values, by every choice of handles, after the first handle wrote it.
    for round in 0..values.len() * values.len() * 8 {
        let (choice, handle_bits) = (round / 8, round % 8);
        let steps = [
            Some(RefValue::Id(entry)),
            values[choice / values.len()].clone(),
            values[choice % values.len()].clone(),
        ];
        for (step, value) in steps.into_iter().enumerate() {
            let store = &handles[(handle_bits >> step) & 1];
            let refs = [RefUpdate { name: branch("main"), expected: Expected::Any, new: value }];
            commit(store, Durability::Relaxed, &[], &refs).unwrap();
            assert_mirrored(&disk, "main");
        }
    }
    let refs = [update(branch("main"), entry)];
    commit(&handles[1], Durability::Full, &[], &refs).unwrap();
    assert_mirrored(&disk, "main");
}
