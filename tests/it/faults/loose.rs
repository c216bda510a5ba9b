//! Large objects: files of their own, and the names of those files.

use std::path::Path;

use sapwood::error::{Error, Result};
use sapwood::object::NewObject;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Store};

use super::{attachment, commit, file, large, segment};
use crate::sim::{Fault, Keep, Op, Policy, SimDisk};
use crate::support::{append, init, open, ref_name, target, texts, update};

fn is_fan_dir(path: &Path) -> bool {
    path.parent() == Some(&file("objects")) && path.file_name().is_some_and(|name| name.len() == 2)
}

/// A store in which a process died after it had named a large blob, before the name was durable.
fn named_but_not_durable(blob: &NewObject) -> SimDisk {
    let disk = SimDisk::new(1);
    let died = init(&disk).unwrap();
    append(&died, "main", "before").unwrap();
    disk.fail_when(|op, path| op == Op::SyncDir && is_fan_dir(path), Fault::Eio);
    let refs = [update(ref_name("notes/large"), blob.id())];
    let error = commit(&died, Durability::Full, std::slice::from_ref(blob), &refs).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    disk
}

#[test]
fn a_large_object_whose_name_was_lost_leaves_no_dangling_ref() {
    let blob = large(1);
    let disk = named_but_not_durable(&blob);
    let disk = disk.crash(Policy::LoseUnsynced);
    let store = open(&disk).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.get(&blob.id()).unwrap().is_none());
    assert_eq!(target(&*snapshot, &ref_name("notes/large")).unwrap(), None);
    let link = attachment(blob.id());
    let refs = [update(ref_name("notes/link"), link.id())];
    let dangling = commit(&store, Durability::Full, std::slice::from_ref(&link), &refs);
    assert!(matches!(dangling, Err(Error::Dangling { .. })));
    commit(&store, Durability::Full, &[blob.clone(), link], &refs).unwrap();
    let disk = disk.crash(Policy::LoseUnsynced);
    let snapshot = open(&disk).unwrap().snapshot().unwrap();
    assert!(snapshot.get(&blob.id()).unwrap().is_some());
}

#[test]
fn whoever_relies_on_a_large_object_makes_its_name_durable() {
    type Rely = fn(&LocalStore, &NewObject) -> Result<()>;
    let blob = large(1);
    let ways: [(&str, Rely); 5] = [
        ("the blob again, and a link", |store, blob| {
            let link = attachment(blob.id());
            let refs = [update(ref_name("notes/link"), link.id())];
            commit(store, Durability::Full, &[blob.clone(), link], &refs)
        }),
        ("a link", |store, blob| {
            let link = attachment(blob.id());
            let refs = [update(ref_name("notes/link"), link.id())];
            commit(store, Durability::Full, &[link], &refs)
        }),
        ("a ref", |store, blob| {
            let refs = [update(ref_name("notes/large"), blob.id())];
            commit(store, Durability::Full, &[], &refs)
        }),
        ("a lone object", |store, blob| store.put_alone(&attachment(blob.id()))),
        ("a stream of the same bytes", |store, blob| {
            let bytes = blob.content().len() as u64;
            store.put_blob(&mut blob.content(), bytes).map(|_| ())
        }),
    ];
    for (way, rely) in ways {
        let disk = named_but_not_durable(&blob);
        rely(&open(&disk).unwrap(), &blob).unwrap();
        let disk = disk.crash(Policy::LoseUnsynced);
        let store = open(&disk).unwrap();
        let stored = store.snapshot().unwrap().get(&blob.id()).unwrap();
        let stored = stored.unwrap_or_else(|| panic!("lost, though relied on by {way}"));
        assert_eq!(&*stored.content, blob.content(), "{way}");
        assert_eq!(texts(&store, "main").unwrap(), ["before"]);
    }
}

#[test]
fn a_large_object_is_durable_before_the_group_that_links_it_in_every_mode() {
    for durability in [Durability::Relaxed, Durability::Full] {
        let disk = SimDisk::new(1);
        let store = init(&disk).unwrap();
        let blob = large(1);
        let link = attachment(blob.id());
        let refs = [update(ref_name("notes/link"), link.id())];
        commit(&store, durability, &[blob.clone(), link.clone()], &refs).unwrap();
        // The group survives, and nothing else that was not synced.
        let keep = |path: &Path| match path == segment(1) {
            true => Keep::All,
            false => Keep::Nothing,
        };
        let disk = disk.crash_keeping(|write| keep(&write.path), |_| false);
        let snapshot = open(&disk).unwrap().snapshot().unwrap();
        let found = target(&*snapshot, &ref_name("notes/link")).unwrap();
        assert_eq!(found, Some(link.id()));
        let stored = snapshot.get(&blob.id()).unwrap().expect("linked");
        assert_eq!(&*stored.content, blob.content());
    }
}

#[test]
fn a_stream_that_is_cut_short_leaves_no_file() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let before = disk.files();
    let short = store.put_blob(&mut &b"hello"[..], 6);
    assert!(matches!(short, Err(Error::InvalidObject { .. })), "{short:?}");
    assert_eq!(disk.files(), before);
}
