//! A branch as it was looked at: a verb that takes its time writes only if it still ends there.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::Target;
use crate::session::{Change, View};
use crate::store::Snapshot;

/// A branch, and where it ended when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// Its last entry.
    pub end: Id,
}

impl Seen {
    /// Looks at a branch that must be there.
    pub fn at(snapshot: &dyn Snapshot, target: &Target) -> Result<Seen> {
        let spot = target.find(snapshot)?;
        let end = View::of(snapshot, &spot.session)?.branch(&spot.branch)?;
        let Some(end) = end else {
            return Err(Error::Refused {
                why: format!("branch '{}' has no entries", spot.branch),
                hint: "append a message first, or name another branch with -b",
            });
        };
        match spot.parent {
            Some(parent) if parent != end => {
                Err(conflict(&spot.session, &spot.branch, Some(parent), Some(end)))
            }
            _ => Ok(Seen { session: spot.session, branch: spot.branch, end }),
        }
    }

    /// Begins a change, if the branch still ends where it did.
    pub fn change<'a>(&self, snapshot: &'a dyn Snapshot, now_ms: i64) -> Result<Change<'a>> {
        let change = Change::on(snapshot, &self.session, now_ms)?;
        match change.branch(&self.branch)? {
            Some(end) if end == self.end => Ok(change),
            found => Err(conflict(&self.session, &self.branch, Some(self.end), found)),
        }
    }

    /// Lists the path from the end back to an entry, the entry left out; `None` if it isn't on it.
    pub fn back_to(&self, snapshot: &dyn Snapshot, entry: Id) -> Result<Option<Vec<Id>>> {
        let depth = |id: Id| -> Result<u64> {
            Ok(snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?.depth)
        };
        let Some(steps) = depth(self.end)?.checked_sub(depth(entry)?) else {
            return Ok(None);
        };
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        let mut path = snapshot.path(&self.end, steps.saturating_add(1))?;
        Ok((path.pop() == Some(entry)).then_some(path))
    }
}

/// Says that a branch ends elsewhere than was thought.
pub(super) fn conflict(
    session: &str,
    branch: &str,
    expected: Option<Id>,
    found: Option<Id>,
) -> Error {
    let place = |id: Option<Id>| id.map_or("nothing".to_owned(), |id| id.to_string());
    Error::RefConflict {
        name: format!("sessions/{session}/heads/{branch}"),
        expected: place(expected),
        found: place(found),
    }
}
