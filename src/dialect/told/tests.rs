//! What the tests of all dialects need, and the parts themselves.

use super::*;
use crate::codec::arbitrary;
use crate::dialect::{Dialect, Source, Step, dialects, recognised};
use crate::id::{Id, Kind};
use crate::object::Session;
use proptest::prelude::*;

/// Reads a value from JSON.
pub(in crate::dialect) fn parsed(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

/// Reads a file as a dialect does, and the messages in it.
pub(in crate::dialect) fn read(
    dialect: &dyn Dialect,
    file: &str,
) -> (Vec<(Step, Option<Message>)>, Source) {
    let mut source = Source::default();
    let mut steps = Vec::new();
    for value in values(file) {
        let step = dialect.read(&value, &mut source);
        source.values += 1;
        let message = Message::read(&step.label, &value);
        steps.push((step, message));
    }
    (steps, source)
}

/// Checks that a file is read the same where its long strings are links, as far as strings may be
/// long: what is said, and what nobody asks for.
pub(in crate::dialect) fn check_links(dialect: &dyn Dialect, file: &str) {
    let (mut plain, mut linked) = (Source::default(), Source::default());
    for mut value in values(file) {
        let step = dialect.read(&value, &mut plain);
        link(&mut value);
        assert_eq!(dialect.read(&value, &mut linked), step, "{}", json::to_string(&value));
    }
    assert_eq!(plain, linked);
}

/// Makes links of all strings that may be long.
fn link(value: &mut Value) {
    const LONG: [&str; 8] = [
        "text",
        "content",
        "output",
        "arguments",
        "message",
        "encrypted_content",
        "instructions",
        "description",
    ];
    match value {
        Value::List(items) => items.iter_mut().for_each(link),
        Value::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| match value {
            Value::Text(text) if LONG.contains(&&**key) => {
                *value = Value::Link(Id::of(Kind::Blob, text.as_bytes()));
            }
            value => link(value),
        }),
        _ => {}
    }
}

/// Gives what is set at the end of a file that is one path.
pub(in crate::dialect) fn settings(dialect: &dyn Dialect, file: &str) -> Settings {
    let (steps, _) = read(dialect, file);
    let said = steps.iter().zip(values(file));
    let said = said.map(|((step, _), value)| Settings::said(&step.label, &value));
    said.rev().find(|said| said.model.is_some()).unwrap_or_default()
}

/// Gives the name of the dialect that a file is taken for.
pub(in crate::dialect) fn recognised_as(file: &str) -> Option<&'static str> {
    recognised(&values(file)).map(|dialect| dialect.name())
}

/// Writes a session.
pub(in crate::dialect) fn written(
    dialect: &dyn Dialect,
    session: &Session,
    steps: &[Leaving],
) -> String {
    let mut writer = dialect.writer().unwrap();
    let mut values = writer.begin(session);
    values.extend(steps.iter().flat_map(|step| writer.step(step)));
    values.extend(writer.end());
    values.iter().map(json::to_string).collect::<Vec<_>>().join("\n")
}

