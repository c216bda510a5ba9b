//! Syncs that fail, and what others have not synced yet.

use std::path::Path;

use sapwood::error::Error;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Store};

use super::{attachment, commit, large, syncs_segment};
use crate::sim::{Fault, Op, Policy, SimDisk};
use crate::support::{
    append, append_with, branch, init, message, open, ref_name, target, texts, update,
};

/// A store whose second message was lost by a failed sync, with a handle opened before it.
fn after_failed_sync(bystander_wrote: bool) -> (SimDisk, LocalStore, LocalStore) {
    let disk = SimDisk::new(1);
    let failed = init(&disk).unwrap();
    append(&failed, "main", "one").unwrap();
    let bystander = open(&disk).unwrap();
    if bystander_wrote {
        append(&bystander, "other", "zero").unwrap();
    }
    disk.fail_when(syncs_segment, Fault::SyncFails);
    let unknown = append(&failed, "main", "two").unwrap_err();
    assert!(matches!(unknown, Error::OutcomeUnknown { .. }), "{unknown:?}");
    (disk, failed, bystander)
}

#[test]
fn a_handle_whose_sync_failed_is_dead() {
    let (_disk, failed, _) = after_failed_sync(false);
    for _ in 0..2 {
        let dead = append(&failed, "main", "three").unwrap_err();
        assert!(matches!(dead, Error::HandleDead { .. }), "{dead:?}");
        assert!(matches!(failed.maintain().unwrap_err(), Error::HandleDead { .. }));
        assert!(matches!(failed.repack().unwrap_err(), Error::HandleDead { .. }));
    }
    assert!(failed.sync().is_err());
    assert!(texts(&failed, "main").is_ok(), "it still reads");
}

#[test]
fn nobody_vouches_for_what_a_failed_sync_lost() {
    for bystander_wrote in [false, true] {
        for bystander_goes_first in [false, true] {
            let (disk, failed, bystander) = after_failed_sync(bystander_wrote);
            let mut acknowledged = vec!["one"];
            let try_bystander = |acknowledged: &mut Vec<&str>| {
                if append(&bystander, "main", "from before").is_ok() {
                    acknowledged.push("from before");
                }
            };
            if bystander_goes_first {
                try_bystander(&mut acknowledged);
            }
            let late = open(&disk).unwrap();
            append(&late, "main", "from after").unwrap();
            acknowledged.push("from after");
            if !bystander_goes_first {
                try_bystander(&mut acknowledged);
            }
            let disk = disk.crash(Policy::LoseUnsynced);
            drop((failed, bystander, late));
            let found = texts(&open(&disk).unwrap(), "main").unwrap();
            for text in acknowledged {
                assert!(found.iter().any(|found| found == text), "{text}: {found:?}");
            }
            let other = texts(&open(&disk).unwrap(), "other").unwrap();
            assert_eq!(other.len(), usize::from(bystander_wrote));
        }
    }
}

#[test]
fn a_lone_object_does_not_vouch_for_a_link_that_a_failed_sync_lost() {
    let (disk, _failed, _) = after_failed_sync(false);
    let late = open(&disk).unwrap();
    let lost = target(&*late.snapshot().unwrap(), &branch("main")).unwrap();
    let child = message("child", lost.into_iter().collect());
    let stored = late.put_alone(&child);
    let disk = disk.crash(Policy::LoseUnsynced);
    let snapshot = open(&disk).unwrap().snapshot().unwrap();
    if stored.is_ok() {
        assert!(snapshot.get(&child.id()).unwrap().is_some());
        assert!(snapshot.get(&lost.unwrap()).unwrap().is_some(), "dangling");
    }
}

#[test]
fn who_has_not_written_to_a_segment_does_not_vouch_for_it() {
    let disk = SimDisk::new(1);
    let slow = init(&disk).unwrap();
    append_with(&slow, "main", "one", Durability::Relaxed).unwrap();
    let failed = open(&disk).unwrap();
    failed.pack_refs().unwrap();
    disk.fail_when(syncs_segment, Fault::SyncFails);
    append(&failed, "main", "two").unwrap_err();
    // The slow one finds the new segment on its way to sync what it wrote to the old one.
    disk.write(super::file("objects/journal/synced"), []);
    slow.sync().unwrap();
    append(&open(&disk).unwrap(), "main", "three").unwrap();
    let disk = disk.crash(Policy::LoseUnsynced);
    let found = texts(&open(&disk).unwrap(), "main").unwrap();
    assert_eq!(found, ["one", "two", "three"]);
}

