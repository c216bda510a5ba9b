//! Where the turns and nodes of a memory tree hang on the conversation.
//!
//! A transcript is one line, and the tree is in the nodes. Turns that say what they hang on hang
//! there. All others go on the branch of who speaks, at its end then; a node goes on the branch
//! that it is part of, before the first turn that is later than it or speaks on a branch that
//! leaves there. In the end, every branch knows what its head knows, if need be by one more step.

use std::collections::HashMap;

use crate::dialect::Parent;
use crate::dialect::memory_tree::{
    BRANCHES_FILE, NODES_FOLDER, TRANSCRIPT_FILE, TreeBranch, card_names,
};
use crate::ops::import::intake::Intake;
use crate::ops::import::memory_tree::folder::Contents;
use crate::ops::import::report::Strange;
use crate::session::FIRST_BRANCH;

/// A step of the conversation: a turn, a node that is committed, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) turn: Option<usize>,
    pub(super) node: Option<usize>,
    /// What it hangs on.
    pub(super) parent: Option<usize>,
}

/// The conversation.
#[derive(Debug, Default)]
pub(super) struct Planted {
    pub(super) steps: Vec<Step>,
    pub(super) branches: Vec<Planned>,
    /// The active branch.
    pub(super) active: Option<usize>,
    /// The step of each node, and how many turns came before it.
    pub(super) placed: Vec<Option<(usize, usize)>>,
    /// The parents of each node that are there.
    pub(super) parents: Vec<Vec<usize>>,
    /// Whether turns say what they hang on.
    pub(super) is_told: bool,
}

/// A branch.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    pub(super) branch: TreeBranch,
    /// The node that it ends in.
    head: Option<usize>,
    parent: Option<usize>,
    /// Its first own node.
    first: Option<usize>,
    is_begun: bool,
    /// The step that it began at.
    pub(super) at: Option<usize>,
    /// The step that it ends in.
    pub(super) tip: Option<usize>,
    /// What is known there.
    pub(super) memory: Option<usize>,
    /// Whether no file tells of it.
    pub(super) is_made_up: bool,
}

/// Plants a memory tree. `hints` says how many turns came before a node when it was planted first.
pub(super) fn plant(
    contents: &Contents,
    hints: &HashMap<String, u64>,
    intake: &mut Intake<'_>,
) -> Planted {
    let mut planted = Planted {
        placed: vec![None; contents.nodes.len()],
        is_told: contents.turns.iter().any(|(_, turn)| turn.parent.is_some()),
        ..Planted::default()
    };
    let ids: HashMap<&str, usize> =
        contents.nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    for node in &contents.nodes {
        let known = node.parents.iter().filter_map(|id| ids.get(id.as_str()).copied());
        let known: Vec<usize> = known.collect();
        if known.len() < node.parents.len() {
            intake.odd_in(&format!("{NODES_FOLDER}/{}", node.id), Strange::Orphan, 1);
        }
        planted.parents.push(known);
    }
    planted.break_circles(contents, intake);
    planted.branches = branches(contents, &planted.parents, &ids, intake);
    let mut planter = Planter {
        contents,
        hints,
        owners: vec![None; contents.nodes.len()],
        trunk: 0,
        words: HashMap::new(),
        planted,
    };
    planter.own();
    planter.learn_words();
    let last = match planter.planted.is_told {
        true => planter.hang_as_told(intake),
        false => planter.hang_in_order(),
    };
    planter.settle();
    let head = contents.session.head.as_deref();
    let active = head.and_then(|head| {
        let ends_in = |node| planter.planted.branches.iter().position(|it| it.head == Some(node));
        planter.named(head).or_else(|| ends_in(*ids.get(head)?))
    });
    let mut planted = planter.planted;
    planted.active = active.or(last).filter(|branch| planted.branches[*branch].tip.is_some());
    planted.drop_needless();
    planted
}

