//! Refs and operations, written anew.

use std::collections::HashSet;

use crate::error::Result;
use crate::store::local::manifest::{FileRecord, LogRecord, Manifest};
use crate::store::local::oplog::OperationLog;
use crate::store::local::packed_refs::PackedRefs;
use crate::store::{Operation, RefMove, RefValue};

use super::CarryOut;

impl CarryOut<'_> {
    /// Writes a snapshot of all refs.
    pub(super) fn write_refs(&self, number: u64) -> Result<FileRecord> {
        let path = self.survey.layout.packed_refs(number);
        let bytes = PackedRefs::write(&self.survey.disk, &path, &self.plan.refs.values)?;
        Ok(FileRecord { number, bytes })
    }

    /// Writes the operations of the journal to a file; all operations, where a file of them is
    /// damaged or it is not known which there are.
    pub(super) fn write_logs(&self, manifest: &Manifest, number: u64) -> Result<Vec<LogRecord>> {
        let survey = &self.survey;
        let is_whole = survey.manifest.is_some() && survey.logs.iter().all(|log| log.is_whole);
        let mut operations: Vec<(Operation, Vec<RefMove>)> = Vec::new();
        if !is_whole {
            for found in survey.logs.iter().flat_map(|log| &log.operations) {
                if found.is_sound || self.is_known(&found.moves) {
                    operations.push((found.operation.clone(), found.moves.clone()));
                }
            }
        }
        let segments = survey.segments.iter().filter_map(|segment| segment.remains.as_ref());
        for group in segments.flat_map(|remains| &remains.groups) {
            if let Some(operation) = &group.operation
                && (group.is_sound || self.is_known(&group.moves))
            {
                operations.push((operation.clone(), group.moves.clone()));
            }
        }
        if survey.manifest.is_none() {
            // What was sealed may still be in the journal, and in the logs that were merged.
            let mut seen = HashSet::new();
            operations
                .retain(|operation| seen.insert(blake3::hash(format!("{operation:?}").as_bytes())));
        }
        let mut logs = if is_whole { manifest.logs.clone() } else { Vec::new() };
        if !operations.is_empty() {
            let path = survey.layout.log(number);
            let bytes = OperationLog::write(&survey.disk, &path, &operations)?;
            let file = FileRecord { number, bytes };
            logs.push(LogRecord { file, operations: operations.len() as u64 });
        }
        Ok(logs)
    }

    /// Says whether all ids in the moves of an operation are ones that something else speaks of.
    fn is_known(&self, moves: &[RefMove]) -> bool {
        let mut values = moves.iter().flat_map(|item| [&item.old, &item.new]).flatten();
        values.all(|value| match value {
            RefValue::Id(id) => self.survey.inventory.number_of(id).is_some(),
            RefValue::Symbolic(_) => true,
        })
    }
}
