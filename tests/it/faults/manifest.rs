//! The manifest's own name, and reads that come in the middle of a write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sapwood::store::local::LocalStore;

use super::file;
use super::odd_disk::OddDisk;
use crate::sim::{Fault, Op, Policy, SimDisk};
use crate::support::{ROOT, append, init, open, options, texts};

#[test]
fn a_writer_vouches_for_a_manifest_whose_publisher_died() {
    let disk = SimDisk::new(1);
    let died = init(&disk).unwrap();
    append(&died, "main", "one").unwrap();
    // The new manifest has its name, and the directory is never synced.
    disk.fail_when(|op, path| op == Op::SyncDir && path == Path::new(ROOT), Fault::Eio);
    died.pack_refs().unwrap_err();
    let next = open(&disk).unwrap();
    append(&next, "main", "two").unwrap();
    let disk = disk.crash(Policy::LoseUnsynced);
    assert_eq!(texts(&open(&disk).unwrap(), "main").unwrap(), ["one", "two"]);
}

#[test]
fn a_store_whose_maker_died_before_its_manifest_was_durable_is_made_durable_by_the_next() {
    let disk = SimDisk::new(1);
    let mut syncs = 0;
    disk.fail_when(
        move |op, path| {
            syncs += usize::from(op == Op::SyncDir && path == Path::new(ROOT));
            syncs == 3
        },
        Fault::Eio,
    );
    init(&disk).unwrap_err();
    assert!(disk.files().contains(&file("current")), "named, not synced");
    let store = init(&disk).unwrap();
    append(&store, "main", "one").unwrap();
    let disk = disk.crash(Policy::LoseUnsynced);
    assert_eq!(texts(&open(&disk).unwrap(), "main").unwrap(), ["one"]);
}

#[test]
fn a_read_in_the_middle_of_a_write_is_not_taken_for_damage() {
    let disk = SimDisk::new(1);
    let writer = init(&disk).unwrap();
    append(&writer, "main", "one").unwrap();
    let torn = OddDisk::new(&disk);
    let reader = LocalStore::open(Arc::new(torn.clone()), Path::new(ROOT), options()).unwrap();
    assert_eq!(texts(&reader, "main").unwrap(), ["one"]);
    // The reader's first look shows half a group; when it looks again, that group is durable and
    // another follows, which says so.
    append(&writer, "main", "two").unwrap();
    append(&writer, "main", "three").unwrap();
    disk.write(file("objects/journal/synced"), []);
    torn.tears.store(true, Ordering::Relaxed);
    assert_eq!(texts(&reader, "main").unwrap(), ["one", "two", "three"]);
}
