//! pi: a header, then entries that form a tree, one a line.
//!
//! | version | parents | first kept by a compaction |
//! | --- | --- | --- |
//! | 1, not named in the header | none: each hangs on the one before | its place in the file |
//! | 2, a draft | `uuid`, `parentUuid`; the first hangs on the header | its `uuid` |
//! | 2, 3 | `id`, `parentId` | its `id` |
//!
//! In a file of version 1 all but the header is on the one path, so that a place in the file is a
//! place on the path: [`crate::session`] counts on it. Version 3 calls `custom` what was a
//! `hookMessage` before. Labels and titles are entries of the tree like all others.

#[cfg(test)]
mod tests;
mod write;

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Label, Lineage, Parent, Source, Step, Voice, Writer};

/// pi.
pub(super) struct Pi;

impl Dialect for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn title(&self) -> &'static str {
        "pi"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        // Others begin with the same header, and have what is said in the entry itself.
        let is_flat = |value: &Value| text(value, "role").is_some();
        if first.iter().any(is_flat) {
            return false;
        }
        match first.iter().find(|value| text(value, "type") == Some("session")) {
            Some(header) => is_header(header),
            None => first.iter().any(is_message),
        }
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let kind = text(value, "type").unwrap_or("unknown");
        let time = time(value, "timestamp");
        if kind == "session" {
            read_header(value, source);
            source.time = source.time.or(time);
            return Step::beside(kind, time);
        }
        let role = value.get("message").and_then(|message| text(message, "role"));
        note_facts(kind, role, value, source);
        let id = ["id", "uuid"].iter().find_map(|key| text(value, key));
        let voice = match role {
            Some("user" | "bashExecution") => Voice::Person,
            Some("assistant") => Voice::Model,
            _ => Voice::None,
        };
        Step {
            label: label(kind, role).to_owned(),
            time,
            id: id.map(str::to_owned),
            parent: parent(value, source),
            voice,
        }
    }

    fn writer(&self) -> Option<Box<dyn Writer>> {
        Some(Box::<write::PiWriter>::default())
    }
}

/// Says whether a header is of this dialect: others name the model in it, or count from one.
fn is_header(header: &Value) -> bool {
    let version = header.get("version");
    let others = ["model", "parent_id", "branch_point"];
    text(header, "id").is_some()
        && version.is_none_or(|version| version.as_i64().is_some_and(|version| version > 1))
        && others.iter().all(|key| header.get(key).is_none())
}

/// Says whether a value is a message that no other dialect writes so.
fn is_message(value: &Value) -> bool {
    let message = value.get("message").and_then(|message| text(message, "role"));
    let is_linked = value.get("id").is_some() && value.get("parentId").is_some();
    text(value, "type") == Some("message") && message.is_some() && is_linked
}

fn read_header(header: &Value, source: &mut Source) {
    if source.foreign.is_some() {
        return;
    }
    let owned = |key: &str| text(header, key).map(str::to_owned);
    let version = header.get("version").and_then(Value::as_i64);
    source.version = version.and_then(|version| version.try_into().ok()).unwrap_or(1);
    source.foreign = owned("id");
    source.cwd = owned("cwd");
    source.provider = owned("provider");
    source.model = owned("modelId");
    source.header = owned("uuid");
    let parent = text(header, "parentSession").or_else(|| text(header, "branchedFrom"));
    source.lineage = parent.map(|path| Lineage {
        session: session_of(path).to_owned(),
        entry: None,
        reason: None,
        metadata: Value::Null,
    });
}

/// Gives the id of the session that a file holds: `…/<time>_<id>.jsonl`.
fn session_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.strip_suffix(".jsonl") {
        Some(stem) => stem.split_once('_').map_or(stem, |(_, id)| id),
        None => name,
    }
}

/// Notes what an entry says of its session.
fn note_facts(kind: &str, role: Option<&str>, value: &Value, source: &mut Source) {
    match kind {
        "session_info" => {
            let name = text(value, "name").map(str::trim).filter(|name| !name.is_empty());
            source.name = name.map(str::to_owned);
        }
        "label" => source.labels.extend(text(value, "targetId").map(|target| Label {
            name: text(value, "label").map(str::to_owned),
            target: target.to_owned(),
        })),
        "model_change" => {
            note(&mut source.provider, text(value, "provider"));
            note(&mut source.model, text(value, "modelId"));
        }
        "message" if role == Some("assistant") => {
            let message = value.get("message").unwrap_or(value);
            note(&mut source.provider, text(message, "provider"));
            note(&mut source.model, text(message, "model"));
        }
        _ => {}
    }
}

/// Gives an entry's type in our words.
fn label<'a>(kind: &'a str, role: Option<&str>) -> &'a str {
    match (kind, role) {
        ("message", Some("bashExecution")) => "bash_execution",
        ("message", Some("custom" | "hookMessage")) => "custom_message",
        ("message", Some("branchSummary" | "compactionSummary")) => "branch_summary",
        (kind, _) => kind,
    }
}

fn parent(value: &Value, source: &Source) -> Parent {
    match value.get("parentId").or_else(|| value.get("parentUuid")) {
        Some(Value::Text(parent)) if source.header.as_ref() == Some(parent) => Parent::Root,
        Some(Value::Text(parent)) => Parent::Id(parent.clone()),
        Some(Value::Null) => Parent::Root,
        _ => Parent::Before,
    }
}
