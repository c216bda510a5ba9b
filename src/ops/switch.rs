//! Switching: what was learned is committed on the branch left, HEAD moves, the transcript says so.
//!
//! No path is walked but the last steps of one, so a switch costs the same at any depth.

use std::ops::ControlFlow;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Fact;
use crate::ops::branch::{self, BRANCH_RENAME, BranchOptions};
use crate::ops::{Direction, Target, origin, removed};
use crate::repo::{Place, Repo, read_event};
use crate::session::{self, BranchRecord, Change, FIRST_BRANCH, View};
use crate::store::{Durability, Operation, OperationRecord, RefValue, Snapshot};

/// The branch for a place before the first entry.
const ROOT_BRANCH: &str = "root";

/// Where to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To a branch, or to any other revision, which gets a branch if it ends none.
    Revision(String),
    /// To a branch that is made for it.
    New(Box<BranchOptions>),
    /// Back to the branch before the last switch.
    Previous,
    /// To the place before the first entry, where a conversation begins anew.
    Root,
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchOptions {
    /// The session.
    pub target: Target,
    /// Where to go.
    pub to: Goal,
    /// What the transcript calls it; else the branch's or label's name.
    pub place: Option<String>,
    /// What was learned on the branch that is left.
    pub facts: Vec<Fact>,
    /// Remarks on it, a summary among them.
    pub notes: Vec<String>,
    /// What the branch left must end in: what a summary was made of.
    pub seen: Option<Id>,
    /// Whether to go even though a tool call is not answered.
    pub force: bool,
}

impl SwitchOptions {
    /// A switch that learned nothing.
    pub fn to(target: Target, to: Goal) -> SwitchOptions {
        let (facts, notes) = (Vec::new(), Vec::new());
        SwitchOptions { target, to, place: None, facts, notes, seen: None, force: false }
    }
}

/// What a switch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchOutcome {
    /// The session's id.
    pub session: String,
    /// The branch left.
    pub from: Option<String>,
    /// The branch that is active now.
    pub branch: String,
    /// Where it ends.
    pub entry: Option<Id>,
    /// Whether the branch was made for it.
    pub is_new: bool,
    /// The node of memory that was committed on the branch left.
    pub node: Option<Id>,
}

