//! How dialects are told apart, and what their own tests share.

use super::*;
use crate::codec::json;

fn parse(line: &str) -> Value {
    json::parse(line.as_bytes()).unwrap()
}

/// Reads lines in a dialect, and checks each step: `label id parent voice`.
pub(super) fn check(name: &str, lines: &[(&str, &str)]) {
    let mut source = Source::default();
    for (line, expected) in lines {
        let step = named(name).unwrap().read(&parse(line), &mut source);
        let parent = match &step.parent {
            Parent::Beside => "beside".to_owned(),
            Parent::Root => "root".to_owned(),
            Parent::Before => "before".to_owned(),
            Parent::Id(id) => format!("on {id}"),
        };
        let voice = format!("{:?}", step.voice).to_lowercase();
        let id = step.id.as_deref().unwrap_or("-");
        assert_eq!(format!("{} {id} {parent} {voice}", step.label), *expected, "{line}");
    }
}

/// Reads lines in a dialect, and gives what is known then.
pub(super) fn source(name: &str, lines: &[&str]) -> Source {
    let mut source = Source::default();
    for line in lines {
        named(name).unwrap().read(&parse(line), &mut source);
    }
    source
}

#[test]
fn files_are_told_by_their_first_values() {
    let files: &[(&[&str], Option<&str>)] = &[
        (&[r#"{"type":"session.start","data":{},"id":"a","parentId":null}"#], Some("copilot")),
        (&[r#"{"sessionId":"s","projectHash":"h","messages":[]}"#], Some("gemini")),
        (
            &[
                r#"{"sessionId":"s","projectHash":"h"}"#,
                r#"{"id":"a","type":"user","content":"x"}"#,
            ],
            Some("gemini"),
        ),
        (&[r#"{"info":{"id":"s"},"messages":[]}"#], Some("opencode")),
        (&[r#"{"messages":[]}"#, r#"{"role":"user","content":"x"}"#], Some("chat")),
        (&[r#"{"role":"user","content":"x"}"#], Some("chat")),
        (&[r#"{"role":"assistant","tool_calls":[]}"#], Some("chat")),
        (&[r#"{"messages":[]}"#, r#"{"text":"x"}"#], None),
        (&[r#"{"conversations":[{"from":"human","value":"x"}]}"#], None),
        (&["{}"], None),
        (&["[1]"], None),
        (&[], None),
    ];
    for (lines, expected) in files {
        let first: Vec<Value> = lines.iter().map(|line| parse(line)).collect();
        let found = recognised(&first).map(|dialect| dialect.name());
        assert_eq!(found, *expected, "{lines:?}");
    }
}

#[test]
fn nothing_is_refused() {
    let keys = ["type", "data", "id", "info", "parts", "messages", "$set", "$rewindTo", "role"];
    let odd = ["null", "7", "\"x\"", "[]", "[7]", "{}", "{\"id\":7}"].map(parse);
    let link = Value::Link(Id::from_bytes([7; 32]));
    for dialect in dialects() {
        for key in keys {
            for value in odd.iter().chain([&link]) {
                let value = Value::map([(key, value.clone())]);
                dialect.recognise(std::slice::from_ref(&value));
                dialect.read(&value, &mut Source::default());
                let _ = Message::read("message", &value);
            }
        }
    }
}
