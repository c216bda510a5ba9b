//! What every store keeps, whatever it is made of: the same laws for memory and for disk.

mod model;
mod refs;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sapwood::error::Error;
use sapwood::id::{Id, Prefix};
use sapwood::object::{NewObject, Node};
use sapwood::store::memory::MemoryStore;
use sapwood::store::{Durability, Expected, RefName, RefUpdate, RefValue, Store};

use crate::faults::picture::Picture;
use crate::faults::{attachment, commit, large};
use crate::sim::SimDisk;
use crate::support::{append, branch, init, message, ref_name, target, texts, update};

type Law = fn(&dyn Store);

const LAWS: [(&str, Law); 14] = [
    ("refs move by comparing and swapping", refs::refs_compare_and_swap),
    ("a ref moves at most once", refs::a_ref_moves_at_most_once),
    ("links and refs never dangle", nothing_dangles),
    ("a ref points to its kind", refs::wrong_kinds_are_refused),
    ("symbolic refs", refs::symbolic_refs),
    ("snapshots stay", snapshots_stay),
    ("operations", refs::operations_are_numbered),
    ("prefixes", prefixes),
    ("paths and depths", paths_and_depths),
    ("every object once", every_object_once),
    ("deletion", refs::deletion),
    ("listing", refs::listing_is_sorted),
    ("names of sessions", refs::sessions_are_found_by_name),
    ("blobs by stream", blobs_by_stream),
];

fn keep_the_laws(make: &dyn Fn() -> Box<dyn Store>) {
    for (name, law) in LAWS {
        let store = make();
        append(&*store, "main", "first").unwrap();
        let kept = catch_unwind(AssertUnwindSafe(|| law(&*store)));
        assert!(kept.is_ok(), "broken: {name}");
    }
}

#[test]
fn memory_keeps_the_laws() {
    keep_the_laws(&|| Box::new(MemoryStore::new()));
}

#[test]
fn disk_keeps_the_laws() {
    keep_the_laws(&|| Box::new(init(&SimDisk::new(1)).unwrap()));
}

fn set(name: &RefName, expected: Expected, new: Option<RefValue>) -> RefUpdate {
    let name = name.clone();
    RefUpdate { name, expected, new }
}

fn symbolic(name: &str, to: &str) -> RefUpdate {
    let to = RefValue::Symbolic(ref_name(to));
    set(&ref_name(name), Expected::Any, Some(to))
}

fn put(store: &dyn Store, objects: &[NewObject], refs: &[RefUpdate]) -> Result<(), Error> {
    commit(store, Durability::Full, objects, refs)
}

fn nothing_dangles(store: &dyn Store) {
    let parent = message("parent", vec![]);
    let child = message("child", vec![parent.id()]);
    let refused = [
        put(store, std::slice::from_ref(&child), &[]),
        put(store, &[], &[update(branch("x"), parent.id())]),
        store.put_alone(&child),
        put(store, &[attachment(parent.id())], &[]),
    ];
    for found in refused {
        assert!(matches!(found, Err(Error::Dangling { .. })), "{found:?}");
    }
    assert!(store.snapshot().unwrap().get(&child.id()).unwrap().is_none());
    // In one transaction a link may point backwards and forwards.
    put(store, &[child.clone(), parent.clone()], &[update(branch("x"), child.id())]).unwrap();
    assert_eq!(texts(store, "x").unwrap(), ["parent", "child"]);
    // The same object twice, and again, is stored once.
    put(store, &[child.clone(), child.clone(), parent], &[]).unwrap();
    let prefix: Prefix = child.id().to_string().parse().unwrap();
    let found = store.snapshot().unwrap().with_prefix(&prefix, 9).unwrap();
    assert_eq!(found, [child.id()]);
}

fn node() -> NewObject {
    Node {
        parents: vec![],
        branch: "root".to_owned(),
        facts: vec![],
        notes: vec![],
        card: sapwood::codec::Value::Null,
        time: 1,
    }
    .encode()
    .unwrap()
}

fn snapshots_stay(store: &dyn Store) {
    let snapshot = store.snapshot().unwrap();
    let picture = Picture::of(&*snapshot).unwrap();
    let entry = append(store, "main", "second").unwrap();
    append(store, "other", "third").unwrap();
    put(store, &[], &[set(&branch("main"), Expected::Any, None)]).unwrap();
    assert_eq!(Picture::of(&*snapshot).unwrap(), picture);
    assert_eq!(picture.compare(&*snapshot).len(), 0);
    assert!(snapshot.get(&entry).unwrap().is_none());
    assert_eq!(snapshot.kinds(&[entry]).unwrap(), [None]);
    assert!(snapshot.topology(&entry).unwrap().is_none());
    assert!(matches!(snapshot.path(&entry, 9), Err(Error::ObjectMissing { .. })));
    assert!(matches!(snapshot.labels(&entry, 9), Err(Error::ObjectMissing { .. })));
    assert!(matches!(snapshot.nearest(&entry, &["memory"], 9), Err(Error::ObjectMissing { .. })));
}

