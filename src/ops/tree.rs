//! The tree of a session: where it branched, and what each branch came to.
//!
//! Only decisions are branch points: a place where a named branch left, where somebody said
//! something else, or asked again. A progress report or the result of one of several tool calls
//! that hangs beside the path is none. Bodies are read only at the ends of what no name leads to.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::repo::read_entry;
use crate::session::{Forest, MESSAGE_LABELS, Message, View};
use crate::store::Snapshot;

/// What is shown of a session's tree; a parent always comes before its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The entries that are shown.
    pub nodes: Vec<TreeNode>,
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The entry.
    pub id: Id,
    /// The place of the nearest shown entry before it.
    pub parent: Option<usize>,
    /// The places of the nearest shown entries after it, oldest first.
    pub children: Vec<usize>,
    /// How many entries lie before it on its path.
    pub depth: u64,
    /// How many entries between it and its parent are not shown.
    pub skipped: u64,
    /// The branches that end here.
    pub branches: Vec<String>,
    /// The labels that are on it.
    pub labels: Vec<String>,
    /// Whether the active branch ends here.
    pub is_active: bool,
}

impl Tree {
    /// Lists the places of the roots.
    pub fn roots(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|place| self.nodes[*place].parent.is_none()).collect()
    }
}

/// Reads the tree of a session: its decisions, or all of it.
pub fn tree(snapshot: &dyn Snapshot, session: &str, full: bool) -> Result<Tree> {
    let view = View::of(snapshot, session)?;
    let forest = Forest::of(&view)?;
    let marks = Marks::of(&view)?;
    let live = match full {
        true => vec![true; forest.ids().len()],
        false => live(snapshot, &forest, &marks)?,
    };
    Ok(arrange(&forest, marks, &live, full))
}

/// The names on entries.
#[derive(Default)]
pub(super) struct Marks {
    /// The branches that end there.
    pub(super) branches: HashMap<Id, Vec<String>>,
    /// The labels that are on it.
    pub(super) labels: HashMap<Id, Vec<String>>,
    /// Where the active branch ends.
    pub(super) active: Option<Id>,
}

impl Marks {
    pub(super) fn of(view: &View<'_>) -> Result<Marks> {
        let mut marks = Marks::default();
        for (name, id) in view.branches()? {
            marks.branches.entry(id).or_default().push(name);
        }
        for (name, id) in view.labels()? {
            marks.labels.entry(id).or_default().push(name);
        }
        if let Some(active) = view.active()? {
            marks.active = view.branch(&active)?;
        }
        Ok(marks)
    }

    fn has(&self, id: &Id) -> bool {
        self.branches.contains_key(id) || self.labels.contains_key(id)
    }
}

/// Finds the entries that lead to a name or to something that was said.
pub(super) fn live(snapshot: &dyn Snapshot, forest: &Forest, marks: &Marks) -> Result<Vec<bool>> {
    let mut live: Vec<bool> = forest.ids().iter().map(|id| marks.has(id)).collect();
    for place in (0..live.len()).rev() {
        live[place] = live[place] || is_said(snapshot, &forest.ids()[place])?;
        if let (true, Some(parent)) = (live[place], forest.parent(place)) {
            live[parent] = true;
        }
    }
    Ok(live)
}

