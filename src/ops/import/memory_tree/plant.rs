//! Where the turns and nodes of a memory tree hang on the conversation.
//!
//! A transcript is one line, and the tree is in the nodes. Turns that say what they hang on hang
//! there. All others go on the branch of who speaks, at its end then; a node goes on the branch
//! that it is part of, before the first turn that is later than it or speaks on a branch that
//! leaves there. In the end, every branch knows what its head knows, if need be by one more step.

mod branches;

use std::collections::HashMap;

use crate::dialect::Parent;
use crate::dialect::memory_tree::{NODES_FOLDER, TRANSCRIPT_FILE, TreeBranch};
use crate::ops::import::intake::Intake;
use crate::ops::import::memory_tree::folder::Contents;
use crate::ops::import::report::Strange;

use branches::{branches, followed};

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
            if node.is_none() && turn.node.is_some() {
                intake.odd_in(TRANSCRIPT_FILE, Strange::Orphan, piece.line);
            }
            let step = self.push(Step { turn: Some(place), node, parent });
            if let Some(node) = node {
                self.planted.placed[node].get_or_insert((step, place));
            }
        }
        self.break_turn_circles(intake);
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

    /// Cuts turns loose that hang on themselves.
    fn break_turn_circles(&mut self, intake: &mut Intake<'_>) {
        let steps = &mut self.planted.steps;
        // The walk that passed each step.
        let mut passed = vec![usize::MAX; steps.len()];
        for start in 0..steps.len() {
            let mut next = Some(start);
            while let Some(step) = next.filter(|step| passed[*step] == usize::MAX) {
                passed[step] = start;
                next = steps[step].parent;
                if next.is_some_and(|parent| passed[parent] == start) {
                    steps[step].parent = None;
                    let line = steps[step].turn.map_or(1, |turn| self.contents.turns[turn].0.line);
                    intake.odd_in(TRANSCRIPT_FILE, Strange::Circle, line);
                }
            }
        }
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
        for (node, is_followed) in followed.into_iter().enumerate() {
            if self.planted.placed[node].is_none() && !is_followed {
                self.place(node, turns);
            }
        }
    }

    fn memory_at(&self, step: Option<usize>) -> Option<usize> {
        let steps = &self.planted.steps;
        let mut next = step;
        while let Some(step) = next.map(|step| &steps[step]) {
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
