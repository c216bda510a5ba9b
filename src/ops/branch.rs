//! Branches: making, renaming, deleting and listing them. None of it looks at a path, except what
//! lists leaves or asks which branches hold an entry.

use std::collections::{BTreeSet, HashSet};

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::ops::Target;
use crate::ops::origin::Origin;
use crate::repo::{Repo, resolve};
use crate::session::{self, BranchRecord, Change, View};
use crate::store::{Durability, Operation, Snapshot};
use crate::walk;

/// The event of a branch that got another name.
pub(super) const BRANCH_RENAME: &str = "branch_rename";

/// A branch to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchOptions {
    /// The session.
    pub target: Target,
    /// Its name.
    pub name: String,
    /// The revision it begins at; else the end of the active branch.
    pub at: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Why it is made.
    pub reason: Option<String>,
    /// Its card; null if there is none.
    pub card: Option<Value>,
    /// A node, or an entry that knows one: what the branch shall remember.
    pub memory: Option<String>,
    /// Whether to go there at once.
    pub switch: bool,
}

/// A branch that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchOutcome {
    /// The session's id.
    pub session: String,
    /// Where it ends.
    pub end: Option<Id>,
    /// What is known of it.
    pub record: BranchRecord,
}

/// Makes a branch, and goes there if that is wanted (createBranch, createBranchAt).
pub fn branch(
    repo: &Repo,
    options: &BranchOptions,
    operation: &Operation,
) -> Result<BranchOutcome> {
    let session = options.target.session(&*repo.snapshot()?)?;
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        let record = create(&mut change, options)?;
        if options.switch {
            change.switch(&options.name, None, None)?;
        }
        let end = change.branch(&options.name)?;
        outcome = Some(BranchOutcome { session: session.clone(), end, record });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Plans a branch.
pub(super) fn create(change: &mut Change<'_>, options: &BranchOptions) -> Result<BranchRecord> {
    let view = change.view().clone();
    check_free(&view, &options.name)?;
    let origin = Origin::find(&view, options.at.as_deref())?;
    let record = BranchRecord {
        description: options.description.clone(),
        reason: options.reason.clone(),
        card: options.card.clone().unwrap_or(Value::Null),
        ..BranchRecord::at(origin.entry_in(change)?, origin.branch)
    };
    change.create_branch(&options.name, &record)?;
    if let Some(text) = &options.memory {
        let node = node(&view, text)?;
        session::recall(change, &options.name, node, change.now())?;
    }
    Ok(record)
}

/// Finds a node, or the node that is known at an entry.
fn node(view: &View<'_>, text: &str) -> Result<Id> {
    let place = crate::repo::Place::in_session(view.id());
    let id = resolve(view.snapshot, &place, text)?;
    match view.snapshot.kinds(&[id])?[0] {
        Some(Kind::Node) => Ok(id),
        Some(Kind::Entry) => session::memory_at(view.snapshot, id)?.ok_or_else(|| Error::Refused {
            why: format!("nothing is remembered at '{text}'"),
            hint: "name a node of the memory, or an entry after one",
        }),
        found => Err(Error::WrongKind {
            id,
            expected: Kind::Node.name(),
            found: found.map_or("nothing", Kind::name),
        }),
    }
}

/// Refuses a name that a branch has, born or not.
pub(super) fn check_free(view: &View<'_>, name: &str) -> Result<()> {
    for class in ["heads", "records"] {
        if let Some(found) = view.target(&format!("{class}/{name}"))? {
            return Err(Error::Exists {
                what: "branch",
                name: name.to_owned(),
                at: found.to_string(),
            });
        }
    }
    Ok(())
}

/// Renames a branch, the active one included. Gives where it ends.
pub fn rename_branch(
    repo: &Repo,
    target: &Target,
    from: Option<&str>,
    to: &str,
    operation: &Operation,
) -> Result<Option<Id>> {
    session::check_name("branch", to)?;
    let session = target.session(&*repo.snapshot()?)?;
    let mut end = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        let view = change.view().clone();
        let active = view.active()?;
        let from = from.or(active.as_deref()).ok_or_else(|| missing("HEAD"))?;
        check_there(&view, from)?;
        check_free(&view, to)?;
        end = view.branch(from)?;
        for class in ["heads", "memory", "records"] {
            let moved = view.reference(&format!("{class}/{from}"))?;
            change.set(&format!("{class}/{from}"), None)?;
            change.set(&format!("{class}/{to}"), moved)?;
        }
        if active.as_deref() == Some(from) {
            change.use_branch(to)?;
        }
        let body = Value::map([("from", Value::from(from)), ("to", Value::from(to))]);
        change.noted(BRANCH_RENAME, body)?;
        change.finish(Some(operation.clone()))
    })?;
    Ok(end)
}

