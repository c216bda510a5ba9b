//! Every call to the disk fails once; and a disk that takes no writes at all.

use sapwood::error::{Error, Result};
use sapwood::object::NewObject;
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Durability, Store, Transaction};

use super::picture::Picture;
use super::{attachment, commit, contents, large, long, operation};
use crate::sim::{Fault, Policy, SimDisk};
use crate::support::{
    append, append_with, branch, init, message, open, open_read_only, options, ref_name, texts,
    update,
};

const FAULTS: [Fault; 4] = [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::SyncFails];

type Step = fn(&LocalStore) -> Result<()>;

/// What is done to a store, each step with the message that it acknowledges.
const STEPS: [(Option<&str>, Step); 12] = [
    (Some("one"), |store| append(store, "main", "one").map(|_| ())),
    (None, |store| {
        append_with(store, "relaxed", "relaxed", Durability::Relaxed)?;
        store.sync()
    }),
    (Some("large"), |store| {
        let link = attachment(large(3).id());
        let refs = [update(ref_name("notes/large"), link.id())];
        commit(store, Durability::Full, &[large(3), link], &refs)
    }),
    (None, LocalStore::maintain),
    (Some("two"), |store| append(store, "main", "two").map(|_| ())),
    (None, |store| store.pack_refs().map(|_| ())),
    (Some("operation"), |store| {
        let entry = message("done", vec![]);
        store.commit(Durability::Full, &mut |_| {
            Ok(Transaction {
                objects: vec![entry.clone()],
                refs: vec![update(ref_name("notes/done"), entry.id())],
                operation: Some(operation("do")),
            })
        })
    }),
    (None, |store| store.put_alone(&NewObject::blob(b"alone".to_vec())?)),
    (None, |store| store.repack().map(|_| ())),
    (Some("three"), |store| append(store, "main", "three").map(|_| ())),
    (None, |store| store.pack_refs().map(|_| ())),
    (Some("four"), |store| append(store, "main", "four").map(|_| ())),
];

/// Checks that an error says what a failing disk makes of a call.
fn check_error(error: &Error, context: &str) {
    assert!(
        matches!(error, Error::Io { .. } | Error::OutcomeUnknown { .. } | Error::HandleDead { .. }),
        "{context}: {error:?}"
    );
}

/// Runs all steps, each with a new handle where the last one failed, and gives what succeeded.
fn run(disk: &SimDisk, context: &str) -> Vec<&'static str> {
    let mut store = None;
    let mut told = Vec::new();
    for (place, (name, step)) in STEPS.iter().enumerate() {
        let context = format!("{context}, step {place}");
        // The second attempt is made on a new handle, after the one fault there was.
        for attempt in 0..2 {
            if store.is_none() {
                match init(disk) {
                    Ok(opened) => store = Some(opened),
                    Err(error) => {
                        check_error(&error, &context);
                        store = Some(init(disk).unwrap());
                    }
                }
            }
            match step(store.as_ref().unwrap()) {
                Ok(()) => {
                    told.extend(*name);
                    break;
                }
                Err(error) => {
                    check_error(&error, &context);
                    assert_eq!(attempt, 0, "{context}: {error}");
                    store = None;
                }
            }
        }
    }
    told
}

fn check(disk: &SimDisk, told: &[&str], context: &str) {
    let store = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let mut found = texts(&store, "main").unwrap();
    // A step whose error came after its transaction stood was done again.
    found.dedup();
    let said: Vec<&str> = told
        .iter()
        .copied()
        .filter(|text| ["one", "two", "three", "four"].contains(text))
        .collect();
    assert_eq!(found, said, "{context}");
    let picture = Picture::of(&*store.snapshot().unwrap())
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(picture.objects.contains_key(&large(3).id()), "{context}");
    assert!(!picture.operations.is_empty(), "{context}");
    for pack in store.packs().unwrap() {
        store.verify_pack(&pack).unwrap_or_else(|error| panic!("{context}: {error}"));
    }
}

/// A disk with a directory for the store to be in.
fn empty_disk(count_reads: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.write("/s/README", "");
    disk.count_reads(count_reads);
    disk
}