/// Reads the branches; where no file tells them, each node that nothing follows ends one.
fn branches(
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

impl Planted {
    /// Cuts nodes loose that follow themselves.
    fn break_circles(&mut self, contents: &Contents, intake: &mut Intake<'_>) {
        let mut is_done = vec![false; self.parents.len()];
        let mut is_open = vec![false; self.parents.len()];
        for start in 0..self.parents.len() {
            // A node, and which of its parents comes next.
            let mut stack = vec![(start, 0)];
            while let Some((node, next)) = stack.pop() {
                is_open[node] = true;
                let Some(parent) = self.parents[node].get(next).copied().filter(|_| !is_done[node])
                else {
                    (is_open[node], is_done[node]) = (false, true);
                    continue;
                };
                if is_open[parent] {
                    self.parents[node].remove(next);
                    let id = &contents.nodes[node].id;
                    intake.odd_in(&format!("{NODES_FOLDER}/{id}"), Strange::Circle, 1);
                    stack.push((node, next));
                    continue;
                }
                stack.push((node, next + 1));
                if !is_done[parent] {
                    stack.push((parent, 0));
                }
            }
        }
    }

    /// Drops a branch of ours that leads to nothing that the others don't.
    fn drop_needless(&mut self) {
        let Some(made_up) = self.branches.iter().position(|branch| branch.is_made_up) else {
            return;
        };
        let tip = self.branches[made_up].tip;
        let goes_on = tip.is_none() || self.steps.iter().any(|step| step.parent == tip);
        let is_alone = self.branches.iter().filter(|branch| branch.tip.is_some()).count() == 1;
        if goes_on && !is_alone && self.active != Some(made_up) {
            self.branches[made_up].tip = None;
        }
    }
}

struct Planter<'a> {
    contents: &'a Contents,
    hints: &'a HashMap<String, u64>,
    planted: Planted,
    /// The branch that each node is part of.
    owners: Vec<Option<usize>>,
    /// The branch of what all share.
    trunk: usize,
    /// Branches by what people may call them.
    words: HashMap<String, usize>,
}

