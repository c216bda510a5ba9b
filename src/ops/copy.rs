//! Copying entries to the end of a branch: what rebase and cherry-pick share.
//!
//! A copy has the content, type and time of its original. What it links among the copied is the
//! copy; a memory commit follows what is known where it lands, and memory that came from elsewhere
//! brings what it changed.

use std::collections::{HashMap, HashSet};

use crate::codec::{Value, json};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::memory::{self, Known};
use crate::object::{Entry, Fact, Node, Object};
use crate::ops::part::{fork_point, since};
use crate::repo::{read_entry, read_node};
use crate::session::{self, Change, MEMORY_LABEL};
use crate::store::{RefValue, Snapshot};

/// The field in which a compaction links the first entry that it keeps.
const FIRST_KEPT: &str = "firstKept";

/// The field in which a copy links what it was picked from.
const ORIGIN: &str = "origin";

/// Copies entries, one after the other.
pub(super) struct Copier<'a> {
    branch: &'a str,
    /// Where the branch ended before.
    end: Option<Id>,
    /// Whether copies name their originals.
    names_origin: bool,
    copies: HashMap<Id, Id>,
    /// Nodes and their copies.
    nodes: HashMap<Id, Id>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(branch: &'a str, end: Option<Id>, names_origin: bool) -> Copier<'a> {
        let (copies, nodes) = (HashMap::new(), HashMap::new());
        Copier { branch, end, names_origin, copies, nodes }
    }

    /// Copies an entry to the end of the branch, and gives the copy's id.
    pub(super) fn copy(&mut self, change: &mut Change<'_>, id: Id) -> Result<Id> {
        let snapshot = change.view().snapshot;
        let original = read_entry(snapshot, &id)?;
        let mut body = original.body.clone();
        self.relink(&mut body);
        if original.label == "compaction" {
            self.keep_what_was_not_summed_up(snapshot, (id, &original.body), &mut body)?;
        }
        if self.names_origin {
            put(&mut body, ORIGIN, Value::Link(id));
        }
        let node = match original.label == MEMORY_LABEL {
            true => self.copy_node(change, &original, &mut body)?,
            false => None,
        };
        let raw = original.raw.filter(|_| body == original.body);
        let others = original.parents.iter().skip(1);
        let others = others.map(|parent| *self.copies.get(parent).unwrap_or(parent));
        let mut parents: Vec<Id> = change.branch(self.branch)?.into_iter().collect();
        for other in others {
            // What was merged in may be what the copy follows.
            if !parents.contains(&other) {
                parents.push(other);
            }
        }
        let entry = Entry { label: original.label, time: original.time, parents, body, raw };
        let copy = change.append_entry(self.branch, entry)?;
        if let Some(node) = node {
            change.set(&format!("memory/{}", self.branch), Some(RefValue::Id(node)))?;
        }
        self.copies.insert(id, copy);
        Ok(copy)
    }

    fn relink(&self, value: &mut Value) {
        match value {
            Value::Link(id) => *id = *self.copies.get(id).unwrap_or(id),
            Value::List(items) => items.iter_mut().for_each(|item| self.relink(item)),
            Value::Map(pairs) => pairs.iter_mut().for_each(|(_, value)| self.relink(value)),
            _ => {}
        }
    }

    /// Lets a compaction keep what the branch has and the path it came from has not: its summary
    /// does not speak of that.
    fn keep_what_was_not_summed_up(
        &self,
        snapshot: &dyn Snapshot,
        (id, original): (Id, &Value),
        body: &mut Value,
    ) -> Result<()> {
        let (point, own) = match self.end {
            Some(end) => {
                let point = fork_point(snapshot, &[id, end])?;
                (point, since(snapshot, end, point)?.first().copied())
            }
            None => (None, None),
        };
        let kept = session::first_kept(original);
        if kept.is_some() && session::lost_by(snapshot, original, point)?.is_none() {
            return Ok(());
        }
        let kept = kept.and_then(|kept| match kept {
            Value::Text(text) => text.parse().ok(),
            kept => kept.as_link(),
        });
        match (own, kept) {
            (Some(own), _) => put(body, FIRST_KEPT, own.into()),
            (None, Some(kept)) => put(body, FIRST_KEPT, self.copies.get(&kept).copied().into()),
            (None, None) => {}
        }
        Ok(())
    }

    /// Makes what the linked node is to its path known at the end of the branch.
    fn copy_node(
        &mut self,
        change: &mut Change<'_>,
        original: &Entry,
        body: &mut Value,
    ) -> Result<Option<Id>> {
        let snapshot = change.view().snapshot;
        let Some(id) = original.body.get("node").and_then(Value::as_link) else {
            return Ok(None);
        };
        if snapshot.kinds(&[id])?[0] != Some(Kind::Node) {
            return Ok(None);
        }
        let before = match original.parents.first() {
            Some(parent) => session::memory_at(snapshot, *parent)?,
            None => None,
        };
        let known = session::known(change, self.branch)?;
        let node = read_node(snapshot, &id)?;
        let follows = node.parents.first().copied() == before;
        let copy = match (follows, known) {
            (false, None) => id,
            (false, Some(known)) if Some(known) == before => id,
            (false, Some(known)) => {
                let facts = learned(snapshot, before, id)?;
                let parents = vec![known, id];
                self.put_node(change, Node { parents, facts, notes: Vec::new(), ..node })?
            }
            (true, known) => {
                let others = node.parents.iter().skip(1);
                let others = others.map(|parent| *self.nodes.get(parent).unwrap_or(parent));
                let parents = known.into_iter().chain(others).collect();
                self.put_node(change, Node { parents, ..node })?
            }
        };
        self.nodes.insert(id, copy);
        put(body, "node", Value::Link(copy));
        Ok(Some(copy))
    }

    fn put_node(&self, change: &mut Change<'_>, mut node: Node) -> Result<Id> {
        node.branch = self.branch.to_owned();
        for fact in &mut node.facts {
            let source = fact.source.map(|source| *self.copies.get(&source).unwrap_or(&source));
            fact.source = source;
        }
        change.put(Object::Node(node))
    }
}

/// Lists what is known at a node and was not known before.
fn learned(snapshot: &dyn Snapshot, before: Option<Id>, node: Id) -> Result<Vec<Fact>> {
    let told = |fact: &Known| (fact.key.clone(), json::to_string(&fact.value));
    let before = memory::latest(memory::resolve(snapshot, before)?);
    let before: HashSet<_> = before.iter().map(told).collect();
    let facts = memory::latest(memory::resolve(snapshot, Some(node))?).into_iter();
    let new = facts.filter(|fact| !before.contains(&told(fact)));
    Ok(new.map(|fact| Fact { value: fact.value, key: fact.key, source: fact.source }).collect())
}

/// Sets a field of a body.
fn put(body: &mut Value, key: &str, value: Value) {
    if body.is_null() {
        *body = Value::Map(Vec::new());
    }
    if let Value::Map(pairs) = body {
        pairs.retain(|(name, _)| name != key);
        pairs.push((key.to_owned().into(), value));
    }
}