/// Says whether an entry is a message, and not just the result of a tool.
fn is_said(snapshot: &dyn Snapshot, id: &Id) -> Result<bool> {
    let topology = snapshot.topology(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    if !MESSAGE_LABELS.contains(&&*topology.label) {
        return Ok(false);
    }
    // Long strings are not needed to tell what it is.
    let entry = read_entry(snapshot, id)?;
    let message = Message::read(&entry.label, &entry.body);
    let speaks = |message: &Message| {
        // Some programs keep a result with its call.
        message.answers().next().is_none() || message.calls().next().is_some()
    };
    Ok(message.as_ref().is_some_and(speaks))
}

/// Chooses what is shown, and ties it together.
fn arrange(forest: &Forest, mut marks: Marks, live: &[bool], full: bool) -> Tree {
    let count = forest.ids().len();
    let mut children = vec![0u32; count];
    for place in (0..count).filter(|place| live[*place]) {
        if let Some(parent) = forest.parent(place) {
            children[parent] += 1;
        }
    }
    let mut tree = Tree::default();
    // The nearest shown entry at or before each place, its depth and how many were passed since.
    let mut nearest: Vec<(Option<usize>, u64, u64)> = vec![(None, 0, 0); count];
    for place in (0..count).filter(|place| live[*place]) {
        let id = forest.ids()[place];
        let above = forest.parent(place);
        let is_shown = full
            || children[place] != 1
            || above.is_none_or(|parent| children[parent] > 1)
            || marks.has(&id);
        let (parent, depth, skipped) = above.map_or((None, 0, 0), |above| {
            let (shown, depth, skipped) = nearest[above];
            (shown, depth + 1, skipped)
        });
        if !is_shown {
            nearest[place] = (parent, depth, skipped + 1);
            continue;
        }
        let own = tree.nodes.len();
        nearest[place] = (Some(own), depth, 0);
        if let Some(parent) = parent {
            tree.nodes[parent].children.push(own);
        }
        tree.nodes.push(TreeNode {
            id,
            parent,
            children: Vec::new(),
            depth,
            skipped,
            branches: marks.branches.remove(&id).unwrap_or_default(),
            labels: marks.labels.remove(&id).unwrap_or_default(),
            is_active: marks.active == Some(id),
        });
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Value, json};
    use crate::repo::Repo;
    use crate::session::{self, Change};
    use crate::store::{Durability, RefValue};

    /// Adds an entry after another, outside any branch that lasts.
    fn add(repo: &Repo, parent: Option<Id>, body: &str) -> Id {
        let body = json::parse(body.as_bytes()).unwrap();
        let label = body.get("type").and_then(Value::as_text).unwrap_or("message").to_owned();
        let mut id = None;
        repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 0)?;
            change.set("heads/main", parent.map(RefValue::Id))?;
            id = Some(change.append("main", &label, body.clone(), 0)?);
            change.finish(None)
        })
        .unwrap();
        id.unwrap()
    }

    fn session() -> Repo {
        let repo = Repo::in_memory();
        session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        repo
    }

    fn shown(repo: &Repo, full: bool) -> Vec<(Id, Option<usize>, u64)> {
        let tree = tree(&*repo.snapshot().unwrap(), "s", full).unwrap();
        tree.nodes.iter().map(|node| (node.id, node.parent, node.skipped)).collect()
    }

    #[test]
    fn results_and_progress_beside_the_path_are_no_decisions() {
        let repo = session();
        let ask = add(&repo, None, r#"{"role":"user","content":"go"}"#);
        let call = add(
            &repo,
            Some(ask),
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"ls"}]}"#,
        );
        add(&repo, Some(call), r#"{"type":"progress","percent":50}"#);
        let stray = r#"{"role":"tool","tool_call_id":"c","content":"x"}"#;
        let stray = add(&repo, Some(call), stray);
        add(&repo, Some(stray), r#"{"type":"progress","percent":99}"#);
        let reply = add(&repo, Some(call), r#"{"role":"assistant","content":"done"}"#);
        assert_eq!(shown(&repo, false), [(ask, None, 0), (reply, Some(0), 1)]);
        assert_eq!(shown(&repo, true).len(), 6);
        let again = add(&repo, Some(ask), r#"{"role":"assistant","content":"other"}"#);
        let expected =
            [(ask, None, 0), (call, Some(0), 0), (reply, Some(1), 0), (again, Some(0), 0)];
        assert_eq!(shown(&repo, false), expected, "what was tried before has no name any more");
    }

    #[test]
    fn a_deep_session_is_two_entries_and_a_number() {
        let repo = session();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let body = |number: i64| Value::map([("n", Value::from(number))]);
        let ids =
            session::append(&repo, &pin, (0..100_000).map(body).collect(), Durability::Full, 0)
                .unwrap();
        assert_eq!(shown(&repo, false), [(ids[0], None, 0), (ids[99_999], Some(0), 99_998)]);
        assert_eq!(shown(&repo, true).len(), 100_000);
    }
}
