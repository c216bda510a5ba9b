//! A disk that is full, and one that takes no writes at all.

use sapwood::error::Error;
use sapwood::object::NewObject;
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Durability, Store, Transaction};

use super::picture::Picture;
use super::{attachment, commit, contents, large, operation};
use crate::sim::SimDisk;
use crate::support::{
    append, branch, init, message, open, open_read_only, options, ref_name, texts, update,
};

/// Makes a store with something in every container.
fn fill(disk: &SimDisk) {
    let store = init(disk).unwrap();
    append(&store, "main", "one").unwrap();
    let link = attachment(large(3).id());
    let refs = [update(ref_name("notes/large"), link.id())];
    commit(&store, Durability::Full, &[large(3), link], &refs).unwrap();
    store.pack_refs().unwrap();
    let entry = message("done", vec![]);
    let done = store.commit(Durability::Full, &mut |_| {
        Ok(Transaction {
            objects: vec![entry.clone()],
            refs: vec![update(ref_name("notes/done"), entry.id())],
            operation: Some(operation("do")),
        })
    });
    done.unwrap();
    store.put_alone(&NewObject::blob(b"alone".to_vec()).unwrap()).unwrap();
    store.repack().unwrap();
    append(&store, "main", "two").unwrap();
    store.pack_refs().unwrap();
    append(&store, "main", "three").unwrap();
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
    fill(&disk);
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
    fill(&disk);
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
