//! Damage in groups that were acknowledged: told to readers and writers, and never built upon.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::error::Error;
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Durability, Store};

use super::{check_damage_is_told, read_all};
use crate::faults::picture::Picture;
use crate::faults::{contents, file, long, segment};
use crate::sim::{Policy, SimDisk};
use crate::support::{append, append_with, branch, init, open, open_read_only, options, texts};

/// A store whose messages all stand in the open segment, and the ends of their groups.
fn store_of_groups() -> (SimDisk, Vec<usize>) {
    let (disk, ends, _) = store_of_groups_and_marks();
    (disk, ends)
}

/// The same, and the mark after each message.
fn store_of_groups_and_marks() -> (SimDisk, Vec<usize>, Vec<Vec<u8>>) {
    let disk = SimDisk::new(1);
    let options = Options { segment_bytes_min: 16 << 10, ..options() };
    let root = Path::new(crate::support::ROOT);
    let shared = Arc::new(disk.clone());
    let store = LocalStore::init(shared, root, options).unwrap();
    let (mut ends, mut marks) = (Vec::new(), Vec::new());
    for number in 0..5 {
        append(&store.0, "main", &format!("message {number}")).unwrap();
        let bytes = disk.read(segment(1));
        let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
        ends.push((bytes.len() - zeros).next_multiple_of(8));
        marks.push(disk.read(file("objects/journal/synced")));
    }
    (disk, ends, marks)
}

#[test]
fn a_flipped_byte_in_an_acknowledged_group_is_corruption_for_readers_and_writers() {
    let (whole, ends) = store_of_groups();
    let picture = Picture::of(&*open(&whole).unwrap().snapshot().unwrap()).unwrap();
    let used = *ends.last().unwrap();
    let mut unnoticed = 0;
    for offset in (0..used).step_by(if long() { 1 } else { 3 }) {
        let disk = whole.copy();
        disk.flip(segment(1), offset);
        let context = format!("flipped at {offset}");
        let errors = read_all(&disk, &picture);
        check_damage_is_told(&errors, &context);
        unnoticed += usize::from(errors.is_empty());
        match open(&disk) {
            // In the head of a group: nothing can be trusted, nothing is written.
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error:?}"),
            // In the content of one object: it is refused, the others are there, and nothing is
            // written on top.
            Ok(store) => {
                let before = disk.read(segment(1));
                let written = append(&store, "new", "after the damage");
                match errors.is_empty() {
                    true => drop(written.unwrap()),
                    false => {
                        let error = written.unwrap_err();
                        assert!(matches!(error, Error::Corrupt { .. }), "{context}: {error:?}");
                        assert_eq!(disk.read(segment(1)), before, "{context}");
                    }
                }
                let snapshot = store.snapshot().unwrap();
                let found = snapshot.reference(&branch("main")).unwrap();
                assert_eq!(found.as_ref(), Some(&picture.refs[0].1), "{context}");
                let sealed = store.pack_refs();
                assert_eq!(sealed.is_err(), !errors.is_empty(), "{context}: {sealed:?}");
            }
        }
    }
    // Each group is filled up with at most seven zeros, which nothing reads.
    assert!(unnoticed <= 7 * ends.len(), "{unnoticed} flips unnoticed");
}

#[test]
fn a_flipped_byte_in_a_closed_segment_is_corruption() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    while !disk.files().contains(&segment(2)) {
        append(&store, "main", "message").unwrap();
    }
    drop(store);
    let picture = Picture::of(&*open(&disk).unwrap().snapshot().unwrap()).unwrap();
    let bytes = disk.read(segment(1));
    let used = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let mut unnoticed = 0;
    for offset in (0..used).step_by(if long() { 1 } else { 3 }) {
        let disk = disk.copy();
        disk.flip(segment(1), offset);
        let errors = read_all(&disk, &picture);
        check_damage_is_told(&errors, &format!("flipped at {offset}"));
        unnoticed += usize::from(errors.is_empty());
        let written = open(&disk).and_then(|store| append(&store, "main", "on top"));
        assert_eq!(written.is_err(), !errors.is_empty(), "flipped at {offset}: {written:?}");
    }
    assert!(unnoticed < 7 * 16, "{unnoticed} flips unnoticed");
}

