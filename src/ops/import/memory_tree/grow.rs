//! Makes the objects of a memory tree: an entry of each step, a node of each node.
//!
//! A step is made after what it hangs on and the node that it commits, a node after those that it
//! follows. What else they speak of, as the turn that a fact was learned from, is linked if it is
//! made by then: who speaks of something later does not link it.

use std::collections::HashMap;

use crate::codec::{Key, Value, json};
use crate::dialect::memory_tree::{LINK_KEY, TreeFact, TreeNode, Turn};
use crate::dialect::{Layout, Piece};
use crate::error::Result;
use crate::id::Id;
use crate::object::{self, Entry, Fact, Node, Object};
use crate::ops::import::feed;
use crate::ops::import::intake::{Intake, UNPARSED};
use crate::ops::import::memory_tree::folder::Contents;
use crate::ops::import::memory_tree::plant::Planted;
use crate::session::{MEMORY_LABEL, MESSAGE_LABELS};

/// The objects of a memory tree.
#[derive(Debug, Default)]
pub(super) struct Grown {
    pub(super) steps: Vec<Id>,
    pub(super) nodes: Vec<Id>,
    /// The time of the last step.
    pub(super) time: i64,
}

/// A step or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Step(usize),
    Node(usize),
}

/// How far an item is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    /// What it links is being made.
    Open,
    Made(Id),
}

/// Makes all objects, and hands them to the intake.
pub(super) fn grow(
    contents: &Contents,
    planted: &Planted,
    intake: &mut Intake<'_>,
) -> Result<Grown> {
    let turns = || planted.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.turn?)));
    let mut names = HashMap::new();
    let mut numbers = HashMap::new();
    for (step, turn) in turns() {
        let turn = &contents.turns[turn].1;
        names.extend(turn.id.clone().map(|id| (id, Item::Step(step))));
        numbers.extend(turn.number.map(|number| (number, step)));
    }
    for (at, node) in contents.nodes.iter().enumerate() {
        names.insert(node.id.clone(), Item::Node(at));
    }
    let begin = intake.source.time.unwrap_or_default();
    let mut time = begin;
    let mut times = Vec::with_capacity(planted.steps.len());
    for step in &planted.steps {
        let own = step.turn.and_then(|turn| contents.turns[turn].1.time);
        time = own.unwrap_or(time);
        let learned = step.node.filter(|_| step.turn.is_none());
        times.push(learned.and_then(|node| contents.nodes[node].time).unwrap_or(time));
    }
    let mut grower = Grower {
        contents,
        planted,
        names,
        numbers,
        times,
        begin,
        style: contents.layout.clone().unwrap_or_default(),
        steps: vec![State::New; planted.steps.len()],
        nodes: vec![State::New; contents.nodes.len()],
    };
    for step in 0..planted.steps.len() {
        grower.make_all(Item::Step(step), intake)?;
    }
    let made = |states: Vec<State>| {
        let ids = states.into_iter().filter_map(|state| match state {
            State::Made(id) => Some(id),
            _ => None,
        });
        ids.collect()
    };
    for node in 0..contents.nodes.len() {
        grower.make_all(Item::Node(node), intake)?;
    }
    let time = grower.times.last().copied().unwrap_or(begin);
    Ok(Grown { steps: made(grower.steps), nodes: made(grower.nodes), time })
}

struct Grower<'a> {
    contents: &'a Contents,
    planted: &'a Planted,
    /// Turns and nodes by their ids.
    names: HashMap<String, Item>,
    /// Steps by the numbers of their turns.
    numbers: HashMap<i64, usize>,
    times: Vec<i64>,
    begin: i64,
    style: Layout,
    steps: Vec<State>,
    nodes: Vec<State>,
}

