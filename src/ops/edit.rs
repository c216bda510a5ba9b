//! Editing a message: another one in its place, on a branch of its own.

use crate::codec::Value;
use crate::error::Result;
use crate::ops::Target;
use crate::ops::variation::{Variation, refused};
use crate::session::{Draft, MESSAGE_LABELS, Message, restored_entry};
use crate::store::Snapshot;

/// What a body says of one telling of the message, and is not true of another.
const OWN_KEYS: [&str; 9] =
    ["id", "uuid", "parentId", "parentUuid", "timestamp", "usage", "tool_calls", "cost", "tokens"];

/// Says what an edit of a message would write: the message with another text, after its parent.
pub fn edit(
    snapshot: &dyn Snapshot,
    target: &Target,
    revision: &str,
    text: &str,
    force: bool,
) -> Result<Variation> {
    let (from, entry_id) = Variation::find(snapshot, target, revision)?;
    let entry = restored_entry(snapshot, &entry_id)?;
    let label = entry.label.as_str();
    if !MESSAGE_LABELS.contains(&label) && label != "custom_message" {
        let why = format!("entry {} is of type {label}, not a message", entry_id.short(8));
        return Err(refused(why, "name the message to edit, such as msg:2"));
    }
    let message = Message::read(label, &entry.body);
    let edited = Draft { body: edited(entry.body, text), label: entry.label, time: None };
    let draft = match message {
        Some(message) if !says(&edited, text) => {
            Draft { body: plain(&message, text), label: "message".to_owned(), time: None }
        }
        _ => edited,
    };
    let variation = Variation {
        from,
        at: entry.parents.first().copied(),
        drafts: vec![draft],
        reason: "message_edit",
        metadata: Value::map([("edits", Value::Link(entry_id))]),
        stem: "edit".to_owned(),
    };
    variation.check(snapshot, force)?;
    Ok(variation)
}

/// Puts another text into a body, and keeps its shape.
fn edited(body: Value, text: &str) -> Value {
    let Value::Map(pairs) = body else {
        return Value::map([("content", Value::from(text))]);
    };
    let mut is_said = false;
    let mut kept = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let value = match (&*key, value) {
            (key, _) if OWN_KEYS.contains(&key) => continue,
            // What was picked from elsewhere is not what is said now.
            ("origin", Value::Link(_)) => continue,
            ("message", inner @ Value::Map(_)) => {
                is_said = true;
                edited(inner, text)
            }
            ("content" | "text", said) if !is_said => {
                is_said = true;
                content(said, text)
            }
            ("metadata", Value::Map(known)) => {
                let known = known.into_iter().filter(|(key, _)| !OWN_KEYS.contains(&&**key));
                Value::Map(known.collect())
            }
            (_, value) => value,
        };
        kept.push((key, value));
    }
    if !is_said {
        kept.push(("content".into(), text.into()));
    }
    Value::Map(kept)
}

/// Says whether a draft says this and nothing else, so far as it is a message.
fn says(draft: &Draft, text: &str) -> bool {
    draft.read().is_none_or(|said| {
        let is_said = said.text() == text || said.answers().any(|answer| answer.text == text);
        is_said && said.calls().next().is_none() && said.thinking().is_empty()
    })
}

/// Makes a plain message that says this, of one whose shape an edit does not know.
fn plain(message: &Message, text: &str) -> Value {
    let words = Value::map([("type", Value::from("text")), ("text", text.into())]);
    let images = message.images().map(|image| {
        let url = Value::map([("url", Value::from(image.url()))]);
        Value::map([("type", Value::from("image_url")), ("image_url", url)])
    });
    let content = std::iter::once(words).chain(images).collect();
    let role = Value::from(message.role.as_str());
    let mut fields = vec![("role", role), ("content", Value::List(content))];
    if message.calls().next().is_none() {
        let answers = message.answers().map(|answer| answer.call.as_str());
        fields.extend(answers.map(|call| ("tool_call_id", call.into())).take(1));
    }
    Value::map(fields)
}

/// Puts another text where the first was. Pictures stay; calls of tools and thoughts belong to what
/// was said before.
fn content(said: Value, text: &str) -> Value {
    let Value::List(blocks) = said else {
        return text.into();
    };
    let kind = |block: &Value| block.get("type").and_then(Value::as_text).map(str::to_owned);
    let mut words = Some(Value::map([("type", Value::from("text")), ("text", text.into())]));
    let mut kept = Vec::new();
    for block in blocks {
        match kind(&block).as_deref() {
            Some("text" | "input_text" | "output_text") => kept.extend(words.take()),
            Some("image" | "image_url" | "input_image" | "tool_result" | "toolResult") => {
                kept.push(block);
            }
            _ if block.as_text().is_some() => kept.extend(words.take()),
            _ => {}
        }
    }
    kept.extend(words);
    Value::List(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn the_shape_stays() {
        let cases = [
            (
                r#"{"role":"user","content":"old","metadata":{"model":"m","cost":1}}"#,
                r#"{"role":"user","content":"new","metadata":{"model":"m"}}"#,
            ),
            (
                r#"{"uuid":"u","message":{"role":"user","content":[{"type":"text","text":"a"},
                   {"type":"image","data":"x"},{"type":"text","text":"b"}]}}"#,
                concat!(
                    r#"{"message":{"role":"user","content":[{"type":"text","text":"new"},"#,
                    r#"{"type":"image","data":"x"}]}}"#
                ),
            ),
            (r#"{"text":"old"}"#, r#"{"text":"new"}"#),
            (r#"{"role":"assistant","tool_calls":[1]}"#, r#"{"role":"assistant","content":"new"}"#),
            (
                r#"{"content":[{"type":"tool_use","id":"c","name":"x"}]}"#,
                r#"{"content":[{"type":"text","text":"new"}]}"#,
            ),
        ];
        for (old, expected) in cases {
            let body = json::parse(old.as_bytes()).unwrap();
            assert_eq!(json::to_string(&edited(body, "new")), expected);
        }
    }
    #[test]
    fn what_is_edited_was_not_picked() {
        let origin = Value::Link(crate::id::Id::of(crate::id::Kind::Entry, b"x"));
        let body = Value::map([("content", Value::from("old")), ("origin", origin)]);
        assert_eq!(edited(body, "new"), Value::map([("content", Value::from("new"))]));
    }
}
