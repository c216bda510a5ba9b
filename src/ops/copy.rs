//! Copying entries to the end of a branch: what rebase and cherry-pick share.
//!
//! A copy has the content, type and time of its original. What it links among the copied is the
//! copy; a memory commit follows what is known where it lands.

use std::collections::HashMap;

use crate::codec::Value;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{Entry, Fact, Object};
use crate::ops::part::{depth, fork_point, since};
use crate::repo::{read_entry, read_node};
use crate::session::{self, Change, MEMORY_LABEL};
use crate::store::{RefValue, Snapshot};
use crate::walk;

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
}

impl<'a> Copier<'a> {
    pub(super) fn new(branch: &'a str, end: Option<Id>, names_origin: bool) -> Copier<'a> {
        Copier { branch, end, names_origin, copies: HashMap::new() }
    }

    /// Copies an entry to the end of the branch, and gives the copy's id.
    pub(super) fn copy(&mut self, change: &mut Change<'_>, id: Id) -> Result<Id> {
        let snapshot = change.view().snapshot;
        let original = read_entry(snapshot, &id)?;
        let mut body = original.body.clone();
        self.relink(&mut body);
        if self.names_origin {
            if original.label == "compaction" {
                self.keep_what_was_not_summed_up(snapshot, id, &mut body)?;
            }
            put(&mut body, ORIGIN, Value::Link(id));
        }
        let node = match original.label == MEMORY_LABEL {
            true => self.copy_node(change, original.parents.first().copied(), &mut body)?,
            false => None,
        };
        let raw = original.raw.filter(|_| body == original.body);
        let others = original.parents.iter().skip(1);
        let others = others.map(|parent| *self.copies.get(parent).unwrap_or(parent));
        let parents = change.branch(self.branch)?.into_iter().chain(others).collect();
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

    /// Lets a compaction keep what the branch has and the path it came from has not.
    fn keep_what_was_not_summed_up(
        &self,
        snapshot: &dyn Snapshot,
        original: Id,
        body: &mut Value,
    ) -> Result<()> {
        let Some(kept) = body.get(FIRST_KEPT).and_then(Value::as_link) else {
            return Ok(());
        };
        if self.copies.values().any(|copy| *copy == kept) {
            return Ok(());
        }
        let Some(end) = self.end else {
            put(body, FIRST_KEPT, Value::Null);
            return Ok(());
        };
        if depth(snapshot, kept)? <= depth(snapshot, end)?
            && fork_point(snapshot, &[kept, end])? == Some(kept)
        {
            return Ok(());
        }
        let own = since(snapshot, end, fork_point(snapshot, &[original, end])?)?;
        put(body, FIRST_KEPT, own.first().copied().into());
        Ok(())
    }

    /// Makes a node like the linked one after what is known at the end of the branch.
    fn copy_node(
        &self,
        change: &mut Change<'_>,
        before: Option<Id>,
        body: &mut Value,
    ) -> Result<Option<Id>> {
        let snapshot = change.view().snapshot;
        let Some(id) = body.get("node").and_then(Value::as_link) else {
            return Ok(None);
        };
        if snapshot.kinds(&[id])?[0] != Some(Kind::Node) {
            return Ok(None);
        }
        let mut node = read_node(snapshot, &id)?;
        node.facts = added_facts(snapshot, before, id)?;
        node.parents = session::known(change, self.branch)?.into_iter().collect();
        node.branch = self.branch.to_owned();
        for fact in &mut node.facts {
            let source = fact.source.map(|source| *self.copies.get(&source).unwrap_or(&source));
            fact.source = source;
        }
        let copy = change.put(Object::Node(node))?;
        put(body, "node", Value::Link(copy));
        Ok(Some(copy))
    }
}

/// Lists the facts that a node adds to what was known at an entry: its own, and those of the nodes
/// that it was merged with as they were.
fn added_facts(snapshot: &dyn Snapshot, before: Option<Id>, node: Id) -> Result<Vec<Fact>> {
    let known = before.map(|entry| session::memory_at(snapshot, entry)).transpose()?.flatten();
    let mut added = Vec::new();
    for id in walk::path(snapshot, node) {
        let id = id?;
        if Some(id) == known {
            break;
        }
        added.push(read_node(snapshot, &id)?.facts);
    }
    Ok(added.into_iter().rev().flatten().collect())
}

/// Sets a field of a body.
fn put(body: &mut Value, key: &str, value: Value) {
    if body.is_null() {
        *body = Value::Map(Vec::new());
    }
    if let Value::Map(pairs) = body {
        pairs.retain(|(name, _)| name != key);
        pairs.push((key.to_owned(), value));
    }
}
