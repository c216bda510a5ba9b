//! OpenCode: a document `{info, messages: [{info, parts}]}`, as its export writes it.
//!
//! The list is one path; `parentID` says which question a message answers, not where it hangs.

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Lineage, Parent, Source, Step, Voice};

/// What the program calls a session that has no name yet.
const UNNAMED: [&str; 2] = ["New session - ", "Child session - "];

/// OpenCode.
pub(super) struct OpenCode;

impl Dialect for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        first.iter().any(|value| {
            let list = |key: &str| value.get(key).and_then(Value::as_list).is_some();
            let info = value.get("info").and_then(|info| text(info, "id"));
            info.is_some() && (list("messages") || list("parts"))
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let info = value.get("info").unwrap_or(&Value::Null);
        let time = info.get("time").and_then(|times| time(times, "created"));
        if value.get("parts").is_none() {
            header(info, source);
            source.time = source.time.or(time);
            return Step::beside("session", time);
        }
        let voice = match text(info, "role") {
            Some("user") => Voice::Person,
            Some("assistant") => Voice::Model,
            _ => Voice::None,
        };
        note(&mut source.model, text(info, "modelID"));
        note(&mut source.provider, text(info, "providerID"));
        let is_summary = info.get("summary").and_then(Value::as_bool) == Some(true);
        Step {
            label: if is_summary { "compaction" } else { "message" }.to_owned(),
            time,
            id: text(info, "id").map(str::to_owned),
            parent: Parent::Before,
            voice: if is_summary { Voice::None } else { voice },
        }
    }
}

/// Notes what the document says of the session.
fn header(info: &Value, source: &mut Source) {
    note(&mut source.foreign, text(info, "id"));
    note(&mut source.cwd, text(info, "directory"));
    let is_named = |title: &&str| !UNNAMED.iter().any(|unnamed| title.starts_with(unnamed));
    note(&mut source.name, text(info, "title").filter(is_named));
    let model = info.get("model").unwrap_or(&Value::Null);
    note(&mut source.model, text(model, "id"));
    note(&mut source.provider, text(model, "providerID"));
    if let Some(parent) = text(info, "parentID") {
        let session = parent.to_owned();
        source.lineage =
            Some(Lineage { session, entry: None, reason: None, metadata: Value::Null });
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::tests::{check, source};

    const HEADER: &str = r#"{"info":{"id":"ses_1","directory":"/w","title":"fix it",
        "parentID":"ses_0","time":{"created":5},"model":{"id":"m","providerID":"p"}},
        "messages":[]}"#;

    #[test]
    fn the_list_is_one_path() {
        check(
            "opencode",
            &[
                (HEADER, "session - beside none"),
                (
                    r#"{"info":{"id":"m1","role":"user","summary":{"diffs":[]}},"parts":[]}"#,
                    "message m1 before person",
                ),
                (
                    r#"{"info":{"id":"m2","role":"assistant","parentID":"m1"},"parts":[]}"#,
                    "message m2 before model",
                ),
                (
                    r#"{"info":{"id":"m3","role":"assistant","summary":true},"parts":[]}"#,
                    "compaction m3 before none",
                ),
                (r#"{"info":7,"parts":{}}"#, "message - before none"),
            ],
        );
    }

    #[test]
    fn the_document_tells_of_the_session() {
        let source = source("opencode", &[HEADER]);
        assert_eq!((source.foreign.as_deref(), source.time), (Some("ses_1"), Some(5)));
        assert_eq!((source.cwd.as_deref(), source.name.as_deref()), (Some("/w"), Some("fix it")));
        assert_eq!((source.model.as_deref(), source.provider.as_deref()), (Some("m"), Some("p")));
        assert_eq!(source.lineage.unwrap().session, "ses_0");
        let unnamed = HEADER.replace("fix it", "New session - 2026");
        assert_eq!(super::super::tests::source("opencode", &[&unnamed]).name, None);
    }
}
