//! Writes the parts of a memory tree, from sessions that came from anywhere.
//!
//! Every turn says what it hangs on, so that reading it again gives the same tree. A message that
//! can't be told in the words of a chat, and whatever is no message, carries its body whole.

use std::collections::{HashMap, HashSet};

use crate::codec::{Key, Value};
use crate::dialect::memory_tree::{LINK_KEY, read_fact, read_turn};
use crate::dialect::told::{spent, told};
use crate::dialect::trail::ShortIds;
use crate::id::Id;
use crate::object::{Entry, Event, Fact, Node, Session};
use crate::session::{BranchRecord, MEMORY_LABEL, Message, is_left_out};
use crate::time;

/// The keys of a turn that we write, and so never take from a body.
const TURN_KEYS: [&str; 6] = ["turn", "type", "id", "parentId", "timestamp", "branch"];

/// What turns and nodes are called in the files.
#[derive(Debug, Default)]
pub struct Names {
    turns: HashMap<Id, String>,
    nodes: HashMap<Id, String>,
    /// The names that nodes had already.
    called: HashSet<String>,
    given: ShortIds,
}

impl Names {
    /// Names an entry, and gives its name.
    pub fn turn(&mut self, id: Id) -> String {
        let given = &mut self.given;
        self.turns.entry(id).or_insert_with(|| given.give(id)).clone()
    }

    /// Names a node as it is called already, if that can be a file's name and no other node has
    /// it.
    pub fn node(&mut self, id: Id, called: Option<&str>) -> String {
        if let Some(name) = self.nodes.get(&id) {
            return name.clone();
        }
        let called = called.filter(|name| is_file_name(name));
        let name = match called.filter(|name| self.called.insert((*name).to_owned())) {
            Some(name) => name.to_owned(),
            None => self.given.give(id),
        };
        self.nodes.insert(id, name.clone());
        name
    }

    /// Gives the name of a turn or a node.
    pub fn of(&self, id: &Id) -> Option<&str> {
        self.turns.get(id).or_else(|| self.nodes.get(id)).map(String::as_str)
    }

    fn value(&self, id: Option<Id>) -> Value {
        id.and_then(|id| self.of(&id)).map_or(Value::Null, Value::from)
    }
}

/// Says whether a word can be the name of a file, whatever the system.
fn is_file_name(word: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !word.is_empty() && word.len() <= 100 && !word.starts_with('.') && word.chars().all(is_plain)
}

/// Writes an entry, its long strings put back, as a turn. A compaction keeps from `first_kept` on.
pub fn turn(
    number: i64,
    id: &Id,
    entry: &Entry,
    first_kept: Option<Id>,
    names: &mut Names,
) -> Value {
    let parent = entry.parents.first().map(|parent| names.turn(*parent));
    let head = [
        (Key::Borrowed("turn"), Value::Integer(number)),
        ("type".into(), entry.label.as_str().into()),
        ("id".into(), names.turn(*id).into()),
        ("parentId".into(), parent.into()),
        ("timestamp".into(), time::format(entry.time).into()),
    ];
    let with = |fields: Vec<(Key, Value)>| {
        Value::Map(head.iter().cloned().chain(fields).collect::<Vec<_>>())
    };
    let node = entry.body.get("node").and_then(Value::as_link).filter(|_| is_memory(entry));
    if let Some(node) = node.and_then(|node| names.of(&node)) {
        return with(vec![("node".into(), node.into())]);
    }
    let message = Message::read(&entry.label, &entry.body).filter(|_| !is_left_out(&entry.body));
    if let Some(message) = message {
        let mut told: Vec<(Key, Value)> =
            told(&message).into_iter().map(|(key, value)| (key.into(), value)).collect();
        told[0].1 = message.role.as_str().into();
        let spent = spent(&message);
        told.extend((!spent.is_empty()).then(|| ("metadata".into(), Value::map(spent))));
        let pairs = entry.body.as_map().unwrap_or_default().iter();
        let flat = pairs.filter(|(key, _)| !TURN_KEYS.contains(&&**key)).cloned().collect();
        for fields in [flat, told] {
            let value = with(fields);
            let is_told = value.get("role").is_some()
                && read_turn(&value).label == entry.label
                && Message::read(&entry.label, &value).as_ref() == Some(&message);
            if is_told {
                return value;
            }
        }
    }
    let mut fields = vec![("body".into(), linked(&entry.body, names))];
    let kept = first_kept.and_then(|id| names.of(&id));
    fields.extend(kept.map(|kept| ("firstKept".into(), kept.into())));
    with(fields)
}

fn is_memory(entry: &Entry) -> bool {
    entry.label == MEMORY_LABEL
}

