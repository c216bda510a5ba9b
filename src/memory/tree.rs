//! The memory of one session as a tree: make a branch, commit, check out, resolve, list.
//!
//! Branches of memory are those of the conversation: to go back to one is to go back to both.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::memory::resolve::{Known, resolve};
use crate::object::Fact;
use crate::repo::{Repo, read_entry};
use crate::session::{BranchRecord, Change, MEMORY_LABEL, View, memory_of, remember, transcript};
use crate::store::{Durability, Operation, Snapshot};

/// The memory of one session.
#[derive(Clone, Debug)]
pub struct MemoryTree {
    repo: Repo,
    session: String,
}

/// A branch, as memory sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBranch {
    /// Its name.
    pub name: String,
    /// The node that is known at its end.
    pub head: Option<Id>,
    /// The branch it came from.
    pub parent: Option<String>,
    /// Whether it is the active one.
    pub is_active: bool,
}

impl MemoryTree {
    /// Works on the memory of a session, by its exact id.
    pub fn of(repo: &Repo, session: &str) -> Result<MemoryTree> {
        View::of(&*repo.snapshot()?, session)?;
        Ok(MemoryTree { repo: repo.clone(), session: session.to_owned() })
    }

    /// Makes a branch that knows what is known at a node, or nothing.
    ///
    /// Its conversation goes on from where that node was committed.
    pub fn create_branch(
        &self,
        name: &str,
        parent: Option<Id>,
        card: Value,
        operation: &Operation,
    ) -> Result<()> {
        self.change(operation, &mut |change| {
            let at = parent.map(|node| entry_of(change.view(), node)).transpose()?;
            let from = change.view().active()?.filter(|active| active != name);
            let record = BranchRecord { card: card.clone(), ..BranchRecord::at(at, from) };
            change.create_branch(name, &record)
        })
    }

    /// Adds a node to a branch, and gives its id.
    pub fn commit(
        &self,
        branch: &str,
        facts: &[Fact],
        notes: &[Value],
        operation: &Operation,
    ) -> Result<Id> {
        let mut node = None;
        self.change(operation, &mut |change| {
            let (facts, notes) = (facts.to_vec(), notes.to_vec());
            node = Some(remember(change, branch, facts, notes, Value::Null, operation.time)?);
            Ok(())
        })?;
        Ok(node.expect("the plan was called"))
    }

    /// Makes a branch the active one. The transcript records it.
    pub fn checkout(&self, branch: &str, operation: &Operation) -> Result<()> {
        self.change(operation, &mut |change| {
            let from = change.view().active()?;
            let (end, record) = (change.branch(branch)?, change.view().record(branch)?);
            if end.is_none() && record.is_none() && from.as_deref() != Some(branch) {
                return Err(Error::RevisionUnknown {
                    revision: branch.to_owned(),
                    why: "there is no such branch".to_owned(),
                });
            }
            let body = Value::map([("from", Value::from(from)), ("to", branch.into())]);
            change.happened("switch", end, body)?;
            change.use_branch(branch)
        })
    }

    /// Collects all facts from the root to the head of a branch.
    pub fn resolve(&self, branch: &str) -> Result<Vec<Known>> {
        let snapshot = self.repo.snapshot()?;
        let head = memory_of(&View::of(&*snapshot, &self.session)?, branch)?;
        resolve(&*snapshot, head)
    }

    /// Lists the branches.
    pub fn branches(&self) -> Result<Vec<MemoryBranch>> {
        branches(&View::of(&*self.repo.snapshot()?, &self.session)?)
    }

    fn change(
        &self,
        operation: &Operation,
        plan: &mut dyn FnMut(&mut Change<'_>) -> Result<()>,
    ) -> Result<()> {
        self.repo.commit(Durability::Full, &mut |snapshot: &dyn Snapshot| {
            let mut change = Change::on(snapshot, &self.session, operation.time)?;
            plan(&mut change)?;
            change.finish(Some(operation.clone()))
        })
    }
}

/// Lists the branches of a session with what is known at their ends, sorted by name.
pub fn branches(view: &View<'_>) -> Result<Vec<MemoryBranch>> {
    let active = view.active()?;
    let mut branches = Vec::new();
    for (name, _) in view.branches()? {
        branches.push(MemoryBranch {
            head: memory_of(view, &name)?,
            parent: view.record(&name)?.and_then(|record| record.parent),
            is_active: active.as_ref() == Some(&name),
            name,
        });
    }
    Ok(branches)
}

/// Finds the entry that put a node on the path of a conversation, the first of this session.
pub fn entry_of(view: &View<'_>, node: Id) -> Result<Id> {
    for id in transcript(view.snapshot, view.id())? {
        let topology = view.snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        if &*topology.label == MEMORY_LABEL
            && read_entry(view.snapshot, &id)?.body.get("node") == Some(&Value::Link(node))
        {
            return Ok(id);
        }
    }
    Err(Error::Refused {
        why: format!("session '{}' never learned node {node}", view.id()),
        hint: "'sapwood memory log' lists the nodes there are",
    })
}
