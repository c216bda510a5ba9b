//! What a reader sees of a store, and what must hold of any store after a crash.

use std::path::Path;
use std::sync::Arc;

use sapwood::error::Result;
use sapwood::store::local::{FsckOptions, LocalStore, Options, Severity, fsck};
use sapwood::store::{OperationRecord, RefName, RefValue, Store};

use crate::faults::picture::operations;
use crate::sim::SimDisk;
use crate::support::{ROOT, append, branch, init, open_read_only, options, texts};

/// The branch that is written to after a crash.
const AFTER: &str = "after";

/// Where a backup of the store is made.
pub(crate) const BACKUP: &str = "/backup";

/// All refs and operations, what transactions change; and those of the backup, if there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sight {
    pub(crate) refs: Vec<(RefName, RefValue)>,
    pub(crate) operations: Vec<OperationRecord>,
    pub(crate) backup: Option<Box<Sight>>,
}

impl Sight {
    /// Looks at the store on a disk, as one who only reads; `None` if there is no store yet.
    pub(crate) fn of(disk: &SimDisk) -> Result<Option<Sight>> {
        if !LocalStore::is_at(disk, Path::new(ROOT)) {
            return Ok(None);
        }
        let backup = match has_backup(disk) {
            true => Some(Box::new(Sight::through(&open_backup(disk)?)?)),
            false => None,
        };
        Ok(Some(Sight { backup, ..Sight::through(&open_read_only(disk)?)? }))
    }

    fn through(store: &LocalStore) -> Result<Sight> {
        let snapshot = store.snapshot()?;
        let refs = snapshot.references("")?;
        Ok(Sight { refs, operations: operations(&*snapshot)?, backup: None })
    }

    /// The refs, and those of the backup: what a step that happened has moved.
    pub(crate) fn moved(&self) -> [Option<&[(RefName, RefValue)]>; 2] {
        [Some(&self.refs), self.backup.as_ref().map(|backup| backup.refs.as_slice())]
    }

    /// The same without the branch that is written to after a crash.
    fn before(mut self) -> Sight {
        self.refs.retain(|(name, _)| *name != branch(AFTER));
        self
    }
}

/// Says whether there is a backup: what makes it a store comes last.
fn has_backup(disk: &SimDisk) -> bool {
    LocalStore::is_at(disk, Path::new(BACKUP))
}

fn open_backup(disk: &SimDisk) -> Result<LocalStore> {
    let options = Options { read_only: true, ..options() };
    LocalStore::open(Arc::new(disk.clone()), Path::new(BACKUP), options)
}

/// Checks that a writer can go on: it opens the store, appends, and nothing else has changed.
pub(crate) fn go_on(disk: &SimDisk, maintain: bool) -> Result<()> {
    let before = Sight::of(disk)?.unwrap_or_default().before();
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
    let roots = [ROOT, BACKUP].into_iter().filter(|root| *root == ROOT || has_backup(disk));
    let mut findings = Vec::new();
    for root in roots {
        let disk = Arc::new(disk.clone());
        findings.extend(fsck(disk, Path::new(root), &FsckOptions::default())?.findings);
    }
    for finding in findings {
        let harmless = match finding.severity {
            Severity::Error => false,
            Severity::Warning => finding.what.starts_with("mirror-"),
            Severity::Notice => true,
        };
        assert!(harmless, "{finding:?}");
    }
    Ok(())
}
