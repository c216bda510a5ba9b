//! What was redacted stays refused after a repair.

use std::path::Path;

use sapwood::store::Store;

use super::{delete, fix};
use crate::faults::file;
use crate::redact::{found_in, redact_literal};
use crate::sim::SimDisk;
use crate::support::{ROOT, append, init, open, texts};

const SECRET: &str = "hunter-2-of-the-test";

fn redacted() -> SimDisk {
    let disk = SimDisk::new(3);
    let store = init(&disk).unwrap();
    append(&store, "main", &format!("it is {SECRET}")).unwrap();
    append(&store, "main", "thanks").unwrap();
    redact_literal(&store, SECRET).unwrap();
    assert_eq!(store.refused().unwrap(), 1);
    drop(store);
    disk
}

#[test]
fn the_list_counts_also_if_the_manifest_was_lost() {
    let disk = redacted();
    delete(&disk, file("current"));
    fix(&disk).unwrap();
    let store = open(&disk).unwrap();
    assert_eq!(store.refused().unwrap(), 1);
    let again = append(&store, "other", &format!("it is {SECRET}"));
    assert!(matches!(again, Err(sapwood::Error::Removed { .. })), "{again:?}");
}

/// The flags of its footer say something that this program does not know.
#[test]
fn a_list_that_a_newer_program_wrote_stops_the_repair() {
    const FOOTER_BYTES: usize = 56;
    let disk = redacted();
    let path = disk.files().into_iter().rfind(|path| path.to_string_lossy().contains("refused-"));
    let path = path.unwrap();
    let mut bytes = disk.read(&path);
    let (fields, sum) = (bytes.len() - FOOTER_BYTES, bytes.len() - 32);
    bytes[fields + 12] ^= 2;
    // One id, and the checksum of its page.
    let covered = [&bytes[fields..sum], &bytes[32..fields]].concat();
    bytes[sum..].copy_from_slice(blake3::hash(&covered).as_bytes());
    disk.write(&path, bytes.clone());
    let current = disk.read(file("current"));
    let told = fix(&disk);
    assert!(matches!(told, Err(sapwood::Error::UnsupportedFormat { .. })), "{told:?}");
    assert!(disk.read(&path) == bytes && disk.read(file("current")) == current);
}

#[test]
fn of_a_damaged_list_all_stays_refused_that_was_not_hit() {
    let find = |disk: &SimDisk| {
        let mut files = disk.files().into_iter();
        files.rfind(|path| path.to_string_lossy().contains("refused-")).unwrap()
    };
    let whole = redacted();
    let bytes = whole.read(find(&whole)).len();
    // The one id, and what follows it.
    for (at, is_left) in (0..32).map(|at| (at, false)).chain((32..bytes).map(|at| (at, true))) {
        for is_manifest_lost in [false, true] {
            let disk = whole.copy();
            disk.flip(find(&disk), at);
            if is_manifest_lost {
                delete(&disk, file("current"));
            }
            let report = fix(&disk).unwrap();
            assert!(report.remaining.is_empty() && report.aside.is_some(), "{at}: {report:?}");
            let store = open(&disk).unwrap();
            let again = append(&store, "other", &format!("it is {SECRET}"));
            let is_refused = matches!(again, Err(sapwood::Error::Removed { .. }));
            assert_eq!(is_refused, is_left, "{at}: {again:?}");
            append(&store, "main", "and on").unwrap();
            drop(store);
            assert!(fix(&disk).unwrap().actions.is_empty(), "there is nothing left to do");
        }
    }
}

/// A redaction that was cut off before the old files were removed, and then the manifest was lost.
#[test]
fn files_that_were_left_bring_nothing_back() {
    for is_sealed in [false, true] {
        let disk = SimDisk::new(3);
        let store = init(&disk).unwrap();
        for text in ["begin", &format!("it is {SECRET}"), "thanks"] {
            append(&store, "main", text).unwrap();
        }
        let large = format!("{SECRET} {}", "large ".repeat(60_000));
        store.put_blob(&mut large.as_bytes(), large.len() as u64).unwrap();
        if is_sealed {
            store.seal().unwrap();
        }
        let before = disk.copy();
        redact_literal(&store, SECRET).unwrap();
        drop(store);
        for path in before.files() {
            let is_object = path.starts_with(file("objects")) || path.starts_with(file("logs"));
            if is_object && !disk.files().contains(&path) {
                disk.write(&path, before.read(&path));
            }
        }
        delete(&disk, file("current"));
        let report = fix(&disk).unwrap();
        assert!(report.remaining.is_empty(), "{:?}", report.remaining);
        let store = open(&disk).unwrap();
        let said = texts(&store, "main").unwrap();
        assert!(said.iter().all(|text| !text.contains(SECRET)), "{said:?}");
        let left = found_in(&disk, Path::new(ROOT), &[SECRET]);
        let aside = file("damaged").to_string_lossy().into_owned();
        let left: Vec<_> = left.iter().filter(|path| !path.starts_with(&aside)).collect();
        assert_eq!(left, Vec::<&String>::new(), "sealed: {is_sealed}");
        assert!(fix(&disk).unwrap().actions.is_empty(), "there is nothing left to do");
    }
}
