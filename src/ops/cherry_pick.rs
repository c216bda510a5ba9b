//! Cherry-picking: single entries are said again at the end of a branch, and name their origin.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::copy::Copier;
use crate::ops::part::since;
use crate::ops::{Target, origin};
use crate::repo::{Place, Repo, resolve_range};
use crate::store::{Durability, Operation, Snapshot};
use crate::walk;

/// A cherry-pick that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickOutcome {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// The originals and their copies, in order.
    pub copies: Vec<(Id, Id)>,
}

/// Copies entries to the end of a branch. A range gives its entries oldest first.
pub fn cherry_pick(
    repo: &Repo,
    target: &Target,
    revisions: &[String],
    operation: &Operation,
) -> Result<PickOutcome> {
    let spot = target.find(&*repo.snapshot()?)?;
    let place = Place::in_session(spot.session.as_str());
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, operation.time)?;
        let end = change.branch(&spot.branch)?;
        let mut copier = Copier::new(&spot.branch, end, true);
        let mut copies = Vec::new();
        for text in revisions {
            for id in picked(snapshot, &place, text)? {
                check(snapshot, &spot.branch, text, id, end)?;
                copies.push((id, copier.copy(&mut change, id)?));
            }
        }
        if copies.is_empty() {
            return Err(Error::Refused {
                why: "there is nothing to pick".to_owned(),
                hint: "name entries that the branch has not",
            });
        }
        let picked = copies.iter().map(|(id, _)| Value::Link(*id)).collect();
        let event =
            [("branch", Value::from(spot.branch.as_str())), ("entries", Value::List(picked))];
        change.noted("cherry_pick", Value::map(event))?;
        let (session, branch) = (spot.session.clone(), spot.branch.clone());
        outcome = Some(PickOutcome { session, branch, copies });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Lists the entries that a revision or a range of a path names, oldest first.
fn picked(snapshot: &dyn Snapshot, place: &Place, text: &str) -> Result<Vec<Id>> {
    let range = resolve_range(snapshot, place, text)?;
    let Some(hide) = range.hide else {
        return Ok(vec![origin::entry(snapshot, place, text)?]);
    };
    let point = super::part::fork_point(snapshot, &[hide, range.show])?;
    since(snapshot, range.show, point)
}

fn check(snapshot: &dyn Snapshot, branch: &str, text: &str, id: Id, end: Option<Id>) -> Result<()> {
    match end {
        Some(end) if walk::is_ancestor(snapshot, &id, &end)? => Err(Error::Refused {
            why: format!("branch '{branch}' has '{text}' already"),
            hint: "name entries that the branch has not",
        }),
        _ => Ok(()),
    }
}
