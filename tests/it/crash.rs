//! A power cut at every single call to the disk.
//!
//! The disk loses what was not synced. Afterwards no acknowledged transaction may be missing, none
//! may be half there, and the store must take the next one. The environment variable
//! `SAPWOOD_TORTURE` makes the runs long.

use std::path::Path;
use std::sync::Arc;

use sapwood::codec::Value;
use sapwood::error::Result;
use sapwood::object::{Entry, NewObject};
use sapwood::store::local::{FsckOptions, LocalStore, Severity, fsck};
use sapwood::store::{Durability, Operation, Store, Transaction};

use crate::sim::{Fault, Policy, SimDisk};
use crate::support::{ROOT, append, branch, init, open, target, texts, update};

/// What a run has been told is durable.
#[derive(Clone, Default)]
struct Acknowledged {
    main: usize,
    other: usize,
    large: bool,
}

fn long() -> bool {
    std::env::var_os("SAPWOOD_TORTURE").is_some()
}

fn say(number: usize) -> String {
    format!("message {number} {}", "word ".repeat(number % 40))
}

/// Appends to two branches, with large objects, operations, seals and checkpoints in between.
fn workload(disk: &SimDisk, transactions: usize, told: &mut Acknowledged) -> Result<()> {
    let store = init(disk)?;
    for number in 0..transactions {
        if number % 3 == 2 {
            append(&store, "other", &say(told.other))?;
            told.other += 1;
        } else {
            append(&store, "main", &say(told.main))?;
            told.main += 1;
        }
        if number % 17 == 5 {
            store.maintain()?;
        }
        if number == transactions / 2 {
            commit_large(&store)?;
            told.large = true;
            store.pack_refs()?;
        }
        if number == transactions * 3 / 4 {
            store.repack()?;
        }
    }
    Ok(())
}

fn large() -> NewObject {
    NewObject::blob((0..300_000u32).flat_map(u32::to_le_bytes).take(300_000).collect()).unwrap()
}

/// Commits a large blob, an entry that links it, and an operation.
fn commit_large(store: &LocalStore) -> Result<()> {
    let name = branch("large");
    store.commit(Durability::Full, &mut |_| {
        let blob = large();
        let body = Value::map([("attachment", Value::Link(blob.id()))]);
        let label = "message".to_owned();
        let entry = Entry { label, time: 1, parents: vec![], body, raw: None }.encode()?;
        let refs = vec![update(name.clone(), entry.id())];
        let operation =
            Operation { time: 1, actor: "test".to_owned(), command: "attach".to_owned() };
        Ok(Transaction { objects: vec![blob, entry], refs, operation: Some(operation) })
    })
}

/// Checks that what was acknowledged is there, and nothing but it and at most one more.
fn check(store: &LocalStore, told: &Acknowledged, context: &str) {
    let expect = |name: &str, told: usize, more: usize| {
        let found = texts(store, name).unwrap_or_else(|error| panic!("{context}: {error}"));
        let expected: Vec<String> = (0..found.len()).map(say).collect();
        assert_eq!(found, expected, "{context}: {name}");
        assert!(
            (told..=told + more).contains(&found.len()),
            "{context}: {name} has {} messages, {told} were acknowledged",
            found.len()
        );
        found.len() - told
    };
    let extra = expect("main", told.main, 1);
    expect("other", told.other, 1 - extra);
    let snapshot = store.snapshot().unwrap();
    let entry = target(&*snapshot, &branch("large")).unwrap();
    assert!(entry.is_some() || !told.large, "{context}: the large transaction is lost");
    if entry.is_some() {
        let stored = snapshot.get(&large().id()).unwrap();
        assert_eq!(&*stored.expect("linked").content, large().content(), "{context}");
    }
}

/// Reads, writes, and reads again on a disk after a power cut.
fn survive(disk: &SimDisk, told: &Acknowledged, context: &str) {
    let store = match open(disk) {
        Ok(store) => store,
        Err(_) if told.main + told.other == 0 => init(disk).unwrap(),
        Err(error) => panic!("{context}: {error}"),
    };
    check(&store, told, context);
    let before = texts(&store, "main").unwrap().len();
    append(&store, "main", &say(before)).unwrap_or_else(|error| panic!("{context}: {error}"));
    store.maintain().unwrap_or_else(|error| panic!("{context}: {error}"));
    drop(store);
    let store = open(disk).unwrap();
    assert_eq!(texts(&store, "main").unwrap().len(), before + 1, "{context}");
    fsck_is_clean(disk, context);
}

/// Checks that nothing is found but mirror files, which are not synced, and what a crash leaves.
fn fsck_is_clean(disk: &SimDisk, context: &str) {
    let disk = Arc::new(disk.clone());
    let report = fsck(disk, Path::new(ROOT), &FsckOptions::default())
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    for finding in report.findings {
        let mirror = finding.what.starts_with("mirror-");
        let harmless = match finding.severity {
            Severity::Error => false,
            Severity::Warning => mirror,
            Severity::Notice => true,
        };
        assert!(harmless, "{context}: {finding:?}");
    }
}

/// Runs the workload up to a call, cuts the power, and gives what the disk kept.
fn cut(transactions: usize, call: u64, policy: Policy) -> (SimDisk, Acknowledged) {
    let disk = SimDisk::new(1);
    disk.fail_at(call, Fault::Crash);
    let mut told = Acknowledged::default();
    let _ = workload(&disk, transactions, &mut told);
    (disk.crash(policy), told)
}

fn calls_of(transactions: usize) -> u64 {
    let disk = SimDisk::new(1);
    workload(&disk, transactions, &mut Acknowledged::default()).unwrap();
    disk.calls()
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_acknowledged() {
    let transactions = if long() { 300 } else { 60 };
    let calls = calls_of(transactions);
    for call in 0..calls {
        let policies = match long() {
            true => vec![Policy::LoseUnsynced, Policy::KeepAll, Policy::Random(call)],
            false if call % 2 == 0 => vec![Policy::LoseUnsynced],
            false => vec![Policy::Random(call)],
        };
        for policy in policies {
            let context = format!("cut at call {call} of {calls}, {policy:?}");
            let (disk, told) = cut(transactions, call, policy);
            survive(&disk, &told, &context);
        }
    }
}

#[test]
fn a_power_cut_during_recovery_loses_nothing_either() {
    let transactions = 24;
    let calls = calls_of(transactions);
    let step = if long() { 1 } else { 37 };
    for call in (0..calls).step_by(step) {
        for second in 0.. {
            let (disk, told) = cut(transactions, call, Policy::Random(call));
            disk.fail_at(second, Fault::Crash);
            let recovered = open(&disk).and_then(|store| {
                append(&store, "recovered", "hello")?;
                store.maintain()
            });
            let context = format!("cut at call {call}, and again at call {second} after it");
            let disk = disk.crash(Policy::Random(second));
            survive(&disk, &told, &context);
            if recovered.is_ok() || told.main + told.other == 0 {
                break;
            }
        }
    }
}
