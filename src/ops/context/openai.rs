//! A context as OpenAI's chat completions take it.

use crate::codec::{Value, json};
use crate::ops::context::ContextOutcome;
use crate::ops::context::turns::{Turn, turns};
use crate::session::{Answer, Block, Call, Image};

/// Gives the request: `model` where it is known, and `messages`.
pub(super) fn write(outcome: &ContextOutcome) -> Value {
    let mut fields = Vec::new();
    if let Some(model) = &outcome.context.model {
        fields.push(("model", model.as_str().into()));
    }
    let mut messages = Vec::new();
    for turn in turns(outcome) {
        messages.extend(turn.answers.iter().map(answer));
        messages.extend(message(&turn));
    }
    fields.push(("messages", Value::List(messages)));
    Value::map(fields)
}

/// Gives what a turn says; results to no call, which it alone then holds, as answers.
fn message(turn: &Turn) -> Vec<Value> {
    let (mut parts, mut calls, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for block in &turn.blocks {
        match block {
            Block::Text(text) => parts.push(text_part(text)),
            Block::Image(shown) => parts.push(image(shown)),
            Block::Call(made) => calls.push(call(made)),
            Block::Result(given) => answers.push(answer(given)),
            Block::Other(value) if is_thinking(value) => {}
            Block::Other(value) => parts.push(text_part(&json::to_string(value))),
            Block::Thinking(_) => {}
        }
    }
    let content = match &parts[..] {
        [] => Value::Null,
        parts if parts.iter().all(|part| part.get("text").is_some()) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_text());
            texts.collect::<Vec<_>>().join("\n").into()
        }
        _ => Value::List(parts),
    };
    if content.is_null() && calls.is_empty() {
        return answers;
    }
    let mut fields = vec![("role", Value::from(turn.role.name())), ("content", content)];
    if !calls.is_empty() {
        fields.push(("tool_calls", Value::List(calls)));
    }
    answers.push(Value::map(fields));
    answers
}

fn text_part(text: &str) -> Value {
    Value::map([("type", Value::from("text")), ("text", text.into())])
}

fn call(call: &Call) -> Value {
    let arguments = match &call.arguments {
        Value::Null => "{}".to_owned(),
        arguments => json::to_string(arguments),
    };
    let name = Value::from(call.name.as_str());
    let function = Value::map([("name", name), ("arguments", arguments.into())]);
    Value::map([
        ("id", Value::from(call.id.as_str())),
        ("type", "function".into()),
        ("function", function),
    ])
}

fn answer(answer: &Answer) -> Value {
    Value::map([
        ("role", Value::from("tool")),
        ("tool_call_id", answer.call.as_str().into()),
        ("content", answer.words().into()),
    ])
}

/// Gives a picture as an address, which may hold the picture itself.
fn image(image: &Image) -> Value {
    let url = Value::map([("url", Value::from(image.url()))]);
    Value::map([("type", Value::from("image_url")), ("image_url", url)])
}

/// Says whether a block is what a model thought, in a form that only it can read.
fn is_thinking(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_text).unwrap_or_default();
    kind.contains("thinking") || kind.contains("reasoning")
}