fn prefixes(store: &dyn Store) {
    let blobs: Vec<NewObject> =
        (0..600u32).map(|number| NewObject::blob(number.to_le_bytes().to_vec()).unwrap()).collect();
    put(store, &blobs, &[]).unwrap();
    let mut ids: Vec<Id> = blobs.iter().map(|blob| blob.id()).collect();
    ids.extend(target(&*store.snapshot().unwrap(), &branch("main")).unwrap());
    ids.sort_unstable();
    let snapshot = store.snapshot().unwrap();
    for id in ids.iter().step_by(20) {
        for digits in [4, 5, 63, 64] {
            let prefix: Prefix = id.short(digits).parse().unwrap();
            let expected: Vec<Id> = ids.iter().copied().filter(|id| prefix.matches(id)).collect();
            assert_eq!(snapshot.with_prefix(&prefix, 99).unwrap(), expected);
            assert_eq!(
                snapshot.with_prefix(&prefix, 1).unwrap(),
                [expected[0]],
                "the first of them"
            );
        }
    }
}

fn paths_and_depths(store: &dyn Store) {
    let main = target(&*store.snapshot().unwrap(), &branch("main")).unwrap();
    let mut objects = Vec::new();
    let mut parents: Vec<Id> = main.into_iter().collect();
    for number in 0..20 {
        let entry = message(&format!("deep {number}"), parents.clone());
        parents = vec![entry.id()];
        parents.extend(main);
        objects.push(entry);
    }
    let ids: Vec<Id> = objects.iter().map(|object| object.id()).collect();
    objects.reverse();
    put(store, &objects, &[]).unwrap();
    let snapshot = store.snapshot().unwrap();
    for (place, id) in ids.iter().enumerate() {
        let topology = snapshot.topology(id).unwrap().unwrap();
        assert_eq!(topology.depth, place as u64 + 1);
        assert_eq!(&*topology.label, "message");
        assert_eq!(topology.time, 1);
        assert_eq!(topology.parents.len(), if place == 0 { 1 } else { 2 });
        for limit in [0, 1, 2, usize::MAX] {
            let mut expected: Vec<Id> = ids[..=place].iter().rev().copied().collect();
            expected.extend(main);
            expected.truncate(limit);
            assert_eq!(snapshot.path(id, limit).unwrap(), expected);
            let labelled = snapshot.labels(id, limit).unwrap().into_iter();
            let labelled = labelled.map(|(id, label)| {
                assert_eq!(label, snapshot.topology(&id).unwrap().unwrap().label);
                id
            });
            assert_eq!(labelled.collect::<Vec<_>>(), expected);
        }
    }
}

fn every_object_once(store: &dyn Store) {
    for number in 0..30 {
        append(store, "main", &format!("message {}", number % 7)).unwrap();
    }
    put(store, &[large(1), node()], &[]).unwrap();
    let alone = NewObject::blob(b"alone".to_vec()).unwrap();
    store.put_alone(&alone).unwrap();
    put(store, std::slice::from_ref(&alone), &[]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut seen = HashSet::new();
    snapshot
        .for_each(&mut |id, topology| {
            assert!(seen.insert(*id), "{id} twice");
            assert_eq!(snapshot.topology(id)?.as_ref(), Some(topology));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(seen.len(), 1 + 30 + 3);
    let mut visits = 0;
    snapshot
        .for_each(&mut |_, _| {
            visits += 1;
            let stop = visits == 5;
            Ok(match stop {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })
        .unwrap();
    assert_eq!(visits, 5);
    let refused = snapshot.for_each(&mut |id, _| Err(Error::ObjectMissing { id: *id }));
    assert!(refused.is_err(), "a visitor's error comes out");
}

fn blobs_by_stream(store: &dyn Store) {
    for bytes in [0, 1, 300_000] {
        let content: Vec<u8> = (0..bytes).map(|number: u32| (number % 251) as u8).collect();
        let id = store.put_blob(&mut &content[..], content.len() as u64).unwrap();
        assert_eq!(id, NewObject::blob(content.clone()).unwrap().id());
        let stored = store.snapshot().unwrap().get(&id).unwrap().unwrap();
        assert_eq!(&*stored.content, &content[..]);
    }
    for claimed in [4, 6] {
        let found = store.put_blob(&mut &b"hello"[..], claimed);
        assert!(matches!(found, Err(Error::InvalidObject { .. })), "{claimed}: {found:?}");
    }
    let hello = NewObject::blob(b"hello".to_vec()).unwrap();
    assert_eq!(store.snapshot().unwrap().kinds(&[hello.id()]).unwrap(), [None]);
}

/// A law that only the trait object's users see: snapshots outlive their store.
#[test]
fn snapshots_outlive_their_store() {
    let stores: [Box<dyn Store>; 2] =
        [Box::new(MemoryStore::new()), Box::new(init(&SimDisk::new(1)).unwrap())];
    for store in stores {
        append(&*store, "main", "one").unwrap();
        let snapshot = store.snapshot().unwrap();
        let picture = Picture::of(&*snapshot).unwrap();
        drop(store);
        assert_eq!(Picture::of(&*Arc::clone(&snapshot)).unwrap(), picture);
    }
}
