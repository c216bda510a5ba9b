//! Memory on the path of a conversation.
//!
//! A memory commit is a node and an entry of type `memory` that links it, so memory moves with the
//! conversation: what is known at an entry is the nearest such entry up its path.
//!
//! `memory/<branch>` is a shortcut to the node that is known at the end of a branch. A
//! [`Change`] drops it whenever the branch goes elsewhere than on, so where it is there it agrees
//! with the path, and where it is missing the path is walked: by types, without reading bodies.

use crate::codec::Value;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{Entry, Event, Fact, Node, Object, outline};
use crate::repo::{read_entry, read_event, read_node};
use crate::session::change::Change;
use crate::session::message::MESSAGE_LABELS;
use crate::session::view::View;
use crate::store::{Expected, RefName, RefUpdate, RefValue, Snapshot};

/// The type of the entries that put a node on the path.
pub const MEMORY_LABEL: &str = "memory";

/// How many entries back a list of branches looks for memory: lists shall not walk whole paths.
const NEAR: usize = 512;

/// Gives the node that is known at an entry: the nearest up its path.
pub fn memory_at(snapshot: &dyn Snapshot, entry: Id) -> Result<Option<Id>> {
    memory_within(snapshot, entry, usize::MAX)
}

fn memory_within(snapshot: &dyn Snapshot, entry: Id, steps: usize) -> Result<Option<Id>> {
    let mut next = Some(entry);
    while let Some(from) = next
        && let Some(id) = snapshot.nearest(&from, &[MEMORY_LABEL], steps)?
    {
        let entry = read_entry(snapshot, &id)?;
        if let Some(node) = linked_node(snapshot, &entry.body)? {
            return Ok(Some(node));
        }
        next = entry.parents.first().copied();
    }
    Ok(None)
}

/// Gives the node that is known at the end of a branch.
pub fn memory_of(view: &View<'_>, branch: &str) -> Result<Option<Id>> {
    match (view.target(&format!("memory/{branch}"))?, view.branch(branch)?) {
        (Some(node), Some(_)) => Ok(Some(node)),
        (_, Some(end)) => memory_at(view.snapshot, end),
        (_, None) => Ok(None),
    }
}

/// Gives the node that is known at the end of a branch, if it has a shortcut or stands near.
pub fn memory_near(view: &View<'_>, branch: &str) -> Result<Option<Id>> {
    match (view.target(&format!("memory/{branch}"))?, view.branch(branch)?) {
        (Some(node), Some(_)) => Ok(Some(node)),
        (_, Some(end)) => memory_within(view.snapshot, end, NEAR),
        (_, None) => Ok(None),
    }
}

/// Drops the shortcuts of branches that are moved by hand.
pub fn drop_shortcuts(snapshot: &dyn Snapshot, refs: &mut Vec<RefUpdate>) -> Result<()> {
    for place in 0..refs.len() {
        let update = &refs[place];
        let Some(shortcut) = shortcut_of(&update.name) else {
            continue;
        };
        let is_moved = snapshot.reference(&update.name)? != update.new;
        let is_given = refs.iter().any(|other| other.name == shortcut);
        if let (true, false, Some(node)) = (is_moved, is_given, snapshot.reference(&shortcut)?) {
            refs.push(RefUpdate { name: shortcut, expected: Expected::Is(node), new: None });
        }
    }
    Ok(())
}

/// Names the shortcut to memory that belongs to a branch's ref.
pub(super) fn shortcut_of(name: &RefName) -> Option<RefName> {
    let (session, rest) = name.session()?;
    let branch = rest.strip_prefix("heads/")?;
    RefName::of_session(session, &format!("memory/{branch}")).ok()
}

