//! A power cut at every call to the disk while something is redacted: the store before or the store
//! after, whole; and doing it again does the rest.

use std::path::Path;
use std::sync::Arc;

use sapwood::error::Result;
use sapwood::object::NewObject;
use sapwood::store::local::{FsckOptions, LocalStore, Severity, fsck};
use sapwood::store::{Durability, Operation, Store, Transaction};

use super::redact_literal;
use super::search::found_in;
use crate::sim::{Fault, Policy, SimDisk};
use crate::support::{ROOT, append, branch, init, open, texts, update};

const SECRET: &str = "vault-Kx9-7731-pass";

fn say(number: usize) -> String {
    match number % 3 {
        1 => format!("message {number} with {SECRET}"),
        _ => format!("message {number}"),
    }
}

/// A store with the secret in a pack, a loose file, the journal and the operations.
fn filled(disk: &SimDisk) -> Result<LocalStore> {
    let store = init(disk)?;
    (0..6).try_for_each(|number| append(&store, "main", &say(number)).map(drop))?;
    store.seal()?;
    let large = NewObject::blob(format!("{SECRET} {}", "large ".repeat(50_000)).into_bytes())?;
    let refs = vec![update(crate::support::ref_name("blobs/large"), large.id())];
    let command = format!("attach {SECRET}");
    let operation = Some(Operation { time: 1, actor: "tester".to_owned(), command });
    store.commit(Durability::Full, &mut |_| {
        let objects = vec![large.clone()];
        Ok(Transaction { objects, refs: refs.clone(), operation: operation.clone() })
    })?;
    (6..9).try_for_each(|number| append(&store, "main", &say(number)).map(drop))?;
    Ok(store)
}

fn expected(is_after: bool) -> Vec<String> {
    let texts = (0..9).map(say);
    texts.map(|text| if is_after { text.replace(SECRET, "[gone]") } else { text }).collect()
}

fn is_clean(disk: &SimDisk, context: &str) {
    let report = fsck(Arc::new(disk.clone()), Path::new(ROOT), &FsckOptions::default()).unwrap();
    for finding in report.findings {
        let harmless = finding.severity == Severity::Notice || finding.what.starts_with("mirror-");
        assert!(harmless, "{context}: {finding:?}");
    }
}

fn check(disk: &SimDisk, context: &str) -> bool {
    let store = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = texts(&store, "main").unwrap_or_else(|error| panic!("{context}: {error}"));
    let is_after = found == expected(true);
    assert!(is_after || found == expected(false), "{context}: {found:?}");
    is_after
}

#[test]
fn a_power_cut_at_any_call_leaves_the_store_before_or_after_and_again_does_the_rest() {
    let (disk, first) = {
        let disk = SimDisk::new(1);
        drop(filled(&disk).unwrap());
        let first = disk.calls();
        redact_literal(&open(&disk).unwrap(), SECRET).unwrap();
        (disk, first)
    };
    assert_eq!(found_in(&disk, Path::new(ROOT), &[SECRET]), Vec::<String>::new());
    is_clean(&disk, "no cut");
    let calls = disk.calls();
    let mut after = 0;
    for call in first..calls {
        let policy = match call % 3 {
            0 => Policy::LoseUnsynced,
            1 => Policy::KeepAll,
            _ => Policy::Random(call),
        };
        let context = format!("cut at call {call} of {first}..{calls}, {policy:?}");
        let disk = SimDisk::new(1);
        drop(filled(&disk).unwrap());
        disk.fail_at(call, Fault::Crash);
        let _ = open(&disk).and_then(|store| redact_literal(&store, SECRET));
        let disk = disk.crash(policy);
        let is_after = check(&disk, &context);
        after += u64::from(is_after);
        is_clean(&disk, &context);
        if is_after && call % 2 == 0 {
            // Whoever writes next removes what the redaction could not.
            let store = open(&disk).unwrap();
            append(&store, "other", "and on").unwrap_or_else(|error| panic!("{context}: {error}"));
            store.maintain().unwrap();
            drop(store);
        } else {
            let store = open(&disk).unwrap();
            let outcome = redact_literal(&store, SECRET);
            let outcome = outcome.unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(outcome.left, Vec::<String>::new(), "{context}");
        }
        assert!(check(&disk, &context), "{context}");
        let left = found_in(&disk, Path::new(ROOT), &[SECRET]);
        assert_eq!(left, Vec::<String>::new(), "{context}");
        is_clean(&disk, &context);
    }
    assert!(after > 3 && after < calls - first, "both were seen: {after} of {}", calls - first);
    let _ = branch("main");
}
