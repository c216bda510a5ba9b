//! Walks against a model that knows every ancestor of everything.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::codec::Value;
use crate::id::Prefix;
use crate::object::Entry;
use crate::store::memory::MemoryStore;
use crate::store::{Durability, OperationRecord, RefName, RefValue, Store, Stored, Transaction};

/// Parents by place, each smaller than the child's own place, and a time that proves nothing.
type Shape = Vec<(Vec<usize>, i64)>;

fn shapes() -> impl Strategy<Value = Shape> {
    let node = (prop::collection::vec(any::<prop::sample::Index>(), 0..4), 0i64..6);
    prop::collection::vec(node, 1..28).prop_map(|nodes| {
        let mut shape = Shape::new();
        for (place, (parents, time)) in nodes.into_iter().enumerate() {
            let mut chosen: Vec<usize> = Vec::new();
            for parent in parents.iter().filter(|_| place > 0).map(|any| any.index(place)) {
                if !chosen.contains(&parent) {
                    chosen.push(parent);
                }
            }
            shape.push((chosen, time));
        }
        shape
    })
}

fn build(shape: &Shape) -> (MemoryStore, Vec<Id>) {
    let mut ids: Vec<Id> = Vec::new();
    let mut objects = Vec::new();
    for (place, (parents, time)) in shape.iter().enumerate() {
        let entry = Entry {
            label: "message".to_owned(),
            time: *time,
            parents: parents.iter().map(|parent| ids[*parent]).collect(),
            body: Value::Map(vec![("place".into(), Value::Integer(place as i64))]),
            raw: None,
        };
        let object = entry.encode().unwrap();
        ids.push(object.id);
        objects.push(object);
    }
    // Children first, so that depths are found whatever the order.
    objects.reverse();
    let store = MemoryStore::new();
    let plan = &mut |_: &dyn Snapshot| {
        Ok(Transaction { objects: objects.clone(), ..Transaction::default() })
    };
    store.commit(Durability::Full, plan).unwrap();
    (store, ids)
}

/// Gives the ancestors of every place, itself included.
fn model(shape: &Shape) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for (place, (parents, _)) in shape.iter().enumerate() {
        let mut own: BTreeSet<usize> = parents.iter().flat_map(|p| all[*p].clone()).collect();
        own.insert(place);
        all.push(own);
    }
    all
}

