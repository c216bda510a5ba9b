//! A message without its words: every string that is no part of the structure is replaced.

use std::collections::HashSet;

use crate::codec::Value;
use crate::id::Id;
use crate::object::{Entry, Object};

/// Keys whose strings say what a message is and where it hangs, not what it says.
const STRUCTURE: &[&str] = &[
    "type",
    "role",
    "id",
    "uuid",
    "parentUuid",
    "parentId",
    "parent_id",
    "parent",
    "sessionId",
    "session_id",
    "leafUuid",
    "messageId",
    "requestId",
    "timestamp",
    "time",
    "version",
    "model",
    "provider",
    "api",
    "toolCallId",
    "tool_call_id",
    "tool_use_id",
    "toolUseID",
    "call_id",
    "callId",
    "name",
    "toolName",
    "status",
    "stop_reason",
    "stopReason",
    "phase",
    "userType",
    "origin",
];

/// Lists the long strings of what an entry says.
pub(super) fn strings(entry: &Entry) -> HashSet<Id> {
    let mut links = Vec::new();
    gather(&entry.body, &mut links);
    entry.raw.iter().for_each(|raw| raw.links(&mut links));
    links.into_iter().collect()
}

fn gather(value: &Value, links: &mut Vec<Id>) {
    match value {
        Value::Map(pairs) => {
            let said = pairs.iter().filter(|(key, _)| !STRUCTURE.contains(&&**key));
            said.for_each(|(_, value)| gather(value, links));
        }
        Value::List(items) => items.iter().for_each(|item| gather(item, links)),
        value => value.links(links),
    }
}

/// Replaces what an object says, and says whether there was anything.
pub(super) fn blank(object: &mut Object, replacement: &str) -> bool {
    match object {
        Object::Entry(entry) => {
            let raw = entry.raw.take();
            let changed = blank_value(&mut entry.body, replacement);
            // What is no JSON has no words but its text.
            if raw.is_some() && entry.body.is_null() {
                entry.raw = Some(Value::from(replacement));
            }
            changed | raw.is_some()
        }
        Object::Blob(content) => {
            let changed = content != replacement.as_bytes();
            *content = replacement.as_bytes().to_vec();
            changed
        }
        _ => false,
    }
}

fn blank_value(value: &mut Value, replacement: &str) -> bool {
    match value {
        Value::Text(text) => {
            let changed = text != replacement;
            *text = replacement.to_owned();
            changed
        }
        Value::Map(pairs) => {
            let said = pairs.iter_mut().filter(|(key, _)| !STRUCTURE.contains(&&**key));
            said.fold(false, |changed, (_, value)| blank_value(value, replacement) | changed)
        }
        Value::List(items) => {
            items.iter_mut().fold(false, |changed, item| blank_value(item, replacement) | changed)
        }
        _ => false,
    }
}