impl Grower<'_> {
    /// Makes an item, and before it what it links.
    fn make_all(&mut self, item: Item, intake: &mut Intake<'_>) -> Result<()> {
        let mut stack = vec![item];
        while let Some(item) = stack.last().copied() {
            match self.state(item) {
                State::Made(_) => drop(stack.pop()),
                State::Open => {
                    let id = match item {
                        Item::Step(step) => self.make_step(step, intake)?,
                        Item::Node(node) => self.make_node(node, intake)?,
                    };
                    self.set(item, State::Made(id));
                    stack.pop();
                }
                State::New => {
                    self.set(item, State::Open);
                    let links = self.links(item);
                    stack.extend(links.into_iter().filter(|link| self.made(*link).is_none()));
                }
            }
        }
        Ok(())
    }

    fn state(&self, item: Item) -> State {
        match item {
            Item::Step(step) => self.steps[step],
            Item::Node(node) => self.nodes[node],
        }
    }

    fn set(&mut self, item: Item, state: State) {
        match item {
            Item::Step(step) => self.steps[step] = state,
            Item::Node(node) => self.nodes[node] = state,
        }
    }

    fn made(&self, item: Item) -> Option<Id> {
        match self.state(item) {
            State::Made(id) => Some(id),
            _ => None,
        }
    }

    /// Lists what must be made before an item. Nothing in it leads in a circle (see `plant`).
    fn links(&self, item: Item) -> Vec<Item> {
        match item {
            Item::Step(at) => {
                let step = &self.planted.steps[at];
                let parent = step.parent.map(Item::Step);
                parent.into_iter().chain(step.node.map(Item::Node)).collect()
            }
            Item::Node(at) => self.planted.parents[at].iter().copied().map(Item::Node).collect(),
        }
    }

    /// Gives the turn of a step that carries its entry whole.
    fn whole(&self, step: usize) -> Option<(&Value, &Turn)> {
        let (piece, turn) = &self.contents.turns[self.planted.steps[step].turn?];
        let value = piece.value.as_ref().filter(|_| turn.parent.is_some())?;
        value.get("body").filter(|body| matches!(body, Value::Map(_) | Value::Null))?;
        Some((value, turn))
    }

    fn first_kept(&self, value: &Value) -> Option<Item> {
        self.names.get(value.get("firstKept")?.as_text()?).copied()
    }

    /// Reads a map that is a link.
    fn link(&self, pairs: &[(Key, Value)]) -> Option<Item> {
        match pairs {
            [(key, Value::Text(name))] if key == LINK_KEY => self.names.get(name).copied(),
            _ => None,
        }
    }

    /// Puts links in the place of names.
    fn relinked(&self, value: &Value) -> Value {
        match value {
            Value::Map(pairs) => match self.link(pairs).and_then(|item| self.made(item)) {
                Some(id) => Value::Link(id),
                None => {
                    Value::map(pairs.iter().map(|(key, value)| (key.clone(), self.relinked(value))))
                }
            },
            Value::List(items) => {
                Value::List(items.iter().map(|item| self.relinked(item)).collect())
            }
            other => other.clone(),
        }
    }

    /// Finds the step that a fact was learned from: as it says, or the last message before it.
    fn source(&self, node: usize, fact: &TreeFact) -> Option<usize> {
        match &fact.source {
            Some(Value::Integer(number)) => self.numbers.get(number).copied(),
            Some(Value::Text(name)) => match self.names.get(name) {
                Some(Item::Step(step)) => Some(*step),
                _ => None,
            },
            _ if self.planted.is_told => None,
            _ => {
                let (step, _) = self.planted.placed[node]?;
                let mut next = self.planted.steps[step].parent;
                while let Some(step) = next {
                    let turn = self.planted.steps[step].turn;
                    let label = turn.map(|turn| self.contents.turns[turn].1.label.as_str());
                    if label.is_some_and(|label| MESSAGE_LABELS.contains(&label)) {
                        return Some(step);
                    }
                    next = self.planted.steps[step].parent;
                }
                None
            }
        }
    }

    fn make_step(&self, at: usize, intake: &mut Intake<'_>) -> Result<Id> {
        let step = &self.planted.steps[at];
        let node = step.node.and_then(|node| self.made(Item::Node(node)));
        let (label, body, raw) = match (step.turn, step.node) {
            (Some(turn), _) => {
                let (piece, turn) = &self.contents.turns[turn];
                let (body, is_other) = self.body(at, piece, turn, node);
                let label = if piece.value.is_some() { &turn.label } else { UNPARSED };
                (label, body, self.text(piece, is_other))
            }
            (None, told) => {
                let id = told.map(|node| self.contents.nodes[node].id.as_str());
                let body = [("nodeId", id.map_or(Value::Null, Value::from)), ("node", node.into())];
                (MEMORY_LABEL, Value::map(body), None)
            }
        };
        let raw = raw.map(|text| feed::raw(text, &mut intake.objects)).transpose()?;
        let parent = step.parent.and_then(|parent| self.made(Item::Step(parent)));
        let entry = Entry {
            label: label.to_owned(),
            time: self.times[at],
            parents: parent.into_iter().collect(),
            body,
            raw,
        };
        object::encode_lifted(Object::Entry(entry), &mut intake.objects)
    }

    /// Makes the body of a turn's entry, and says whether it is other than the turn.
    fn body(&self, at: usize, piece: &Piece, turn: &Turn, node: Option<Id>) -> (Value, bool) {
        let Some(value) = &piece.value else {
            return (Value::Null, false);
        };
        if let (Some(node), Some(_)) = (node, &turn.node) {
            let pairs = value.as_map().unwrap_or_default().iter().map(|(key, value)| {
                let value = if key == "node" { Value::Link(node) } else { value.clone() };
                (key.clone(), value)
            });
            let name = turn.node.clone().map(|name| ("nodeId".into(), name.into()));
            return (Value::map(pairs.chain(name)), true);
        }
        if self.whole(at).is_none() {
            return (value.clone(), false);
        }
        let mut body = self.relinked(value.get("body").unwrap_or(&Value::Null));
        let kept = self.first_kept(value).and_then(|item| self.made(item));
        if let (Some(kept), Value::Map(pairs)) = (kept, &mut body) {
            pairs.retain(|(key, _)| key != "firstKept");
            pairs.push(("firstKept".into(), Value::Link(kept)));
        }
        (body, true)
    }

    /// Gives the text of a turn, where its entry's body does not.
    fn text(&self, piece: &Piece, is_other: bool) -> Option<Vec<u8>> {
        match (&piece.text, &piece.value) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(value)) if is_other => {
                let mut text = Vec::new();
                json::write_styled(value, self.style.style, &mut text);
                Some(text)
            }
            _ => None,
        }
    }

    fn make_node(&self, at: usize, intake: &mut Intake<'_>) -> Result<Id> {
        let TreeNode { branch, facts, notes, card, time, .. } = &self.contents.nodes[at];
        let parents = self.planted.parents[at].iter();
        let facts = facts.iter().map(|fact| Fact {
            value: self.relinked(&fact.value),
            key: fact.key.clone(),
            source: self.source(at, fact).and_then(|step| self.made(Item::Step(step))),
        });
        let node = Node {
            parents: parents.filter_map(|parent| self.made(Item::Node(*parent))).collect(),
            branch: branch.clone(),
            facts: facts.collect(),
            notes: notes.clone(),
            card: self.relinked(card),
            time: time.unwrap_or(self.begin),
        };
        object::encode_lifted(Object::Node(node), &mut intake.objects)
    }
}
