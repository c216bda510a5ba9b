//! Where a new branch or session begins, in a person's words, and the entries that words name.

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::repo::{Place, resolve};
use crate::session::{Change, View};
use crate::store::Snapshot;

/// Where something begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The entry; `None` where nothing was said yet.
    pub(super) entry: Option<Id>,
    /// The branch that the words name, else the active one.
    pub(super) branch: Option<String>,
    /// Whether the words name the end of that branch.
    is_end: bool,
}

impl Origin {
    /// Finds where a revision is, or the end of the active branch. Looks at no path.
    pub(super) fn find(view: &View<'_>, text: Option<&str>) -> Result<Origin> {
        let active = view.active()?;
        let Some(text) = text.filter(|text| !matches!(*text, "@" | "HEAD")) else {
            let entry = active.as_deref().map(|branch| view.branch(branch)).transpose()?;
            return Ok(Origin { entry: entry.flatten(), branch: active, is_end: true });
        };
        let entry = entry(view.snapshot, &Place::in_session(view.id()), text)?;
        // `s1:main` in the session s1 is its branch main.
        let text = match text.split_once(':') {
            Some((session, rest)) if session == view.id() => rest,
            _ => text,
        };
        let ends = text.match_indices('~').chain(text.match_indices("@{")).map(|(at, _)| at);
        let mut ends: Vec<usize> = ends.chain([text.len()]).collect();
        ends.sort_unstable();
        for end in ends.into_iter().rev() {
            if view.branch_named(&text[..end])?.is_some() {
                let is_end = end == text.len();
                let branch = Some(text[..end].to_owned());
                return Ok(Origin { entry: Some(entry), branch, is_end });
            }
        }
        Ok(Origin { entry: Some(entry), branch: active, is_end: false })
    }

    /// Gives the entry as a change leaves it: a branch that it grew has another end.
    pub(super) fn entry_in(&self, change: &Change<'_>) -> Result<Option<Id>> {
        match &self.branch {
            Some(branch) if self.is_end => change.branch(branch),
            _ => Ok(self.entry),
        }
    }
}

/// Finds the entry that a revision names, and refuses what is no entry.
pub(super) fn entry(snapshot: &dyn Snapshot, place: &Place, text: &str) -> Result<Id> {
    let id = resolve(snapshot, place, text)?;
    let kind = snapshot.kinds(&[id])?[0].ok_or(Error::ObjectMissing { id })?;
    match kind {
        Kind::Entry => Ok(id),
        found => Err(Error::WrongKind { id, expected: Kind::Entry.name(), found: found.name() }),
    }
}
