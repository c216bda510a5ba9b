//! Everything that a disk, or another process, can do to a store at the wrong moment.
//!
//! A process is a handle of its own on one simulated disk. It dies by being dropped after the disk
//! has crashed, so that nothing it would still do at its end reaches the files.

mod handles;
mod loose;
mod manifest;
mod mirrors;
mod no_room;
pub(crate) mod odd_disk;
pub(crate) mod picture;
mod readers;
mod sync;
mod tail;
mod threads;

use std::path::{Path, PathBuf};

use sapwood::codec::Value;
use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::object::{Entry, NewObject};
use sapwood::store::{Durability, Operation, RefUpdate, Store, Transaction};

use crate::sim::{Op, SimDisk};
use crate::support::ROOT;

/// Objects from here on are loose files.
const LOOSE_BYTES_MIN: usize = 256 << 10;

/// Says whether the long form of the tests is wanted.
pub(crate) fn long() -> bool {
    std::env::var_os("SAPWOOD_TORTURE").is_some()
}

/// Names a file of the store.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

/// Names a journal segment.
pub(crate) fn segment(sequence: u64) -> PathBuf {
    file(&format!("objects/journal/{sequence:016x}"))
}

/// Says whether a call syncs a segment.
fn syncs_segment(op: Op, path: &Path) -> bool {
    op == Op::SyncData && path.starts_with(file("objects/journal"))
}

/// A blob that is kept as a loose file, and compresses to almost nothing.
pub(crate) fn large(seed: u8) -> NewObject {
    NewObject::blob(vec![seed; LOOSE_BYTES_MIN]).unwrap()
}

/// An entry that links an object.
pub(crate) fn attachment(target: Id) -> NewObject {
    let body = Value::map([("attachment", Value::Link(target))]);
    Entry { label: "message".to_owned(), time: 2, parents: vec![], body, raw: None }
        .encode()
        .unwrap()
}

pub(crate) fn operation(command: &str) -> Operation {
    Operation { time: 7, actor: "test".to_owned(), command: command.to_owned() }
}

/// Commits objects and ref updates as they are.
pub(crate) fn commit(
    store: &dyn Store,
    durability: Durability,
    objects: &[NewObject],
    refs: &[RefUpdate],
) -> Result<()> {
    store.commit(durability, &mut |_| {
        Ok(Transaction { objects: objects.to_vec(), refs: refs.to_vec(), operation: None })
    })
}

/// Gives every file of a disk with its content.
pub(crate) fn contents(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let bytes = disk.read(&path);
        (path, bytes)
    };
    disk.files().into_iter().map(read).collect()
}
