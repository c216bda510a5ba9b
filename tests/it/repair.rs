//! `fsck --fix`: whatever is damaged, all that was not hit is saved, and the store is whole again.
//!
//! The environment variable `SAPWOOD_TORTURE` makes the runs exhaustive; without it, every so many
//! bytes are tried.

mod crash;
mod enemy;
mod mirrors;
mod oracle;
mod refused;
mod sessions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood::disk::{Disk, OpenMode};
use sapwood::error::{Error, Result};
use sapwood::store::local::{LocalStore, RepairOptions, RepairReport, Severity, repair};

use crate::faults::{contents, file, long};
use crate::sim::SimDisk;
use crate::support::{ROOT, append, open};
use crate::torture::tell;
use oracle::Oracle;

pub(crate) fn options() -> RepairOptions<'static> {
    RepairOptions {
        dry_run: false,
        time: 1_700_000_000_000,
        lock_timeout: Duration::ZERO,
        allow_network: false,
        ignore_format: false,
        progress: None,
    }
}

pub(crate) fn fix(disk: &SimDisk) -> Result<RepairReport> {
    repair(Arc::new(disk.clone()), Path::new(ROOT), &options())
}

/// Repairs a damaged store, and checks that all is saved but what may be lost.
fn check(disk: &SimDisk, oracle: &Oracle, may_be_lost: &oracle::Ids, context: &str) {
    let before = contents(disk);
    let report = fix(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(report.remaining, [], "{context}");
    check_nothing_is_gone(disk, &before, context);
    let store = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    oracle.check(&store, may_be_lost, context);
    drop(store);

    let after = contents(disk);
    let again = fix(disk).unwrap();
    assert_eq!((again.findings.len(), again.actions.len()), (0, 0), "{context}: {again:?}");
    let left = |files: Vec<(PathBuf, Vec<u8>)>| -> Vec<(PathBuf, Vec<u8>)> {
        files.into_iter().filter(|(path, _)| !path.ends_with("lock")).collect()
    };
    assert_eq!(left(contents(disk)), left(after), "{context}: a second repair does nothing");
    let store = open(disk).unwrap();
    append(&store, "later", "after the repair").unwrap_or_else(|e| panic!("{context}: {e}"));
}

/// Checks that the bytes of every file are still somewhere, but for those that hold no truth.
fn check_nothing_is_gone(disk: &SimDisk, before: &[(PathBuf, Vec<u8>)], context: &str) {
    let after = contents(disk);
    let holds = |bytes: &Vec<u8>| after.iter().any(|(_, found)| found == bytes);
    for (path, bytes) in before {
        let name = path.strip_prefix(ROOT).unwrap().to_string_lossy().into_owned();
        let is_mirror = name.starts_with("refs/") && !name.starts_with("refs/packed-");
        let is_derived = [
            "lock",
            "maintenance.lock",
            "bells",
            "current",
            "objects/journal/synced",
            "damaged/pending",
        ];
        if !is_mirror && !is_derived.contains(&name.as_str()) {
            assert!(holds(bytes), "{context}: {name} is gone");
        }
    }
}

/// Removes a file, durably.
fn delete(disk: &SimDisk, path: impl AsRef<Path>) {
    let path = path.as_ref();
    disk.remove(path).unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
}

/// The places of a file that are tried.
fn places(bytes: usize, count: usize) -> Vec<usize> {
    let step = if long() { 1 } else { (bytes / count).max(1) };
    (0..bytes).step_by(step).collect()
}

#[test]
fn a_healthy_store_is_not_touched() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let before = contents(&disk);
    let report = fix(&disk).unwrap();
    assert_eq!((report.findings.len(), report.actions.len()), (0, 0), "{report:?}");
    let kept = |(path, _): &&(PathBuf, Vec<u8>)| !path.ends_with("lock");
    let after = contents(&disk);
    assert!(after.iter().filter(kept).eq(before.iter().filter(kept)));
}

