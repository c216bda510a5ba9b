//! Codex: `{timestamp, ordinal?, type, payload}` a line; in 2025 a bare header and bare items.
//!
//! A file is one path: each value hangs on the one before it. Headers and marks of state are beside
//! it. Every text, thought, call and result is a value of its own, read by
//! [`crate::session::codex`]; events tell the same once more, for people, and are no messages. What
//! Codex says in the user's name is a custom message, so far as it can be told. What follows turns
//! that were taken back hangs on what was before them.
//!
//! A value is known by its number: its `ordinal`, else how many were before it in the file.

mod turns;
mod write;

use crate::codec::{LINK_BYTES_MIN, Value};
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Lineage, Parent, Source, Step, Voice, Writer};
use crate::session::codex;

pub use turns::Turns;

/// Codex.
pub(super) struct Codex;

/// The types of a line that no other program uses.
const TYPES: [&str; 5] =
    ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

/// How texts begin that Codex itself says in the user's name.
const INJECTED: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
];

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        first.iter().any(|value| match text(value, "type") {
            Some(kind) if TYPES.contains(&kind) => value.get("payload").is_some(),
            Some(kind) => matches!(kind, "function_call" | "function_call_output"),
            None => text(value, "record_type") == Some("state") || is_bare_header(value),
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let when = time(value, "timestamp");
        let Some(kind) = text(value, "type") else {
            if is_bare_header(value) {
                begin(value, source);
                return Step::beside("session", when);
            }
            return Step::beside(text(value, "record_type").unwrap_or("unknown"), when);
        };
        let payload = value.get("payload").unwrap_or(value);
        if kind == "session_meta" {
            begin(payload, source);
            return Step::beside("session", when);
        }
        let is_item = kind == "response_item" || value.get("payload").is_none();
        let label = match kind {
            _ if is_item && is_injected(payload) => "custom_message",
            _ if is_item && codex::is_message(payload) => "message",
            "turn_context" => "config_change",
            "compacted" => "compaction",
            _ if is_item => "response_item",
            kind => kind,
        };
        if kind == "turn_context" && source.model.is_none() {
            note(&mut source.model, text(payload, "model"));
        }
        let ordinal = value.get("ordinal").and_then(Value::as_i64);
        let number = ordinal.and_then(|ordinal| ordinal.try_into().ok()).unwrap_or(source.values);
        let voice = if label == "message" { voice(payload) } else { Voice::None };
        let parent = match kind {
            "event_msg" => heed(payload, source),
            _ => {
                if voice == Voice::Person {
                    source.turns.open();
                }
                Parent::Before
            }
        };
        source.turns.pass(number);
        Step { label: label.to_owned(), time: when, id: Some(number.to_string()), parent, voice }
    }

    fn writer(&self) -> Option<Box<dyn Writer>> {
        Some(Box::<write::Lines>::default())
    }
}

/// Says whether a value is the header of 2025, which has no type.
fn is_bare_header(value: &Value) -> bool {
    let keys = ["id", "timestamp", "instructions"];
    value.get("type").is_none() && keys.iter().all(|key| value.get(key).is_some())
}

/// Notes what a header says. The first counts; a second is that of the file it was forked from.
fn begin(header: &Value, source: &mut Source) {
    let own = text(header, "id");
    if source.foreign.is_none() {
        note(&mut source.foreign, own);
        note(&mut source.cwd, text(header, "cwd"));
        note(&mut source.provider, text(header, "model_provider"));
        source.time = time(header, "timestamp");
        source.lineage = lineage(header);
    } else if let (None, Some(other)) = (&source.lineage, own)
        && source.foreign.as_deref() != own
    {
        source.lineage = Some(forked(other, None));
    }
}

fn lineage(header: &Value) -> Option<Lineage> {
    let spawned = || header.get("source")?.get("subagent")?.get("thread_spawn");
    let parent =
        || text(header, "parent_thread_id").or_else(|| text(spawned()?, "parent_thread_id"));
    let base = header.get("history_base").unwrap_or(&Value::Null);
    if let Some(thread) = text(base, "thread_id") {
        let end = base.get("end_ordinal_exclusive").and_then(Value::as_i64);
        let entry = end.filter(|end| *end > 0).map(|end| (end - 1).to_string());
        return Some(Lineage { entry, metadata: base.clone(), ..forked(thread, None) });
    }
    let fork = text(header, "forked_from_id").map(|thread| forked(thread, None));
    fork.or_else(|| parent().map(|thread| forked(thread, Some("subagent"))))
}

fn forked(session: &str, reason: Option<&str>) -> Lineage {
    let (session, reason) = (session.to_owned(), reason.map(str::to_owned));
    Lineage { session, entry: None, reason, metadata: Value::Null }
}

/// Takes from an event what it says of the session, and where it hangs.
fn heed(event: &Value, source: &mut Source) -> Parent {
    match text(event, "type") {
        Some("task_started" | "turn_started") => source.turns.begin(),
        Some("user_message") => source.turns.keep(),
        Some("thread_rolled_back") => {
            let turns = event.get("num_turns").and_then(Value::as_i64).unwrap_or(0);
            return source.turns.take_back(turns);
        }
        Some("thread_name_updated") => {
            let thread = text(event, "thread_id");
            if thread.is_none() || thread == source.foreign.as_deref() {
                note(&mut source.name, text(event, "thread_name"));
            }
        }
        _ => {}
    }
    Parent::Before
}

/// Says whether Codex itself speaks in the user's name, by texts that are never links.
fn is_injected(item: &Value) -> bool {
    let parts = item.get("content").and_then(Value::as_list).unwrap_or_default();
    let short = |part| text(part, "text").filter(|text| text.len() < LINK_BYTES_MIN);
    let is_one = |text: &str| INJECTED.iter().any(|begin| text.starts_with(begin));
    text(item, "role") == Some("user") && parts.iter().filter_map(short).any(is_one)
}

fn voice(item: &Value) -> Voice {
    match (text(item, "type"), text(item, "role")) {
        (_, Some("user")) => Voice::Person,
        (Some("message") | None, Some("assistant")) => Voice::Model,
        (Some("message") | None, _) => Voice::None,
        (Some(kind), _) if kind.ends_with("_output") => Voice::None,
        _ => Voice::Model,
    }
}

#[cfg(test)]
mod tests;
