//! Messages as OpenAI's chat completions take them.

use crate::codec::{Value, json};
use crate::dialect::openai::{call_value, image_part, text_part};
use crate::ops::context::turns::{Turn, turns};
use crate::ops::context::{ContextOutcome, RoleMap};
use crate::session::{Answer, Block, IMAGE_WORD, Shown};

/// How content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ops) enum Content {
    /// As text, and as parts where there is a picture.
    Either,
    /// Always as text, which only names a picture.
    Text,
    /// Always as parts.
    Parts,
}

/// Gives the request: `model` where it is known, and `messages`.
pub(super) fn write(outcome: &ContextOutcome) -> Value {
    let mut fields = Vec::new();
    if let Some(model) = &outcome.context.model {
        fields.push(("model", model.as_str().into()));
    }
    let turns = outcome.turns();
    let messages = turns.iter().flat_map(|turn| message(turn, Content::Either));
    fields.push(("messages", Value::List(messages.collect())));
    Value::map(fields)
}

/// Gives messages as OpenAI's, each with the place of the last message that it is made of.
pub(in crate::ops) fn messages(
    messages: &[Shown],
    roles: &RoleMap,
    thinking: bool,
    content: Content,
) -> Vec<(usize, Value)> {
    let mut written = Vec::new();
    for turn in turns(messages, roles, thinking) {
        written.extend(message(&turn, content).into_iter().map(|value| (turn.place, value)));
    }
    written
}

/// Gives what a turn says; results to no call, which it alone then holds, as answers.
fn message(turn: &Turn, form: Content) -> Vec<Value> {
    let (mut parts, mut calls, mut thoughts) = (Vec::new(), Vec::new(), Vec::new());
    let mut answers: Vec<Value> = turn.answers.iter().map(|given| answer(given, form)).collect();
    for block in &turn.blocks {
        match block {
            Block::Text(text) => parts.push(text_part(text)),
            Block::Image(_) if form == Content::Text => parts.push(text_part(IMAGE_WORD)),
            Block::Image(value) => parts.push(image_part(value)),
            Block::Call(made) => calls.push(call_value(made)),
            Block::Result(given) => answers.push(answer(given, form)),
            Block::Other(value) if is_thinking(value) => {}
            Block::Other(value) => parts.push(text_part(&json::to_string(value))),
            Block::Thinking(text) => thoughts.push(text.as_str()),
        }
    }
    let content = match &parts[..] {
        [] => Value::Null,
        parts if form != Content::Parts && parts.iter().all(|part| part.get("text").is_some()) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_text());
            texts.collect::<Vec<_>>().join("\n").into()
        }
        _ => Value::List(parts),
    };
    if content.is_null() && calls.is_empty() {
        return answers;
    }
    let mut fields = vec![("role", Value::from(turn.role.name())), ("content", content)];
    if !thoughts.is_empty() {
        fields.push(("reasoning_content", thoughts.join("\n").into()));
    }
    if !calls.is_empty() {
        fields.push(("tool_calls", Value::List(calls)));
    }
    answers.push(Value::map(fields));
    answers
}

fn answer(answer: &Answer, form: Content) -> Value {
    let content = match form {
        Content::Parts => Value::List(vec![text_part(&answer.words())]),
        Content::Either | Content::Text => answer.words().into(),
    };
    Value::map([
        ("role", Value::from("tool")),
        ("tool_call_id", answer.call.as_str().into()),
        ("content", content),
    ])
}

/// Says whether a block is what a model thought, in a form that only it can read.
fn is_thinking(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_text).unwrap_or_default();
    kind.contains("thinking") || kind.contains("reasoning")
}
