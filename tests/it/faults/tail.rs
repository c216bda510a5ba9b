//! What a power cut leaves behind the last synced group, and rotation in the middle of it.

use sapwood::store::{Durability, Store};

use super::{file, segment};
use crate::sim::{Keep, PendingWrite, Policy, SimDisk};
use crate::support::{append, append_with, init, open, texts};

/// A store with one acknowledged message and two relaxed ones, and a power cut that leaves what the
/// caller chooses of the two groups.
fn cut_two_groups(keep: [Keep; 2]) -> (SimDisk, Vec<u8>) {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "acknowledged").unwrap();
    append_with(&store, "main", "lost one", Durability::Relaxed).unwrap();
    append_with(&store, "main", "lost two", Durability::Relaxed).unwrap();
    let written = disk.read(segment(1));
    let after = disk.crash_keeping(
        |write| match write.path == segment(1) {
            true => keep[write.index].clone(),
            false => Keep::Nothing,
        },
        |_| true,
    );
    (after, written)
}

/// The bytes of a group that were pending at a power cut.
fn pending_groups() -> Vec<PendingWrite> {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "acknowledged").unwrap();
    append_with(&store, "main", "lost one", Durability::Relaxed).unwrap();
    append_with(&store, "main", "lost two", Durability::Relaxed).unwrap();
    let mut pending = Vec::new();
    disk.crash_keeping(
        |write| {
            if write.path == segment(1) {
                pending.push(write.clone());
            }
            false
        },
        |_| true,
    );
    pending
}

#[test]
fn of_two_unsynced_groups_only_the_second_survived() {
    let first = &pending_groups()[0];
    let parts = [
        Keep::Nothing,
        Keep::Bytes(first.offset..first.offset + 8),
        Keep::Bytes(first.offset..first.offset + first.bytes / 2),
        Keep::Bytes(first.offset + 100..first.offset + first.bytes),
    ];
    for part in parts {
        let (disk, _) = cut_two_groups([part.clone(), Keep::All]);
        let reader = crate::support::open_read_only(&disk).unwrap();
        assert_eq!(texts(&reader, "main").unwrap(), ["acknowledged"], "{part:?}");
        let store = open(&disk).unwrap();
        assert_eq!(texts(&store, "main").unwrap(), ["acknowledged"]);
        append(&store, "main", "next").unwrap();
        append(&store, "other", "and another").unwrap();
        for store in [&store, &reader, &open(&disk).unwrap()] {
            assert_eq!(texts(store, "main").unwrap(), ["acknowledged", "next"]);
            assert_eq!(texts(store, "other").unwrap(), ["and another"]);
        }
        let disk = disk.crash(Policy::LoseUnsynced);
        let store = open(&disk).unwrap();
        assert_eq!(texts(&store, "main").unwrap(), ["acknowledged", "next"]);
    }
}

#[test]
fn a_cut_tail_does_not_come_back_when_something_of_equal_length_takes_its_place() {
    let (disk, written) = cut_two_groups([Keep::Nothing, Keep::All]);
    let store = open(&disk).unwrap();
    append(&store, "main", "same 1st").unwrap();
    // The second group stands whole, in its place, right behind a group of the first one's length.
    let second = &pending_groups()[1];
    let range = second.offset as usize..(second.offset + second.bytes) as usize;
    assert_eq!(disk.read(segment(1))[range.clone()], written[range]);
    for store in [&store, &open(&disk).unwrap()] {
        assert_eq!(texts(store, "main").unwrap(), ["acknowledged", "same 1st"]);
    }
    append(&open(&disk).unwrap(), "main", "further").unwrap();
    for store in [&store, &open(&disk).unwrap()] {
        let found = texts(store, "main").unwrap();
        assert_eq!(found, ["acknowledged", "same 1st", "further"]);
    }
}

#[test]
fn a_torn_tail_of_the_same_length_stays_dead_in_the_segment_that_was_closed_before_it() {
    let first = &pending_groups()[0];
    let half = Keep::Bytes(first.offset..first.offset + 200);
    let (disk, _) = cut_two_groups([half, Keep::All]);
    append(&open(&disk).unwrap(), "main", "same 1st").unwrap();
    append(&open(&disk).unwrap(), "main", "further").unwrap();
    let store = open(&disk).unwrap();
    let expected = ["acknowledged", "same 1st", "further"];
    assert_eq!(texts(&store, "main").unwrap(), expected);
    store.maintain().unwrap();
    assert_eq!(texts(&store, "main").unwrap(), expected);
}

#[test]
fn a_reader_without_the_mark_learns_of_a_recovery() {
    let first = &pending_groups()[0];
    let half = Keep::Bytes(first.offset..first.offset + 200);
    let (disk, _) = cut_two_groups([half, Keep::Nothing]);
    disk.write(file("objects/journal/synced"), []);
    let reader = crate::support::open_read_only(&disk).unwrap();
    let writer = open(&disk).unwrap();
    append(&writer, "main", "next").unwrap();
    disk.write(file("objects/journal/synced"), []);
    assert_eq!(texts(&reader, "main").unwrap(), ["acknowledged", "next"]);
}

#[test]
fn rotation_between_an_unsynced_group_and_its_acknowledgement() {
    let disk = SimDisk::new(1);
    let slow = init(&disk).unwrap();
    let quick = open(&disk).unwrap();
    append(&quick, "other", "before").unwrap();
    append_with(&slow, "main", "unsynced", Durability::Relaxed).unwrap();
    quick.pack_refs().unwrap();
    assert!(!disk.files().contains(&segment(1)), "rotated and sealed");
    slow.sync().unwrap();
    let disk = disk.crash(Policy::LoseUnsynced);
    let store = open(&disk).unwrap();
    assert_eq!(texts(&store, "main").unwrap(), ["unsynced"]);
    assert_eq!(texts(&store, "other").unwrap(), ["before"]);
}

#[test]
fn a_rotation_whose_sync_fails_acknowledges_nothing_for_anybody() {
    let disk = SimDisk::new(1);
    let slow = init(&disk).unwrap();
    append(&slow, "main", "durable").unwrap();
    append_with(&slow, "main", "unsynced", Durability::Relaxed).unwrap();
    let quick = open(&disk).unwrap();
    disk.fail_when(super::syncs_segment, crate::sim::Fault::SyncFails);
    quick.pack_refs().unwrap_err();
    let acknowledged = slow.sync().is_ok();
    let disk = disk.crash(Policy::LoseUnsynced);
    let found = texts(&open(&disk).unwrap(), "main").unwrap();
    assert_eq!(found[0], "durable");
    assert!(!acknowledged || found.len() == 2, "{found:?}");
}