fn fail_each_call(count_reads: bool, fault: impl Fn(u64) -> Vec<Fault>) {
    let disk = empty_disk(count_reads);
    assert_eq!(run(&disk, "no fault").len(), 6);
    for call in 0..disk.calls() {
        for fault in fault(call) {
            let context = format!("{fault:?} at call {call} of {}", disk.calls());
            let disk = empty_disk(count_reads);
            disk.fail_at(call, fault);
            let told = run(&disk, &context);
            assert_eq!(told.len(), 6, "{context}");
            check(&disk, &told, &context);
            let disk = disk.crash(Policy::LoseUnsynced);
            check(&disk, &told, &format!("{context}, then a power cut"));
            append(&open(&disk).unwrap(), "main", "five").unwrap();
        }
    }
}

#[test]
fn any_call_that_fails_is_a_clear_error_and_a_new_handle_goes_on() {
    fail_each_call(false, |call| match long() {
        true => FAULTS.to_vec(),
        false => vec![FAULTS[call as usize % FAULTS.len()]],
    });
}

#[test]
fn any_read_that_fails_is_a_clear_error_and_a_new_handle_goes_on() {
    fail_each_call(true, |call| match long() || call % 5 == 0 {
        true => vec![Fault::Eio],
        false => vec![],
    });
}

#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_room_again() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "one").unwrap();
    let files = contents(&disk);
    let used: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let mut said = 1;
    for room in [0, 1, 64, 4096, 8192] {
        disk.set_capacity(Some(used + room));
        let error = commit(&store, Durability::Full, &[random_blob()], &[]).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error:?}");
        for _ in 0..12 {
            match append(&store, "main", "small") {
                Err(error) => assert!(matches!(error, Error::Io { .. }), "{error:?}"),
                Ok(_) => said += 1,
            }
        }
        disk.set_capacity(None);
    }
    commit(&store, Durability::Full, &[random_blob()], &[]).unwrap();
    append(&store, "main", "small").unwrap();
    assert_eq!(texts(&store, "main").unwrap().len(), said + 1);
    let tmp = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(".tmp");
    assert!(!disk.files().iter().any(tmp), "nothing is left aside");
}

/// A large blob that does not compress.
fn random_blob() -> NewObject {
    let mut state = 1u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    NewObject::blob((0..300_000).map(next).collect()).unwrap()
}

#[test]
fn a_read_only_disk_is_read_and_not_written() {
    let disk = SimDisk::new(1);
    run(&disk, "no fault");
    let picture = Picture::of(&*open(&disk).unwrap().snapshot().unwrap()).unwrap();
    disk.set_read_only(true);
    let before = contents(&disk);
    let refused = open(&disk).unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");

    let store = open_read_only(&disk).unwrap();
    assert_eq!(Picture::of(&*store.snapshot().unwrap()).unwrap(), picture);
    store.count_objects().unwrap();
    for pack in store.packs().unwrap() {
        store.verify_pack(&pack).unwrap();
    }
    let blob = NewObject::blob(b"new".to_vec()).unwrap();
    let refusals = [
        append(&store, "main", "no").map(|_| ()),
        store.put_alone(&blob),
        store.put_blob(&mut &b"new"[..], 3).map(|_| ()),
        store.maintain(),
        store.pack_refs().map(|_| ()),
        store.repack().map(|_| ()),
        store.unpack(None).map(|_| ()),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Err(Error::ReadOnly { .. })), "{refusal:?}");
    }
    store.sync().unwrap();
    drop(store);
    assert_eq!(contents(&disk), before);
}

#[test]
fn a_reader_of_a_writable_disk_changes_nothing_either() {
    let disk = SimDisk::new(1);
    run(&disk, "no fault");
    let before = contents(&disk);
    let calls = disk.calls();
    let options = Options { read_only: true, background: true, ..options() };
    let root = std::path::Path::new(crate::support::ROOT);
    let store = LocalStore::open(std::sync::Arc::new(disk.clone()), root, options).unwrap();
    Picture::of(&*store.snapshot().unwrap()).unwrap();
    drop(store);
    assert_eq!(disk.calls(), calls, "no call that changes or syncs");
    assert_eq!(contents(&disk), before);
}

#[test]
fn a_disk_that_becomes_read_only_refuses_commits_and_still_reads() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "one").unwrap();
    disk.set_read_only(true);
    let refused = append(&store, "main", "two").unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
    assert_eq!(texts(&store, "main").unwrap(), ["one"]);
    disk.set_read_only(false);
    append(&store, "main", "two").unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.reference(&branch("main")).unwrap().is_some());
    assert_eq!(texts(&store, "main").unwrap(), ["one", "two"]);
}
