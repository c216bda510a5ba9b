//! What was redacted stays refused after a repair.

use super::{delete, fix};
use crate::faults::file;
use crate::redact::redact_literal;
use crate::sim::SimDisk;
use crate::support::{append, init, open};

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

#[test]
fn a_damaged_list_goes_aside() {
    let disk = redacted();
    let list = disk.files().into_iter().find(|path| path.to_string_lossy().contains("refused-"));
    let list = list.unwrap();
    disk.flip(&list, disk.read(&list).len() / 2);
    let report = fix(&disk).unwrap();
    assert!(report.remaining.is_empty() && report.aside.is_some(), "{:?}", report.remaining);
    let store = open(&disk).unwrap();
    assert_eq!(store.refused().unwrap(), 0);
    append(&store, "main", "and on").unwrap();
    drop(store);
    assert!(fix(&disk).unwrap().actions.is_empty(), "there is nothing left to do");
}