/// Writes a switch from one branch to another as a turn.
pub fn switch(number: i64, event: &Event) -> Value {
    let word = |key: &str| event.body.get(key).cloned().unwrap_or_default();
    Value::map([
        ("turn", Value::Integer(number)),
        ("phase", word("phase")),
        ("from", word("from")),
        ("to", word("to")),
        ("timestamp", time::format(event.time).into()),
    ])
}

/// Writes a node, its long strings put back.
pub fn node(id: &Id, node: &Node, names: &Names) -> Value {
    let parents: Vec<Value> = node.parents.iter().map(|id| names.value(Some(*id))).collect();
    let mut fields = vec![
        ("id", names.value(Some(*id))),
        ("parentId", parents.first().cloned().unwrap_or_default()),
    ];
    if parents.len() > 1 {
        fields.push(("parentIds", Value::List(parents)));
    }
    let facts = node.facts.iter().map(|known| fact(known, names));
    fields.extend([
        ("branchLabel", node.branch.as_str().into()),
        ("facts", Value::List(facts.collect())),
        ("notes", Value::List(node.notes.clone())),
        ("selfCard", linked(&node.card, names)),
        ("createdAt", Value::Integer(node.time)),
    ]);
    Value::map(fields)
}

/// Writes a fact: as it is, if it reads so, else under `value`.
fn fact(fact: &Fact, names: &Names) -> Value {
    let value = linked(&fact.value, names);
    let source = fact.source.and_then(|id| names.of(&id)).map(Value::from);
    let plain = read_fact(&value);
    if plain.value == value && plain.key == fact.key && plain.source == source {
        return value;
    }
    let fields = [
        Some(("value", value)),
        fact.key.clone().map(|key| ("key", key.into())),
        source.map(|source| ("source", source)),
    ];
    Value::map(fields.into_iter().flatten())
}

/// Writes a branch: where it ends, what is known there, and its record.
pub fn branch(
    name: &str,
    end: Id,
    memory: Option<Id>,
    record: Option<&BranchRecord>,
    names: &Names,
) -> Value {
    let mut fields = vec![
        ("name", name.into()),
        ("headNodeId", names.value(memory)),
        ("parentBranchName", record.and_then(|record| record.parent.clone()).into()),
        ("headTurnId", names.value(Some(end))),
    ];
    if let Some(record) = record {
        fields.extend([
            ("forkTurnId", names.value(record.at)),
            ("description", record.description.clone().into()),
            ("reason", record.reason.clone().into()),
            ("selfCard", linked(&record.card, names)),
            ("metadata", unlinked(&record.metadata)),
        ]);
    }
    let is_said = |(key, value): &(&str, Value)| key.ends_with("Name") || !value.is_null();
    Value::map(fields.into_iter().filter(is_said))
}

/// Writes what a session is.
pub fn session(session: &Session, active: Option<&str>) -> Value {
    let words = [
        ("name", &session.name),
        ("status", &session.status),
        ("cwd", &session.cwd),
        ("provider", &session.provider),
        ("model", &session.model),
    ];
    let words = words.into_iter().filter_map(|(key, word)| Some((key, word.clone()?.into())));
    let import = session.meta.get("import");
    let foreign = import.and_then(|import| import.get("foreign")?.as_text());
    let mut fields = vec![("id", Value::from(foreign.unwrap_or(&session.sid)))];
    fields.extend(words);
    fields.push(("createdAt", Value::Integer(session.time)));
    fields.push(("HEAD", active.map_or(Value::Null, Value::from)));
    let rest = session.meta.as_map().unwrap_or_default().iter();
    let is_free = |key: &str| key != "import" && fields.iter().all(|(known, _)| *known != key);
    let rest: Vec<_> = rest.filter(|(key, _)| is_free(key)).cloned().collect();
    let fields = fields.into_iter().map(|(key, value)| (key.into(), value));
    Value::Map(fields.chain(rest).collect())
}

/// Leaves out what links to entries: metadata that only we read.
fn unlinked(metadata: &Value) -> Value {
    match metadata {
        Value::Map(pairs) => {
            let plain = pairs.iter().filter(|(_, value)| value.as_link().is_none()).cloned();
            let plain: Vec<(Key, Value)> = plain.collect();
            if plain.is_empty() { Value::Null } else { Value::Map(plain) }
        }
        other => other.clone(),
    }
}

/// Names what a value links to.
fn linked(value: &Value, names: &Names) -> Value {
    match value {
        Value::Link(id) => {
            let name = names.of(id).map_or_else(|| id.to_string(), str::to_owned);
            Value::map([(LINK_KEY, Value::from(name))])
        }
        Value::List(items) => {
            items.iter().map(|item| linked(item, names)).collect::<Vec<_>>().into()
        }
        Value::Map(pairs) => {
            Value::map(pairs.iter().map(|(key, value)| (key.clone(), linked(value, names))))
        }
        other => other.clone(),
    }
}