/// Commits to the memory of a branch: a node after the one known there, and an entry that links it.
///
/// A fact without a source was learned from the branch's last message. Without a card the node has
/// the branch's, or else that of the node before it. Gives the node's id.
pub fn remember(
    change: &mut Change<'_>,
    branch: &str,
    mut facts: Vec<Fact>,
    notes: Vec<Value>,
    card: Value,
    time: i64,
) -> Result<Id> {
    let parent = known(change, branch)?;
    if facts.iter().any(|fact| fact.source.is_none()) {
        let source = last_message(change, branch)?;
        facts.iter_mut().for_each(|fact| fact.source = fact.source.or(source));
    }
    let card = match card {
        Value::Null => inherited_card(change, branch, parent)?,
        card => card,
    };
    let parents = parent.into_iter().collect();
    remember_node(change, Node { parents, branch: branch.to_owned(), facts, notes, card, time })
}

/// Commits a node to the memory of its branch as it is, and gives its id.
pub(crate) fn remember_node(change: &mut Change<'_>, node: Node) -> Result<Id> {
    let (branch, time) = (node.branch.clone(), node.time);
    let id = change.put(Object::Node(node))?;
    recall(change, &branch, id, time)?;
    Ok(id)
}

/// Makes a node the memory of a branch: adds the entry that links it.
pub(crate) fn recall(change: &mut Change<'_>, branch: &str, node: Id, time: i64) -> Result<Id> {
    let body = Value::map([("node", Value::Link(node))]);
    let entry = change.append(branch, MEMORY_LABEL, body, time)?;
    change.set(&format!("memory/{branch}"), Some(RefValue::Id(node)))?;
    Ok(entry)
}

/// Gives the node that is known at the end of a branch, as the change will leave it.
pub(crate) fn known(change: &Change<'_>, branch: &str) -> Result<Option<Id>> {
    if let Some(RefValue::Id(node)) = change.reference(&format!("memory/{branch}"))? {
        return Ok(Some(node));
    }
    let (planned, stored) = planned_path(change, branch)?;
    for entry in planned {
        // A node that is planned itself has set the shortcut.
        if entry.label == MEMORY_LABEL
            && let Some(node) = linked_node(change.view().snapshot, &entry.body)?
        {
            return Ok(Some(node));
        }
    }
    stored.map_or(Ok(None), |end| memory_at(change.view().snapshot, end))
}

/// Gives the node that the body of an entry links, if it does.
fn linked_node(snapshot: &dyn Snapshot, body: &Value) -> Result<Option<Id>> {
    let Some(node) = body.get("node").and_then(Value::as_link) else {
        return Ok(None);
    };
    let is_node = snapshot.kinds(&[node])?.first() == Some(&Some(Kind::Node));
    Ok(is_node.then_some(node))
}

/// Gives the entries at the end of a branch that are only planned, newest first, and the first that
/// is stored.
fn planned_path(change: &Change<'_>, branch: &str) -> Result<(Vec<Entry>, Option<Id>)> {
    let mut planned = Vec::new();
    let mut next = change.branch(branch)?;
    while let Some(id) = next {
        let Some(object) = change.planned(&id) else {
            break;
        };
        let entry = Entry::decode(object.content())?;
        next = entry.parents.first().copied();
        planned.push(entry);
    }
    Ok((planned, next))
}

/// Finds the last message of a branch.
///
/// Who learns much at once asks again for each fact, so the answer is kept: the next search comes
/// to where this one began.
fn last_message(change: &mut Change<'_>, branch: &str) -> Result<Option<Id>> {
    let end = change.branch(branch)?;
    let message = end.map_or(Ok(None), |end| message_up(change, end))?;
    change.message_at = end.map(|end| (end, message));
    Ok(message)
}

fn message_up(change: &Change<'_>, end: Id) -> Result<Option<Id>> {
    let mut id = end;
    loop {
        if let Some((entry, message)) = change.message_at
            && entry == id
        {
            return Ok(message);
        }
        let Some(object) = change.planned(&id) else {
            return change.view().snapshot.nearest(&id, &MESSAGE_LABELS, usize::MAX);
        };
        let outline = outline(Kind::Entry, object.content())?;
        if MESSAGE_LABELS.contains(&outline.label.as_str()) {
            return Ok(Some(id));
        }
        match outline.parents.first() {
            Some(parent) => id = *parent,
            None => return Ok(None),
        }
    }
}

