//! What a reader sees of a store, and what must hold of any store after a crash.

use std::path::Path;
use std::sync::Arc;

use sapwood::error::Result;
use sapwood::store::local::{FsckOptions, LocalStore, Severity, fsck};
use sapwood::store::{OperationRecord, RefName, RefValue, Store};

use crate::faults::picture::operations;
use crate::sim::SimDisk;
use crate::support::{ROOT, append, branch, init, open_read_only, texts};

/// The branch that is written to after a crash.
const AFTER: &str = "after";

/// All refs and operations: what transactions change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sight {
    pub(crate) refs: Vec<(RefName, RefValue)>,
    pub(crate) operations: Vec<OperationRecord>,
}

impl Sight {
    /// Looks at the store on a disk, as one who only reads; `None` if there is no store yet.
    pub(crate) fn of(disk: &SimDisk) -> Result<Option<Sight>> {
        if !LocalStore::is_at(disk, Path::new(ROOT)) {
            return Ok(None);
        }
        let snapshot = open_read_only(disk)?.snapshot()?;
        let refs = snapshot.references("")?;
        Ok(Some(Sight { refs, operations: operations(&*snapshot)? }))
    }

    /// The same without the branch that is written to after a crash.
    fn before(mut self) -> Sight {
        self.refs.retain(|(name, _)| *name != branch(AFTER));
        self
    }
}

/// Checks that a writer can go on: it opens the store, appends, and nothing else has changed.
pub(crate) fn go_on(disk: &SimDisk, maintain: bool) -> Result<()> {
    let nothing = Sight { refs: vec![], operations: vec![] };
    let before = Sight::of(disk)?.unwrap_or(nothing).before();
    let store = init(disk)?;
    let said = texts(&store, AFTER)?.len();
    append(&store, AFTER, "and on")?;
    if maintain {
        store.maintain()?;
    }
    drop(store);
    let after = Sight::of(disk)?.expect("a store that was written to").before();
    assert_eq!(before, after);
    assert_eq!(texts(&open_read_only(disk)?, AFTER)?.len(), said + 1);
    Ok(())
}

/// Checks that nothing is found but mirror files, which are not synced, and what a crash leaves.
pub(crate) fn fsck_is_clean(disk: &SimDisk) -> Result<()> {
    let report = fsck(Arc::new(disk.clone()), Path::new(ROOT), &FsckOptions::default())?;
    for finding in report.findings {
        let harmless = match finding.severity {
            Severity::Error => false,
            Severity::Warning => finding.what.starts_with("mirror-"),
            Severity::Notice => true,
        };
        assert!(harmless, "{finding:?}");
    }
    Ok(())
}
