//! The memory tree: a directory with a transcript, nodes of memory, branches, and pictures.
//!
//! ```text
//! session.json              what the session is, and its HEAD
//! transcript.json           a list of turns, in order
//! memory/nodes/<id>.json    a node each
//! memory/branches.json      the branches and the nodes they end in
//! avatars/<self>.png        pictures
//! ```
//!
//! Keys are read as JavaScript and as Python write them (`parentId`, `parent_id`). A turn can say
//! where it hangs (`id`, `parentId`); most don't, and then who speaks tells it. What we write says
//! it, and a turn that a memory tree has no words for carries its entry whole, under `body`.
//!
//! Not here: files, and where turns without a parent hang (see [`crate::ops`]).

mod write;

use crate::codec::{Key, Value, json};
use crate::dialect::{Parent, Source};
use crate::object::LABEL_BYTES_MAX;
use crate::time;

pub use write::{Names, branch, node, session, switch, turn};

/// The name by which commands know it.
pub const MEMORY_TREE: &str = "memory-tree";

/// The file that says what the session is.
pub const SESSION_FILE: &str = "session.json";
/// The file of the turns.
pub const TRANSCRIPT_FILE: &str = "transcript.json";
/// The file of the branches.
pub const BRANCHES_FILE: &str = "memory/branches.json";
/// The folder of the nodes.
pub const NODES_FOLDER: &str = "memory/nodes";
/// The folder of the pictures.
pub const AVATARS_FOLDER: &str = "avatars";

/// A link to a turn or a node, in what we wrote.
pub const LINK_KEY: &str = "$link";

/// The lists that a transcript may stand in, if it is not the list itself.
pub const TRANSCRIPT_KEYS: [&str; 4] = ["transcript", "turns", "entries", "messages"];

/// Numbers below this are times in seconds, not milliseconds.
const SECONDS_MAX: f64 = 1e11;

/// A turn of the transcript: what it says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The type of its entry in our words.
    pub label: String,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
    /// Its own id.
    pub id: Option<String>,
    /// Its number.
    pub number: Option<i64>,
    /// Where it hangs, if it says so.
    pub parent: Option<Parent>,
    /// The node that it commits to memory.
    pub node: Option<String>,
    /// The branch or self that it belongs to.
    pub place: Option<String>,
    /// Where it leads, if it goes back.
    pub to: Option<String>,
    /// Whether it is part of what all branches share.
    pub is_shared: bool,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeNode {
    /// Its id.
    pub id: String,
    /// What it follows; the first is the path.
    pub parents: Vec<String>,
    /// The branch it was made on.
    pub branch: String,
    /// What was learned.
    pub facts: Vec<TreeFact>,
    /// Remarks: strings.
    pub notes: Vec<Value>,
    /// The card; null if there is none.
    pub card: Value,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
}

/// Something learned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeFact {
    /// A string or a map.
    pub value: Value,
    /// A later fact with the same key supersedes this one.
    pub key: Option<String>,
    /// The turn it was learned from: its id or its number.
    pub source: Option<Value>,
}

/// A branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeBranch {
    /// Its name.
    pub name: String,
    /// The node it ends in.
    pub head: Option<String>,
    /// The branch it came from.
    pub parent: Option<String>,
    /// The turn that it ends in, if it says so.
    pub end: Option<String>,
    /// The turn that it began at, if it says so.
    pub at: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Why it was made.
    pub reason: Option<String>,
    /// Its card; null if there is none.
    pub card: Value,
    /// Any more; null if nothing.
    pub metadata: Value,
}

/// What a session's file says beyond what every source does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeSession {
    /// Where its HEAD leads: a branch, a self, or a node.
    pub head: Option<String>,
    /// Its state.
    pub status: Option<String>,
    /// What we have no field for.
    pub rest: Vec<(Key, Value)>,
}

