//! Bringing what another branch learned to this one.
//!
//! Three ways: for each key, what this side has, what the other has, and what both had where they
//! parted. What only one side changed is taken from it. What both changed differently is a
//! conflict, and both versions stay: the merge holds a fact with that key whose value cites them.
//! Facts without a key are never in conflict: all of them are kept, each once.

use std::collections::{HashMap, HashSet};

use crate::codec::{Value, json};
use crate::error::Result;
use crate::id::Id;
use crate::memory::resolve::{Known, resolve};
use crate::object::{Fact, Node};
use crate::repo::read_node;
use crate::session::{Change, known, recall, remember_node};
use crate::store::Snapshot;
use crate::walk;

/// The field of a fact's value that holds the versions in conflict.
const CONFLICT: &str = "conflict";

/// What a merge comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    /// This side knows it all.
    UpToDate,
    /// The other side knows all that this side knows: its node will do.
    Forward(Id),
    /// A node with both as parents.
    Node {
        /// What it has to say.
        facts: Vec<Fact>,
        /// The keys that both sides changed differently, in order.
        conflicts: Vec<Conflict>,
    },
}

/// A key that both sides changed differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The key.
    pub key: String,
    /// What this side has.
    pub ours: Known,
    /// What the other side has.
    pub theirs: Known,
}

/// Merges what is known at `theirs` into what is known at `ours`.
pub fn merge(snapshot: &dyn Snapshot, ours: Option<Id>, theirs: Id) -> Result<Merge> {
    let Some(ours) = ours else {
        return Ok(Merge::Forward(theirs));
    };
    let bases = walk::merge_bases(snapshot, &ours, &theirs)?;
    if bases == [theirs] {
        return Ok(Merge::UpToDate);
    }
    if bases == [ours] {
        return Ok(Merge::Forward(theirs));
    }
    let base_facts: Result<Vec<_>> = bases.iter().map(|id| resolve(snapshot, Some(*id))).collect();
    let base_facts = base_facts?;
    let bases: Vec<_> = base_facts.iter().map(|facts| by_key(facts)).collect();
    let our_facts = resolve(snapshot, Some(ours))?;
    let their_facts = resolve(snapshot, Some(theirs))?;
    let (our_keys, their_keys) = (by_key(&our_facts), by_key(&their_facts));
    let mut unkeyed: HashSet<String> =
        our_facts.iter().filter(|fact| fact.key.is_none()).map(text).collect();
    let (mut facts, mut conflicts) = (Vec::new(), Vec::new());
    for fact in &their_facts {
        let Some(key) = &fact.key else {
            if unkeyed.insert(text(fact)) {
                facts.push(repeated(fact));
            }
            continue;
        };
        // Only the latest of each key, at its place.
        if !std::ptr::eq(their_keys[key.as_str()], fact) {
            continue;
        }
        let is_base = |known: &Known| {
            let mut versions = bases.iter().filter_map(|base| base.get(key.as_str()));
            versions.any(|base| base.value == known.value)
        };
        match our_keys.get(key.as_str()) {
            _ if is_base(fact) => {}
            Some(our) if our.value == fact.value => {}
            Some(our) if !is_base(our) => {
                facts.push(cited(key, our, fact));
                let (ours, theirs) = ((*our).clone(), fact.clone());
                conflicts.push(Conflict { key: key.clone(), ours, theirs });
            }
            _ => facts.push(repeated(fact)),
        }
    }
    Ok(Merge::Node { facts, conflicts })
}

/// Merges what is known at `theirs` into the memory of a branch. Gives what it came to, and the
/// node that is known there now.
pub fn merge_into(
    change: &mut Change<'_>,
    branch: &str,
    theirs: Id,
    time: i64,
) -> Result<(Merge, Id)> {
    let snapshot = change.view().snapshot;
    let ours = known(change, branch)?;
    let merge = merge(snapshot, ours, theirs)?;
    let node = match (&merge, ours) {
        (Merge::UpToDate, Some(ours)) => ours,
        (Merge::Node { facts, .. }, Some(ours)) => {
            let node = Node {
                parents: vec![ours, theirs],
                branch: branch.to_owned(),
                facts: facts.clone(),
                notes: Vec::new(),
                card: read_node(snapshot, &ours)?.card,
                time,
            };
            remember_node(change, node)?
        }
        _ => {
            recall(change, branch, theirs, time)?;
            theirs
        }
    };
    Ok((merge, node))
}

/// Reads the versions that a fact in conflict cites; none of any other fact.
pub(super) fn versions(fact: &Known) -> Vec<Known> {
    let versions = in_conflict(&fact.value).iter().filter_map(|version| {
        Some(Known {
            value: version.get("value")?.clone(),
            key: fact.key.clone(),
            node: version.get("node")?.as_link()?,
            source: version.get("source").and_then(Value::as_link),
        })
    });
    versions.collect()
}

/// Lists the values that a fact in conflict cites; none of any other fact.
pub(super) fn alternatives(value: &Value) -> Vec<&Value> {
    in_conflict(value).iter().filter_map(|version| version.get("value")).collect()
}

fn in_conflict(value: &Value) -> &[Value] {
    value.get(CONFLICT).and_then(Value::as_list).unwrap_or_default()
}

/// Gives the latest fact of each key.
fn by_key(facts: &[Known]) -> HashMap<&str, &Known> {
    facts.iter().filter_map(|fact| Some((fact.key.as_deref()?, fact))).collect()
}

/// Gives what tells facts without a key apart.
fn text(fact: &Known) -> String {
    json::to_string(&fact.value)
}

fn repeated(fact: &Known) -> Fact {
    Fact { value: fact.value.clone(), key: fact.key.clone(), source: fact.source }
}

/// Makes the fact that keeps both versions of a conflict; of those in conflict before, all.
fn cited(key: &str, ours: &Known, theirs: &Known) -> Fact {
    let mut versions = Vec::new();
    for fact in [ours, theirs] {
        let earlier = versions_or_self(fact);
        versions.extend(earlier.into_iter().map(|version| {
            Value::map([
                ("value", version.value),
                ("node", version.node.into()),
                ("source", version.source.into()),
            ])
        }));
    }
    versions.dedup();
    let value = Value::map([(CONFLICT, Value::List(versions))]);
    Fact { value, key: Some(key.to_owned()), source: None }
}

fn versions_or_self(fact: &Known) -> Vec<Known> {
    match versions(fact) {
        none if none.is_empty() => vec![fact.clone()],
        found => found,
    }
}
