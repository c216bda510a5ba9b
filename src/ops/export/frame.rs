//! A file that is one document: what stands around its values, and between them.

use crate::error::Result;
use crate::ops::exact::bytes_of;
use crate::ops::imported::{self, Record};
use crate::session::View;

/// What stands between two values, where a file has only one.
const BETWEEN: &str = ",";

/// What stands around the values of a document, and between them.
pub(super) struct Frame {
    pub(super) before: Vec<u8>,
    between: Vec<u8>,
    pub(super) behind: Vec<u8>,
    is_begun: bool,
}

impl Frame {
    /// Gives that of the document that a session came from, if it came from one.
    pub(super) fn of(view: &View<'_>) -> Result<Option<Frame>> {
        if !Record::of(&view.meta()?.meta).is_some_and(|record| record.is_document) {
            return Ok(None);
        }
        let stretches = imported::stretches(view)?;
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else {
            return Ok(None);
        };
        let between = match first.layout.between.trim() {
            BETWEEN => first.layout.between.as_str(),
            _ => BETWEEN,
        };
        let mut behind = Vec::new();
        bytes_of(view.snapshot, &last.layout.tail, &mut behind)?;
        Ok(Some(Frame {
            before: first.layout.before(0).as_bytes().to_vec(),
            between: between.as_bytes().to_vec(),
            behind,
            is_begun: false,
        }))
    }

    /// Gives what stands before the next value.
    pub(super) fn next(&mut self) -> &[u8] {
        match std::mem::replace(&mut self.is_begun, true) {
            true => &self.between,
            false => &[],
        }
    }
}
