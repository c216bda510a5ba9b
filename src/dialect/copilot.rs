//! Copilot CLI: events in a chain, `{type, data, id, timestamp, parentId}`.
//!
//! Messages are what a person asked, what the model answered (its calls within), and each result of
//! a call. All other events (hooks, permissions, turns, where a call began) keep their types. So do
//! the prompts of the system, which come again with every question, and what agents say that the
//! model set to work: the model of the session is not shown it.

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Parent, Source, Step, Voice};

/// Copilot CLI.
pub(super) struct Copilot;

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "Copilot CLI"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        first.iter().any(|value| {
            let is_event = text(value, "type").is_some_and(|kind| kind.contains('.'));
            let data = value.get("data").and_then(Value::as_map);
            is_event && data.is_some() && value.get("parentId").is_some()
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let kind = text(value, "type").unwrap_or("unknown");
        let data = value.get("data").unwrap_or(&Value::Null);
        let time = time(value, "timestamp");
        if kind == "session.start" {
            header(value, data, source);
            return Step::beside("session", time.or(source.time));
        }
        let (label, voice) = meaning(kind, data);
        match kind {
            "session.model_change" => note(&mut source.model, text(data, "newModel")),
            "session.title_changed" => note(&mut source.name, text(data, "title")),
            _ => {}
        }
        let parent = text(value, "parentId").filter(|id| source.header.as_deref() != Some(id));
        Step {
            label: label.to_owned(),
            time,
            id: text(value, "id").map(str::to_owned),
            parent: parent.map_or(Parent::Before, |id| Parent::Id(id.to_owned())),
            voice,
        }
    }

    fn has_tree(&self) -> bool {
        true
    }
}

/// Notes what the first event says of the session.
fn header(value: &Value, data: &Value, source: &mut Source) {
    note(&mut source.header, text(value, "id"));
    note(&mut source.foreign, text(data, "sessionId"));
    note(&mut source.model, text(data, "selectedModel"));
    note(&mut source.cwd, data.get("context").and_then(|context| text(context, "cwd")));
    source.time = time(data, "startTime").or(source.time);
}

/// Gives the type of an event in our words, and who speaks in it.
fn meaning<'a>(kind: &'a str, data: &Value) -> (&'a str, Voice) {
    if data.get("parentToolCallId").is_some_and(|call| !call.is_null()) {
        return (kind, Voice::None);
    }
    match kind {
        "user.message" if text(data, "source") == Some("system") => ("message", Voice::None),
        "user.message" => ("message", Voice::Person),
        "assistant.message" => ("message", Voice::Model),
        "tool.execution_complete" => ("message", Voice::None),
        "session.model_change" => ("model_change", Voice::None),
        "session.compaction_complete" if is_done(data) => ("compaction", Voice::None),
        kind => (kind, Voice::None),
    }
}

/// Says whether a compaction came to a summary.
fn is_done(data: &Value) -> bool {
    let failed = data.get("success").and_then(Value::as_bool) == Some(false);
    !failed && data.get("summaryContent").is_some_and(|summary| !summary.is_null())
}

#[cfg(test)]
mod tests {
    use crate::dialect::tests::{check, source};

    const START: &str = r#"{"type":"session.start","id":"e0","parentId":null,
        "timestamp":"2026-01-01T00:00:00Z","data":{"sessionId":"s1",
        "startTime":"2026-01-01T00:00:00Z","context":{"cwd":"/w"}}}"#;

    #[test]
    fn events_are_a_chain_without_the_header() {
        check(
            "copilot",
            &[
                (START, "session - beside none"),
                (
                    r#"{"type":"session.model_change","id":"e1","parentId":"e0",
                       "data":{"newModel":"m"}}"#,
                    "model_change e1 before none",
                ),
                (
                    r#"{"type":"user.message","id":"e2","parentId":"e1","data":{"content":"x"}}"#,
                    "message e2 on e1 person",
                ),
                (
                    r#"{"type":"user.message","id":"e3","parentId":"e2",
                       "data":{"content":"","source":"system"}}"#,
                    "message e3 on e2 none",
                ),
                (
                    r#"{"type":"assistant.message","id":"e4","parentId":"e3","data":{}}"#,
                    "message e4 on e3 model",
                ),
                (
                    r#"{"type":"tool.execution_start","id":"e5","parentId":"e4","data":{}}"#,
                    "tool.execution_start e5 on e4 none",
                ),
                (
                    r#"{"type":"assistant.message","id":"e6","parentId":"e5",
                       "data":{"parentToolCallId":"c"}}"#,
                    "assistant.message e6 on e5 none",
                ),
                (
                    r#"{"type":"tool.execution_complete","id":"e7","parentId":"e6","data":{}}"#,
                    "message e7 on e6 none",
                ),
                (
                    r#"{"type":"session.compaction_complete","id":"e8","parentId":"e7",
                       "data":{"success":false}}"#,
                    "session.compaction_complete e8 on e7 none",
                ),
                (
                    r#"{"type":"session.compaction_complete","id":"e9","parentId":"e8",
                       "data":{"success":true,"summaryContent":"s"}}"#,
                    "compaction e9 on e8 none",
                ),
                (r#"{"type":7,"data":[]}"#, "unknown - before none"),
            ],
        );
    }

    #[test]
    fn the_header_tells_of_the_session() {
        let change = r#"{"type":"session.model_change","data":{"newModel":"m"}}"#;
        let source = source("copilot", &[START, change]);
        assert_eq!(source.foreign.as_deref(), Some("s1"));
        assert_eq!((source.cwd.as_deref(), source.model.as_deref()), (Some("/w"), Some("m")));
        assert_eq!(source.time, Some(1_767_225_600_000));
    }
}
