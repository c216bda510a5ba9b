//! Garbage collection on a disk that fails: a power cut at every call, a full disk, a disk that may
//! only be read. And `sapwood gc`, as people run it.

mod beside;

use std::path::Path;
use std::sync::Arc;

use sapwood::codec::Value;
use sapwood::disk::{Disk, OpenMode};
use sapwood::error::{Error, Result};
use sapwood::id::Id;
use sapwood::object::{Entry, NewObject};
use sapwood::store::local::{FsckOptions, GcOptions, LocalStore, Severity, fsck};
use sapwood::store::{Durability, RefUpdate, RefValue, Store, Transaction};
use sapwood::walk;

use crate::sim::{Fault, Policy, SimDisk};
use crate::support::{ROOT, append, branch, init, message, open, open_read_only, texts, update};

const NOW_MS: i64 = 4_000_000_000_000;
const DAY_MS: i64 = 86_400_000;

fn prune_at(prune_ms: i64) -> GcOptions<'static> {
    GcOptions { prune_ms, operations_ms: 10, ..GcOptions::at(NOW_MS) }
}

fn large(seed: u8) -> NewObject {
    let noise = (0..300_000u32).map(|place| (place.wrapping_mul(place ^ 77) >> 3) as u8 ^ seed);
    NewObject::blob(noise.collect()).unwrap()
}

/// Commits an entry that links some objects, and points a branch to it.
fn hold(store: &LocalStore, name: &str, held: &[NewObject]) {
    let links = held.iter().map(|object| Value::Link(object.id())).collect();
    let body = Value::map([("holds", Value::List(links))]);
    let label = "message".to_owned();
    let entry = Entry { label, time: 1, parents: vec![], body, raw: None }.encode().unwrap();
    let committed = store.commit(Durability::Full, &mut |_| {
        let refs = vec![update(branch(name), entry.id())];
        let mut objects = held.to_vec();
        objects.push(entry.clone());
        Ok(Transaction { objects, refs, operation: None })
    });
    committed.unwrap();
}

fn drop_branch(store: &LocalStore, name: &str) {
    let committed = store.commit(Durability::Full, &mut |snapshot| {
        let expected = sapwood::store::Expected::Any;
        let refs = vec![RefUpdate { name: branch(name), expected, new: None }];
        let _ = snapshot;
        Ok(Transaction { objects: vec![], refs, operation: None })
    });
    committed.unwrap();
}

/// A store with messages, garbage in packs, in the journal and loose, and cruft that is old.
fn filled(disk: &SimDisk) -> LocalStore {
    let store = init(disk).unwrap();
    hold(&store, "old", &[large(1), NewObject::blob(b"old".repeat(500)).unwrap()]);
    drop_branch(&store, "old");
    say_on(&store, 0..10);
    let long_ago = NOW_MS - 30 * DAY_MS;
    let first = GcOptions { prune_ms: long_ago - 1, ..GcOptions::at(long_ago) };
    assert_eq!(store.gc(&first).unwrap().set_aside.count(), 3);
    hold(&store, "gone", &[large(2), NewObject::blob(b"gone".repeat(500)).unwrap()]);
    hold(&store, "kept", &[large(3), NewObject::blob(b"kept".repeat(500)).unwrap()]);
    say_on(&store, 10..20);
    store.repack().unwrap();
    drop_branch(&store, "gone");
    store.put_alone(&NewObject::blob(b"small and loose".to_vec()).unwrap()).unwrap();
    say_on(&store, 20..30);
    store
}

fn say_on(store: &LocalStore, numbers: std::ops::Range<usize>) {
    for number in numbers {
        append(store, "main", &say(number)).unwrap();
    }
}

fn say(number: usize) -> String {
    format!("message {number} {}", "word ".repeat(number % 40))
}

/// Checks that everything that refs lead to is whole, and that writing goes on.
fn check(disk: &SimDisk, context: &str) {
    let fail = |error: Error| -> ! { panic!("{context}: {error}") };
    let store = open(disk).unwrap_or_else(|error| fail(error));
    let expected: Vec<String> = (0..30).map(say).collect();
    assert_eq!(texts(&store, "main").unwrap_or_else(|error| fail(error)), expected, "{context}");
    let snapshot = store.snapshot().unwrap();
    let refs = snapshot.references("").unwrap().into_iter();
    let roots: Vec<Id> = refs
        .filter_map(|(name, value)| match value {
            RefValue::Id(id) if name != branch("more") => Some(id),
            _ => None,
        })
        .collect();
    let reached = walk::reachable(&*snapshot, &roots).unwrap_or_else(|error| fail(error));
    assert_eq!(reached.len(), 33, "{context}");
    for id in &reached {
        assert!(snapshot.get(id).unwrap_or_else(|error| fail(error)).is_some(), "{context}");
    }
    append(&store, "more", "goes on").unwrap_or_else(|error| fail(error));
    let report = fsck(Arc::new(disk.clone()), Path::new(ROOT), &FsckOptions::default()).unwrap();
    for finding in report.findings {
        let is_mirror = finding.what.starts_with("mirror-");
        let is_harmless = finding.severity == Severity::Notice || is_mirror;
        assert!(is_harmless, "{context}: {finding:?}");
    }
}