#[test]
fn flipped_bytes_cost_what_they_hit_and_no_more() {
    let oracle = Oracle::new();
    let mut tried = 0;
    for (path, bytes) in contents(&oracle.disk) {
        for place in places(bytes.len(), 10) {
            let context = format!("{} byte {place}", path.display());
            let disk = oracle.disk.copy();
            disk.flip(&path, place);
            if path == file("format") && [22, 66].contains(&place) {
                // It names another version, or another length.
                continue;
            }
            let lost = oracle.hit(&path, place..place + 1);
            check(&disk, &oracle, &lost, &context);
            tried += 1;
        }
    }
    tell(format_args!("repair: {tried} bytes flipped; everything that was not hit was saved"));
    assert!(tried > 200, "{tried}");
}

#[test]
fn cut_and_empty_and_missing_files_cost_what_was_in_them() {
    let oracle = Oracle::new();
    let mut tried = 0;
    for (path, bytes) in contents(&oracle.disk) {
        for length in places(bytes.len(), 4) {
            let context = format!("{} cut to {length}", path.display());
            let disk = oracle.disk.copy();
            disk.write(&path, &bytes[..length]);
            check(&disk, &oracle, &oracle.hit(&path, length..bytes.len()), &context);
            tried += 1;
        }
        if path == file("format") || !path.ends_with("lock") {
            let disk = oracle.disk.copy();
            delete(&disk, &path);
            let context = format!("{} missing", path.display());
            check(&disk, &oracle, &oracle.hit(&path, 0..bytes.len()), &context);
        }
    }
    tell(format_args!("repair: {tried} lengths cut; everything that was not hit was saved"));
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    disk.flip(oracle.pack(), 200);
    disk.flip(file("current"), 40);
    let before = contents(&disk);
    disk.set_read_only(true);
    let dry = RepairOptions { dry_run: true, ..options() };
    let would = repair(Arc::new(disk.clone()), Path::new(ROOT), &dry).unwrap();
    assert_eq!(contents(&disk), before);
    let refused = fix(&disk);
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    disk.set_read_only(false);
    let did = fix(&disk).unwrap();
    assert_eq!((&would.actions, &would.refs, &would.lost), (&did.actions, &did.refs, &did.lost));
    assert!(!did.actions.is_empty());
}

#[test]
fn a_repair_waits_for_no_writer_and_lets_none_in() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    disk.flip(file("current"), 40);
    let lock = disk.open(&file("lock"), OpenMode::Write).unwrap();
    assert!(lock.try_lock().unwrap());
    let refused = fix(&disk);
    assert!(matches!(refused, Err(Error::LockTimeout { .. })), "{refused:?}");
    lock.unlock().unwrap();
    fix(&disk).unwrap();
}

#[test]
fn a_handle_that_was_open_all_the_while_goes_on() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let store: LocalStore = open(&disk).unwrap();
    disk.flip(oracle.pack(), 200);
    fix(&disk).unwrap();
    append(&store, "later", "by an old handle").unwrap();
    let report = sapwood::store::local::fsck(
        Arc::new(disk),
        Path::new(ROOT),
        &sapwood::store::local::FsckOptions { full: true, ..Default::default() },
    );
    let faults = report.unwrap().findings;
    assert!(faults.iter().all(|found| found.severity == Severity::Notice), "{faults:#?}");
}

#[test]
fn what_is_lost_is_told_by_ref_and_object() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let loose = oracle.loose();
    disk.flip(&loose, 40);
    let report = fix(&disk).unwrap();
    let lost: Vec<_> = report.lost.iter().map(|lost| lost.id).collect();
    assert_eq!(lost, [oracle.large]);
    assert!(report.lost[0].linked_by.is_some());
    let moved: Vec<_> = report.refs.iter().map(|moved| moved.name.as_str()).collect();
    assert_eq!(moved, ["sessions/s/heads/main", "sessions/s/heads/with-large"]);
    assert!(report.refs[0].passed.iter().all(|passed| passed.is_held));
    assert!(report.hanging > 0);
    assert_eq!(report.aside, Some(file("damaged/2023-11-14T22-13-20.000Z")));
}
