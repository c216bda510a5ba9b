//! Any sequence of transactions, against a model of maps, on every store.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use sapwood::error::Error;
use sapwood::id::{Id, Kind};
use sapwood::object::NewObject;
use sapwood::store::local::LocalStore;
use sapwood::store::memory::MemoryStore;
use sapwood::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Store, Transaction,
};

use crate::faults::picture::operations;
use crate::faults::{long, operation};
use crate::sim::SimDisk;
use crate::support::{branch, init, message, open, ref_name};

/// One thing done to a store.
#[derive(Clone, Debug)]
enum Action {
    Commit {
        /// Each new entry's parents, as places among all entries so far; beyond them, nowhere.
        entries: Vec<Vec<usize>>,
        blobs: Vec<u8>,
        moves: Vec<Move>,
        operation: bool,
        durability: bool,
    },
    Hold,
    Tend(u8),
}

#[derive(Clone, Debug)]
struct Move {
    name: usize,
    expected: u8,
    to: To,
}

#[derive(Clone, Debug)]
enum To {
    Entry(usize),
    Blob(u8),
    Ref(usize),
    Nothing,
}

const NAMES: [&str; 5] =
    ["sessions/s/heads/main", "sessions/s/heads/main/deeper", "sessions/s/HEAD", "HEAD", "notes/x"];

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let to = prop_oneof![
        4 => (0..12usize).prop_map(To::Entry),
        1 => (0..4u8).prop_map(To::Blob),
        1 => (0..NAMES.len()).prop_map(To::Ref),
        1 => Just(To::Nothing),
    ];
    let moves =
        (0..NAMES.len(), 0..8u8, to).prop_map(|(name, expected, to)| Move { name, expected, to });
    let parents = proptest::collection::vec(0..12usize, 0..3);
    let commit = (
        proptest::collection::vec(parents, 0..3),
        proptest::collection::vec(0..4u8, 0..2),
        proptest::collection::vec(moves, 0..3),
        any::<bool>(),
        any::<bool>(),
    );
    let commit = commit.prop_map(|(entries, blobs, moves, operation, durability)| Action::Commit {
        entries,
        blobs,
        moves,
        operation,
        durability,
    });
    let action = prop_oneof![
        8 => commit,
        1 => Just(Action::Hold),
        2 => (0..5u8).prop_map(Action::Tend),
    ];
    proptest::collection::vec(action, 1..40)
}

/// What a store should hold.
#[derive(Clone, Debug, Default)]
struct Model {
    objects: BTreeMap<Id, NewObject>,
    refs: BTreeMap<RefName, RefValue>,
    operations: Vec<(String, usize)>,
}

impl Model {
    /// Gives what becomes of a transaction, or the name of the error.
    fn apply(&mut self, transaction: &Transaction) -> Result<(), &'static str> {
        let mut next = self.clone();
        for object in &transaction.objects {
            next.objects.insert(object.id(), object.clone());
        }
        let mut links = transaction.objects.iter().flat_map(|object| object.links());
        if links.any(|link| !next.objects.contains_key(link)) {
            return Err("Dangling");
        }
        let mut moved = 0;
        let mut names = Vec::new();
        for update in &transaction.refs {
            if names.contains(&&update.name) {
                return Err("InvalidName");
            }
            names.push(&update.name);
            let now = self.refs.get(&update.name);
            let as_expected = match &update.expected {
                Expected::Any => true,
                Expected::Missing => now.is_none(),
                Expected::Is(value) => now == Some(value),
            };
            if !as_expected {
                return Err("RefConflict");
            }
            if let Some(RefValue::Id(id)) = &update.new {
                let Some(object) = next.objects.get(id) else {
                    return Err("Dangling");
                };
                if update.name.target_kind().is_some_and(|kind| kind != object.kind()) {
                    return Err("WrongKind");
                }
            }
            moved += usize::from(now != update.new.as_ref());
            match &update.new {
                Some(value) => next.refs.insert(update.name.clone(), value.clone()),
                None => next.refs.remove(&update.name),
            };
        }
        if let Some(operation) = &transaction.operation
            && moved > 0
        {
            next.operations.push((operation.command.clone(), moved));
        }
        *self = next;
        Ok(())
    }

    fn check(&self, snapshot: &dyn Snapshot) {
        let refs: Vec<_> = self.refs.clone().into_iter().collect();
        assert_eq!(snapshot.references("").unwrap(), refs);
        for name in NAMES {
            let name = ref_name(name);
            let found = snapshot.reference(&name).unwrap();
            assert_eq!(found.as_ref(), self.refs.get(&name));
        }
        for (id, object) in &self.objects {
            let stored = snapshot.get(id).unwrap().expect("committed");
            assert_eq!((stored.kind, &*stored.content), (object.kind(), object.content()));
        }
        let found = operations(snapshot).unwrap();
        let found: Vec<_> = found
            .into_iter()
            .rev()
            .map(|record| (record.number, record.operation.command, record.moves.len()))
            .collect();
        let expected = self.operations.iter().zip(1..);
        let expected = expected.map(|((command, moved), number)| (number, command.clone(), *moved));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}

