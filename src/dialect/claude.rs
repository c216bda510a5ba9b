//! Claude Code: lines that hang on each other by `uuid` and `parentUuid`.
//!
//! - Lines without a `uuid` are in the log but not in the tree: titles, snapshots of files, queues.
//! - A boundary of a compaction cuts `parentUuid` and leaves `logicalParentUuid`. Nothing before it
//!   is shown to the model; the summary is the message behind it.
//! - Of what the program hides from people, the model is shown all (`isMeta`, `isCompactSummary`,
//!   `isVisibleInTranscriptOnly`); of what it shows them, the model is not shown its own errors
//!   (`isApiErrorMessage`) and its notices (`system`), but the output of local commands.
//! - A message of the model stands on as many lines as it has blocks, and results of calls made at
//!   once hang on those lines: the context joins them.
//! - The work of an agent that was set to work by another has a file of its own, with the session's
//!   id and the agent's, or is a side chain with a root of its own.

#[cfg(test)]
mod tests;
mod write;

use crate::codec::Value;
use crate::dialect::fields::{is_true, note, text, time};
use crate::dialect::{Dialect, Lineage, Parent, Source, Step, Voice, Writer};
use crate::session::NO_MODEL;

/// The types of the lines that are in the tree.
const TREE_TYPES: [&str; 5] = ["user", "assistant", "system", "progress", "attachment"];

/// What names a session, and under which key; the later of these counts more.
const TITLES: [(&str, &str); 3] =
    [("summary", "summary"), ("ai-title", "aiTitle"), ("custom-title", "customTitle")];

pub(super) use write::uuid;

/// Claude Code.
pub(super) struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        first.iter().any(|value| match text(value, "type") {
            Some("file-history-snapshot") => true,
            Some("summary") => value.get("leafUuid").is_some(),
            Some(kind) if TREE_TYPES.contains(&kind) && value.get("parentUuid").is_some() => true,
            Some(_) => text(value, "sessionId").is_some() && value.get("projectHash").is_none(),
            None => false,
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let kind = text(value, "type").unwrap_or("unknown");
        let time = time(value, "timestamp");
        note_facts(kind, value, source);
        source.time = source.time.or(time);
        let Some(id) = text(value, "uuid") else {
            return Step::beside(kind, time);
        };
        Step {
            label: label(kind, value).to_owned(),
            time,
            id: Some(id.to_owned()),
            parent: parent(value),
            voice: voice(kind, value),
        }
    }

    fn writer(&self) -> Option<Box<dyn Writer>> {
        Some(Box::<write::ClaudeWriter>::default())
    }
}

/// Notes what a line says of its session.
fn note_facts(kind: &str, value: &Value, source: &mut Source) {
    if source.foreign.is_none() {
        // Of a session that goes on, the file begins with lines of the one before.
        if is_uuid(&source.stem) {
            source.foreign = Some(source.stem.clone());
        } else if let Some(session) = text(value, "sessionId") {
            source.foreign = Some(session.to_owned());
            source.agent = text(value, "agentId").map(str::to_owned);
        }
    }
    if source.cwd.is_none() {
        source.cwd = text(value, "cwd").map(str::to_owned);
    }
    if let Some(weight) = TITLES.iter().position(|(title, _)| *title == kind) {
        let name = text(value, TITLES[weight].1).filter(|name| !name.trim().is_empty());
        let weight = weight as u8;
        if let Some(name) = name.filter(|_| source.name_weight <= weight) {
            (source.name, source.name_weight) = (Some(name.to_owned()), weight);
        }
    }
    if kind == "assistant" {
        let model = value.get("message").and_then(|message| text(message, "model"));
        note(&mut source.model, model.filter(|model| *model != NO_MODEL));
    }
    // Each line of a copy names the line it was copied from; the last is where the paths part.
    if let Some(from) = value.get("forkedFrom")
        && let Some(session) = text(from, "sessionId")
    {
        source.lineage = Some(Lineage {
            session: session.to_owned(),
            entry: text(from, "messageUuid").map(str::to_owned),
            reason: None,
            metadata: Value::Null,
        });
    }
}

/// Gives a line's type in our words.
fn label<'a>(kind: &'a str, value: &Value) -> &'a str {
    match (kind, text(value, "subtype")) {
        ("user" | "assistant", _) => "message",
        ("system", Some("compact_boundary")) => "compaction",
        ("system", Some("local_command")) => "custom_message",
        (kind, _) => kind,
    }
}

fn parent(value: &Value) -> Parent {
    let otherwise = ["logicalParentUuid", "sourceToolAssistantUUID"];
    let logical = || otherwise.iter().find_map(|key| text(value, key));
    match value.get("parentUuid") {
        Some(Value::Text(parent)) => Parent::Id(parent.clone()),
        Some(_) => logical().map_or(Parent::Root, |parent| Parent::Id(parent.to_owned())),
        None => Parent::Before,
    }
}

fn voice(kind: &str, value: &Value) -> Voice {
    let by_program = ["isMeta", "isCompactSummary", "isSidechain", "isApiErrorMessage"];
    let is_any = |keys: &[&str]| keys.iter().any(|key| is_true(value, key));
    match kind {
        "user" if !is_any(&by_program) && !is_answer(value) => Voice::Person,
        "assistant" if !is_any(&by_program[3..]) => Voice::Model,
        _ => Voice::None,
    }
}

/// Says whether a tool speaks in a person's name.
fn is_answer(value: &Value) -> bool {
    let content = value.get("message").and_then(|message| message.get("content"));
    let first = content.and_then(Value::as_list).and_then(<[Value]>::first);
    first.is_some_and(|block| text(block, "type") == Some("tool_result"))
}

/// Says whether a name is a UUID: five groups of hex digits.
pub(super) fn is_uuid(name: &str) -> bool {
    let groups = name.split('-').map(|group| {
        let is_hex = group.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then_some(group.len())
    });
    groups.eq([8, 4, 4, 4, 12].map(Some))
}
