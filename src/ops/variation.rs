//! Branching because something changed: what `edit`, `retry` and `reconfigure` share.
//!
//! Each of them looks, and says what it would write and where; [`vary`] writes it, on a new branch
//! of the session or in a new session, with the reason. Nothing of what was there changes, so
//! nothing that others do in the meantime is in the way.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{Fork, Session};
use crate::ops::append::add;
use crate::ops::branch::check_free;
use crate::ops::fork::begin;
use crate::ops::seen::conflict;
use crate::ops::{Spot, Target};
use crate::repo::{Place, Repo, resolve};
use crate::session::{self, BranchRecord, Change, Draft, FIRST_BRANCH, View};
use crate::store::{Durability, Operation, Snapshot};

/// What would be written, where, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// The session, and the branch it is about.
    pub from: Spot,
    /// The entry that the new branch begins at; `None` if it begins with nothing.
    pub at: Option<Id>,
    /// What is written there. A reply may be added.
    pub drafts: Vec<Draft>,
    /// Why: `message_edit`, `retry` or `config_change`.
    pub reason: &'static str,
    /// What changed, old and new.
    pub metadata: Value,
    /// What to call the branch, unless that is taken.
    pub stem: String,
}

/// How to write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// In a new session.
    pub fork: bool,
    /// What to call the branch, or the session.
    pub name: Option<String>,
    /// Leave HEAD where it is.
    pub stay: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varied {
    /// The session's id; that of the new one where there is a new one.
    pub session: String,
    /// The new branch.
    pub branch: String,
    /// The session that it came from, where it is another.
    pub parent: Option<String>,
    /// The entry that the branch begins at.
    pub at: Option<Id>,
    /// The entries that were written.
    pub entries: Vec<Id>,
}

impl Variation {
    /// Finds the session, the branch, and an entry of the session.
    pub(super) fn find(
        snapshot: &dyn Snapshot,
        target: &Target,
        revision: &str,
    ) -> Result<(Spot, Id)> {
        let spot = target.find(snapshot)?;
        let place = Place::in_session(spot.session.as_str());
        let revision = match (revision, &target.branch) {
            // Whoever names a branch means the end of that one.
            ("HEAD" | "@", Some(branch)) => format!("heads/{branch}"),
            _ => revision.to_owned(),
        };
        let entry = resolve(snapshot, &place, &revision)?;
        Ok((spot, entry))
    }

    /// Refuses to begin between a tool call and its result, and to leave a call without one.
    pub(super) fn check(&self, snapshot: &dyn Snapshot, force: bool) -> Result<()> {
        if force {
            return Ok(());
        }
        let left = View::of(snapshot, &self.from.session)?.branch(&self.from.branch)?;
        let other = self.at.filter(|at| left != Some(*at));
        left.into_iter().chain(other).try_for_each(|at| session::check_answered(snapshot, at))
    }
}

/// Writes a variation, on a new branch or in a new session.
pub fn vary(
    repo: &Repo,
    variation: &Variation,
    way: &Way,
    operation: &Operation,
) -> Result<Varied> {
    variation.drafts.iter().try_for_each(Draft::check)?;
    let new_session = session::random_id()?;
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let Spot { session, branch, parent } = &variation.from;
        let end = View::of(snapshot, session)?.branch(branch)?;
        if parent.is_some() && end != *parent {
            return Err(conflict(session, branch, *parent, end));
        }
        let (mut change, branch) = match way.fork {
            true => fork(snapshot, variation, way, &new_session, operation.time)?,
            false => branch_off(snapshot, variation, way, operation.time)?,
        };
        let entries = add(&mut change, &branch, &variation.drafts, operation.time)?;
        outcome = Some(Varied {
            session: change.view().id().to_owned(),
            branch,
            parent: way.fork.then(|| session.clone()),
            at: variation.at,
            entries,
        });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Begins a new branch of the session.
fn branch_off<'a>(
    snapshot: &'a dyn Snapshot,
    variation: &Variation,
    way: &Way,
    now_ms: i64,
) -> Result<(Change<'a>, String)> {
    let mut change = Change::on(snapshot, &variation.from.session, now_ms)?;
    let name = match &way.name {
        Some(name) => name.clone(),
        None => change.view().free_branch(&variation.stem)?,
    };
    check_free(change.view(), &name)?;
    let record = BranchRecord {
        reason: Some(variation.reason.to_owned()),
        metadata: variation.metadata.clone(),
        ..BranchRecord::at(variation.at, Some(variation.from.branch.clone()))
    };
    change.create_branch(&name, &record)?;
    if !way.stay {
        change.switch(&name, None, None)?;
    }
    Ok((change, name))
}

/// Begins a new session.
fn fork<'a>(
    snapshot: &'a dyn Snapshot,
    variation: &Variation,
    way: &Way,
    sid: &str,
    now_ms: i64,
) -> Result<(Change<'a>, String)> {
    let told = |key: &str| {
        let config = variation.drafts.iter().find(|draft| draft.label == "config_change");
        config?.body.get(key)?.as_text().map(str::to_owned)
    };
    let meta = Session {
        name: way.name.clone(),
        provider: told("provider"),
        model: told("model"),
        ..Session::new(sid, now_ms)
    };
    let Spot { session, branch, .. } = &variation.from;
    let fork = Fork {
        session: session.clone(),
        entry: variation.at,
        reason: Some(variation.reason.to_owned()),
        metadata: variation.metadata.clone(),
    };
    let parent = View::of(snapshot, session)?;
    let mut change = begin(&parent, fork, meta, (branch, FIRST_BRANCH))?;
    if !way.stay {
        change.use_session()?;
    }
    Ok((change, FIRST_BRANCH.to_owned()))
}

/// Refuses what cannot be varied.
pub(super) fn refused(why: String, hint: &'static str) -> Error {
    Error::Refused { why, hint }
}
