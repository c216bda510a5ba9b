//! Writing entries by hand: where they go, and that they go there together.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Session;
use crate::ops::seen::conflict;
use crate::ops::{Spot, Target};
use crate::repo::{Repo, named_session};
use crate::session::{self, Change, Draft, FIRST_BRANCH, View};
use crate::store::{Durability, Operation, RefName, Snapshot};

/// Where entries are written to; it need not be there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The session and the branch.
    pub spot: Spot,
    /// The entry that the first new one will follow, as it was found.
    pub follows: Option<Id>,
    is_new: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendOutcome {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// The entries, in order.
    pub entries: Vec<Id>,
    /// Whether the session was created for them.
    pub is_new_session: bool,
}

impl Ground {
    /// Finds where to write. A session that is given is given by its id or exact name; an unknown
    /// one will be created with that id, and one with a new id where there is none at all.
    pub fn find(snapshot: &dyn Snapshot, target: &Target) -> Result<Ground> {
        let found = match &target.session {
            Some(session) => named_session(snapshot, session)?,
            None => target.place().session_id(snapshot)?,
        };
        let Some(session) = found else {
            return Ground::new(target);
        };
        let target = Target { session: Some(session), ..target.clone() };
        let spot = target.find(snapshot)?;
        let view = View::of(snapshot, &spot.session)?;
        let is_known = view.target(&format!("records/{}", spot.branch))?.is_some();
        let follows = match (view.branch(&spot.branch)?, spot.parent) {
            (None, None) if is_known => None,
            (None, None) => match view.active()? {
                Some(active) => view.branch(&active)?,
                None => None,
            },
            (None, parent) => parent,
            (end, _) => end,
        };
        Ok(Ground { spot, follows, is_new: false })
    }

    fn new(target: &Target) -> Result<Ground> {
        if let Some(parent) = &target.parent {
            return Err(Error::RevisionUnknown {
                revision: parent.clone(),
                why: "the session has no entries yet".to_owned(),
            });
        }
        let session = match &target.session {
            Some(session) => session.clone(),
            None => session::random_id()?,
        };
        let branch = target.branch.clone().unwrap_or_else(|| FIRST_BRANCH.to_owned());
        let spot = Spot { session, branch, parent: None };
        Ok(Ground { spot, follows: None, is_new: true })
    }

    /// Begins a change there, and says whether it creates the session.
    fn change<'a>(&self, snapshot: &'a dyn Snapshot, now_ms: i64) -> Result<(Change<'a>, bool)> {
        let meta = RefName::of_session(&self.spot.session, "meta")?;
        let creates = self.is_new && snapshot.reference(&meta)?.is_none();
        let mut change = match creates {
            true => {
                let blank = Session::new(&self.spot.session, now_ms);
                Change::create(snapshot, blank, &self.spot.branch, now_ms)?
            }
            false => self.spot.change(snapshot, now_ms)?,
        };
        if snapshot.reference(&RefName::head())?.is_none() {
            change.use_session()?;
        }
        Ok((change, creates))
    }
}

/// Writes entries to the end of a branch, all or none, and creates what is not there.
///
/// `must_follow`: only if the branch still ends where it did when the ground was found.
pub fn append(
    repo: &Repo,
    ground: &Ground,
    drafts: &[Draft],
    must_follow: bool,
    operation: &Operation,
) -> Result<AppendOutcome> {
    drafts.iter().try_for_each(Draft::check)?;
    let Spot { session, branch, .. } = &ground.spot;
    let mut outcome = AppendOutcome {
        session: session.clone(),
        branch: branch.clone(),
        entries: Vec::new(),
        is_new_session: false,
    };
    repo.commit(Durability::Full, &mut |snapshot| {
        let (mut change, creates) = ground.change(snapshot, operation.time)?;
        let end = change.branch(branch)?;
        if must_follow && end != ground.follows {
            return Err(conflict(session, branch, ground.follows, end));
        }
        drafts.iter().try_for_each(|draft| check_kept(snapshot, draft, end))?;
        let is_plain = change.view().branch(branch)?.is_some();
        outcome.is_new_session = creates;
        outcome.entries = add(&mut change, branch, drafts, operation.time)?;
        change.finish((!is_plain).then(|| operation.clone()))
    })?;
    Ok(outcome)
}

/// Refuses a compaction that keeps what the branch has not: it would hide all there is.
fn check_kept(snapshot: &dyn Snapshot, draft: &Draft, end: Option<Id>) -> Result<()> {
    if draft.label != "compaction" {
        return Ok(());
    }
    match session::lost_by(snapshot, &draft.body, end)? {
        None => Ok(()),
        Some(lost) => Err(Error::Refused {
            why: format!(
                "the first entry to keep, '{}', is not on the branch",
                lost.escape_debug()
            ),
            hint: "give the full id of an entry on its path, as 'sapwood rev-list' prints it",
        }),
    }
}

/// Adds drafts to the end of a branch.
pub(super) fn add(
    change: &mut Change<'_>,
    branch: &str,
    drafts: &[Draft],
    now_ms: i64,
) -> Result<Vec<Id>> {
    let added = drafts.iter().map(|draft| {
        let time = draft.time.unwrap_or(now_ms);
        change.append(branch, &draft.label, draft.body.clone(), time)
    });
    added.collect()
}

#[cfg(test)]
mod tests;
