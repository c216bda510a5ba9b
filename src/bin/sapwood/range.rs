//! `REV`, `^REV` and `A..B`, for the commands that take sets of history.

use sapwood::id::Id;
use sapwood::repo;
use sapwood::store::Snapshot;

use crate::failure::Failure;
use crate::open::Opened;

/// What one argument adds to a set of history.
pub(crate) struct Range {
    /// What is shown with all its ancestors.
    pub(crate) include: Option<Id>,
    /// What is left out with all its ancestors.
    pub(crate) exclude: Option<Id>,
}

impl Range {
    /// Finds the objects that an argument speaks of.
    pub(crate) fn find(
        snapshot: &dyn Snapshot,
        opened: &Opened,
        text: &str,
    ) -> Result<Range, Failure> {
        if let Some(excluded) = text.strip_prefix('^') {
            let id = repo::resolve(snapshot, &opened.place, excluded)?;
            return Ok(Range { include: None, exclude: Some(id) });
        }
        let found = repo::resolve_range(snapshot, &opened.place, text)?;
        Ok(Range { include: Some(found.show), exclude: found.hide })
    }
}
