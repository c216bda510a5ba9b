//! The branches of a memory tree: which nodes are theirs, and what people call them.

use std::collections::HashMap;

use crate::dialect::memory_tree::{BRANCHES_FILE, TreeBranch, card_names};
use crate::ops::import::intake::Intake;
use crate::ops::import::memory_tree::folder::Contents;
use crate::ops::import::memory_tree::plant::{Planned, Planter};
use crate::ops::import::report::Strange;
use crate::session::FIRST_BRANCH;

/// Reads the branches; where no file tells them, each node that nothing follows ends one.
pub(super) fn branches(
    contents: &Contents,
    parents: &[Vec<usize>],
    ids: &HashMap<&str, usize>,
    intake: &mut Intake<'_>,
) -> Vec<Planned> {
    let mut branches: Vec<Planned> = Vec::new();
    let told = contents.branches.as_deref().unwrap_or_default();
    for branch in told {
        if branches.iter().any(|other| other.branch.name == branch.name) {
            intake.odd_in(BRANCHES_FILE, Strange::Twin, 1);
            continue;
        }
        let head = branch.head.as_deref().and_then(|head| ids.get(head).copied());
        if head.is_none() && branch.head.is_some() {
            intake.odd_in(BRANCHES_FILE, Strange::Orphan, 1);
        }
        branches.push(Planned { branch: branch.clone(), head, ..Planned::default() });
    }
    if branches.is_empty() {
        // What only a merge follows ends a branch, too.
        let followed =
            followed(parents.iter().filter_map(|parents| parents.first()), parents.len());
        let ends = (0..parents.len()).filter(|node| !followed[*node]);
        for node in ends {
            let (label, id) = (&contents.nodes[node].branch, &contents.nodes[node].id);
            let is_free = |name: &&String| {
                !name.is_empty() && branches.iter().all(|other| other.branch.name != **name)
            };
            let name = Some(label).filter(is_free).unwrap_or(id).clone();
            let branch = TreeBranch { name, ..TreeBranch::default() };
            branches.push(Planned { branch, head: Some(node), ..Planned::default() });
        }
    }
    let names: HashMap<String, usize> =
        branches.iter().enumerate().map(|(at, it)| (it.branch.name.clone(), at)).collect();
    for branch in &mut branches {
        branch.parent = branch.branch.parent.as_ref().and_then(|name| names.get(name).copied());
    }
    branches
}

impl Planter<'_> {
    /// Finds the branch that each node is part of, and the one of what all share.
    pub(super) fn own(&mut self) {
        let count = self.planted.branches.len();
        let is_root = |at: &usize| self.planted.branches[*at].parent.is_none();
        let roots: Vec<usize> = (0..count).filter(is_root).collect();
        if let [root] = roots[..] {
            self.trunk = root;
        } else {
            // What several branches that come from none share is on a branch of ours.
            self.trunk = count;
            let mut passed = vec![0; self.owners.len()];
            for root in &roots {
                for node in self.path(self.planted.branches[*root].head) {
                    passed[node] += 1;
                }
            }
            let shared = |passed: usize| (passed > 1).then_some(count);
            self.owners = passed.into_iter().map(shared).collect();
            let branch = TreeBranch { name: self.free_name(), ..TreeBranch::default() };
            let made_up = Planned { branch, is_made_up: true, ..Planned::default() };
            self.planted.branches.push(made_up);
        }
        let mut order = roots;
        let mut is_listed = vec![false; count];
        order.iter().for_each(|root| is_listed[*root] = true);
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, branch) in self.planted.branches[..count].iter().enumerate() {
            if let Some(parent) = branch.parent {
                children.entry(parent).or_default().push(at);
            }
        }
        let mut next = 0;
        while let Some(branch) = order.get(next).copied() {
            next += 1;
            for child in children.get(&branch).into_iter().flatten() {
                if !std::mem::replace(&mut is_listed[*child], true) {
                    order.push(*child);
                }
            }
        }
        order.extend((0..count).filter(|at| !is_listed[*at]));
        for at in order {
            for node in self.path(self.planted.branches[at].head) {
                if self.owners[node].is_some() {
                    break;
                }
                self.owners[node] = Some(at);
                self.planted.branches[at].first = Some(node);
            }
        }
    }

    /// Lists the nodes from one back to its root.
    pub(super) fn path(&self, head: Option<usize>) -> Vec<usize> {
        let above = |node: &usize| self.planted.parents[*node].first().copied();
        std::iter::successors(head, above).collect()
    }

    fn free_name(&self) -> String {
        let is_free =
            |name: &String| self.planted.branches.iter().all(|branch| branch.branch.name != *name);
        let mut names = (2..).map(|number| format!("{FIRST_BRANCH}-{number}"));
        let first = Some(FIRST_BRANCH.to_owned()).filter(is_free);
        first.or_else(|| names.find(is_free)).unwrap_or_default()
    }

    /// Notes what people may call a branch: its name, the labels of its nodes, its cards' names.
    pub(super) fn learn_words(&mut self) {
        let mut words: Vec<(String, usize)> = Vec::new();
        let branches = self.planted.branches.iter().enumerate();
        words.extend(branches.clone().map(|(at, it)| (it.branch.name.clone(), at)));
        words.extend(branches.clone().map(|(at, it)| (slug(&it.branch.name), at)));
        let nodes = || self.contents.nodes.iter().zip(&self.owners);
        let owned = || nodes().filter_map(|(node, owner)| Some((node, (*owner)?)));
        words.extend(owned().map(|(node, at)| (slug(&node.branch), at)));
        for (at, it) in branches {
            words.extend(card_names(&it.branch.card).map(|name| (slug(name), at)));
        }
        for (node, at) in owned() {
            words.extend(card_names(&node.card).map(|name| (slug(name), at)));
        }
        for (word, at) in words {
            if !word.is_empty() {
                self.words.entry(word).or_insert(at);
            }
        }
    }

    pub(super) fn named(&self, word: &str) -> Option<usize> {
        self.words.get(word).or_else(|| self.words.get(&slug(word))).copied()
    }
}

/// Says of each of so many nodes whether it is among the parents.
pub(super) fn followed<'a>(parents: impl Iterator<Item = &'a usize>, count: usize) -> Vec<bool> {
    let mut followed = vec![false; count];
    parents.for_each(|parent| followed[*parent] = true);
    followed
}

/// Gives a name as it would stand in a file's: `The Architect` is `the-architect`.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}