#[test]
fn without_the_mark_the_groups_behind_a_flipped_byte_still_prove_it() {
    let (whole, ends) = store_of_groups();
    let lost = file("objects/journal/synced");
    let before_last = ends[ends.len() - 2];
    let picture = Picture::of(&*open(&whole).unwrap().snapshot().unwrap()).unwrap();
    for offset in (0..before_last).step_by(if long() { 1 } else { 3 }) {
        let disk = whole.copy();
        disk.write(&lost, []);
        disk.flip(segment(1), offset);
        let errors = read_all(&disk, &picture);
        check_damage_is_told(&errors, &format!("flipped at {offset}"));
        if let Ok(store) = open(&disk) {
            assert!(errors.is_empty(), "flipped at {offset}: {errors:?}");
            append(&store, "new", "fill bytes are not read").unwrap();
        }
    }
}

#[test]
fn a_group_of_zeros_between_acknowledged_ones_is_corruption_even_if_the_mark_is_old() {
    let (whole, ends, mut marks) = store_of_groups_and_marks();
    marks.push(vec![]);
    for mark in marks {
        let disk = whole.copy();
        disk.write(file("objects/journal/synced"), mark);
        let mut bytes = disk.read(segment(1));
        bytes[ends[1]..ends[2]].fill(0);
        disk.write(segment(1), bytes);
        // A reader that trusts an old mark sees less; a writer looks closer.
        let error = open(&disk).and_then(|store| append(&store, "main", "on top"));
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    }
}

#[test]
fn damage_that_was_refused_changes_no_file_but_the_locks() {
    let (whole, ends) = store_of_groups();
    whole.flip(segment(1), ends[0] + 20);
    let before = contents(&whole);
    open(&whole).unwrap_err();
    open_read_only(&whole).unwrap_err();
    assert_eq!(contents(&whole), before);
}

#[test]
fn a_handle_that_is_open_refuses_to_go_on_behind_damage() {
    let (disk, _) = store_of_groups();
    let old = open(&disk).unwrap();
    let writer = open(&disk).unwrap();
    let begin = disk.read(segment(1));
    append(&writer, "main", "one more").unwrap();
    let after = disk.read(segment(1));
    let first = begin.iter().zip(&after).position(|(a, b)| a != b).unwrap();
    disk.flip(segment(1), first + 20);
    let files = contents(&disk);
    for error in [
        append(&old, "main", "on top").unwrap_err(),
        old.snapshot().map(|_| ()).unwrap_err(),
        old.pack_refs().unwrap_err(),
        old.repack().unwrap_err(),
    ] {
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    }
    let journal = |(path, _): &&(PathBuf, Vec<u8>)| path.starts_with(file("objects"));
    let now = contents(&disk);
    assert!(files.iter().filter(journal).eq(now.iter().filter(journal)));
}

#[test]
fn a_relaxed_tail_that_a_power_cut_tore_is_not_corruption() {
    let (disk, _) = store_of_groups();
    let store = open(&disk).unwrap();
    for number in 0..4 {
        append_with(&store, "main", &format!("relaxed {number}"), Durability::Relaxed).unwrap();
    }
    for seed in 0..if long() { 500 } else { 40 } {
        let cut = disk.copy().crash(Policy::Random(seed));
        let found = texts(&open(&cut).unwrap(), "main").unwrap();
        assert!((5..=9).contains(&found.len()), "{found:?}");
        append(&open(&cut).unwrap(), "main", "next").unwrap();
        let again = texts(&open(&cut).unwrap(), "main").unwrap();
        assert_eq!(again[..found.len()], found);
        assert_eq!(again[found.len()], "next");
    }
}
