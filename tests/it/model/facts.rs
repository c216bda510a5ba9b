//! What the model remembers.

use std::collections::BTreeSet;

use super::world::World;

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