impl Planter<'_> {
    /// Finds the branch that each node is part of, and the one of what all share.
    fn own(&mut self) {
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
    fn path(&self, head: Option<usize>) -> Vec<usize> {
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
    fn learn_words(&mut self) {
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

    fn named(&self, word: &str) -> Option<usize> {
        self.words.get(word).or_else(|| self.words.get(&slug(word))).copied()
    }

    /// Hangs turns on the branches of who speaks, and gives the last of them.
    fn hang_in_order(&mut self) -> Option<usize> {
        let mut current = self.trunk;
        for (place, (piece, turn)) in self.contents.turns.iter().enumerate() {
            if piece.value.is_none() {
                self.push(Step { turn: Some(place), node: None, parent: None });
                continue;
            }
            self.place_due(place, turn.time);
            current = match &turn.place {
                Some(word) => self.named(word).unwrap_or(current),
                None if turn.is_shared => self.trunk,
                None => current,
            };
            self.begin(current, place);
            let parent = self.planted.branches[current].tip;
            let step = self.push(Step { turn: Some(place), node: None, parent });
            self.planted.branches[current].tip = Some(step);
            if let Some(to) = &turn.to {
                current = self.named(to).unwrap_or(self.trunk);
            }
        }
        let turns = self.contents.turns.len();
        for node in 0..self.contents.nodes.len() {
            if self.owners[node].is_some() {
                self.place(node, turns);
            }
        }
        Some(current)
    }

    /// Places the nodes that come before a turn.
    fn place_due(&mut self, turns: usize, time: Option<i64>) {
        let mut due: Vec<(u64, Option<i64>, usize)> = Vec::new();
        for (node, told) in self.contents.nodes.iter().enumerate() {
            if self.planted.placed[node].is_some() || self.owners[node].is_none() {
                continue;
            }
            let is_due = match self.hints.get(&told.id) {
                Some(hint) => *hint <= turns as u64,
                None => told.time.zip(time).is_some_and(|(node, turn)| node <= turn),
            };
            if is_due {
                let hint = self.hints.get(&told.id).copied().unwrap_or(u64::MAX);
                due.push((hint, told.time, node));
            }
        }
        due.sort_unstable();
        due.into_iter().for_each(|(_, _, node)| self.place(node, turns));
    }

    /// Places a node, and before it those that it follows.
    fn place(&mut self, node: usize, turns: usize) {
        let path = self.path(Some(node));
        let fresh: Vec<usize> =
            path.into_iter().take_while(|node| self.planted.placed[*node].is_none()).collect();
        for node in fresh.into_iter().rev() {
            let before = self.planted.parents[node].first().copied();
            let before = before.and_then(|node| self.planted.placed[node]).map(|(step, _)| step);
            let parent = match self.owners[node] {
                Some(owner) => {
                    self.begin_at(owner, before);
                    self.planted.branches[owner].tip
                }
                None => before,
            };
            let step = self.push(Step { turn: None, node: Some(node), parent });
            self.planted.placed[node] = Some((step, turns));
            if let Some(owner) = self.owners[node] {
                self.planted.branches[owner].tip = Some(step);
            }
        }
    }

    /// Begins a branch, if it is not begun, where its first own node leaves the others.
    fn begin(&mut self, branch: usize, turns: usize) {
        let planned = &self.planted.branches[branch];
        if planned.is_begun {
            return;
        }
        let fork = match planned.first {
            Some(first) => self.planted.parents[first].first().copied(),
            None => planned.head,
        };
        if let Some(fork) = fork {
            self.place(fork, turns);
        }
        let at = fork.and_then(|fork| self.planted.placed[fork]).map(|(step, _)| step);
        self.begin_at(branch, at);
    }

    fn begin_at(&mut self, branch: usize, at: Option<usize>) {
        let planned = &self.planted.branches[branch];
        if planned.is_begun {
            return;
        }
        let tip_of = |branch: usize| self.planted.branches[branch].tip;
        let ground = || planned.parent.and_then(tip_of).or_else(|| tip_of(self.trunk));
        let at = at.or_else(ground);
        let planned = &mut self.planted.branches[branch];
        (planned.is_begun, planned.at, planned.tip) = (true, at, at);
    }

    /// Hangs turns where they say.
    fn hang_as_told(&mut self, intake: &mut Intake<'_>) -> Option<usize> {
        let turns = &self.contents.turns;
        let ids =
            turns.iter().enumerate().filter_map(|(at, (_, turn))| Some((turn.id.clone()?, at)));
        let ids: HashMap<String, usize> = ids.collect();
        let nodes: HashMap<&str, usize> =
            self.contents.nodes.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        for (place, (piece, turn)) in turns.iter().enumerate() {
            let parent = match &turn.parent {
                Some(Parent::Id(id)) => {
                    let found = ids.get(id).copied();
                    if found.is_none() {
                        intake.odd_in(TRANSCRIPT_FILE, Strange::Orphan, piece.line);
                    }
                    found
                }
                _ => None,
            };
            let node = turn.node.as_deref().and_then(|node| nodes.get(node).copied());
            let step = self.push(Step { turn: Some(place), node, parent });
            if let Some(node) = node {
                self.planted.placed[node].get_or_insert((step, place));
            }
        }
        let last = turns.iter().rposition(|(_, turn)| turn.parent.is_some());
        let is_alone = self.planted.branches.len() == 1;
        for branch in &mut self.planted.branches {
            let step = |id: &Option<String>| ids.get(id.as_deref()?).copied();
            let committed = branch.head.and_then(|head| self.planted.placed[head]);
            branch.at = step(&branch.branch.at);
            branch.tip = step(&branch.branch.end)
                .or(committed.map(|(step, _)| step))
                .or(last.filter(|_| branch.is_made_up && is_alone));
            branch.is_begun = branch.tip.is_some();
        }
        None
    }

    /// Ends every branch where its memory is that of its head.
    fn settle(&mut self) {
        let turns = self.contents.turns.len();
        for at in 0..self.planted.branches.len() {
            self.begin(at, turns);
            let Planned { head, tip, .. } = self.planted.branches[at];
            let memory = self.memory_at(tip);
            if head.is_none() || memory == head {
                self.planted.branches[at].memory = memory;
                continue;
            }
            let step = self.push(Step { turn: None, node: head, parent: tip });
            if let Some(head) = head {
                self.planted.placed[head].get_or_insert((step, turns));
            }
            (self.planted.branches[at].tip, self.planted.branches[at].memory) = (Some(step), head);
        }
        let parents = &self.planted.parents;
        let followed = followed(parents.iter().flatten(), parents.len());
        for node in 0..self.contents.nodes.len() {
            if self.planted.placed[node].is_none() && !followed[node] {
                self.place(node, turns);
            }
        }
    }

    fn memory_at(&self, step: Option<usize>) -> Option<usize> {
        let steps = &self.planted.steps;
        let mut next = step;
        // A path that is longer than all steps goes in a circle.
        for _ in 0..=steps.len() {
            let step = &steps[next?];
            if step.node.is_some() {
                return step.node;
            }
            next = step.parent;
        }
        None
    }

    fn push(&mut self, step: Step) -> usize {
        self.planted.steps.push(step);
        self.planted.steps.len() - 1
    }
}

/// Says of each of so many nodes whether it is among the parents.
fn followed<'a>(parents: impl Iterator<Item = &'a usize>, count: usize) -> Vec<bool> {
    let mut followed = vec![false; count];
    parents.for_each(|parent| followed[*parent] = true);
    followed
}

/// Gives a name as it would stand in a file's: `The Architect` is `the-architect`.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}
