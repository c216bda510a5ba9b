//! Rebasing: what a branch has since it parted from another is said again at the end of that.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::copy::Copier;
use crate::ops::merge::nothing_there;
use crate::ops::part::{fork_point, since};
use crate::ops::{Target, origin};
use crate::repo::{Place, Repo};
use crate::store::{Durability, Operation, RefValue};

/// A rebase that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebaseOutcome {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// Where it ended.
    pub was: Id,
    /// Where it ends now.
    pub now: Id,
    /// The originals and their copies, oldest first.
    pub copies: Vec<(Id, Id)>,
}

/// Copies what a branch has of its own onto another revision, and moves the branch there.
///
/// A branch with nothing of its own goes there without copies.
pub fn rebase(
    repo: &Repo,
    target: &Target,
    onto: &str,
    operation: &Operation,
) -> Result<RebaseOutcome> {
    let spot = target.find(&*repo.snapshot()?)?;
    let place = Place::in_session(spot.session.as_str());
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, operation.time)?;
        let base = origin::entry(snapshot, &place, onto)?;
        let was = change.view().branch(&spot.branch)?.ok_or_else(|| nothing_there(&spot.branch))?;
        let point = fork_point(snapshot, &[was, base])?;
        if point == Some(base) {
            return Err(Error::Refused {
                why: format!("already up to date: '{}' is based on '{onto}'", spot.branch),
                hint: "nothing was changed",
            });
        }
        let own = since(snapshot, was, point)?;
        change.set(&format!("heads/{}", spot.branch), Some(RefValue::Id(base)))?;
        let event = [
            ("branch", Value::from(spot.branch.as_str())),
            ("onto", Value::from(onto)),
            ("from", was.into()),
        ];
        change.happened("rebase", Some(base), Value::map(event))?;
        let mut copier = Copier::new(&spot.branch, Some(base), false);
        let mut copies = Vec::with_capacity(own.len());
        for id in own {
            copies.push((id, copier.copy(&mut change, id)?));
        }
        let now = copies.last().map_or(base, |(_, copy)| *copy);
        let (session, branch) = (spot.session.clone(), spot.branch.clone());
        outcome = Some(RebaseOutcome { session, branch, was, now, copies });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}
