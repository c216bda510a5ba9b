//! Reading along a path: short and long, from journal and packs, to its end or not, damaged or not.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use sapwood::disk::Disk as _;
use sapwood::error::{Error, Result};
use sapwood::id::Id;
use sapwood::store::{Durability, Snapshot, Store};

use crate::faults::{commit, contents, long};
use crate::sim::SimDisk;
use crate::support::{append, branch, init, message, open_read_only, target, update};

/// How many messages each branch has: more than are read without a thread.
const MESSAGES: usize = 1200;
/// After how many messages they become a pack: a long one, or a short one.
const LONG: usize = 450;
const SHORT: usize = 100;

/// A store with two branches that took turns, in packs and in the journal.
fn store_of_two_branches() -> SimDisk {
    store_of(&["main", "other"], LONG)
}

fn store_of(branches: &[&str], packed: usize) -> SimDisk {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    for number in 0..MESSAGES {
        let words = "words that are said again and again, ".repeat(number % 23);
        for name in branches {
            append(&store, name, &format!("{name} {number} {words}")).unwrap();
        }
        if number % packed == packed - 1 {
            store.pack_refs().unwrap();
        }
    }
    disk
}

/// Reads up to `limit` objects along a path; each must be what its id says.
fn read(snapshot: &dyn Snapshot, tip: Id, limit: usize) -> (Vec<Id>, Result<()>) {
    let mut ids = Vec::new();
    let result = snapshot.read_path(&tip, &mut |id, stored| {
        assert_eq!(Id::of(stored.kind, &stored.content), *id);
        ids.push(*id);
        Ok(if ids.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    });
    (ids, result)
}

fn tip(snapshot: &dyn Snapshot, name: &str) -> Id {
    target(snapshot, &branch(name)).unwrap().unwrap()
}

#[test]
fn a_path_is_read_in_order_and_as_far_as_wanted() {
    let (two, one) = (store_of_two_branches(), store_of(&["main"], LONG));
    let short = store_of(&["main", "other"], SHORT);
    for (disk, name) in [(&two, "main"), (&two, "other"), (&one, "main"), (&short, "other")] {
        for limit in [1, 2, 15, 16, 17, 30, 255, 256, 257, 700, MESSAGES - 1, MESSAGES, usize::MAX]
        {
            let snapshot = open_read_only(disk).unwrap().snapshot().unwrap();
            let tip = tip(&*snapshot, name);
            let (ids, result) = read(&*snapshot, tip, limit);
            result.unwrap();
            assert_eq!(ids.len(), limit.min(MESSAGES));
            assert_eq!(ids, snapshot.path(&tip, limit).unwrap());
            let labelled = snapshot.labels(&tip, limit).unwrap();
            assert!(labelled.iter().all(|(_, label)| &**label == "message"));
            assert!(labelled.iter().map(|(id, _)| id).eq(&ids));
            assert_eq!(snapshot.nearest(&tip, &["message"], limit).unwrap(), Some(tip));
            assert_eq!(snapshot.nearest(&tip, &["memory"], limit).unwrap(), None);
        }
    }
}

#[test]
fn a_path_of_any_length_ends_at_its_root_or_where_that_is_missing() {
    /// More than three blocks, if the messages are long.
    const LENGTH: usize = 450;
    for words in [1, 160] {
        let disk = SimDisk::new(1);
        let store = init(&disk).unwrap();
        let root = message("the begin", vec![]);
        store.put_alone(&root).unwrap();
        let mut path = vec![root.id()];
        for number in 1..LENGTH {
            let entry = message(&format!("{number} {}", "words ".repeat(words)), vec![path[0]]);
            path.insert(0, entry.id());
            let refs = [update(branch("main"), entry.id())];
            commit(&store, Durability::Relaxed, &[entry], &refs).unwrap();
        }
        store.pack_refs().unwrap();
        let lost = disk.copy();
        let hex = root.id().to_string();
        let loose = disk.files().into_iter().find(|path| path.ends_with(&hex[2..])).unwrap();
        lost.remove(&loose).unwrap();

        for tip in 0..LENGTH {
            let snapshot = open_read_only(&disk).unwrap().snapshot().unwrap();
            let (ids, result) = read(&*snapshot, path[tip], usize::MAX);
            result.unwrap();
            assert_eq!(ids, path[tip..]);
            let snapshot = open_read_only(&lost).unwrap().snapshot().unwrap();
            let (ids, result) = read(&*snapshot, path[tip], usize::MAX);
            assert!(matches!(result, Err(Error::ObjectMissing { id }) if id == root.id()));
            assert_eq!(ids, path[tip..LENGTH - 1]);
        }
    }
}

#[test]
fn what_the_visitor_says_ends_a_walk() {
    let disk = store_of_two_branches();
    let snapshot = open_read_only(&disk).unwrap().snapshot().unwrap();
    let tip = tip(&*snapshot, "main");
    for stop in [1, 300, 800] {
        let walk = |panics: bool| {
            let mut count = 0;
            snapshot.read_path(&tip, &mut |id, _| {
                count += 1;
                assert!(!panics || count < stop, "a visitor that panics");
                if count < stop {
                    return Ok(ControlFlow::Continue(()));
                }
                Err(Error::ObjectMissing { id: *id })
            })
        };
        assert!(matches!(walk(false), Err(Error::ObjectMissing { .. })));
        assert!(catch_unwind(AssertUnwindSafe(|| walk(true))).is_err());
    }
}

#[test]
fn each_byte_of_a_pack_flipped_ends_a_walk_with_an_error_or_does_not_matter() {
    flip_bytes(&store_of_two_branches());
    flip_bytes(&store_of(&["main"], LONG));
    flip_bytes(&store_of(&["main"], SHORT));
}

fn flip_bytes(whole: &SimDisk) {
    let snapshot = open_read_only(whole).unwrap().snapshot().unwrap();
    let tip = tip(&*snapshot, "main");
    let (right, _) = read(&*snapshot, tip, usize::MAX);
    let mut found = 0;
    for (path, bytes) in contents(whole) {
        if !path.to_string_lossy().contains("/pack-") {
            continue;
        }
        let tries = if long() { 2000 } else { 8 };
        for offset in (0..bytes.len()).step_by((bytes.len() / tries).max(1)) {
            let disk = whole.copy();
            disk.flip(&path, offset);
            let context = format!("{} flipped at {offset}", path.display());
            let Ok(snapshot) = open_read_only(&disk).and_then(|store| store.snapshot()) else {
                found += 1;
                continue;
            };
            let (ids, result) = read(&*snapshot, tip, usize::MAX);
            assert!(right.starts_with(&ids), "{context}");
            match result {
                Ok(()) => assert_eq!(ids.len(), right.len(), "{context}"),
                Err(Error::Corrupt { .. }) => found += 1,
                Err(error) => panic!("{context}: {error:?}"),
            }
        }
    }
    assert!(found > 10, "{found} damages were found");
}
