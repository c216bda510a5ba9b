//! Resetting: a branch is moved to another entry. What it had stays in the transcript.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::merge::nothing_there;
use crate::ops::{Target, origin};
use crate::repo::{Place, Repo};
use crate::session;
use crate::store::{Durability, Operation, RefValue};

/// A reset that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetOutcome {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// Where it ended.
    pub was: Id,
    /// Where it ends now.
    pub now: Id,
}

/// Moves a branch to another entry.
pub fn reset(
    repo: &Repo,
    target: &Target,
    revision: &str,
    force: bool,
    operation: &Operation,
) -> Result<ResetOutcome> {
    let spot = target.find(&*repo.snapshot()?)?;
    let place = Place::in_session(spot.session.as_str());
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, operation.time)?;
        let now = origin::entry(snapshot, &place, revision)?;
        let was = change.view().branch(&spot.branch)?.ok_or_else(|| nothing_there(&spot.branch))?;
        if was == now {
            return Err(Error::Refused {
                why: format!("branch '{}' ends there already", spot.branch),
                hint: "nothing was changed",
            });
        }
        if !force {
            session::check_answered(snapshot, now)?;
        }
        change.set(&format!("heads/{}", spot.branch), Some(RefValue::Id(now)))?;
        let event = [
            ("branch", Value::from(spot.branch.as_str())),
            ("from", was.into()),
            ("to", now.into()),
        ];
        let next = if change.tip() == Some(was) { Some(now) } else { change.tip() };
        change.happened("reset", next, Value::map(event))?;
        let (session, branch) = (spot.session.clone(), spot.branch.clone());
        outcome = Some(ResetOutcome { session, branch, was, now });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}
