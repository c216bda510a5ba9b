//! Stands in for the check of a local store until it is there.

#![allow(missing_docs, dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::disk::Disk;
use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::store::Store;
use sapwood::store::local::{LocalStore, Options};

#[derive(Default)]
pub(crate) struct FsckOptions {}
pub(crate) enum Severity {
    Error,
    Warning,
}
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) what: &'static str,
    pub(crate) object: Option<Id>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) why: String,
}
pub(crate) struct FsckReport {
    pub(crate) findings: Vec<Finding>,
    pub(crate) objects: u64,
    pub(crate) refs: u64,
    pub(crate) files: u64,
}
pub(crate) fn fsck(disk: Arc<dyn Disk>, path: &Path, _: FsckOptions) -> Result<FsckReport> {
    let store = LocalStore::open(
        disk,
        path,
        Options {
            read_only: true,
            ..Options::default()
        },
    )?;
    let counts = store.count_objects()?;
    Ok(FsckReport {
        findings: Vec::new(),
        objects: counts.journal_objects + counts.loose_objects + counts.packed_objects,
        refs: store.snapshot()?.references("")?.len() as u64,
        files: 0,
    })
}
