//! Snapshots, refusals, blobs.

use super::*;
use crate::store::{Expected, Operation, RefUpdate};

fn blob(text: &str) -> NewObject {
    NewObject::blob(text.into()).unwrap()
}

fn update(name: &str, expected: Expected, new: Option<Id>) -> RefUpdate {
    RefUpdate { name: RefName::new(name).unwrap(), expected, new: new.map(RefValue::Id) }
}

fn commit(store: &MemoryStore, objects: &[NewObject], refs: &[RefUpdate]) -> Result<()> {
    store.commit(Durability::Full, &mut |_| {
        Ok(Transaction {
            objects: objects.to_vec(),
            refs: refs.to_vec(),
            operation: Some(Operation {
                time: 0,
                actor: "tester".to_owned(),
                command: "test".to_owned(),
            }),
        })
    })
}

#[test]
fn a_snapshot_never_changes() {
    let store = MemoryStore::new();
    let (one, two) = (blob("one"), blob("two"));
    let first = [update("a", Expected::Missing, Some(one.id))];
    commit(&store, std::slice::from_ref(&one), &first).unwrap();
    let before = store.snapshot().unwrap();
    let second = [
        update("a", Expected::Is(RefValue::Id(one.id)), None),
        update("b", Expected::Any, Some(two.id)),
    ];
    commit(&store, std::slice::from_ref(&two), &second).unwrap();
    let after = store.snapshot().unwrap();
    let see = |snapshot: &dyn Snapshot| {
        let names = snapshot.references("").unwrap().into_iter();
        let mut operations = 0;
        let mut objects = 0;
        let go_on = ControlFlow::Continue(());
        snapshot
            .operations(&mut |_| {
                operations += 1;
                Ok(go_on)
            })
            .unwrap();
        snapshot
            .for_each(&mut |_, _| {
                objects += 1;
                Ok(go_on)
            })
            .unwrap();
        let names: Vec<String> = names.map(|(name, _)| name.to_string()).collect();
        (names, operations, objects)
    };
    assert_eq!(see(&*before), (vec!["a".to_owned()], 1, 1));
    assert_eq!(see(&*after), (vec!["b".to_owned()], 2, 2));
    assert!(before.get(&two.id).unwrap().is_none());
    assert_eq!(&*after.get(&two.id).unwrap().unwrap().content, b"two");
}

#[test]
fn a_refused_transaction_leaves_nothing() {
    let store = MemoryStore::new();
    let (one, two) = (blob("one"), blob("two"));
    let dangling = [update("a", Expected::Any, Some(two.id))];
    let refused = commit(&store, std::slice::from_ref(&one), &dangling);
    assert!(matches!(refused, Err(Error::Dangling { .. })));
    let elsewhere = [update("a", Expected::Is(RefValue::Id(one.id)), None)];
    let refused = commit(&store, std::slice::from_ref(&one), &elsewhere);
    assert!(matches!(refused, Err(Error::RefConflict { .. })));
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.kinds(&[one.id, two.id]).unwrap(), [None, None]);
}

#[test]
fn a_blob_is_as_long_as_was_said() {
    let store = MemoryStore::new();
    let id = store.put_blob(&mut &b"hello"[..], 5).unwrap();
    assert_eq!(id, blob("hello").id);
    for other in ["hell", "hello, and more"] {
        assert!(store.put_blob(&mut other.as_bytes(), 5).is_err());
    }
    let refused = store.put_blob(&mut &b""[..], u64::MAX);
    assert!(matches!(refused, Err(Error::TooLarge { .. })));
}
