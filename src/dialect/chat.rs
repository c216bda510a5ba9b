//! Plain chat: a message a line, or a conversation `{"messages": […]}` a line.
//!
//! Each list of messages is a conversation of its own, so its first message begins a path. It is
//! written as OpenAI has it, a message a line: what a message holds beyond that (`model`,
//! `reasoning_content`, whether a tool failed) stands beside, and what is neither text nor picture,
//! call nor result is left out.

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::openai::{call_value, image_part, text_part};
use crate::dialect::{Dialect, Leaving, Parent, Source, Step, Voice, Writer};
use crate::object::Session;
use crate::session::{Answer, Block, Message};

/// Plain chat.
pub(super) struct Chat;

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn title(&self) -> &'static str {
        "plain chat"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        match first {
            [list, rest @ ..] if is_list(list) => {
                rest.iter().find(|value| !is_list(value)).is_none_or(is_message)
            }
            [first, ..] => is_message(first),
            [] => false,
        }
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let time = ["timestamp", "created_at", "created"].iter().find_map(|key| time(value, key));
        if is_list(value) {
            source.is_new = true;
            note(&mut source.model, text(value, "model"));
            source.time = source.time.or(time);
            return Step::beside("session", time);
        }
        if text(value, "role").is_none() {
            return Step::beside("unknown", time);
        }
        let parent = if source.is_new { Parent::Root } else { Parent::Before };
        source.is_new = false;
        Step {
            label: "message".to_owned(),
            time,
            id: text(value, "id").map(str::to_owned),
            parent,
            voice: voice(value),
        }
    }

    fn writer(&self) -> Option<Box<dyn Writer>> {
        Some(Box::new(Lines))
    }
}

fn is_list(value: &Value) -> bool {
    value.get("messages").and_then(Value::as_list).is_some()
}

fn is_message(value: &Value) -> bool {
    let says = ["content", "tool_calls"].iter().any(|key| value.get(key).is_some());
    text(value, "role").is_some() && says
}

fn voice(value: &Value) -> Voice {
    let first = value.get("content").and_then(Value::as_list).and_then(|items| items.first());
    let answers = first.is_some_and(|item| text(item, "type") == Some("tool_result"));
    match text(value, "role") {
        Some("user") if !answers => Voice::Person,
        Some("assistant") => Voice::Model,
        _ => Voice::None,
    }
}

/// Writes a message a line.
struct Lines;

impl Writer for Lines {
    fn has_tree(&self) -> bool {
        false
    }

    fn has_compaction(&self) -> bool {
        false
    }

    fn begin(&mut self, _session: &Session) -> Vec<Value> {
        Vec::new()
    }

    fn step(&mut self, step: &Leaving) -> Vec<Value> {
        let parts = step.message.clone().map(Message::apart).unwrap_or_default();
        parts.iter().flat_map(lines).collect()
    }
}

/// Gives a message as lines: one for each result, then one for all else that it says.
fn lines(message: &Message) -> Vec<Value> {
    let mut lines: Vec<Value> = message.answers().map(answer).collect();
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for block in &message.blocks {
        match block {
            Block::Text(text) => content.push(text_part(text)),
            Block::Image(shown) => content.push(image_part(shown)),
            Block::Call(made) => calls.push(call_value(made)),
            Block::Thinking(_) | Block::Result(_) | Block::Other(_) => {}
        }
    }
    let thinking = Some(message.thinking()).filter(|thinking| !thinking.is_empty());
    let says = !content.is_empty() || !calls.is_empty() || thinking.is_some();
    if !says && !lines.is_empty() {
        return lines;
    }
    let content = match &message.blocks[..] {
        _ if content.is_empty() && calls.is_empty() => "".into(),
        _ if content.is_empty() => Value::Null,
        blocks => joined(blocks, content),
    };
    let model = message.model.clone();
    let fields = [
        Some(("role", Value::from(role(message)))),
        Some(("content", content)),
        thinking.map(|thinking| ("reasoning_content", thinking.into())),
        (!calls.is_empty()).then_some(("tool_calls", Value::List(calls))),
        model.map(|model| ("model", model.into())),
    ];
    lines.push(Value::map(fields.into_iter().flatten()));
    lines
}

