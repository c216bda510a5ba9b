//! Several handles on one store, in any order, against a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood::error::Error;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Expected, RefUpdate, RefValue, Snapshot, Store, Transaction};

use super::picture::{Picture, operations};
use super::{long, operation};
use crate::sim::{Policy, SimDisk};
use crate::support::{append, branch, init, message, open, target, text_of, texts};

const BRANCHES: [&str; 4] = ["main", "The Architect", "a/b", "a"];

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// What the store should hold.
#[derive(Clone, Default)]
struct Model {
    branches: BTreeMap<&'static str, Vec<String>>,
    operations: Vec<String>,
}

impl Model {
    fn check(&self, snapshot: &dyn Snapshot, context: &str) {
        for name in BRANCHES {
            let expected = self.branches.get(name);
            let tip = target(snapshot, &branch(name)).unwrap();
            assert_eq!(tip.is_some(), expected.is_some(), "{context}: {name}");
            let path = tip.map(|tip| snapshot.path(&tip, usize::MAX).unwrap());
            let path = path.unwrap_or_default();
            let texts = path.iter().rev().map(|id| text_of(snapshot, id).unwrap());
            let expected = expected.cloned().unwrap_or_default();
            assert_eq!(texts.collect::<Vec<_>>(), expected, "{context}: {name}");
        }
        let found = operations(snapshot).unwrap();
        let numbers: Vec<u64> = found.iter().map(|record| record.number).collect();
        let count = self.operations.len() as u64;
        assert_eq!(numbers, (1..=count).rev().collect::<Vec<_>>(), "{context}");
        let commands = found.iter().rev().map(|record| &record.operation.command);
        assert!(commands.eq(self.operations.iter()), "{context}");
    }
}

/// A run: two handles, a model, and snapshots held with what they must show.
struct Run {
    disk: SimDisk,
    handles: [Option<LocalStore>; 2],
    model: Model,
    held: Vec<(Model, Picture, Arc<dyn Snapshot>)>,
    random: Random,
    context: String,
}

impl Run {
    fn new(seed: u64) -> Run {
        let disk = SimDisk::new(seed);
        let handles = [Some(init(&disk).unwrap()), Some(open(&disk).unwrap())];
        Run {
            disk,
            handles,
            model: Model::default(),
            held: Vec::new(),
            random: Random(seed),
            context: String::new(),
        }
    }

    fn store(&self, handle: usize) -> &LocalStore {
        self.handles[handle].as_ref().unwrap()
    }

    fn step(&mut self, seed: u64, number: usize) {
        let handle = self.random.below(2);
        let what = self.random.below(16);
        self.context = format!("seed {seed}, step {number}: action {what} on handle {handle}");
        match what {
            0..=6 => self.append(handle, number),
            7 => self.conflict(handle),
            8 => self.delete(handle),
            9 => self.store(handle).maintain().unwrap(),
            10 => _ = self.store(handle).pack_refs().unwrap(),
            11 => _ = self.store(handle).repack().unwrap(),
            12 => self.hold(handle),
            13 => self.check_held(),
            14 => {
                self.handles[handle] = None;
                self.handles[handle] = Some(open(&self.disk).unwrap());
            }
            _ => self.power_cut(),
        }
        let snapshot = self.store(handle).snapshot().unwrap();
        self.model.check(&*snapshot, &self.context);
    }

    fn append(&mut self, handle: usize, number: usize) {
        let name = BRANCHES[self.random.below(BRANCHES.len())];
        let durability = match self.random.below(2) {
            0 => Durability::Full,
            _ => Durability::Relaxed,
        };
        let padding = self.random.below(600);
        let text = format!("message {number} {}", "x".repeat(padding));
        let command = (self.random.below(3) == 0).then(|| format!("say {number}"));
        self.store(handle)
            .commit(durability, &mut |snapshot| {
                let tip = target(snapshot, &branch(name))?;
                let entry = message(&text, tip.into_iter().collect());
                let expected = tip.map_or(Expected::Missing, |id| Expected::Is(RefValue::Id(id)));
                let refs = vec![RefUpdate {
                    name: branch(name),
                    expected,
                    new: Some(RefValue::Id(entry.id())),
                }];
                Ok(Transaction {
                    objects: vec![entry],
                    refs,
                    operation: command.as_deref().map(operation),
                })
            })
            .unwrap();
        self.model.branches.entry(name).or_default().push(text);
        self.model.operations.extend(command);
    }