/// A conversation with something of everything, one step after the other.
pub(in crate::dialect) fn conversation() -> Vec<Leaving> {
    let steps = [
        ("message", r#"{"role":"system","content":"be brief"}"#),
        (
            "message",
            r#"{"role":"user","content":[{"type":"text","text":"look"},
               {"type":"image","data":"AAEC","mimeType":"image/jpeg"}]}"#,
        ),
        (
            "message",
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},
               {"type":"text","text":"two tools"},
               {"type":"toolCall","id":"c1","name":"ls","arguments":{"path":"/"}},
               {"type":"toolCall","id":"c2","name":"patch","arguments":"\"{}\""},
               {"type":"toolCall","id":"c3","name":"patch","arguments":"*** Begin"}],
               "model":"m1","provider":"p1","usage":{"input":3,"output":4,"cost":0.5}}"#,
        ),
        ("message", r#"{"role":"tool","tool_call_id":"c1","content":"bin\netc"}"#),
        (
            "message",
            r#"{"role":"tool","tool_call_id":"c2","name":"patch","content":"no","is_error":true}"#,
        ),
        (
            "message",
            r#"{"role":"tool","tool_call_id":"c3","content":[{"type":"text","text":"done"},
               {"type":"image","data":"AwQF","mimeType":"image/png"},
               {"type":"image_url","image_url":{"url":"http://x"}}]}"#,
        ),
        ("custom", r#"{"any":"thing"}"#),
        ("message", r#"{"role":"assistant","content":"all there","model":"m1"}"#),
        ("model_change", r#"{"modelId":"m3","provider":"p3"}"#),
        ("message", r#"{"role":"user","content":"go on"}"#),
    ];
    let mut parent = None;
    let steps = steps.iter().enumerate().map(|(place, (label, body))| {
        let step = step(place as i64, label, body);
        let parent = parent.replace(step.id);
        Leaving { parent, ..step }
    });
    steps.collect()
}

/// A step without a parent.
pub(in crate::dialect) fn step(time: i64, label: &str, body: &str) -> Leaving {
    let body = parsed(body);
    Leaving {
        id: Id::of(Kind::Entry, &time.to_le_bytes()),
        parent: None,
        label: label.to_owned(),
        time,
        message: Message::read(label, &body),
        body,
        first_kept: None,
    }
}

/// Reads the values of a file; a line that begins with a space goes on with the one before it.
fn values(file: &str) -> Vec<Value> {
    let file = file.replace("\n ", " ");
    file.lines().filter(|line| !line.is_empty()).map(parsed).collect()
}

proptest! {
    #[test]
    fn any_value_can_be_read(body in arbitrary::value(), kind in "[a-z_]{0,12}") {
        let wrapped = Value::map([("type", Value::from(kind)), ("payload", body.clone())]);
        for dialect in dialects() {
            for value in [&body, &wrapped] {
                dialect.recognise(std::slice::from_ref(value));
                dialect.read(value, &mut Source::default());
                Message::read("message", value);
            }
        }
    }
}

#[test]
fn pictures_of_every_shape_are_told() {
    let within = r#"{"type":"image","data":"AA","mimeType":"image/gif"}"#;
    let elsewhere = r#"{"type":"image_url","image_url":{"url":"http://x"}}"#;
    let shapes = [
        (within, within),
        (
            r#"{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AA"}}"#,
            within,
        ),
        (r#"{"type":"input_image","image_url":"data:image/gif;base64,AA"}"#, within),
        (r#"{"type":"image","source":{"type":"url","url":"http://x"}}"#, elsewhere),
        (r#"{"type":"input_image","image_url":"http://x"}"#, elsewhere),
        (r#"{"type":"image"}"#, r#"{"type":"image"}"#),
    ];
    for (shape, expected) in shapes {
        let body = Value::map([("content", Value::List(vec![parsed(shape)]))]);
        let message = Message::read("message", &body).unwrap();
        assert_eq!(block(&message.blocks[0]), parsed(expected), "{shape}");
    }
}

#[test]
fn pictures_that_tools_gave_are_told() {
    let picture = r#"{"type":"image","data":"AA","mimeType":"image/gif"}"#;
    for given in [picture.to_owned(), format!(r#"{{"type":"text","text":"see"}},{picture}"#)] {
        let result = format!(r#"{{"type":"toolResult","toolCallId":"1","content":[{given}]}}"#);
        let said = format!(r#"{{"role":"user","content":[{result},"and"]}}"#);
        let alone = format!(r#"{{"role":"tool","tool_call_id":"1","content":[{given}]}}"#);
        for body in [said, alone] {
            let message = Message::read("message", &parsed(&body)).unwrap();
            assert_eq!(message.images().count(), 1, "{body}");
            let again = Message::read("message", &Value::map(told(&message))).unwrap();
            assert_eq!(again, message, "{body}");
        }
    }
}
