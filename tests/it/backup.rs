//! Backups: consistent, incremental, never half; and stores made of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood::disk::{Disk, OsDisk};
use sapwood::error::{Error, Result};
use sapwood::repo::Repo;
use sapwood::session::{self, Draft};
use sapwood::store::local::{
    self, CopyReport, FsckOptions, LocalStore, Options, Severity, restore, verify_backup,
};
use sapwood::store::{Durability, RefName, RefValue, Store};

use crate::sim::{Fault, Policy, SimDisk};
use crate::support::{self, ROOT};

const BACKUP: &str = "/b/copy";

fn say(store: &Arc<LocalStore>, text: &str) {
    let repo = Repo::on(store.clone());
    let pin = session::pin(&repo, Some("s"), None, 1, "me").unwrap();
    let body = Draft::message("user", text).body;
    session::append(&repo, &pin, vec![body], Durability::Full, 1).unwrap();
}

fn back_up(store: &LocalStore, dir: &Path) -> Result<CopyReport> {
    store.backup(dir, "here", false, &mut |_, _| {})
}

fn refs(disk: Arc<dyn Disk>, path: &Path) -> Result<Vec<(RefName, RefValue)>> {
    let options = Options { read_only: true, ..support::options() };
    LocalStore::open(disk, path, options)?.snapshot()?.references("")
}

fn transcript(path: &Path) -> Vec<sapwood::Id> {
    let options = Options { read_only: true, ..support::options() };
    let store = LocalStore::open(Arc::new(OsDisk), path, options).unwrap();
    session::transcript(&*store.snapshot().unwrap(), "s").unwrap()
}

fn check(disk: Arc<dyn Disk>, dir: &Path) {
    let report = verify_backup(disk, dir, &FsckOptions::default()).unwrap();
    let bad: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity != Severity::Notice)
        .map(|finding| (finding.what, finding.why.clone(), finding.file.clone()))
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
}

fn files(dir: &Path) -> BTreeSet<PathBuf> {
    sapwood::disk::list_below(dir).unwrap().into_iter().collect()
}

#[test]
fn a_backup_is_a_store_that_grows_with_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (home, dir) = (folder.path().join("home"), folder.path().join("deep/backup"));
    let (store, _) = LocalStore::init(Arc::new(OsDisk), &home, support::options()).unwrap();
    let store = Arc::new(store);
    say(&store, "one");
    let large = vec![1u8; 400_000];
    store.put_blob(&mut &large[..], 400_000).unwrap();
    let first = back_up(&store, &dir).unwrap();
    assert_eq!(first.files, first.files_copied);
    check(Arc::new(OsDisk), &dir);
    assert_eq!(transcript(&dir), transcript(&home));
    assert_eq!(back_up(&store, &dir).unwrap().files_copied, 0, "nothing has changed");

    for number in 0..200 {
        say(&store, &format!("{number} {}", "word ".repeat(50)));
    }
    store.repack().unwrap();
    say(&store, "after");
    let grown = back_up(&store, &dir).unwrap();
    assert!(grown.files_copied > 0 && grown.files_removed > 0, "{grown:?}");
    check(Arc::new(OsDisk), &dir);
    assert_eq!(transcript(&dir), transcript(&home));
    assert!(!files(&dir).iter().any(|path| path.ends_with("lock")), "nobody has written");
    say(&store, "one more");
    let step = back_up(&store, &dir).unwrap();
    assert_eq!(step.files_copied, 1, "the open segment");
    assert_eq!(transcript(&dir), transcript(&home));
}

