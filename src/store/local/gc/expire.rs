//! Operations that are too old to be undone.
//!
//! The oldest ones go, up to the first that stays; the others keep their numbers, because the
//! manifest counts those that went.

use std::ops::ControlFlow;

use super::Collection;
use crate::error::Result;
use crate::store::local::manifest::{FileRecord, LogRecord};
use crate::store::local::oplog::OperationLog;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::state::State;
use crate::store::{Operation, RefMove, Snapshot};

impl Collection<'_> {
    /// Drops the operations of the log files that are too old.
    pub(super) fn expire_operations(&mut self) -> Result<()> {
        let snapshot = self.snapshot()?;
        let state = &snapshot.state;
        let logged_next = state.manifest.operations_logged() + 1;
        let expired = self.first_kept(&snapshot)?.min(logged_next) - 1 - state.manifest.expired;
        if expired == 0 {
            return Ok(());
        }
        let kept = logged(state)?.split_off(expired as usize);
        let number = state.manifest.generation + 1;
        let mut logs = Vec::new();
        if !kept.is_empty() {
            let path = self.inner.layout.log(number);
            let bytes = OperationLog::write(&self.inner.disk, &path, &kept)?;
            let file = FileRecord { number, bytes };
            logs.push(LogRecord { file, operations: kept.len() as u64 });
        }
        self.inner.edit_manifest(|manifest| {
            manifest.expired += expired;
            manifest.logs = logs;
        })?;
        self.report.operations = expired;
        Ok(())
    }

    /// Gives the number of the first operation that is not too old, or of the next one.
    pub(super) fn first_kept(&self, snapshot: &LocalSnapshot) -> Result<u64> {
        let (mut first_kept, mut last) = (None, snapshot.state.manifest.expired);
        snapshot.operations(&mut |record| {
            last = last.max(record.number);
            if record.operation.time >= self.options.operations_ms {
                first_kept = Some(record.number);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(first_kept.unwrap_or(last + 1))
    }
}

/// Reads all operations of the log files, oldest first.
fn logged(state: &State) -> Result<Vec<(Operation, Vec<RefMove>)>> {
    let mut operations = Vec::new();
    for log in state.logs.iter().rev() {
        let _ = log.for_each(&mut |record| {
            operations.push((record.operation.clone(), record.moves.clone()));
            Ok(ControlFlow::Continue(()))
        })?;
    }
    operations.reverse();
    Ok(operations)
}
