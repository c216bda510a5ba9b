//! Walking from a node to the root, and collecting what was learned.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::codec::{Value, json};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::memory::merge;
use crate::object::{Fact, Node};
use crate::repo::{Place, as_kind, read_node, resolve as resolve_revision, restored};
use crate::session::memory_at;
use crate::store::Snapshot;
use crate::walk;

/// For how many facts room is made at first.
const FACTS_USUALLY: usize = 16;

/// Up to how many facts each is compared with each, to see which are the latest.
const FACTS_COMPARED_MAX: usize = 16;

/// A fact, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// A string or a map.
    pub value: Value,
    /// A later fact with the same key supersedes this one.
    pub key: Option<String>,
    /// The node that it was first written in.
    pub node: Id,
    /// The entry it was learned from.
    pub source: Option<Id>,
}

impl Known {
    /// Says the fact on one line.
    pub fn sentence(&self) -> String {
        sentence(self.key.as_deref(), &self.value)
    }
}

/// Says a fact, a note or a card on one line.
pub fn sentence(key: Option<&str>, value: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::Text(text) => text.replace(['\n', '\r'], " "),
        other => json::to_string(other),
    };
    let text = match &merge::alternatives(value)[..] {
        [] => plain(value),
        all => {
            let all: Vec<String> = all.iter().map(|value| plain(value)).collect();
            format!("{} (in conflict)", all.join(", or "))
        }
    };
    match key.filter(|_| value.get("key").is_none()) {
        Some(key) => format!("{key}: {text}"),
        None => text,
    }
}

/// Collects the facts that are known at a node, those of the root first.
pub fn resolve(snapshot: &dyn Snapshot, head: Option<Id>) -> Result<Vec<Known>> {
    let mut reader = Reader { snapshot, merged: HashMap::new(), newest: HashMap::new() };
    let mut facts = Vec::with_capacity(FACTS_USUALLY);
    if let Some(head) = head {
        reader.read(&head, &mut |id, node| {
            facts.extend(node.facts.into_iter().rev().map(|fact| {
                let Fact { value, key, source } = fact;
                Known { value, key, node: *id, source }
            }));
        })?;
    }
    facts.reverse();
    for known in &mut facts {
        if reader.merged.contains_key(&known.node) {
            known.node = reader.origin(known)?;
        }
        restored(snapshot, &mut known.value)?;
    }
    Ok(facts)
}

/// Drops the facts that a later one with the same key supersedes.
pub fn latest(mut facts: Vec<Known>) -> Vec<Known> {
    let is_latest = match facts.len() {
        ..=FACTS_COMPARED_MAX => latest_of_few(&facts),
        _ => latest_of_many(&facts),
    };
    let mut is_latest = is_latest.into_iter();
    facts.retain(|_| is_latest.next() == Some(true));
    facts
}

/// Says of each fact whether it is the latest, by comparing each with each: nothing is hashed.
fn latest_of_few(facts: &[Known]) -> Vec<bool> {
    let keys = facts.iter().map(|fact| fact.key.as_deref());
    let is_latest = |(place, key): (usize, Option<&str>)| {
        key.is_none() || facts[place + 1..].iter().all(|later| later.key.as_deref() != key)
    };
    keys.enumerate().map(is_latest).collect()
}

fn latest_of_many(facts: &[Known]) -> Vec<bool> {
    let mut seen: HashSet<&str> = HashSet::with_capacity(facts.len());
    let newest_first = facts.iter().rev();
    let is_latest = newest_first.map(|fact| fact.key.as_deref().is_none_or(|key| seen.insert(key)));
    let mut is_latest: Vec<bool> = is_latest.collect();
    is_latest.reverse();
    is_latest
}

/// Says where the fact with this key comes from; both versions of one that is in conflict.
///
/// A fact without a key is found by its text.
pub fn blame(snapshot: &dyn Snapshot, head: Option<Id>, key: &str) -> Result<Vec<Known>> {
    let facts = resolve(snapshot, head)?;
    let newest = || facts.iter().rev();
    let found = newest()
        .find(|fact| fact.key.as_deref() == Some(key))
        .or_else(|| newest().find(|fact| fact.key.is_none() && fact.value.as_text() == Some(key)));
    Ok(match found {
        None => Vec::new(),
        Some(fact) => match merge::versions(fact) {
            versions if versions.is_empty() => vec![fact.clone()],
            versions => versions,
        },
    })
}