proptest! {
    #[test]
    fn merge_bases_are_the_best_common_ancestors(shape in shapes(), a: u8, b: u8) {
        let (store, ids) = build(&shape);
        let snapshot = store.snapshot().unwrap();
        let all = model(&shape);
        let (a, b) = (a as usize % shape.len(), b as usize % shape.len());
        let common: Vec<usize> = all[a].intersection(&all[b]).copied().collect();
        let best = common.iter().filter(|place| {
            !common.iter().any(|other| other != *place && all[*other].contains(place))
        });
        let mut expected: Vec<Id> = best.map(|place| ids[*place]).collect();
        expected.sort_unstable();
        prop_assert_eq!(merge_bases(&*snapshot, &ids[a], &ids[b]).unwrap(), expected);
        let before = is_ancestor(&*snapshot, &ids[a], &ids[b]).unwrap();
        prop_assert_eq!(before, all[b].contains(&a));
    }

    #[test]
    fn ancestors_come_children_first(
        shape in shapes(),
        starts in prop::collection::vec(any::<u8>(), 0..3),
        hide in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let (store, ids) = build(&shape);
        let snapshot = store.snapshot().unwrap();
        let all = model(&shape);
        let places = |picks: &[u8]| -> Vec<usize> {
            picks.iter().map(|pick| *pick as usize % shape.len()).collect()
        };
        let union = |places: &[usize]| -> BTreeSet<usize> {
            places.iter().flat_map(|place| all[*place].clone()).collect()
        };
        let named = |places: &[usize]| -> Vec<Id> { places.iter().map(|p| ids[*p]).collect() };
        let (starts, hide) = (places(&starts), places(&hide));
        let walk = ancestors(&*snapshot, &named(&starts), &named(&hide)).unwrap();
        let found: Vec<Id> = walk.collect::<Result<_>>().unwrap();
        let place = |id: &Id| ids.iter().position(|other| other == id).unwrap();
        let order: Vec<usize> = found.iter().map(place).collect();
        let expected: BTreeSet<usize> = union(&starts).difference(&union(&hide)).copied().collect();
        prop_assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), expected);
        for (at, child) in order.iter().enumerate() {
            prop_assert!(!order[at + 1..].contains(child));
            for parent in &shape[*child].0 {
                prop_assert!(!order[..at].contains(parent), "{} before {}", parent, child);
            }
        }
    }

    #[test]
    fn paths_depths_children_and_reach_agree_with_the_shape(shape in shapes()) {
        let (store, ids) = build(&shape);
        let snapshot = store.snapshot().unwrap();
        let all = model(&shape);
        for place in 0..shape.len() {
            let mut expected = vec![ids[place]];
            let mut at = place;
            while let Some(parent) = shape[at].0.first() {
                at = *parent;
                expected.push(ids[at]);
            }
            let found: Vec<Id> = path(&*snapshot, ids[place]).collect::<Result<_>>().unwrap();
            prop_assert_eq!(&found, &expected);
            let depth = snapshot.topology(&ids[place]).unwrap().unwrap().depth;
            prop_assert_eq!(depth as usize, expected.len() - 1);
            let reached = reachable(&*snapshot, &[ids[place]]).unwrap();
            let expected: HashSet<Id> = all[place].iter().map(|place| ids[*place]).collect();
            prop_assert_eq!(reached, expected);
            let mut found = children(&*snapshot, &ids[place]).unwrap();
            found.sort_unstable();
            let mut expected: Vec<Id> = (0..shape.len())
                .filter(|child| shape[*child].0.contains(&place))
                .map(|child| ids[child])
                .collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_long_path_is_walked_in_batches() {
    let shape: Shape =
        (0..10_000usize).map(|place| (place.checked_sub(1).into_iter().collect(), 0)).collect();
    let (store, ids) = build(&shape);
    let snapshot = store.snapshot().unwrap();
    let found: Vec<Id> = path(&*snapshot, ids[9_999]).collect::<Result<_>>().unwrap();
    assert!(found.iter().eq(ids.iter().rev()));
    let walk = ancestors(&*snapshot, &[ids[9_999]], &[]).unwrap();
    let found: Vec<Id> = walk.collect::<Result<_>>().unwrap();
    assert!(found.iter().eq(ids.iter().rev()));
}

/// Where children lead to their own children: a damaged graph.
struct Circle {
    ids: Vec<Id>,
}

impl Snapshot for Circle {
    fn get(&self, _: &Id) -> Result<Option<Stored>> {
        Ok(None)
    }

    fn kinds(&self, ids: &[Id]) -> Result<Vec<Option<Kind>>> {
        Ok(vec![None; ids.len()])
    }

    fn topology(&self, id: &Id) -> Result<Option<Topology>> {
        let place = self.ids.iter().position(|other| other == id);
        Ok(place.map(|place| Topology {
            kind: Kind::Entry,
            label: "message".into(),
            parents: vec![self.ids[(place + 1) % self.ids.len()]],
            time: 0,
            depth: 7,
        }))
    }

    fn with_prefix(&self, _: &Prefix, _: usize) -> Result<Vec<Id>> {
        Ok(Vec::new())
    }

    fn for_each(&self, _: &mut dyn FnMut(&Id, &Topology) -> Result<ControlFlow<()>>) -> Result<()> {
        Ok(())
    }

    fn reference(&self, _: &RefName) -> Result<Option<RefValue>> {
        Ok(None)
    }

    fn references(&self, _: &str) -> Result<Vec<(RefName, RefValue)>> {
        Ok(Vec::new())
    }

    fn operations(
        &self,
        _: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_circle_ends_every_walk() {
    let ids: Vec<Id> = (0..37u8).map(|byte| Id::of(Kind::Blob, &[byte])).collect();
    let circle = Circle { ids: ids.clone() };
    let damaged = |error| matches!(error, Some(Err(Error::Corrupt { .. })));
    assert!(damaged(path(&circle, ids[0]).find(Result::is_err)));
    let one = &[ids[0]];
    assert!(damaged(ancestors(&circle, one, &[]).unwrap().find(Result::is_err)));
    let two = &[ids[0], ids[9]];
    assert!(damaged(ancestors(&circle, two, &[]).unwrap().find(Result::is_err)));
    merge_bases(&circle, &ids[0], &ids[9]).unwrap();
    is_ancestor(&circle, &ids[0], &ids[9]).unwrap();
}
