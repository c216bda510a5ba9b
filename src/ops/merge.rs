//! Merging: an entry with two parents and a summary of what the other branch has.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Entry;
use crate::ops::part::{fork_point, since};
use crate::ops::{Target, origin};
use crate::repo::{Place, Repo};
use crate::store::{Durability, Operation, Snapshot};
use crate::walk;

/// A merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// Where to merge into.
    pub target: Target,
    /// The branch, or any revision, to merge.
    pub other: String,
    /// What it has to say; else only that it was merged.
    pub summary: Option<String>,
    /// Where both must end: what a summary was made of.
    pub seen: Option<[Id; 2]>,
}

/// A merge that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeOutcome {
    /// The session's id.
    pub session: String,
    /// The branch merged into.
    pub branch: String,
    /// The merge entry.
    pub entry: Id,
    /// Its parents.
    pub parents: [Id; 2],
}

/// What a merge would bring together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSides {
    /// The session's id.
    pub session: String,
    /// The branch to merge into.
    pub branch: String,
    /// Where the two end.
    pub ends: [Id; 2],
    /// What the other has since they parted, oldest first.
    pub theirs: Vec<Id>,
}

/// Merges another branch into one: an entry follows both (the first is the path).
pub fn merge(repo: &Repo, options: &MergeOptions, operation: &Operation) -> Result<MergeOutcome> {
    let spot = options.target.find(&*repo.snapshot()?)?;
    let place = Place::in_session(spot.session.as_str());
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, operation.time)?;
        let theirs = origin::entry(snapshot, &place, &options.other)?;
        let ours =
            change.view().branch(&spot.branch)?.ok_or_else(|| nothing_there(&spot.branch))?;
        check(snapshot, &spot.branch, &options.other, ours, theirs)?;
        check_seen(&spot.session, &spot.branch, &options.other, [ours, theirs], options.seen)?;
        let plain = || format!("Merge '{}' into '{}'", options.other, spot.branch);
        let summary = options.summary.clone().unwrap_or_else(plain);
        let body = Value::map([
            ("summary", Value::from(summary)),
            ("from", Value::from(options.other.as_str())),
        ]);
        let entry = change.append_entry(
            &spot.branch,
            Entry {
                label: "merge".to_owned(),
                time: operation.time,
                parents: vec![ours, theirs],
                body,
                raw: None,
            },
        )?;
        let event = [
            ("from", Value::from(options.other.as_str())),
            ("to", Value::from(spot.branch.as_str())),
            ("entry", entry.into()),
        ];
        change.noted("merge", Value::map(event))?;
        let (session, branch) = (spot.session.clone(), spot.branch.clone());
        outcome = Some(MergeOutcome { session, branch, entry, parents: [ours, theirs] });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Looks at what a merge would bring together, for a summary of it.
pub fn merge_sides(snapshot: &dyn Snapshot, target: &Target, other: &str) -> Result<MergeSides> {
    let spot = target.find(snapshot)?;
    let place = Place::in_session(spot.session.as_str());
    let theirs = origin::entry(snapshot, &place, other)?;
    let view = crate::session::View::of(snapshot, &spot.session)?;
    let ours = view.branch(&spot.branch)?.ok_or_else(|| nothing_there(&spot.branch))?;
    check(snapshot, &spot.branch, other, ours, theirs)?;
    let point = fork_point(snapshot, &[ours, theirs])?;
    let list = since(snapshot, theirs, point)?;
    let (session, branch) = (spot.session, spot.branch);
    Ok(MergeSides { session, branch, ends: [ours, theirs], theirs: list })
}

fn check(snapshot: &dyn Snapshot, branch: &str, other: &str, ours: Id, theirs: Id) -> Result<()> {
    if !walk::is_ancestor(snapshot, &theirs, &ours)? {
        return Ok(());
    }
    Err(Error::Refused {
        why: format!("already up to date: '{branch}' has all of '{other}'"),
        hint: "nothing was changed",
    })
}

fn check_seen(
    session: &str,
    branch: &str,
    other: &str,
    found: [Id; 2],
    seen: Option<[Id; 2]>,
) -> Result<()> {
    let Some(seen) = seen else {
        return Ok(());
    };
    for ((found, seen), name) in found.iter().zip(&seen).zip([branch, other]) {
        if found != seen {
            return Err(Error::RefConflict {
                name: format!("sessions/{session}/heads/{name}"),
                expected: seen.to_string(),
                found: found.to_string(),
            });
        }
    }
    Ok(())
}

pub(super) fn nothing_there(branch: &str) -> Error {
    Error::Refused {
        why: format!("nothing was said yet on branch '{branch}'"),
        hint: "append a message first, or name another branch with -b",
    }
}

#[cfg(test)]
mod tests;