/// Reads the nodes from one back to the root, newest first, their long strings put back.
pub fn log(snapshot: &dyn Snapshot, head: Option<Id>) -> Result<Vec<(Id, Node)>> {
    let mut nodes = Vec::new();
    for id in path(snapshot, head)? {
        let mut node = read_node(snapshot, &id)?;
        let facts = node.facts.iter_mut().map(|fact| &mut fact.value);
        for value in facts.chain(&mut node.notes).chain([&mut node.card]) {
            restored(snapshot, value)?;
        }
        nodes.push((id, node));
    }
    Ok(nodes)
}

/// Finds the node that a revision means: itself, or what is known at an entry.
pub fn memory_of_revision(
    snapshot: &dyn Snapshot,
    place: &Place,
    revision: &str,
) -> Result<Option<Id>> {
    let id = resolve_revision(snapshot, place, revision)?;
    match snapshot.kinds(&[id])?.first().copied().flatten() {
        Some(Kind::Node) => Ok(Some(id)),
        Some(Kind::Entry) => memory_at(snapshot, id),
        kind => Err(Error::WrongKind {
            id,
            expected: "entry or node",
            found: kind.map_or("nothing", Kind::name),
        }),
    }
}

/// Lists the nodes from one back to the root, newest first.
fn path(snapshot: &dyn Snapshot, head: Option<Id>) -> Result<Vec<Id>> {
    match head {
        Some(head) => walk::path(snapshot, head).collect(),
        None => Ok(Vec::new()),
    }
}

/// Reads nodes, and knows which of them are merges.
struct Reader<'a> {
    snapshot: &'a dyn Snapshot,
    /// By merges that were read: the node that each brought in.
    merged: HashMap<Id, Id>,
    /// By such a node: where its facts come from.
    newest: HashMap<Id, HashMap<Told, Id>>,
}

impl Reader<'_> {
    /// Reads the nodes from one back to the root together, newest first.
    fn read(&mut self, head: &Id, take: &mut dyn FnMut(&Id, Node)) -> Result<()> {
        self.snapshot.read_path(head, &mut |id, stored| {
            let node = Node::decode(&as_kind(id, stored, Kind::Node)?.content)?;
            if let Some(merged) = node.parents.get(1) {
                self.merged.insert(*id, *merged);
            }
            take(id, node);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Finds the node that a fact of a node was first written in: a merge repeats others' facts.
    fn origin(&mut self, fact: &Known) -> Result<Id> {
        let mut id = fact.node;
        let told = told(&fact.key, &fact.value, fact.source);
        while let Some(merged) = self.merged.get(&id).copied() {
            match self.newest(merged)?.get(&told) {
                Some(earlier) => id = *earlier,
                None => break,
            }
        }
        Ok(id)
    }

    /// Gives the newest node that has each fact, of those from one back to the root.
    fn newest(&mut self, head: Id) -> Result<&HashMap<Told, Id>> {
        if !self.newest.contains_key(&head) {
            let mut newest = HashMap::new();
            self.read(&head, &mut |id, node| {
                for fact in node.facts {
                    newest.entry(told(&fact.key, &fact.value, fact.source)).or_insert(*id);
                }
            })?;
            self.newest.insert(head, newest);
        }
        Ok(&self.newest[&head])
    }
}

/// What tells facts apart.
type Told = (Option<String>, String, Option<Id>);

fn told(key: &Option<String>, value: &Value, source: Option<Id>) -> Told {
    (key.clone(), json::to_string(value), source)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_latest_of_few_are_those_of_many(keys in vec(proptest::option::of("[abc]"), 0..40)) {
            let node = Id::from_bytes([0; 32]);
            let known = |key| Known { value: Value::Null, key, node, source: None };
            let facts: Vec<Known> = keys.iter().cloned().map(known).collect();
            prop_assert_eq!(latest_of_few(&facts), latest_of_many(&facts));
            let is_said_later = |place: usize| keys[place + 1..].contains(&keys[place]);
            let wanted = (0..keys.len())
                .filter(|place| keys[*place].is_none() || !is_said_later(*place))
                .map(|place| keys[place].clone());
            let found = latest(facts).into_iter().map(|fact| fact.key);
            prop_assert!(found.eq(wanted));
        }
    }
}