/// Reads a turn.
pub fn read_turn(value: &Value) -> Turn {
    let kind = text(value, &["type"]);
    let phase = text(value, &["phase"]);
    let is_message = text(value, &["role"]).is_some() && kind.is_none_or(|kind| kind == "message");
    let label = match (is_message, kind.or(phase)) {
        (true, _) => "message",
        (false, Some(word)) if is_label(word) => word,
        _ => "custom",
    };
    let from = text(value, &["from"]).filter(|_| label == "backtrack" || label == "switch");
    Turn {
        label: label.to_owned(),
        time: when(value, &["timestamp", "time", "createdAt", "created_at"]),
        id: text(value, &["id"]).map(str::to_owned),
        number: value.get("turn").and_then(Value::as_i64),
        parent: either(value, &["parentId", "parent_id"]).map(|parent| match parent {
            Value::Text(id) => Parent::Id(id.clone()),
            _ => Parent::Root,
        }),
        node: text(value, &["node"]).filter(|_| label == "memory").map(str::to_owned),
        place: text(value, &["branch", "self", "selfName", "self_name", "selfId", "self_id"])
            .or(from)
            .map(str::to_owned),
        to: from.and_then(|_| text(value, &["to"])).map(str::to_owned),
        is_shared: phase == Some("interview"),
    }
}

/// Reads a node; `None` if it is none. `stem` is its file's name, for one that has no id.
pub fn read_node(stem: &str, value: &Value) -> Option<TreeNode> {
    value.as_map()?;
    let list = |keys: &[&str]| either(value, keys).and_then(Value::as_list).unwrap_or_default();
    let mut parents: Vec<String> = texts(list(&["parentIds", "parent_ids", "parents"]));
    match either(value, &["parentId", "parent_id"]) {
        Some(Value::Text(parent)) if parents.first() != Some(parent) => {
            parents.retain(|other| other != parent);
            parents.insert(0, parent.clone());
        }
        Some(Value::List(all)) if parents.is_empty() => parents = texts(all),
        _ => {}
    }
    let notes = list(&["notes"]).iter().map(|note| match note {
        Value::Text(_) => note.clone(),
        other => json::to_string(other).into(),
    });
    Some(TreeNode {
        id: text(value, &["id"]).unwrap_or(stem).to_owned(),
        parents,
        branch: text(value, &["branchLabel", "branch_label", "branch"])
            .unwrap_or_default()
            .to_owned(),
        facts: list(&["facts"]).iter().map(read_fact).collect(),
        notes: notes.collect(),
        card: either(value, &["selfCard", "self_card", "card"]).cloned().unwrap_or_default(),
        time: when(value, &["createdAt", "created_at", "timestamp"]),
    })
}

/// Reads a fact: a string, a map, or a map that has one under `value`.
fn read_fact(value: &Value) -> TreeFact {
    const OWN: [&str; 4] = ["value", "key", "source", "turn"];
    let pairs = value.as_map().unwrap_or_default();
    let key = text(value, &["key"]).map(str::to_owned);
    let source = either(value, &["source", "turn"]).cloned();
    let inner = value.get("value").filter(|inner| is_fact(inner));
    match inner {
        Some(inner) if pairs.iter().all(|(key, _)| OWN.contains(&&**key)) => {
            TreeFact { value: inner.clone(), key, source }
        }
        _ if is_fact(value) => TreeFact { value: value.clone(), key, source },
        _ => {
            let value = Value::map([("value", value.clone())]);
            TreeFact { value, key: None, source: None }
        }
    }
}

fn is_fact(value: &Value) -> bool {
    matches!(value, Value::Text(_) | Value::Map(_))
}

/// Reads the branches: a list of them, or a map from their names to their heads; `None` if it is
/// neither.
pub fn read_branches(value: &Value) -> Option<Vec<TreeBranch>> {
    let value = value.get("branches").unwrap_or(value);
    let branches: Vec<TreeBranch> = match value {
        Value::List(items) => {
            items.iter().filter_map(|item| read_branch(text(item, &["name"])?, item)).collect()
        }
        Value::Map(pairs) => {
            pairs.iter().filter_map(|(name, item)| read_branch(name, item)).collect()
        }
        _ => return None,
    };
    Some(branches)
}

