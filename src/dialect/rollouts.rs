//! rollouts: a header, then messages, told flat or under `message`, and changes of configuration.
//!
//! A file is one path: each value hangs on the one before it, the header is beside it. A child
//! repeats what its parent says up to the branch point; the lines are the same and hang the same,
//! so they become the same objects. A message is known by how many were before it: that is what a
//! branch point counts.

mod write;

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Lineage, Parent, Source, Step, Voice, Writer};

/// rollouts.
pub(super) struct Rollouts;

/// What the header of no other program has.
const HEADER_KEYS: [&str; 4] = ["model", "parent_id", "branch_point", "branch_reason"];

impl Dialect for Rollouts {
    fn name(&self) -> &'static str {
        "rollouts"
    }

    fn title(&self) -> &'static str {
        "rollouts"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        let is_header = |value: &&Value| text(value, "type") == Some("session");
        first.iter().find(is_header).is_some_and(|header| {
            let is_own = HEADER_KEYS.iter().any(|key| header.get(key).is_some());
            is_own && header.get("version").is_none()
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let when = time(value, "timestamp");
        let label = text(value, "type").unwrap_or("unknown");
        if label == "session" {
            begin(value, source);
            // Without its time: a message that has none would take it, and differ in a child.
            return Step::beside(label, None);
        }
        let is_message = label == "message";
        let id = is_message.then(|| source.messages.to_string());
        source.messages += u64::from(is_message);
        let message = value.get("message").unwrap_or(value);
        let voice = match text(message, "role") {
            Some("user") if is_message => Voice::Person,
            Some("assistant") if is_message => Voice::Model,
            _ => Voice::None,
        };
        Step { label: label.to_owned(), time: when, id, parent: Parent::Before, voice }
    }

    fn writer(&self) -> Option<Box<dyn Writer>> {
        Some(Box::<write::Lines>::default())
    }
}

/// Notes what the header says.
fn begin(header: &Value, source: &mut Source) {
    note(&mut source.foreign, text(header, "id"));
    note(&mut source.cwd, text(header, "cwd"));
    note(&mut source.provider, text(header, "provider"));
    note(&mut source.model, text(header, "model"));
    source.time = time(header, "timestamp").or(source.time);
    if let Some(parent) = text(header, "parent_id") {
        let entry = match header.get("branch_point") {
            Some(Value::Integer(place)) => Some(place.to_string()),
            place => place.and_then(Value::as_text).map(str::to_owned),
        };
        source.lineage = Some(Lineage {
            session: parent.to_owned(),
            entry,
            reason: text(header, "branch_reason").map(str::to_owned),
            metadata: header.get("branch_metadata").cloned().unwrap_or_default(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::told::tests::{
        check_links, conversation, read, recognised_as, settings, written,
    };
    use crate::object::{Fork, Session};

    const PARENT: &str = r#"
{"type": "session", "id": "abc-123", "provider": "anthropic", "model": "claude-sonnet-4"}
{"type": "message", "role": "user", "content": "hello"}
{"type": "message", "timestamp": "2024-01-15T10:30:00.5", "message": {"role": "assistant",
   "content": "hi"}}
{"type": "config_change", "endpoint": {"model": "m"}, "environment_type": "coding"}
{"type": "message", "role": "user", "content": "test"}"#;

    const CHILD: &str = r#"
{"type": "session", "id": "def-456", "cwd": "/w", "timestamp": "2024-01-15T11:00:00+01:00",
   "parent_id": "abc-123", "branch_point": 1, "branch_reason": "config_change",
   "branch_metadata": {"new_model": "haiku"}}
{"type": "message", "role": "user", "content": "hello"}
{"type": "message", "timestamp": "2024-01-15T10:30:00.5", "message": {"role": "assistant",
   "content": "hi"}}
{"type": "message", "role": "user", "content": "test with haiku"}"#;

    #[test]
    fn a_header_is_beside_and_messages_follow_each_other() {
        let (steps, source) = read(&Rollouts, PARENT);
        assert_eq!(source.foreign.as_deref(), Some("abc-123"));
        assert_eq!(source.provider.as_deref(), Some("anthropic"));
        assert_eq!(source.model.as_deref(), Some("claude-sonnet-4"));
        assert_eq!(source.lineage, None);
        let labels: Vec<&str> = steps.iter().map(|(step, _)| step.label.as_str()).collect();
        assert_eq!(labels, ["session", "message", "message", "config_change", "message"]);
        let parents: Vec<&Parent> = steps.iter().map(|(step, _)| &step.parent).collect();
        assert_eq!(parents[0], &Parent::Beside);
        assert!(parents[1..].iter().all(|parent| **parent == Parent::Before));
        assert_eq!(steps[2].0.voice, Voice::Model);
        assert_eq!(steps[2].0.time, Some(1_705_314_600_500));
        assert_eq!(steps[4].0.id.as_deref(), Some("2"), "only messages are counted");
        assert_eq!(settings(&Rollouts, PARENT).model.as_deref(), Some("m"));
    }

    #[test]
    fn a_child_repeats_its_parent() {
        let (parent, _) = read(&Rollouts, PARENT);
        let (child, source) = read(&Rollouts, CHILD);
        assert_eq!(child[1..3], parent[1..3]);
        check_links(&Rollouts, PARENT);
        check_links(&Rollouts, CHILD);
        let lineage = source.lineage.unwrap();
        assert_eq!((lineage.session.as_str(), lineage.entry.as_deref()), ("abc-123", Some("1")));
        assert_eq!(lineage.reason.as_deref(), Some("config_change"));
        assert!(lineage.metadata.get("new_model").is_some());
        assert_eq!((source.cwd.as_deref(), source.time), (Some("/w"), Some(1_705_312_800_000)));
    }

    #[test]
    fn it_is_told_by_its_header() {
        assert_eq!(recognised_as(PARENT), Some("rollouts"));
        assert_eq!(recognised_as(CHILD), Some("rollouts"));
        for other in [
            r#"{"type":"session","version":3,"id":"x","timestamp":"","cwd":"/"}"#,
            r#"{"type":"session","id":"x","timestamp":"","cwd":"/","provider":"p","modelId":"m"}"#,
        ] {
            assert_ne!(recognised_as(other), Some("rollouts"));
        }
    }

    #[test]
    fn what_is_written_says_the_same() {
        let mut session = Session::new("child", 7);
        (session.provider, session.model) = (Some("p".to_owned()), Some("m".to_owned()));
        session.cwd = Some("/w".to_owned());
        session.fork = Some(Fork {
            session: "root".to_owned(),
            entry: None,
            reason: Some("retry".to_owned()),
            metadata: Value::Null,
        });
        let steps = conversation();
        let text = written(&Rollouts, &session, &steps);
        assert_eq!(recognised_as(&text), Some("rollouts"));
        let (read, source) = read(&Rollouts, &text);
        let said: Vec<_> = read.iter().filter_map(|(_, message)| message.clone()).collect();
        let expected: Vec<_> = steps.iter().filter_map(|step| step.message.clone()).collect();
        assert_eq!(said, expected);
        let found = settings(&Rollouts, &text);
        assert_eq!((found.model.as_deref(), found.provider.as_deref()), (Some("m3"), Some("p3")));
        assert_eq!((source.foreign.as_deref(), source.time), (Some("child"), Some(7)));
        assert_eq!((source.provider.as_deref(), source.model.as_deref()), (Some("p"), Some("m")));
        let lineage = source.lineage.unwrap();
        assert_eq!((lineage.session.as_str(), lineage.reason.as_deref()), ("root", Some("retry")));
    }
}