#[test]
fn damage_is_told_and_does_not_take_the_place_of_what_was_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (home, dir) = (folder.path().join("home"), folder.path().join("backup"));
    let (store, _) = LocalStore::init(Arc::new(OsDisk), &home, support::options()).unwrap();
    let store = Arc::new(store);
    say(&store, "one");
    back_up(&store, &dir).unwrap();
    for number in 0..50 {
        say(&store, &format!("{number} {}", "word ".repeat(50)));
    }
    let large: Vec<u8> =
        (0..100_000u32).flat_map(|number| number.wrapping_mul(number).to_le_bytes()).collect();
    store.put_blob(&mut &large[..], large.len() as u64).unwrap();
    say(&store, "a secret");
    crate::redact::redact_literal(&store, "a secret").unwrap();
    store.repack().unwrap();
    store.pack_refs().unwrap();
    say(&store, "the last word");
    drop(store);

    let open = || LocalStore::open(Arc::new(OsDisk), &home, support::options());
    let mut kinds = BTreeSet::new();
    for (number, file) in files(&home).difference(&files(&dir)).enumerate() {
        let path = home.join(file);
        let whole = std::fs::read(&path).unwrap();
        let (kind, place) = match file.to_str().unwrap() {
            "objects/journal/synced" => continue,
            name if name.starts_with("objects/journal/") => {
                ("journal", whole.windows(8).position(|found| found == b"the last").unwrap())
            }
            name => {
                let kinds = [".pack", ".idx", ".graph", "refs/packed-", "logs/", "refused-"];
                let kind = kinds.into_iter().find(|kind| name.contains(kind));
                let is_loose = name.starts_with("objects/") && name.len() == "objects/".len() + 65;
                match kind.or(is_loose.then_some("loose")) {
                    Some(kind) => (kind, whole.len() / 3),
                    // Mirrors and locks are no part of a backup.
                    None => continue,
                }
            }
        };
        kinds.insert(kind);
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let first = folder.path().join(format!("first-{number}"));
        let told = open().and_then(|store| back_up(&store, &first));
        if kind == ".graph" {
            // It can be made again. So can one that a newer program wrote: the flags say so.
            assert!(told.is_ok() && !first.join(file).exists(), "{told:?}");
            assert_eq!(transcript(&first), transcript(&home));
            let mut newer = whole.clone();
            newer[whole.len() - 44] ^= 2;
            std::fs::write(&path, newer).unwrap();
            let second = folder.path().join(format!("second-{number}"));
            back_up(&open().unwrap(), &second).unwrap();
            assert!(!second.join(file).exists());
        } else {
            assert!(matches!(told, Err(Error::Corrupt { .. })), "{}: {told:?}", file.display());
            assert!(!first.join("current").exists(), "{}", file.display());
        }
        if kind == ".pack" {
            assert!(back_up(&open().unwrap(), &dir).is_err());
            check(Arc::new(OsDisk), &dir);
            assert_eq!(transcript(&dir).len(), 1, "it is as it was");
        }
        std::fs::write(&path, whole).unwrap();
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
    back_up(&open().unwrap(), &dir).unwrap();
    check(Arc::new(OsDisk), &dir);
    assert_eq!(transcript(&dir), transcript(&home));
}