/// Deletes a branch that is not the active one, and gives where it ended.
///
/// What was said on it stays in the transcript, and undo brings it back.
pub fn delete_branch(
    repo: &Repo,
    target: &Target,
    name: &str,
    operation: &Operation,
) -> Result<Option<Id>> {
    let session = target.session(&*repo.snapshot()?)?;
    let mut end = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        let view = change.view().clone();
        check_there(&view, name)?;
        if view.active()?.as_deref() == Some(name) {
            return Err(Error::Refused {
                why: format!("branch '{name}' is the active one"),
                hint: "switch to another branch first",
            });
        }
        end = view.branch(name)?;
        let record = view.target(&format!("records/{name}"))?;
        for class in ["heads", "memory", "records"] {
            change.set(&format!("{class}/{name}"), None)?;
        }
        let body = [("name", Value::from(name)), ("entry", end.into()), ("record", record.into())];
        change.noted("branch_delete", Value::map(body))?;
        change.finish(Some(operation.clone()))
    })?;
    Ok(end)
}

fn check_there(view: &View<'_>, name: &str) -> Result<()> {
    let is_there = view.branch(name)?.is_some()
        || view.target(&format!("records/{name}"))?.is_some()
        || view.active()?.as_deref() == Some(name);
    if is_there { Ok(()) } else { Err(missing(name)) }
}

pub(super) fn missing(name: &str) -> Error {
    Error::RevisionUnknown {
        revision: name.to_owned(),
        why: "there is no such branch in the session".to_owned(),
    }
}

/// A branch, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchInfo {
    /// Its name; `None` for a leaf that no branch names.
    pub name: Option<String>,
    /// Where it ends; `None` if nothing was said on it.
    pub end: Option<Id>,
    /// When its last entry was made.
    pub time: Option<i64>,
    /// How many entries its path has.
    pub entries: u64,
    /// How many of them came after it forked, where that is known.
    pub own: Option<u64>,
    /// Whether it is the active one.
    pub is_active: bool,
    /// What is known of it.
    pub record: Option<BranchRecord>,
    /// The node that is known at its end.
    pub memory: Option<Id>,
}

/// Lists the branches, sorted by name (listBranches); with `leaves`, unnamed ends too.
pub fn branches(snapshot: &dyn Snapshot, session: &str, leaves: bool) -> Result<Vec<BranchInfo>> {
    let view = View::of(snapshot, session)?;
    let active = view.active()?;
    let mut names: BTreeSet<String> = active.iter().cloned().collect();
    for class in ["heads", "records"] {
        names.extend(view.named(class)?.into_iter().map(|(name, _)| name));
    }
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let end = view.branch(&name)?;
        found.push(BranchInfo {
            is_active: active.as_ref() == Some(&name),
            record: view.record(&name)?,
            memory: session::memory_near(&view, &name)?,
            name: Some(name),
            ..info(snapshot, end)?
        });
    }
    for info in &mut found {
        if let Some(begin) = info.record.as_ref().and_then(|record| record.at) {
            let before = info_depth(snapshot, begin)?;
            info.own = info.entries.checked_sub(before);
        }
    }
    if leaves {
        let named: HashSet<Id> = found.iter().filter_map(|info| info.end).collect();
        for leaf in unnamed_leaves(snapshot, session, &named)? {
            found.push(info(snapshot, Some(leaf))?);
        }
    }
    Ok(found)
}

fn info(snapshot: &dyn Snapshot, end: Option<Id>) -> Result<BranchInfo> {
    let topology = end.map(|id| snapshot.topology(&id)).transpose()?.flatten();
    Ok(BranchInfo {
        name: None,
        end,
        time: topology.as_ref().map(|found| found.time),
        entries: topology.map_or(0, |found| found.depth + 1),
        own: None,
        is_active: false,
        record: None,
        memory: None,
    })
}

fn info_depth(snapshot: &dyn Snapshot, id: Id) -> Result<u64> {
    Ok(snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?.depth + 1)
}

/// Finds the entries of the transcript that nothing follows and no branch names, oldest first.
fn unnamed_leaves(snapshot: &dyn Snapshot, session: &str, named: &HashSet<Id>) -> Result<Vec<Id>> {
    let said = walk::transcript(snapshot, session)?;
    let mut followed = HashSet::new();
    for id in said.iter().chain(named) {
        let topology = snapshot.topology(id)?.ok_or(Error::ObjectMissing { id: *id })?;
        followed.extend(topology.parents);
    }
    let mut seen = named.clone();
    Ok(said.into_iter().filter(|id| !followed.contains(id) && seen.insert(*id)).collect())
}

/// Says whether a branch's history holds an entry.
pub fn branch_contains(snapshot: &dyn Snapshot, info: &BranchInfo, entry: &Id) -> Result<bool> {
    info.end.map_or(Ok(false), |end| walk::is_ancestor(snapshot, entry, &end))
}