/// A store under test, and how it is tended.
trait Bench {
    fn store(&self) -> &dyn Store;
    fn tend(&mut self, how: u8);
}

impl Bench for MemoryStore {
    fn store(&self) -> &dyn Store {
        self
    }

    fn tend(&mut self, _how: u8) {}
}

struct OnDisk {
    disk: SimDisk,
    store: Option<LocalStore>,
}

impl Bench for OnDisk {
    fn store(&self) -> &dyn Store {
        self.store.as_ref().unwrap()
    }

    fn tend(&mut self, how: u8) {
        let store = self.store.as_ref().unwrap();
        match how {
            0 => store.maintain().unwrap(),
            1 => _ = store.pack_refs().unwrap(),
            2 => _ = store.repack().unwrap(),
            3 => _ = store.unpack(None).unwrap(),
            _ => {
                self.store = None;
                self.store = Some(open(&self.disk).unwrap());
            }
        }
    }
}

fn transaction_of(
    action: &Action,
    entries: &mut Vec<NewObject>,
    model: &Model,
) -> (Transaction, Durability) {
    let Action::Commit { entries: new, blobs, moves, operation: has_operation, durability } =
        action
    else {
        unreachable!("only commits come here")
    };
    let nowhere = message("nowhere", vec![]).id();
    let mut objects = Vec::new();
    for parents in new {
        let id = |place: &usize| entries.get(*place).map_or(nowhere, |entry| entry.id());
        let entry = message(&format!("entry {}", entries.len()), parents.iter().map(id).collect());
        entries.push(entry.clone());
        objects.push(entry);
    }
    let blob = |seed: &u8| NewObject::blob(vec![*seed; 10 + usize::from(*seed)]).unwrap();
    objects.extend(blobs.iter().map(blob));
    let refs = moves
        .iter()
        .map(|Move { name, expected, to }| {
            let name = ref_name(NAMES[*name]);
            let now = model.refs.get(&name).cloned();
            let expected = match (expected, now) {
                (0, _) => Expected::Missing,
                (1, _) => Expected::Is(RefValue::Symbolic(branch("elsewhere"))),
                (2..=4, _) => Expected::Any,
                (_, Some(value)) => Expected::Is(value),
                (_, None) => Expected::Missing,
            };
            let new = match to {
                To::Entry(place) => {
                    Some(RefValue::Id(entries.get(*place).map_or(nowhere, |entry| entry.id())))
                }
                To::Blob(seed) => Some(RefValue::Id(blob(seed).id())),
                To::Ref(name) => Some(RefValue::Symbolic(ref_name(NAMES[*name]))),
                To::Nothing => None,
            };
            RefUpdate { name, expected, new }
        })
        .collect();
    let transaction =
        Transaction { objects, refs, operation: has_operation.then(|| operation("do it")) };
    let durability = match durability {
        true => Durability::Full,
        false => Durability::Relaxed,
    };
    (transaction, durability)
}

fn name_of(error: &Error) -> &'static str {
    match error {
        Error::Dangling { .. } => "Dangling",
        Error::InvalidName { .. } => "InvalidName",
        Error::RefConflict { .. } => "RefConflict",
        Error::WrongKind { .. } => "WrongKind",
        _ => "another",
    }
}

/// Runs actions on a store and on the model, and gives the errors that there were.
fn run(bench: &mut dyn Bench, actions: &[Action]) -> Vec<&'static str> {
    let mut model = Model::default();
    let mut entries: Vec<NewObject> = Vec::new();
    let mut held: Vec<(Model, Arc<dyn Snapshot>)> = Vec::new();
    let mut errors = Vec::new();
    for action in actions {
        match action {
            Action::Commit { .. } => {
                let known = entries.len();
                let (transaction, durability) = transaction_of(action, &mut entries, &model);
                let expected = model.apply(&transaction);
                let found = bench.store().commit(durability, &mut |_| Ok(transaction.clone()));
                let found = found.map_err(|error| name_of(&error));
                // Where several things are wrong, any of them may be named.
                assert_eq!(found.is_err(), expected.is_err(), "{found:?} {expected:?}");
                if let Err(error) = found {
                    assert_ne!(error, "another");
                    errors.push(error);
                    entries.truncate(known);
                }
            }
            Action::Hold => held.push((model.clone(), bench.store().snapshot().unwrap())),
            Action::Tend(how) => bench.tend(*how),
        }
        model.check(&*bench.store().snapshot().unwrap());
    }
    for (model, snapshot) in held {
        model.check(&*snapshot);
    }
    let count = |kind| model.objects.values().filter(|o| o.kind() == kind).count();
    assert_eq!(count(Kind::Entry), entries.len());
    errors
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if long() { 2000 } else { 60 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Both stores agree with the model, and with each other on which error comes first.
    #[test]
    fn memory_and_disk_agree_with_the_model(actions in actions()) {
        let in_memory = run(&mut MemoryStore::new(), &actions);
        let disk = SimDisk::new(1);
        let store = Some(init(&disk).unwrap());
        let on_disk = run(&mut OnDisk { disk, store }, &actions);
        prop_assert_eq!(in_memory, on_disk);
    }
}