#[test]
fn strangers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (home, dir) = (folder.path().join("home"), folder.path().join("backup"));
    let (store, _) = LocalStore::init(Arc::new(OsDisk), &home, support::options()).unwrap();
    let store = Arc::new(store);
    say(&store, "one");
    let refused = |result: Result<CopyReport>, word: &str| match result {
        Err(Error::Refused { why, .. }) => assert!(why.contains(word), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(back_up(&store, &home), "no backup");
    refused(store.backup(&home, "here", true, &mut |_, _| {}), "no backup");
    back_up(&store, &dir).unwrap();
    refused(store.backup(&dir, "elsewhere", false, &mut |_, _| {}), "another store");
    let copy = Arc::new(LocalStore::open(Arc::new(OsDisk), &dir, support::options()).unwrap());
    say(&copy, "in the backup");
    drop(copy);
    refused(back_up(&store, &dir), "somebody has written");
    store.backup(&dir, "here", true, &mut |_, _| {}).unwrap();
    assert_eq!(transcript(&dir), transcript(&home));
    check(Arc::new(OsDisk), &dir);
    assert!(verify_backup(Arc::new(OsDisk), &home, &FsckOptions::default()).is_err());
}

#[test]
fn a_store_is_made_of_a_backup_and_never_in_the_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (home, dir) = (folder.path().join("home"), folder.path().join("backup"));
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let (store, _) = LocalStore::init(disk.clone(), &home, support::options()).unwrap();
    let store = Arc::new(store);
    say(&store, "one");
    back_up(&store, &dir).unwrap();
    let tell = &mut |_, _| {};
    let error = restore(&disk, &dir, &home, false, tell).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    let target = folder.path().join("new/place");
    let (report, moved) = restore(&disk, &dir, &target, false, tell).unwrap();
    assert!(report.files > 0 && moved.is_none());
    let found = local::fsck(disk.clone(), &target, &FsckOptions::default()).unwrap();
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    let again = Arc::new(LocalStore::open(disk.clone(), &target, support::options()).unwrap());
    say(&again, "life goes on");
    drop(again);
    assert_eq!(transcript(&target).len(), 2);
    let (_, moved) = restore(&disk, &dir, &target, true, tell).unwrap();
    assert_eq!(transcript(&target).len(), 1);
    assert_eq!(transcript(&moved.unwrap()).len(), 2, "what was there is kept");
    assert!(restore(&disk, &home, &folder.path().join("x"), false, tell).is_err());

    // A damaged backup makes no store.
    let segment = files(&dir).into_iter().find(|path| path.starts_with("objects/journal/"));
    let path = dir.join(segment.unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(restore(&disk, &dir, &folder.path().join("y"), false, tell).is_err());
    assert!(!folder.path().join("y").exists());
}

#[test]
fn writers_go_on_while_a_backup_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (home, dir) = (folder.path().join("home"), folder.path().join("backup"));
    let lock_timeout = std::time::Duration::from_secs(60);
    let options = Options { background: true, lock_timeout, ..support::options() };
    let (store, _) = LocalStore::init(Arc::new(OsDisk), &home, options).unwrap();
    let store = Arc::new(store);
    say(&store, "one");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                say(&store, &format!("{number} {}", "word ".repeat(100)));
                number += 1;
                if number % 50 == 0 {
                    store.repack().unwrap();
                }
            }
        });
        for _ in 0..6 {
            let reader = Options { read_only: true, ..support::options() };
            let reader = LocalStore::open(Arc::new(OsDisk), &home, reader).unwrap();
            let before = transcript(&home);
            match back_up(&reader, &dir) {
                Err(Error::Refused { why, .. }) if why.contains("too fast") => continue,
                taken => drop(taken.unwrap()),
            }
            check(Arc::new(OsDisk), &dir);
            assert!(transcript(&dir).starts_with(&before));
        }
        done.store(true, Ordering::Relaxed);
    });
    back_up(&store, &dir).unwrap();
    assert_eq!(transcript(&dir), transcript(&home));
}