fn objects(store: &LocalStore) -> u64 {
    let counts = store.count_objects().unwrap();
    counts.journal_objects + counts.loose_objects + counts.packed_objects + counts.cruft_objects
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_and_the_next_run_goes_on() {
    let base = SimDisk::new(1);
    drop(filled(&base));
    for prune_ms in [NOW_MS, NOW_MS - 14 * DAY_MS] {
        let whole = base.copy();
        let store = open(&whole).unwrap();
        let before = whole.calls();
        store.gc(&prune_at(prune_ms)).unwrap();
        let calls = whole.calls() - before;
        assert!(calls > 20, "{calls}");
        drop(store);
        check(&whole, "whole");
        let step = if std::env::var_os("SAPWOOD_TORTURE").is_some() { 1 } else { 3 };
        let policies = [Policy::LoseUnsynced, Policy::KeepAll, Policy::Random(7)];
        for call in (0..calls).step_by(step) {
            let policy = policies[(call / step as u64) as usize % policies.len()];
            let disk = base.copy();
            let store = open(&disk).unwrap();
            disk.fail_at(disk.calls() + call, Fault::Crash);
            assert!(store.gc(&prune_at(prune_ms)).is_err());
            let disk = disk.crash(policy);
            let context = format!("cut at call {call} of {calls}, {policy:?}");
            check(&disk, &context);
            let store = open(&disk).unwrap();
            store.gc(&prune_at(NOW_MS)).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(objects(&store), 34, "{context}: all garbage is gone");
            drop(store);
            check(&disk, &format!("{context}, and the next run"));
        }
    }
}

#[test]
fn a_call_that_fails_at_any_place_leaves_a_whole_store() {
    let base = SimDisk::new(2);
    drop(filled(&base));
    let whole = base.copy();
    let store = open(&whole).unwrap();
    let before = whole.calls();
    store.gc(&prune_at(NOW_MS)).unwrap();
    let calls = whole.calls() - before;
    for call in (0..calls).step_by(4) {
        for fault in [Fault::Enospc, Fault::Eio] {
            let disk = base.copy();
            let store = open(&disk).unwrap();
            disk.fail_at(disk.calls() + call, fault);
            // Some calls may fail without harm.
            let _ = store.gc(&prune_at(NOW_MS));
            drop(store);
            check(&disk, &format!("{fault:?} at call {call} of {calls}"));
        }
    }
}

#[test]
fn a_full_disk_is_told_and_changes_nothing() {
    let disk = SimDisk::new(3);
    drop(filled(&disk));
    let used: u64 = disk.files().iter().map(|path| disk.len(path).unwrap()).sum();
    disk.set_capacity(Some(used + 600));
    let store = open(&disk).unwrap();
    let found = store.gc(&prune_at(NOW_MS));
    let is_full = |error: &Error| {
        matches!(error, Error::Io { source, .. }
        if source.kind() == std::io::ErrorKind::StorageFull)
    };
    assert!(found.as_ref().is_err_and(is_full), "{found:?}");
    drop(store);
    disk.set_capacity(None);
    check(&disk, "full");
}

fn bytes_of(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let read = |path: &Path| -> Vec<u8> {
        let file = disk.open(path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_full_at(&mut bytes, 0).unwrap();
        bytes
    };
    let files = disk.files().into_iter();
    files.map(|path| (path.display().to_string(), read(&path))).collect()
}

#[test]
fn a_dry_run_changes_no_byte_and_says_what_a_run_does() {
    let disk = SimDisk::new(4);
    drop(filled(&disk));
    for prune_ms in [NOW_MS - 14 * DAY_MS, NOW_MS] {
        let before = bytes_of(&disk);
        let store = open_read_only(&disk).unwrap();
        let would = store.gc_dry_run(&prune_at(prune_ms), &[]).unwrap();
        drop(store);
        assert_eq!(bytes_of(&disk), before);
        let copy = disk.copy();
        let did = open(&copy).unwrap().gc(&prune_at(prune_ms)).unwrap();
        assert_eq!(would.set_aside, did.set_aside);
        assert_eq!((would.dropped, would.operations), (did.dropped, did.operations));
        assert_eq!(would.objects_after, did.objects_after);
    }
}

#[test]
fn a_store_that_may_only_be_read_is_not_collected() {
    let disk = SimDisk::new(5);
    drop(filled(&disk));
    let store = open_read_only(&disk).unwrap();
    assert!(matches!(store.gc(&prune_at(NOW_MS)), Err(Error::ReadOnly { .. })));
}

#[test]
fn repacking_and_merging_neither_lose_cruft_nor_bring_it_back() -> Result<()> {
    let disk = SimDisk::new(6);
    let store = filled(&disk);
    store.gc(&prune_at(NOW_MS - 60 * DAY_MS))?;
    let cruft = store.count_objects()?.cruft_objects;
    assert_eq!(cruft, 7);
    store.repack()?;
    for number in 0..200 {
        append(&store, "more", &format!("message {number}"))?;
        store.maintain()?;
    }
    store.pack_refs()?;
    store.drop_copies()?;
    assert_eq!(store.count_objects()?.cruft_objects, cruft);
    let snapshot = store.snapshot()?;
    assert!(snapshot.get(&large(1).id())?.is_some() && snapshot.get(&large(2).id())?.is_some());
    Ok(())
}

/// Makes a store with garbage in a long pack, and in the journal an entry that follows it; gives
/// the ids of both. So `gc` writes packs in two groups.
fn in_two_groups(disk: &SimDisk) -> (Id, Id) {
    let store = init(disk).unwrap();
    let follow = |text: &str, parents: Vec<Id>| {
        let entry = message(text, parents);
        let committed = store.commit(Durability::Full, &mut |_| {
            let refs = vec![update(branch("gone"), entry.id())];
            Ok(Transaction { objects: vec![entry.clone()], refs, operation: None })
        });
        committed.map(|()| entry.id()).unwrap()
    };
    let parent = follow("parent", vec![]);
    hold(&store, "kept", &[large(3), large(4)]);
    let noise = |number: u32| number.wrapping_mul(0x9e37_79b9).to_string().repeat(9);
    let say_on = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            append(&store, "main", &noise(number)).unwrap();
        }
    };
    say_on(0..200);
    store.repack().unwrap();
    let child = follow("child", vec![parent]);
    say_on(200..202);
    drop_branch(&store, "gone");
    (parent, child)
}