/// Gives the role in OpenAI's words.
fn role(message: &Message) -> &str {
    match message.role.as_str() {
        role @ ("assistant" | "system" | "developer") => role,
        _ => "user",
    }
}

/// Gives one text as a string, anything else as parts.
fn joined(blocks: &[Block], parts: Vec<Value>) -> Value {
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    match (texts.next(), parts.len()) {
        (Some(text), 1) => text.as_str().into(),
        _ => Value::List(parts),
    }
}

fn answer(answer: &Answer) -> Value {
    let text = Some(&answer.text).filter(|text| !text.is_empty());
    let content = match answer.images.is_empty() {
        true => answer.text.as_str().into(),
        false => {
            let text = text.map(|text| text_part(text));
            Value::List(text.into_iter().chain(answer.images.iter().map(image_part)).collect())
        }
    };
    let fields = [
        Some(("role", Value::from("tool"))),
        Some(("tool_call_id", answer.call.as_str().into())),
        answer.name.clone().map(|name| ("name", name.into())),
        Some(("content", content)),
        answer.is_error.then_some(("is_error", true.into())),
    ];
    Value::map(fields.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;
    use crate::dialect::tests::check;
    use crate::id::Id;
    use crate::session::{Call, Image};

    #[test]
    fn each_list_is_a_conversation() {
        let user = r#"{"role":"user","content":"x"}"#;
        let model = r#"{"role":"assistant","content":"y","timestamp":"2026-01-01T00:00:00Z"}"#;
        check(
            "chat",
            &[
                (r#"{"messages":[]}"#, "session - beside none"),
                (r#"{"role":"system","content":"x"}"#, "message - root none"),
                (user, "message - before person"),
                (model, "message - before model"),
                (r#"{"messages":[],"tools":[]}"#, "session - beside none"),
                (user, "message - root person"),
                (r#"{"role":"tool","tool_call_id":"c","content":""}"#, "message - before none"),
                (r#"{"role":"user","content":[{"type":"tool_result"}]}"#, "message - before none"),
                (r#"{"conversations":[]}"#, "unknown - beside none"),
            ],
        );
    }

    fn written(message: &Message) -> Vec<Value> {
        let step = Leaving {
            id: Id::from_bytes([1; 32]),
            parent: None,
            label: "message".to_owned(),
            time: 0,
            body: Value::Null,
            message: Some(message.clone()),
            first_kept: None,
        };
        Chat.writer().unwrap().step(&step)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let call =
            Call { id: "c".into(), name: "ls".into(), arguments: Value::map([("a", 1.into())]) };
        let image = Image::Data { mime: "image/png".into(), base64: "AAAA".into() };
        let answer = Answer {
            call: "c".into(),
            name: Some("ls".into()),
            text: "no".into(),
            images: vec![image.clone()],
            is_error: true,
        };
        let message = |role: &str, blocks: Vec<Block>| Message {
            role: role.into(),
            blocks,
            ..Message::default()
        };
        let text = |text: &str| Block::Text(text.into());
        let messages = [
            message("user", vec![text("one")]),
            message("user", vec![text("one"), Block::Image(image.clone())]),
            message("user", vec![Block::Image(Image::Url("https://x/y.png".into()))]),
            message("system", vec![text("one"), text("two")]),
            Message {
                model: Some("m".into()),
                ..message(
                    "assistant",
                    vec![Block::Thinking("hm".into()), text("one"), Block::Call(call.clone())],
                )
            },
            message("assistant", vec![Block::Call(call.clone())]),
            message("tool", vec![Block::Result(answer.clone())]),
        ];
        for message in &messages {
            let lines = written(message);
            assert_eq!(lines.len(), 1);
            assert_eq!(Message::read("message", &lines[0]).as_ref(), Some(message));
        }
        let both = message("assistant", vec![Block::Call(call), Block::Result(answer), text("so")]);
        let lines = written(&both);
        let roles: Vec<&str> =
            lines.iter().filter_map(|line| line.get("role")?.as_text()).collect();
        assert_eq!(roles, ["assistant", "tool", "assistant"]);
        let nothing = message("assistant", vec![Block::Other(Value::Null)]);
        assert_eq!(json::to_string(&written(&nothing)[0]), r#"{"role":"assistant","content":""}"#);
    }
}
