//! Readers that were there before the files moved under them.

use std::ops::ControlFlow;
use std::sync::Arc;

use sapwood::object::NewObject;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Snapshot, Store, Transaction};

use super::picture::Picture;
use super::{large, operation};
use crate::sim::SimDisk;
use crate::support::{
    append, branch, init, message, open, open_read_only, ref_name, target, update,
};

/// A snapshot and what it showed when it was taken, as another handle saw it.
struct Held {
    name: String,
    picture: Picture,
    snapshot: Arc<dyn Snapshot>,
}

/// Commits a few entries, one of them an operation, and small and large blobs.
fn write_some(store: &LocalStore, round: usize) {
    for number in 0..3 {
        append(store, "main", &format!("round {round}, message {number}")).unwrap();
    }
    let blob = NewObject::blob(format!("small {round}").into_bytes()).unwrap();
    store.put_alone(&blob).unwrap();
    let name = branch(&format!("side {round}"));
    store
        .commit(Durability::Full, &mut |snapshot| {
            let tip = target(snapshot, &branch("main"))?;
            let entry = message("aside", tip.into_iter().collect());
            Ok(Transaction {
                refs: vec![
                    update(name.clone(), entry.id()),
                    update(ref_name("notes/large"), large(round as u8).id()),
                ],
                objects: vec![entry, large(round as u8)],
                operation: Some(operation(&format!("branch {round}"))),
            })
        })
        .unwrap();
}

type Move = fn(&LocalStore);

/// The ways in which files move.
const MOVES: [(&str, Move); 5] = [
    ("nothing", |_| {}),
    ("rotation and sealing", |store| store.maintain().unwrap()),
    ("a checkpoint", |store| {
        store.pack_refs().unwrap();
    }),
    ("a repack", |store| {
        store.repack().unwrap();
    }),
    ("many packs merged", |store| {
        for number in 0..9 {
            append(store, "filler", &format!("filler {number}")).unwrap();
            store.pack_refs().unwrap();
        }
        store.maintain().unwrap();
        assert!(store.packs().unwrap().len() < 9);
    }),
];

#[test]
fn old_snapshots_read_on_while_segments_and_packs_are_moved_merged_and_removed() {
    let disk = SimDisk::new(1);
    let writer = init(&disk).unwrap();
    write_some(&writer, 0);
    let readers = [open(&disk).unwrap(), open_read_only(&disk).unwrap()];
    let mut held: Vec<Held> = Vec::new();
    for (round, (what, make_move)) in MOVES.iter().enumerate() {
        write_some(&writer, round + 1);
        let picture = Picture::of(&*writer.snapshot().unwrap()).unwrap();
        for (number, reader) in readers.iter().enumerate() {
            // One snapshot is read from at once, the other only after the move.
            for early in [true, false] {
                let snapshot = reader.snapshot().unwrap();
                let name = format!("reader {number}, early {early}, before {what}");
                if early {
                    picture.check_known(&*snapshot, &name);
                }
                let picture = picture.clone();
                held.push(Held { name, picture, snapshot });
            }
        }
        make_move(&writer);
        for old in &held {
            let context = format!("{}, after {what}", old.name);
            old.picture.check_known(&*old.snapshot, &context);
        }
        let fresh = Picture::of(&*writer.snapshot().unwrap()).unwrap();
        for reader in &readers {
            fresh.check_known(&*reader.snapshot().unwrap(), what);
        }
    }
}

#[test]
fn a_handle_opened_long_ago_sees_what_is_new_and_writes_on() {
    for (what, make_move) in MOVES {
        let disk = SimDisk::new(1);
        let writer = init(&disk).unwrap();
        write_some(&writer, 0);
        let old = open(&disk).unwrap();
        for round in 1..4 {
            write_some(&writer, round);
            make_move(&writer);
        }
        append(&old, "main", "from the old handle").unwrap();
        for store in [&writer, &old, &open(&disk).unwrap()] {
            let texts = crate::support::texts(store, "main").unwrap();
            assert_eq!(texts.len(), 13, "{what}");
            assert_eq!(texts[12], "from the old handle", "{what}");
        }
    }
}

#[test]
fn a_commit_links_a_loose_object_that_a_repack_moves_at_that_moment() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let other = open(&disk).unwrap();
    let blob = NewObject::blob(b"small and loose".to_vec()).unwrap();
    store.put_alone(&blob).unwrap();
    let link = super::attachment(blob.id());
    let refs = [update(ref_name("notes/link"), link.id())];
    let mut repacked = false;
    store
        .commit(Durability::Full, &mut |_| {
            if !std::mem::replace(&mut repacked, true) {
                other.repack().unwrap();
            }
            Ok(Transaction { objects: vec![link.clone()], refs: refs.to_vec(), operation: None })
        })
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(snapshot.get(&blob.id()).unwrap().is_some());
}

#[test]
fn an_old_snapshot_lists_loose_objects_that_were_packed_since() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let first = append(&store, "main", "first").unwrap();
    let blob = NewObject::blob(b"small and loose".to_vec()).unwrap();
    store.put_alone(&blob).unwrap();
    let old = store.snapshot().unwrap();
    open(&disk).unwrap().repack().unwrap();
    let mut listed = Vec::new();
    old.for_each(&mut |id, _| {
        listed.push(*id);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    listed.sort_unstable();
    let mut expected = vec![first, blob.id()];
    expected.sort_unstable();
    assert_eq!(listed, expected);
}
