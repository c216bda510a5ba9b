//! The laws of refs and of the operations that move them.

use std::ops::ControlFlow;

use sapwood::error::Error;
use sapwood::object::{NewObject, Session};
use sapwood::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, SYMBOLIC_DEPTH_MAX, Store, Transaction,
    resolve,
};

use super::{node, put, set, symbolic};
use crate::faults::picture::operations;
use crate::faults::{large, operation};
use crate::support::{append, branch, message, ref_name, target, texts, update};

pub(super) fn refs_compare_and_swap(store: &dyn Store) {
    let (one, two) = (message("one", vec![]), message("two", vec![]));
    put(store, &[one.clone(), two.clone()], &[]).unwrap();
    let name = branch("swap");
    let is = |object: &NewObject| Expected::Is(RefValue::Id(object.id()));
    let to = |object: &NewObject| Some(RefValue::Id(object.id()));
    // What is expected, the new value, and whether it happens.
    let steps = [
        (is(&one), to(&two), false),
        (Expected::Missing, to(&one), true),
        (Expected::Missing, to(&two), false),
        (is(&two), to(&two), false),
        (is(&one), to(&two), true),
        (Expected::Any, to(&one), true),
        (is(&two), None, false),
        (is(&one), None, true),
        (Expected::Missing, None, true),
    ];
    let mut now = None;
    for (place, (expected, new, happens)) in steps.into_iter().enumerate() {
        let found = put(store, &[], &[set(&name, expected, new.clone())]);
        if happens {
            found.unwrap();
            now = new;
        } else {
            assert!(matches!(found, Err(Error::RefConflict { .. })), "step {place}: {found:?}");
        }
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.reference(&name).unwrap(), now, "step {place}");
    }
    // All or nothing: one conflict keeps the other move and the object from happening.
    let lost = message("lost", vec![]);
    let refs =
        [update(branch("swap"), lost.id()), set(&branch("main"), Expected::Missing, to(&lost))];
    put(store, std::slice::from_ref(&lost), &refs).unwrap_err();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.reference(&name).unwrap(), now);
    assert!(snapshot.get(&lost.id()).unwrap().is_none());
}

pub(super) fn a_ref_moves_at_most_once(store: &dyn Store) {
    let entry = message("one", vec![]);
    let refs = [update(branch("x"), entry.id()), update(branch("x"), entry.id())];
    let found = put(store, &[entry], &refs);
    assert!(matches!(found, Err(Error::InvalidName { .. })), "{found:?}");
    assert_eq!(texts(store, "x").unwrap(), [""; 0]);
}

pub(super) fn wrong_kinds_are_refused(store: &dyn Store) {
    let (entry, node) = (message("entry", vec![]), node());
    let blob = NewObject::blob(b"blob".to_vec()).unwrap();
    let objects = [entry.clone(), node.clone(), blob.clone()];
    let places = ["meta", "tip", "events", "heads/x", "labels/x", "memory/x", "records/x"];
    for place in places {
        let name = RefName::of_session("s", place).unwrap();
        for object in &objects {
            let right = match place {
                "meta" | "events" | "records/x" => false,
                "memory/x" => object.id() == node.id(),
                _ => object.id() == entry.id(),
            };
            let found = put(store, &objects, &[update(name.clone(), object.id())]);
            assert_eq!(found.is_ok(), right, "{place}: {found:?}");
            assert!(right || matches!(found, Err(Error::WrongKind { .. })), "{found:?}");
        }
    }
    put(store, &[], &[update(ref_name("notes/any"), blob.id())]).unwrap();
}

pub(super) fn symbolic_refs(store: &dyn Store) {
    let tip = target(&*store.snapshot().unwrap(), &branch("main")).unwrap();
    // A chain of the greatest depth, and one more.
    let mut refs = vec![symbolic("chain/0", branch("main").as_str())];
    for depth in 1..=SYMBOLIC_DEPTH_MAX {
        let (name, to) = (format!("chain/{depth}"), format!("chain/{}", depth - 1));
        refs.push(symbolic(&name, &to));
    }
    refs.push(symbolic("unborn", branch("unborn").as_str()));
    refs.push(symbolic("circle/a", "circle/b"));
    refs.push(symbolic("circle/b", "circle/a"));
    put(store, &[], &refs).unwrap();
    let snapshot = store.snapshot().unwrap();
    for depth in 0..SYMBOLIC_DEPTH_MAX {
        let found = resolve(&*snapshot, &ref_name(&format!("chain/{depth}"))).unwrap();
        assert_eq!(found, (branch("main"), tip), "depth {}", depth + 1);
    }
    for name in [&*format!("chain/{SYMBOLIC_DEPTH_MAX}"), "circle/a"] {
        let found = resolve(&*snapshot, &ref_name(name));
        assert!(matches!(found, Err(Error::SymbolicDepth { .. })), "{name}: {found:?}");
    }
    let found = resolve(&*snapshot, &ref_name("unborn")).unwrap();
    assert_eq!(found, (branch("unborn"), None));
    // Not followed when read, and compared as it is.
    let value = RefValue::Symbolic(branch("unborn"));
    let read = snapshot.reference(&ref_name("unborn")).unwrap();
    assert_eq!(read.as_ref(), Some(&value));
    let delete = set(&ref_name("unborn"), Expected::Is(value), None);
    put(store, &[], &[delete]).unwrap();
}