/// Gives the card of a branch, or else of a node.
fn inherited_card(change: &Change<'_>, branch: &str, parent: Option<Id>) -> Result<Value> {
    let snapshot = change.view().snapshot;
    if let Some(RefValue::Id(record)) = change.reference(&format!("records/{branch}"))? {
        let event = match change.planned(&record) {
            Some(planned) => Event::decode(planned.content())?,
            None => read_event(snapshot, &record)?,
        };
        if let Some(card) = event.body.get("card").filter(|card| !card.is_null()) {
            return Ok(card.clone());
        }
    }
    let Some(parent) = parent else {
        return Ok(Value::Null);
    };
    Ok(match change.planned(&parent) {
        Some(planned) => Node::decode(planned.content())?.card,
        None => read_node(snapshot, &parent)?.card,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::repo::Repo;
    use crate::session::{self, BranchRecord};
    use crate::store::Durability;

    fn repo() -> (Repo, Vec<Id>) {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let body = |text: &str| Value::map([("content", Value::from(text))]);
        let bodies = vec![body("one"), body("two"), body("three")];
        let ids = session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
        (repo, ids)
    }

    fn change(repo: &Repo, plan: impl Fn(&mut Change<'_>) -> Result<()>) {
        let commit = repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 9)?;
            plan(&mut change)?;
            change.finish(None)
        });
        commit.unwrap();
    }

    fn learn(change: &mut Change<'_>, branch: &str, text: &str) -> Result<Id> {
        let fact = Fact { value: text.into(), key: None, source: None };
        remember(change, branch, vec![fact], Vec::new(), Value::Null, 9)
    }

    /// Gives the facts from the node back, after checking that the shortcut agrees with the path.
    fn facts(repo: &Repo, branch: &str) -> Vec<String> {
        let snapshot = repo.snapshot().unwrap();
        let view = View::of(&*snapshot, "s").unwrap();
        let mut next = memory_of(&view, branch).unwrap();
        assert_eq!(next, memory_at(&*snapshot, view.branch(branch).unwrap().unwrap()).unwrap());
        let mut facts = Vec::new();
        while let Some(id) = next {
            let node = repo.node(&id).unwrap();
            facts.extend(node.facts.iter().map(|fact| fact.value.as_text().unwrap().to_owned()));
            next = node.parents.first().copied();
        }
        facts
    }

    #[test]
    fn memory_is_what_the_path_holds() {
        let (repo, ids) = repo();
        assert_eq!(facts(&repo, "main"), Vec::<String>::new());
        change(&repo, |change| learn(change, "main", "a").map(|_| ()));
        assert_eq!(facts(&repo, "main"), ["a"]);
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let four = vec![Value::map([("content", Value::from("four"))])];
        session::append(&repo, &pin, four, Durability::Full, 0).unwrap();
        assert_eq!(facts(&repo, "main"), ["a"]);
        change(&repo, |change| learn(change, "main", "b").map(|_| ()));
        change(&repo, |change| {
            change.create_branch("old", &BranchRecord::at(Some(ids[1]), None))?;
            let record = BranchRecord::at(change.branch("main")?, Some("main".to_owned()));
            change.create_branch("new", &record)
        });
        let shortcut = |branch: &str| {
            repo.reference(&RefName::of_session("s", &format!("memory/{branch}")).unwrap()).unwrap()
        };
        assert_eq!((shortcut("new"), shortcut("old")), (shortcut("main"), None));
        assert!(shortcut("new").is_some(), "a branch has the shortcut of where it begins");
        assert_eq!(facts(&repo, "old"), Vec::<String>::new());
        assert_eq!(facts(&repo, "new"), ["b", "a"]);
        change(&repo, |change| change.set("heads/new", Some(RefValue::Id(ids[2]))));
        assert_eq!(facts(&repo, "new"), Vec::<String>::new());
        let node = memory_of(&View::of(&*repo.snapshot().unwrap(), "s").unwrap(), "main").unwrap();
        assert_eq!(repo.node(&node.unwrap()).unwrap().facts[0].source, Some(ids_of(&repo)[4]));
    }

    fn ids_of(repo: &Repo) -> Vec<Id> {
        session::transcript(&*repo.snapshot().unwrap(), "s").unwrap()
    }

    #[test]
    fn one_change_may_branch_speak_and_learn_more_than_once() {
        let (repo, ids) = repo();
        change(&repo, |change| learn(change, "main", "a").map(|_| ()));
        change(&repo, |change| {
            let mut record = BranchRecord::at(change.branch("main")?, Some("main".to_owned()));
            record.card = Value::map([("name", Value::from("The Architect"))]);
            change.create_branch("architect", &record)?;
            let body = Value::map([("summary", Value::from("so far"))]);
            change.append("architect", "branch_summary", body, 9)?;
            learn(change, "architect", "b")?;
            learn(change, "architect", "c").map(|_| ())
        });
        assert_eq!(facts(&repo, "architect"), ["c", "b", "a"]);
        assert_eq!(facts(&repo, "main"), ["a"]);
        let view = repo.snapshot().unwrap();
        let view = View::of(&*view, "s").unwrap();
        let node = repo.node(&memory_of(&view, "architect").unwrap().unwrap()).unwrap();
        assert_eq!(node.card.get("name"), Some(&Value::from("The Architect")));
        assert_eq!((node.branch.as_str(), node.facts[0].source), ("architect", Some(ids[2])));
        let node = repo.node(&node.parents[0]).unwrap();
        assert_eq!(node.card.get("name"), Some(&Value::from("The Architect")));
    }

    #[test]
    fn facts_of_one_change_are_from_the_last_message_of_their_branch() {
        let (repo, ids) = repo();
        change(&repo, |change| {
            change.create_branch("old", &BranchRecord::at(Some(ids[0]), None))?;
            let sources = |change: &Change<'_>, node: Id| {
                Node::decode(change.planned(&node).unwrap().content()).unwrap().facts[0].source
            };
            for branch in ["main", "main", "old", "main", "old", "old"] {
                let node = learn(change, branch, "x")?;
                let last = if branch == "main" { ids[2] } else { ids[0] };
                assert_eq!(sources(change, node), Some(last), "{branch}");
            }
            let body = Value::map([("content", Value::from("four"))]);
            let four = change.append("main", "user", body, 9)?;
            for _ in 0..2 {
                let node = learn(change, "main", "y")?;
                assert_eq!(sources(change, node), Some(four));
            }
            Ok(())
        });
    }

    #[test]
    fn a_change_does_not_move_the_end_of_a_transcript_by_hand() {
        let (repo, ids) = repo();
        change(&repo, |change| {
            for rest in ["tip", "events"] {
                let refused = change.set(rest, Some(RefValue::Id(ids[0])));
                assert!(matches!(refused, Err(Error::InvalidName { .. })));
            }
            change.noted("said", Value::Null).map(|_| ())
        });
        assert_eq!(ids_of(&repo), ids);
    }

    #[test]
    fn an_entry_that_only_looks_like_memory_is_passed_over() {
        let (repo, _) = repo();
        change(&repo, |change| learn(change, "main", "a").map(|_| ()));
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        for node in ["x".to_owned(), "x".repeat(2000)] {
            let body = [("type", Value::from("memory")), ("node", Value::from(node))];
            session::append(&repo, &pin, vec![Value::map(body)], Durability::Full, 0).unwrap();
        }
        change(&repo, |change| change.set("memory/main", None));
        assert_eq!(facts(&repo, "main"), ["a"]);
        change(&repo, |change| learn(change, "main", "b").map(|_| ()));
        assert_eq!(facts(&repo, "main"), ["b", "a"]);
    }
}