fn read_branch(name: &str, value: &Value) -> Option<TreeBranch> {
    const OWN: [&str; 14] = [
        "name",
        "headNodeId",
        "head_node_id",
        "head",
        "parentBranchName",
        "parent_branch_name",
        "parent",
        "headTurnId",
        "forkTurnId",
        "description",
        "reason",
        "selfCard",
        "self_card",
        "card",
    ];
    let name = name.to_owned();
    let word = |keys: &[&str]| text(value, keys).map(str::to_owned);
    let pairs = match value {
        Value::Text(head) => {
            let head = Some(head.clone());
            return Some(TreeBranch { name, head, ..TreeBranch::default() });
        }
        Value::Null => return Some(TreeBranch { name, ..TreeBranch::default() }),
        Value::Map(pairs) => pairs,
        _ => return None,
    };
    let rest = || {
        let rest = pairs.iter().filter(|(key, _)| !OWN.contains(&&**key));
        Some(Value::Map(rest.cloned().collect())).filter(|rest| *rest != Value::Map(Vec::new()))
    };
    Some(TreeBranch {
        name,
        head: word(&["headNodeId", "head_node_id", "head"]),
        parent: word(&["parentBranchName", "parent_branch_name", "parent"]),
        end: word(&["headTurnId"]),
        at: word(&["forkTurnId"]),
        description: word(&["description"]),
        reason: word(&["reason"]),
        card: either(value, &["selfCard", "self_card", "card"]).cloned().unwrap_or_default(),
        metadata: value.get("metadata").cloned().or_else(rest).unwrap_or_default(),
    })
}

/// Reads a session's file.
pub fn read_session(value: &Value, source: &mut Source) -> TreeSession {
    let mut session = TreeSession::default();
    for (key, value) in value.as_map().unwrap_or_default() {
        let word = || value.as_text().map(str::to_owned);
        match &**key {
            "id" | "sessionId" | "session_id" => source.foreign = word(),
            "name" | "title" => source.name = word(),
            "cwd" => source.cwd = word(),
            "provider" => source.provider = word(),
            "model" => source.model = word(),
            "createdAt" | "created_at" => source.time = moment(value),
            "status" => session.status = word(),
            "HEAD" | "head" | "activeBranch" | "active_branch" | "currentBranch" => {
                let named = || text(value, &["branch", "name"]).map(str::to_owned);
                session.head = word().or_else(named);
            }
            _ => session.rest.push((key.clone(), value.clone())),
        }
    }
    session
}

/// Gives the names by which people call a card's self.
pub fn card_names(card: &Value) -> impl Iterator<Item = &str> {
    ["name", "title", "id", "selfId", "self_id"].iter().filter_map(|key| card.get(key)?.as_text())
}

fn is_label(word: &str) -> bool {
    !word.is_empty() && word.len() <= LABEL_BYTES_MAX && !word.contains(char::is_control)
}

fn either<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| value.get(key))
}

/// Gives the first text under some keys.
fn text<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_text())
}

fn texts(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(Value::as_text).map(str::to_owned).collect()
}

fn when(value: &Value, keys: &[&str]) -> Option<i64> {
    keys.iter().find_map(|key| moment(value.get(key)?))
}

/// Reads a time: a text, or a number of milliseconds or of seconds since 1970.
fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Text(text) => time::parse(text).or_else(|| time::parse(&format!("{text}Z"))),
        number => {
            let number = number.as_f64().filter(|number| number.is_finite() && *number >= 0.0)?;
            let is_seconds = number < SECONDS_MAX;
            Some(if is_seconds { (number * 1000.0).round() as i64 } else { number as i64 })
        }
    }
}

#[cfg(test)]
mod tests;