pub(super) fn operations_are_numbered(store: &dyn Store) {
    let name = branch("main");
    for number in 0..4 {
        let entry = message(&format!("entry {number}"), vec![]);
        store
            .commit(Durability::Full, &mut |_| {
                Ok(Transaction {
                    objects: vec![entry.clone()],
                    refs: vec![
                        update(name.clone(), entry.id()),
                        set(&branch("never there"), Expected::Any, None),
                    ],
                    operation: Some(operation(&format!("do {number}"))),
                })
            })
            .unwrap();
        append(store, "main", "a plain append is not in the log").unwrap();
    }
    // What moves no ref is not in the log, whatever it stores.
    store
        .commit(Durability::Full, &mut |_| {
            Ok(Transaction {
                objects: vec![message("stored", vec![]), large(9)],
                operation: Some(operation("nothing")),
                ..Transaction::default()
            })
        })
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    let found = operations(&*snapshot).unwrap();
    let said: Vec<_> =
        found.iter().map(|record| (record.number, record.operation.command.as_str())).collect();
    assert_eq!(said, [(4, "do 3"), (3, "do 2"), (2, "do 1"), (1, "do 0")]);
    for record in &found {
        assert_eq!(record.moves.len(), 1, "only what moved");
        assert_eq!(record.moves[0].name, name);
        assert!(record.moves[0].old.is_some() && record.moves[0].new.is_some());
    }
    let mut visited = 0;
    snapshot
        .operations(&mut |_| {
            visited += 1;
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
    assert_eq!(visited, 1);
}

pub(super) fn deletion(store: &dyn Store) {
    let tip = target(&*store.snapshot().unwrap(), &branch("main")).unwrap();
    put(store, &[], &[set(&branch("main"), Expected::Any, None)]).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.reference(&branch("main")).unwrap(), None);
    assert_eq!(snapshot.references("").unwrap(), []);
    assert!(snapshot.get(&tip.unwrap()).unwrap().is_some(), "it stays");
    append(store, "main", "again").unwrap();
    assert_eq!(texts(store, "main").unwrap(), ["again"]);
}

pub(super) fn listing_is_sorted(store: &dyn Store) {
    let tip = target(&*store.snapshot().unwrap(), &branch("main")).unwrap().unwrap();
    let names = ["z", "a", "a/b", "a b", "a-b", "Ä", "ä/x", "aa", "a!", "A", "日本"];
    let refs: Vec<RefUpdate> = names.iter().map(|name| update(branch(name), tip)).collect();
    put(store, &[], &refs).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut all: Vec<RefName> = names.iter().map(|name| branch(name)).collect();
    all.push(branch("main"));
    all.sort();
    for prefix in
        ["", "sessions/", "sessions/s/heads/a", "sessions/s/heads/a/", "sessions/s/heads/日", "t"]
    {
        let found = snapshot.references(prefix).unwrap();
        let found: Vec<RefName> = found.into_iter().map(|(name, _)| name).collect();
        let matching = all.iter().filter(|name| name.as_str().starts_with(prefix));
        assert_eq!(found, matching.cloned().collect::<Vec<_>>(), "{prefix}");
    }
}

pub(super) fn sessions_are_found_by_name(store: &dyn Store) {
    let meta = |sid: &str| RefName::of_session(sid, "meta").unwrap();
    let name = |sid: &str, name: Option<&str>| {
        let session = Session { name: name.map(str::to_owned), ..Session::new(sid, 0) };
        let object = session.encode().unwrap();
        let refs = [update(meta(sid), object.id())];
        put(store, &[object], &refs).unwrap();
    };
    let found = |name: &str| store.snapshot().unwrap().sessions_named(name).unwrap();
    assert_eq!(found("one"), [""; 0]);
    name("a", Some("one"));
    assert_eq!((found("one"), found("on"), found("")), (vec!["a".to_owned()], vec![], vec![]));
    let before = store.snapshot().unwrap();
    // As refs, `a-b` stands before `a`.
    name("a-b", Some("one"));
    name("c", Some("one more"));
    name("d", None);
    assert_eq!(found("one"), ["a", "a-b"]);
    assert_eq!(found("one more"), ["c"]);
    assert_eq!(before.sessions_named("one").unwrap(), ["a"], "what it was then");
    name("a", Some("two"));
    assert_eq!((found("one"), found("two")), (vec!["a-b".to_owned()], vec!["a".to_owned()]));
    name("a-b", None);
    put(store, &[], &[set(&meta("c"), Expected::Any, None)]).unwrap();
    assert_eq!((found("one"), found("one more")), (vec![], vec![]));
    assert_eq!(found("two"), ["a"]);
}
