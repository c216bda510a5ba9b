//! Finding refs: in the journal, newest segment first, then in the snapshot of refs; and the
//! operations that moved them, in the same order.

use std::ops::ControlFlow;
use std::sync::PoisonError;

use super::LocalSnapshot;
use crate::error::Result;
use crate::store::{OperationRecord, RefName, RefValue};

/// How many refs are remembered for a plan.
const SEEN_MAX: usize = 32;

impl LocalSnapshot {
    /// Finds the value of a ref.
    pub(super) fn find_reference(&self, name: &RefName) -> Result<Option<RefValue>> {
        for (segment, end) in self.segments() {
            if let Some(value) = segment.value_of(name, end) {
                return Ok(value);
            }
        }
        self.state.refs.as_ref().map_or(Ok(None), |packed| packed.get(name))
    }

    /// Finds the value of a ref, and remembers it: a plan and its checks ask for most refs more
    /// than once, and bisecting the snapshot of refs costs more than to compare a few names.
    pub(super) fn find_reference_once(&self, name: &RefName) -> Result<Option<RefValue>> {
        let mut seen = self.refs_seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, value)) = seen.iter().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        let value = self.find_reference(name)?;
        if seen.len() < SEEN_MAX {
            seen.push((name.clone(), value.clone()));
        }
        Ok(value)
    }

    /// Visits the operations, newest first, until told to stop.
    pub(super) fn visit_operations(
        &self,
        visit: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut recent = Vec::new();
        for (segment, end) in self.segments() {
            let ledger = segment.ledger();
            let seen = ledger.operations.iter().rev().filter(|(at, ..)| *at <= end);
            recent.extend(seen.map(|(_, operation, moves)| (operation.clone(), moves.clone())));
        }
        let mut number = self.state.manifest.operations_logged() + recent.len() as u64;
        for (operation, moves) in recent {
            if visit(&OperationRecord { number, operation, moves })?.is_break() {
                return Ok(());
            }
            number -= 1;
        }
        for log in self.state.logs.iter().rev() {
            if log.for_each(visit)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}