/// Makes another branch the active one (switchBranch, checkout, backtrack).
pub fn switch(
    repo: &Repo,
    options: &SwitchOptions,
    operation: &Operation,
) -> Result<SwitchOutcome> {
    let session = options.target.session(&*repo.snapshot()?)?;
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        let from = change.view().active()?;
        let left = from.as_deref().map(|branch| change.branch(branch)).transpose()?.flatten();
        check_seen(&session, from.as_deref(), left, options.seen)?;
        let found = find(change.view(), &options.to)?;
        let stays = found.branch.is_some() && found.branch == from;
        if !options.force && !stays {
            check_cuts(snapshot, left, &found)?;
        }
        let node = learn(&mut change, from.as_deref(), options, operation.time)?;
        let (branch, is_new) = settle(&mut change, &found, &options.to)?;
        change.switch(&branch, options.place.as_deref().or(found.label.as_deref()), node)?;
        let entry = change.branch(&branch)?;
        let (session, from) = (session.clone(), from.clone());
        outcome = Some(SwitchOutcome { session, from, branch, entry, is_new, node });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// A goal, found.
struct Found {
    /// The branch, if there is one.
    branch: Option<String>,
    /// The entry at which a branch has to be made.
    entry: Option<Id>,
    /// The label that was named.
    label: Option<String>,
}

fn find(view: &View<'_>, goal: &Goal) -> Result<Found> {
    let branch = |name: String| Found { branch: Some(name), entry: None, label: None };
    match goal {
        Goal::Root => {
            // On a branch where nothing was said one is there.
            let active = view.active()?;
            let end = active.as_deref().map(|branch| view.branch(branch)).transpose()?.flatten();
            let here = active.filter(|_| end.is_none());
            Ok(Found { branch: here, entry: None, label: None })
        }
        Goal::New(options) => {
            let begin = origin::Origin::find(view, options.at.as_deref())?.entry;
            Ok(Found { branch: None, entry: begin, label: None })
        }
        Goal::Previous => previous(view).map(branch),
        Goal::Revision(text) => {
            let named = |class: &str| match view.name(&format!("{class}/{text}")) {
                Ok(_) => view.target(&format!("{class}/{text}")),
                Err(_) => Ok(None),
            };
            let active = view.active()?;
            let is_active = active.as_ref() == Some(text);
            if is_active || named("heads")?.is_some() || named("records")?.is_some() {
                return Ok(branch(text.clone()));
            }
            let label = named("labels")?.map(|_| text.clone());
            let entry = origin::entry(view.snapshot, &Place::in_session(view.id()), text)?;
            let mut ends = Vec::new();
            for (name, end) in view.branches()? {
                if end == entry {
                    ends.push(name);
                }
            }
            let stay = ends.iter().position(|name| Some(name) == active.as_ref());
            let name = (!ends.is_empty()).then(|| ends.swap_remove(stay.unwrap_or(0)));
            Ok(Found { branch: name, entry: Some(entry), label })
        }
    }
}

/// Finds the branch that was active before the last switch and is still there.
///
/// Looks at operations: a transcript may have an event for every message, and they are few. A
/// session of the same id that was there before, and is removed, does not count.
fn previous(view: &View<'_>) -> Result<String> {
    let active = view.active()?;
    let head = view.name("HEAD")?;
    let home = removed::home(view.id());
    // Where the session's refs stood at the time of the operation that is looked at.
    let mut place = home.clone();
    let mut found = None;
    view.snapshot.operations(&mut |record| {
        for moved in record.moves.iter().filter(|moved| place == home && moved.name == head) {
            let (Some(RefValue::Symbolic(old)), Some(_)) = (&moved.old, &moved.new) else {
                continue;
            };
            let branch = old.session().and_then(|(_, rest)| rest.strip_prefix("heads/"));
            if let Some(branch) = branch.filter(|branch| Some(*branch) != active.as_deref())
                && view.branch(branch)?.is_some()
                && is_switch(view, record)?
            {
                found = Some(branch.to_owned());
                return Ok(ControlFlow::Break(()));
            }
        }
        match removed::place_before(record, view.id(), &place) {
            Some(before) => place = before,
            None => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    found.ok_or_else(|| Error::Refused {
        why: "there is no branch to go back to".to_owned(),
        hint: "'sapwood branch' lists the branches there are",
    })
}

/// Says whether somebody went to another branch by an operation that moved HEAD: not so where the
/// branch got another name, or where something was undone or redone.
fn is_switch(view: &View<'_>, record: &OperationRecord) -> Result<bool> {
    let events = view.name("events")?;
    let last = record.moves.iter().find(|moved| moved.name == events);
    let Some(RefValue::Id(last)) = last.and_then(|moved| moved.new.as_ref()) else {
        return Ok(true);
    };
    let label = read_event(view.snapshot, last)?.label;
    let others = [BRANCH_RENAME, Direction::Undo.name(), Direction::Redo.name()];
    Ok(!others.contains(&label.as_str()))
}

fn check_seen(
    session: &str,
    branch: Option<&str>,
    found: Option<Id>,
    seen: Option<Id>,
) -> Result<()> {
    match seen {
        Some(seen) if Some(seen) != found => Err(Error::RefConflict {
            name: format!("sessions/{session}/heads/{}", branch.unwrap_or(FIRST_BRANCH)),
            expected: seen.to_string(),
            found: found.map_or("nothing".to_owned(), |id| id.to_string()),
        }),
        _ => Ok(()),
    }
}

/// Refuses to leave, or to begin a branch, between a tool call and its result.
fn check_cuts(snapshot: &dyn Snapshot, left: Option<Id>, found: &Found) -> Result<()> {
    let begun = found.entry.filter(|_| found.branch.is_none());
    for entry in left.into_iter().chain(begun) {
        session::check_answered(snapshot, entry)?;
    }
    Ok(())
}

/// Commits what was learned on the branch that is left.
fn learn(
    change: &mut Change<'_>,
    branch: Option<&str>,
    options: &SwitchOptions,
    time: i64,
) -> Result<Option<Id>> {
    let Some(branch) = branch.filter(|_| !options.facts.is_empty() || !options.notes.is_empty())
    else {
        return Ok(None);
    };
    let notes = options.notes.iter().map(|note| Value::from(note.as_str())).collect();
    let facts = options.facts.clone();
    session::remember(change, branch, facts, notes, Value::Null, time).map(Some)
}

/// Makes the branch that is missing. Gives its name, and whether it was made.
fn settle(change: &mut Change<'_>, found: &Found, goal: &Goal) -> Result<(String, bool)> {
    if let Some(branch) = &found.branch {
        return Ok((branch.clone(), false));
    }
    if let Goal::New(options) = goal {
        branch::create(change, options)?;
        return Ok((options.name.clone(), true));
    }
    let active = change.view().active()?;
    let stem = match (goal, &found.label) {
        (Goal::Root, _) => ROOT_BRANCH,
        (_, Some(label)) => label,
        _ => active.as_deref().unwrap_or(FIRST_BRANCH),
    };
    let name = change.free_branch(stem)?;
    if found.entry.is_some() {
        change.create_branch(&name, &BranchRecord::at(found.entry, active))?;
    }
    Ok((name, true))
}

#[cfg(test)]
mod tests;