#[test]
fn a_backup_that_stops_at_any_call_leaves_the_one_before_or_the_new_one() {
    let backup = Path::new(BACKUP);
    let mut tried = 0;
    for policy in [Policy::LoseUnsynced, Policy::KeepAll, Policy::Random(11)] {
        for stop in 0.. {
            let disk = SimDisk::new(7);
            let store = Arc::new(support::init(&disk).unwrap());
            say(&store, "one");
            back_up(&store, backup).unwrap();
            let old = refs(Arc::new(disk.clone()), backup).unwrap();
            for number in 0..30 {
                say(&store, &format!("{number} {}", "word ".repeat(60)));
            }
            store.repack().unwrap();
            say(&store, "two");
            let new = refs(Arc::new(disk.clone()), Path::new(ROOT)).unwrap();
            disk.fail_at(disk.calls() + stop, Fault::Crash);
            let is_done = back_up(&store, backup).is_ok();
            drop(store);
            let after = disk.crash(policy);
            let found = refs(Arc::new(after.clone()), backup).unwrap();
            assert!(found == old || found == new, "stopped at call {stop}");
            assert!(!is_done || found == new);
            check(Arc::new(after.clone()), backup);
            let store = Arc::new(support::open(&after).unwrap());
            back_up(&store, backup).unwrap();
            assert_eq!(refs(Arc::new(after.clone()), backup).unwrap(), new);
            check(Arc::new(after), backup);
            tried += 1;
            if is_done {
                break;
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

#[test]
fn a_first_backup_that_stops_at_any_call_is_taken_up_by_the_next() {
    let backup = Path::new(BACKUP);
    let begun = || {
        let disk = SimDisk::new(7);
        let store = Arc::new(support::init(&disk).unwrap());
        say(&store, &"a file of its own ".repeat(20_000));
        let calls = disk.calls();
        (disk, store, calls)
    };
    let (disk, store, before) = begun();
    back_up(&store, backup).unwrap();
    let calls = disk.calls() - before;
    for (stop, fault) in (0..calls)
        .flat_map(|stop| [Fault::Crash, Fault::SyncFails, Fault::Enospc].map(|fault| (stop, fault)))
    {
        let (disk, store, before) = begun();
        disk.fail_at(before + stop, fault);
        // What is left counts, not what is said of it.
        let _ = back_up(&store, backup);
        drop(store);
        let after = match fault {
            Fault::Crash => disk.crash(Policy::KeepAll),
            _ => disk,
        };
        let store = support::open(&after).unwrap();
        back_up(&store, backup).unwrap_or_else(|error| panic!("{fault:?} at {stop}: {error}"));
        drop(store);
        check(Arc::new(after.crash(Policy::LoseUnsynced)), backup);
    }
    assert!(calls > 20, "{calls}");
}

#[test]
fn what_a_killed_restore_left_goes_with_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let (store, copy) = (dir.path().join("a"), dir.path().join("copy"));
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let (store, _) = LocalStore::init(Arc::clone(&disk), &store, support::options()).unwrap();
    support::append(&store, "main", "hello").unwrap();
    back_up(&store, &copy).unwrap();
    let left = |name: &str| {
        let left = dir.path().join("to").join(name);
        std::fs::create_dir_all(left.join("objects/pack")).unwrap();
        std::fs::write(left.join("objects/pack/half"), "x").unwrap();
        left
    };
    let ours = left(".sapwood.0123456789abcdef.tmp");
    std::fs::write(ours.join("maintenance.lock"), "").unwrap();
    let others = [left(".sapwood.tmp"), left("x.0123456789abcdef.tmp")];
    std::fs::write(others[1].join("maintenance.lock"), "").unwrap();
    let half_removed = left(".sapwood.fedcba9876543210.tmp");
    let to = dir.path().join("to/.sapwood");
    restore(&disk, &copy, &to, false, &mut |_, _| {}).unwrap();
    assert!(!ours.exists() && !half_removed.exists());
    assert!(others.iter().all(|other| other.exists()), "what is none of ours stays");
    assert_eq!(
        support::texts(&LocalStore::open(disk, &to, support::options()).unwrap(), "main").unwrap(),
        ["hello"]
    );
}

#[test]
fn of_two_restores_to_one_place_the_slower_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (home, copy, to) =
        (folder.path().join("home"), folder.path().join("copy"), folder.path().join("to"));
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let (store, _) = LocalStore::init(Arc::clone(&disk), &home, support::options()).unwrap();
    let store = Arc::new(store);
    say(&store, "one");
    back_up(&store, &copy).unwrap();
    let mut is_first = true;
    let slower = restore(&disk, &copy, &to, false, &mut |_, _| {
        if std::mem::take(&mut is_first) {
            restore(&disk, &copy, &to, false, &mut |_, _| {}).unwrap();
        }
    });
    assert!(matches!(slower, Err(Error::Refused { .. })), "{slower:?}");
    assert_eq!(transcript(&to).len(), 1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}