#[test]
fn a_sync_that_finds_the_disk_full_is_a_failed_sync() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    disk.fail_when(syncs_segment, Fault::Enospc);
    let unknown = append(&store, "main", "one").unwrap_err();
    assert!(matches!(unknown, Error::OutcomeUnknown { .. }), "{unknown:?}");
    append(&open(&disk).unwrap(), "main", "two").unwrap();
}

#[test]
fn a_rotation_dies_of_a_segment_and_not_of_a_manifest_without_room() {
    // In this order: the segment that is closed, the next one, the manifest, the directory.
    for place in 0..4 {
        let disk = SimDisk::new(1);
        let store = init(&disk).unwrap();
        append(&store, "main", "one").unwrap();
        let mut syncs = 0;
        let picks = move |op: Op, _: &Path| {
            syncs += usize::from(matches!(op, Op::SyncData | Op::SyncDir));
            syncs == place + 1
        };
        disk.fail_when(picks, Fault::Enospc);
        let error = store.pack_refs().unwrap_err();
        let mut said = vec!["one"];
        match place < 2 {
            true => {
                assert!(matches!(error, Error::OutcomeUnknown { .. }), "{place}: {error:?}");
                assert!(append(&store, "main", "two").is_err(), "{place}");
            }
            false => {
                assert!(matches!(error, Error::Io { .. }), "{place}: {error:?}");
                append(&store, "main", "two").unwrap();
                said.push("two");
            }
        }
        append(&open(&disk).unwrap(), "main", "three").unwrap();
        said.push("three");
        let disk = disk.crash(Policy::LoseUnsynced);
        assert_eq!(texts(&open(&disk).unwrap(), "main").unwrap(), said, "{place}");
    }
}

#[test]
fn a_full_commit_with_nothing_left_to_write_syncs_what_it_observed() {
    let entry = message("hello", vec![]);
    let refs = [update(branch("main"), entry.id())];
    let forms: [(&[_], &[_]); 4] = [
        (std::slice::from_ref(&entry), &refs[..]),
        (std::slice::from_ref(&entry), &[]),
        (&[], &refs[..]),
        (&[], &[]),
    ];
    for (objects, refs_again) in forms {
        let disk = SimDisk::new(1);
        let relaxed = init(&disk).unwrap();
        let full = open(&disk).unwrap();
        commit(&relaxed, Durability::Relaxed, std::slice::from_ref(&entry), &refs).unwrap();
        commit(&full, Durability::Full, objects, refs_again).unwrap();
        let disk = disk.crash(Policy::LoseUnsynced);
        let store = open(&disk).unwrap();
        assert_eq!(texts(&store, "main").unwrap(), ["hello"]);
    }
}

#[test]
fn a_full_commit_on_top_of_relaxed_ones_takes_them_along() {
    let disk = SimDisk::new(1);
    let relaxed = init(&disk).unwrap();
    let blob = large(1);
    let link = attachment(blob.id());
    let refs = [update(ref_name("notes/link"), link.id())];
    commit(&relaxed, Durability::Relaxed, &[blob.clone(), link.clone()], &refs).unwrap();
    append_with(&relaxed, "main", "one", Durability::Relaxed).unwrap();
    let full = open(&disk).unwrap();
    append(&full, "main", "two").unwrap();
    let disk = disk.crash(Policy::LoseUnsynced);
    let store = open(&disk).unwrap();
    assert_eq!(texts(&store, "main").unwrap(), ["one", "two"]);
    let snapshot = store.snapshot().unwrap();
    assert_eq!(&*snapshot.get(&blob.id()).unwrap().unwrap().content, blob.content());
}

#[test]
fn relaxed_commits_survive_the_end_of_their_process_and_a_close() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append_with(&store, "main", "one", Durability::Relaxed).unwrap();
    let killed = disk.crash(Policy::KeepAll);
    let store = open(&killed).unwrap();
    assert_eq!(texts(&store, "main").unwrap(), ["one"]);
    append_with(&store, "main", "two", Durability::Relaxed).unwrap();
    drop(store);
    let cut = killed.crash(Policy::LoseUnsynced);
    assert_eq!(texts(&open(&cut).unwrap(), "main").unwrap(), ["one", "two"]);
}
