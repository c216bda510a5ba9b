//! Checking a store from outside: on read-only media, beside writers, and where opening is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood::error::Error;
use sapwood::id::{Id, Kind};
use sapwood::store::Store as _;
use sapwood::store::local::{Finding, FsckOptions, FsckReport, Severity, fsck};

use crate::sim::SimDisk;
use crate::support::{ROOT, append, init, open};

fn check(disk: &SimDisk) -> FsckReport {
    let disk = Arc::new(disk.clone());
    fsck(disk, Path::new(ROOT), &FsckOptions::default()).expect("a store")
}

fn store_of(messages: usize) -> SimDisk {
    let disk = SimDisk::new(1);
    let store = init(&disk).expect("a sound disk");
    for number in 0..messages {
        append(&store, "main", &format!("message {number}")).expect("a sound disk");
        if number % 20 == 19 {
            store.maintain().expect("a sound disk");
        }
    }
    drop(store);
    disk
}

/// Finds the one file in a directory whose name ends so.
fn file(disk: &SimDisk, dir: &str, ending: &str) -> PathBuf {
    let dir = Path::new(ROOT).join(dir);
    let mut files = disk.files().into_iter();
    files
        .find(|path| path.starts_with(&dir) && path.to_string_lossy().ends_with(ending))
        .expect("there is such a file")
}

#[test]
fn a_read_only_disk_is_checked_without_a_change() {
    let disk = store_of(50);
    disk.set_read_only(true);
    let calls = disk.calls();
    let report = check(&disk);
    assert_eq!(report.findings, []);
    assert_eq!((report.objects, report.refs), (50, 1));
    assert_eq!(disk.calls(), calls, "no call that could change anything");
}

#[test]
fn a_store_that_cannot_be_opened_or_read_is_checked_part_by_part() {
    let disk = store_of(50);
    let (current, index) = (file(&disk, "", "current"), file(&disk, "objects/pack", ".idx"));
    let segment = file(&disk, "objects/journal", "synced").with_file_name("spare");
    disk.write(segment, vec![0; 4096]);
    disk.flip(&index, 100);
    let snapshot = open(&disk).expect("no page of it is read yet").snapshot().expect("nor now");
    let asked = snapshot.get(&Id::of(Kind::Blob, b"nobody has it"));
    assert!(matches!(asked, Err(Error::Corrupt { path, .. }) if path == index));
    let found = check(&disk).findings;
    assert!(!found.is_empty());
    for finding in &found {
        assert_eq!((finding.what, finding.severity), ("index-damaged", Severity::Error));
        assert_eq!(finding.file.as_ref(), Some(&index));
    }

    disk.flip(&index, 100);
    disk.flip(&current, 40);
    assert!(open(&disk).is_err());
    let report = check(&disk);
    let names: Vec<&str> = report.findings.iter().map(|finding| finding.what).collect();
    assert_eq!(names, ["manifest-damaged"]);
    assert_eq!(report.objects, 50, "the objects are found without it");
}

#[test]
fn a_writer_beside_the_check_causes_no_finding() {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "first").unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..300 {
                append(&store, ["main", "side"][number % 2], &format!("{number}")).unwrap();
                if number % 25 == 24 {
                    store.maintain().unwrap();
                }
                if number % 100 == 99 {
                    store.repack().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut checks = 0;
        while !done.load(Ordering::Acquire) || checks == 0 {
            let report = check(&disk);
            let worse = |finding: &&Finding| {
                finding.severity == Severity::Error
                    || (finding.severity == Severity::Warning && finding.what != "store-changed")
            };
            let found: Vec<&Finding> = report.findings.iter().filter(worse).collect();
            assert!(found.is_empty(), "check {checks}: {found:#?}");
            checks += 1;
        }
    });
    assert_eq!(check(&disk).findings, []);
}
