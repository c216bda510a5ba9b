//! What the model remembers.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Said, World};

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Saying {
    Text(String),
    /// What is in conflict: the texts, the nodes and the messages they came from.
    Conflict(Vec<(String, usize, Option<usize>)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) key: Option<String>,
    pub(super) saying: Saying,
    pub(super) source: Option<usize>,
}

/// A commit to memory. Two that are alike in everything are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) parents: Vec<usize>,
    pub(super) facts: Vec<Fact>,
    pub(super) branch: String,
    pub(super) time: i64,
}

impl World {
    pub(super) fn add_node(&mut self, node: Node) -> usize {
        if let Some(found) = self.nodes.iter().position(|known| *known == node) {
            return found;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Lists the nodes from the root to one.
    pub(super) fn node_path(&self, head: Option<usize>) -> Vec<usize> {
        let first = |node: &usize| self.nodes[*node].parents.first().copied();
        let mut path: Vec<usize> = std::iter::successors(head, first).collect();
        path.reverse();
        path
    }

    /// Lists the facts from the root to a node, and the nodes they were first written in.
    pub(super) fn facts(&self, head: Option<usize>) -> Vec<(Fact, usize)> {
        let path = self.node_path(head).into_iter();
        let facts =
            path.flat_map(|node| self.nodes[node].facts.iter().map(move |fact| (fact, node)));
        facts.map(|(fact, node)| (fact.clone(), self.first_written(node, fact))).collect()
    }

    fn first_written(&self, node: usize, fact: &Fact) -> usize {
        let Some(other) = self.nodes[node].parents.get(1) else {
            return node;
        };
        let path = self.node_path(Some(*other));
        let found = path.into_iter().rev().find(|node| self.nodes[*node].facts.contains(fact));
        found.map_or(node, |node| self.first_written(node, fact))
    }

    fn node_ancestors(&self, node: usize, found: &mut BTreeSet<usize>) {
        if found.insert(node) {
            self.nodes[node].parents.iter().for_each(|parent| self.node_ancestors(*parent, found));
        }
    }

    /// Finds the last nodes that two have in common.
    fn bases(&self, one: usize, other: usize) -> Vec<usize> {
        let ancestors = |node: usize| {
            let mut found = BTreeSet::new();
            self.node_ancestors(node, &mut found);
            found
        };
        let (ones, others) = (ancestors(one), ancestors(other));
        let common: Vec<usize> = ones.intersection(&others).copied().collect();
        let is_last = |node: &usize| {
            !common.iter().any(|other| other != node && ancestors(*other).contains(node))
        };
        common.iter().copied().filter(is_last).collect()
    }

    /// Copies a node to a branch: told are what was known before it, and what is known there now.
    /// A node that came from elsewhere brings what it changed.
    pub(super) fn copy_node(
        &mut self,
        original: usize,
        (before, known): (Option<usize>, Option<usize>),
        branch: &str,
        copies: &BTreeMap<usize, usize>,
    ) -> usize {
        let Node { parents, mut facts, time, .. } = self.nodes[original].clone();
        let parents = match known {
            _ if parents.first().copied() == before => {
                let others = parents.iter().skip(1).map(|other| self.copied_node(*other, copies));
                known.into_iter().chain(others).collect()
            }
            None => return original,
            Some(_) if known == before => return original,
            Some(known) => {
                facts = self.changed(before, original);
                vec![known, original]
            }
        };
        let relinked = |link: usize| copies.get(&link).copied().unwrap_or(link);
        facts.iter_mut().for_each(|fact| fact.source = fact.source.map(relinked));
        self.add_node(Node { parents, facts, branch: branch.to_owned(), time })
    }

    /// Gives the last copy of a node, or the node itself.
    fn copied_node(&self, node: usize, copies: &BTreeMap<usize, usize>) -> usize {
        let last = copies.iter().rev().find(|(entry, _)| self.node_of(**entry) == Some(node));
        last.and_then(|(_, copy)| self.node_of(*copy)).unwrap_or(node)
    }

    fn node_of(&self, entry: usize) -> Option<usize> {
        match self.entries[entry].said {
            Said::Memory(node) => Some(node),
            _ => None,
        }
    }

    /// Lists what is known at a node and was not known before.
    fn changed(&self, before: Option<usize>, node: usize) -> Vec<Fact> {
        let latest = |head: Option<usize>| {
            let facts: Vec<Fact> = self.facts(head).into_iter().map(|(fact, _)| fact).collect();
            let is_last = |place: usize| {
                let key = &facts[place].key;
                key.is_none() || facts[place + 1..].iter().all(|later| later.key != *key)
            };
            let places = (0..facts.len()).filter(|place| is_last(*place));
            places.map(|place| facts[place].clone()).collect::<Vec<Fact>>()
        };
        let old = latest(before);
        let is_same =
            |one: &Fact, other: &Fact| (&one.key, &one.saying) == (&other.key, &other.saying);
        let mut facts = latest(Some(node));
        facts.retain(|fact| !old.iter().any(|known| is_same(known, fact)));
        facts
    }

    /// Merges what is known at a node into the memory of a branch; gives what to recall there.
    pub(super) fn merged(
        &mut self,
        ours: Option<usize>,
        theirs: usize,
        branch: &str,
    ) -> Option<usize> {
        let Some(ours) = ours else {
            return Some(theirs);
        };
        let bases = self.bases(ours, theirs);
        if bases == [theirs] {
            return None;
        }
        if bases == [ours] {
            return Some(theirs);
        }
        let facts = self.merged_facts(ours, theirs, &bases);
        let (parents, branch) = (vec![ours, theirs], branch.to_owned());
        let time = self.now;
        Some(self.add_node(Node { parents, facts, branch, time }))
    }

    fn merged_facts(&self, ours: usize, theirs: usize, bases: &[usize]) -> Vec<Fact> {
        let latest = |facts: &[(Fact, usize)], key: &str| {
            facts.iter().rev().find(|(fact, _)| fact.key.as_deref() == Some(key)).cloned()
        };
        let old: Vec<_> = bases.iter().map(|base| self.facts(Some(*base))).collect();
        let our = self.facts(Some(ours));
        let their = self.facts(Some(theirs));
        let mut merged: Vec<Fact> = Vec::new();
        for (place, (fact, node)) in their.iter().enumerate() {
            let Some(key) = &fact.key else {
                let is_same = |known: &Fact| known.key.is_none() && known.saying == fact.saying;
                if !our.iter().any(|(known, _)| is_same(known)) && !merged.iter().any(is_same) {
                    merged.push(fact.clone());
                }
                continue;
            };
            let is_old = |saying: &Saying| {
                old.iter()
                    .any(|base| latest(base, key).is_some_and(|(was, _)| was.saying == *saying))
            };
            let is_last = their[place + 1..].iter().all(|(later, _)| later.key != fact.key);
            if !is_last || is_old(&fact.saying) {
                continue;
            }
            match latest(&our, key) {
                Some((mine, _)) if mine.saying == fact.saying => {}
                Some((mine, mine_in)) if !is_old(&mine.saying) => {
                    let mut versions = versions(&mine, mine_in);
                    versions.extend(self::versions(fact, *node));
                    versions.dedup();
                    let saying = Saying::Conflict(versions);
                    merged.push(Fact { key: fact.key.clone(), saying, source: None });
                }
                _ => merged.push(fact.clone()),
            }
        }
        merged
    }
}

fn versions(fact: &Fact, node: usize) -> Vec<(String, usize, Option<usize>)> {
    match &fact.saying {
        Saying::Text(text) => vec![(text.clone(), node, fact.source)],
        Saying::Conflict(versions) => versions.clone(),
    }
}