    /// Expects a ref where it is not.
    fn conflict(&mut self, handle: usize) {
        let name = BRANCHES[self.random.below(BRANCHES.len())];
        let entry = message("never", vec![]);
        let wrong = match self.model.branches.contains_key(name) {
            true => Expected::Missing,
            false => Expected::Is(RefValue::Id(entry.id())),
        };
        let refs = [RefUpdate {
            name: branch(name),
            expected: wrong,
            new: Some(RefValue::Id(entry.id())),
        }];
        let found = super::commit(self.store(handle), Durability::Full, &[entry], &refs);
        assert!(matches!(found, Err(Error::RefConflict { .. })), "{}: {found:?}", self.context);
    }

    fn delete(&mut self, handle: usize) {
        let name = BRANCHES[self.random.below(BRANCHES.len())];
        let refs = [RefUpdate { name: branch(name), expected: Expected::Any, new: None }];
        super::commit(self.store(handle), Durability::Full, &[], &refs).unwrap();
        self.model.branches.remove(name);
    }

    fn hold(&mut self, handle: usize) {
        let snapshot = self.store(handle).snapshot().unwrap();
        let picture = Picture::of(&*self.store(1 - handle).snapshot().unwrap()).unwrap();
        self.held.push((self.model.clone(), picture, snapshot));
    }

    fn check_held(&mut self) {
        for (model, picture, snapshot) in &self.held {
            model.check(&**snapshot, &self.context);
            picture.check_known(&**snapshot, &self.context);
        }
    }

    /// Closes both handles, which syncs all they did, and cuts the power.
    fn power_cut(&mut self) {
        self.check_held();
        self.held.clear();
        self.handles = [None, None];
        self.disk = self.disk.crash(Policy::LoseUnsynced);
        self.handles = [Some(open(&self.disk).unwrap()), Some(open(&self.disk).unwrap())];
    }
}

/// Commits a message to a branch, while another handle is faster.
fn commit_outrun(expected: fn(Option<sapwood::Id>) -> Expected) -> (SimDisk, Result<(), Error>) {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let other = open(&disk).unwrap();
    append(&store, "main", "before").unwrap();
    let first = target(&*store.snapshot().unwrap(), &branch("main")).unwrap();
    let mut plans = 0;
    let done = store.commit(Durability::Full, &mut |snapshot| {
        plans += 1;
        if plans == 1 {
            append(&other, "main", "faster").unwrap();
        }
        let tip = target(snapshot, &branch("main"))?;
        let entry = message("slower", tip.into_iter().collect());
        Ok(Transaction {
            refs: vec![RefUpdate {
                name: branch("main"),
                expected: expected(first),
                new: Some(RefValue::Id(entry.id())),
            }],
            objects: vec![entry],
            operation: None,
        })
    });
    assert_eq!(plans, 2);
    (disk, done)
}

#[test]
fn a_plan_that_was_outrun_is_made_again() {
    let (disk, done) = commit_outrun(|_| Expected::Any);
    done.unwrap();
    let found = texts(&open(&disk).unwrap(), "main").unwrap();
    assert_eq!(found, ["before", "faster", "slower"]);
}

#[test]
fn a_ref_that_somebody_moved_meanwhile_is_a_conflict() {
    let (disk, done) =
        commit_outrun(|first| first.map_or(Expected::Missing, |id| Expected::Is(RefValue::Id(id))));
    assert!(matches!(done, Err(Error::RefConflict { .. })), "{done:?}");
    let store = open(&disk).unwrap();
    assert_eq!(texts(&store, "main").unwrap(), ["before", "faster"]);
    append(&store, "main", "after").unwrap();
}

#[test]
fn two_handles_in_any_order_lose_nothing_and_keep_order() {
    let (runs, steps) = if long() { (400, 120) } else { (12, 60) };
    for seed in 0..runs {
        let mut run = Run::new(seed);
        for number in 0..steps {
            run.step(seed, number);
        }
        run.check_held();
    }
}
