//! Where a verb writes: `-s SESSION`, `-b BRANCH`, `--parent REV`.
//!
//! Found once, before the transaction; from then on names do not move with HEAD. `--parent` is also
//! what the branch must end in: who was outrun learns of it, and nothing is written.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::repo::{Place, resolve};
use crate::session::{BranchRecord, Change, FIRST_BRANCH, View};
use crate::store::Snapshot;

/// Where to write, in a person's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The session, by id, name or a unique prefix; else the store's current one.
    pub session: Option<String>,
    /// The branch; else the session's active one.
    pub branch: Option<String>,
    /// The revision that the next entry follows; else the end of the branch.
    pub parent: Option<String>,
}

/// Where to write, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The session's id.
    pub session: String,
    /// The branch, born or not.
    pub branch: String,
    /// What the branch must end in, or begin with where it is new.
    pub parent: Option<Id>,
}

impl Target {
    /// The current session, or a given one.
    pub fn of(session: Option<&str>) -> Target {
        Target { session: session.map(str::to_owned), ..Target::default() }
    }

    /// Gives the place from which revisions are read.
    pub fn place(&self) -> Place {
        Place { session: self.session.clone() }
    }

    /// Finds the session.
    pub fn session(&self, snapshot: &dyn Snapshot) -> Result<String> {
        self.place().session_id(snapshot)?.ok_or_else(|| Error::Refused {
            why: "there is no current session".to_owned(),
            hint: "make one with 'sapwood new', or name one with -s",
        })
    }

    /// Finds session, branch and parent.
    ///
    /// Whatever the parent, the branch is the one that is given, else the active one.
    pub fn find(&self, snapshot: &dyn Snapshot) -> Result<Spot> {
        let session = self.session(snapshot)?;
        let view = View::of(snapshot, &session)?;
        let place = Place::in_session(session.as_str());
        let parent = self.parent.as_deref().map(|text| resolve(snapshot, &place, text));
        let parent = parent.transpose()?;
        let branch = match &self.branch {
            Some(branch) => branch.clone(),
            None => view.active()?.unwrap_or_else(|| FIRST_BRANCH.to_owned()),
        };
        Ok(Spot { session, branch, parent })
    }
}

impl Spot {
    /// Begins a change there. A branch that is not born is made, at the parent or the active entry.
    pub fn change<'a>(&self, snapshot: &'a dyn Snapshot, now_ms: i64) -> Result<Change<'a>> {
        let mut change = Change::on(snapshot, &self.session, now_ms)?;
        let end = change.branch(&self.branch)?;
        let active = change.view().active()?;
        match (end, self.parent) {
            (Some(end), Some(parent)) if end != parent => {
                return Err(Error::RefConflict {
                    name: format!("sessions/{}/heads/{}", self.session, self.branch),
                    expected: parent.to_string(),
                    found: end.to_string(),
                });
            }
            (Some(_), _) => {}
            // It was made before anything was said, and begins with nothing.
            (None, None) if change.reference(&format!("records/{}", self.branch))?.is_some() => {}
            (None, parent) if active.as_deref() != Some(&self.branch) || parent.is_some() => {
                let begin = match (parent, &active) {
                    (None, Some(active)) => change.branch(active)?,
                    (parent, _) => parent,
                };
                let from = active.filter(|active| *active != self.branch);
                change.create_branch(&self.branch, &BranchRecord::at(begin, from))?;
            }
            (None, _) => {}
        }
        Ok(change)
    }
}