/// Points to garbage, if it is there to writers; then everything that it leads to must be found.
fn point_to(disk: &SimDisk, (parent, child): (Id, Id), context: &str) -> bool {
    let store = open(disk).unwrap();
    let pointed = store.commit(Durability::Full, &mut |_| {
        let refs = vec![update(branch("back"), child)];
        Ok(Transaction { objects: vec![], refs, operation: None })
    });
    match pointed {
        Ok(()) => {}
        Err(Error::Dangling { .. }) => return false,
        Err(error) => panic!("{context}: {error}"),
    }
    for round in ["at once", "after the next run", "after the run after that"] {
        let snapshot = store.snapshot().unwrap();
        for id in [child, parent] {
            assert!(snapshot.get(&id).unwrap().is_some(), "{context}: {round}");
        }
        let report = store.gc(&prune_at(NOW_MS));
        report.unwrap_or_else(|error| panic!("{context}: {round}: {error}"));
    }
    true
}

#[test]
fn garbage_that_is_still_there_to_writers_leads_to_nothing_that_was_dropped() {
    let base = SimDisk::new(7);
    let garbage = in_two_groups(&base);
    let whole = base.copy();
    let store = open(&whole).unwrap();
    let before = whole.calls();
    let report = store.gc(&prune_at(NOW_MS)).unwrap();
    assert_eq!((report.dropped, report.packs_after), (2, 2));
    let calls = whole.calls() - before;
    let mut pointed = 0;
    for call in 0..calls {
        let context = format!("cut at call {call} of {calls}");
        let cut = |disk: SimDisk, policy| {
            let store = open(&disk).unwrap();
            disk.fail_at(disk.calls() + call, Fault::Crash);
            // What follows a run that was cut late has less to do.
            let _ = store.gc(&prune_at(NOW_MS));
            disk.crash(policy)
        };
        let disk = cut(base.copy(), Policy::LoseUnsynced);
        pointed += u64::from(point_to(&disk, garbage, &context));
        let disk = cut(cut(base.copy(), Policy::KeepAll), Policy::KeepAll);
        point_to(&disk, garbage, &format!("{context}, twice"));
    }
    assert!(0 < pointed && pointed < calls, "{pointed} of {calls}");
}

#[test]
fn a_pack_that_is_written_again_as_it_was_is_whole_after_a_power_cut_at_any_call() {
    let base = SimDisk::new(8);
    let store = init(&base).unwrap();
    say_on(&store, 0..30);
    store.repack().unwrap();
    drop(store);
    let packs = |disk: &SimDisk| -> Vec<_> {
        let is_pack = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "pack");
        disk.files().into_iter().filter(is_pack).collect()
    };
    let whole = base.copy();
    let store = open(&whole).unwrap();
    let before = whole.calls();
    store.repack().unwrap();
    assert_eq!((packs(&whole), packs(&whole).len()), (packs(&base), 1), "it has the same name");
    let calls = whole.calls() - before;
    for (call, seed) in (0..calls).flat_map(|call| (0..8).map(move |seed| (call, seed))) {
        let disk = base.copy();
        let store = open(&disk).unwrap();
        disk.fail_at(disk.calls() + call, Fault::Crash);
        let _ = store.repack();
        // A name may be there after it, and what the file holds may not.
        let disk = disk.crash(Policy::Random(seed));
        let found = open(&disk).and_then(|store| texts(&store, "main"));
        let expected: Vec<String> = (0..30).map(say).collect();
        let context = format!("call {call} of {calls}, seed {seed}");
        assert_eq!(found.unwrap_or_else(|error| panic!("{context}: {error}")), expected);
    }
}
