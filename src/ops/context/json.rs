//! A context with everything that is known of it.

use crate::codec::Value;
use crate::memory::Known;
use crate::ops::context::{ContextOutcome, RoleMap};
use crate::session::{Answer, Block, Dangling, Image, Message, Shown};

/// Gives the fields of a context.
pub(super) fn write(outcome: &ContextOutcome) -> Vec<(&'static str, Value)> {
    let context = &outcome.context;
    let mut fields = vec![
        ("session", outcome.session.as_str().into()),
        ("entry", outcome.entry.to_string().into()),
        ("model", context.model.clone().into()),
        ("provider", context.provider.clone().into()),
        ("thinking", context.thinking.clone().into()),
    ];
    if let Some(facts) = &outcome.facts {
        fields.push(("memory", Value::List(facts.iter().map(fact).collect())));
    }
    let messages = context.messages.iter().map(|shown| message(outcome, shown));
    fields.push(("messages", Value::List(messages.collect())));
    fields.push(("dangling", Value::List(context.dangling.iter().map(dangling).collect())));
    fields
}

fn fact(fact: &Known) -> Value {
    Value::map([
        ("key", Value::from(fact.key.clone())),
        ("value", fact.value.clone()),
        ("node", fact.node.to_string().into()),
        ("source", fact.source.map(|id| id.to_string()).into()),
    ])
}

fn message(outcome: &ContextOutcome, shown: &Shown) -> Value {
    let [role, content] = message_fields(&shown.message, &outcome.roles);
    Value::map([
        ("id", Value::from(shown.entry.to_string())),
        ("type", shown.label.as_str().into()),
        role,
        content,
        ("timestamp", shown.time.into()),
    ])
}

/// Gives messages as JSON: who says what.
pub fn messages_to_json(messages: &[Message], roles: &RoleMap) -> Value {
    let messages = messages.iter().map(|message| Value::map(message_fields(message, roles)));
    Value::List(messages.collect())
}

fn message_fields(message: &Message, roles: &RoleMap) -> [(&'static str, Value); 2] {
    [("role", roles.name(&message.role).into()), ("content", content(message))]
}

/// Gives what is said: one text as a string, anything else as blocks.
fn content(message: &Message) -> Value {
    match &message.blocks[..] {
        [] => "".into(),
        [Block::Text(text)] => text.as_str().into(),
        blocks => Value::List(blocks.iter().map(block).collect()),
    }
}

pub(super) fn block(block: &Block) -> Value {
    let of_type = |name: &str, fields: Vec<(&str, Value)>| {
        Value::map([("type", Value::from(name))].into_iter().chain(fields))
    };
    match block {
        Block::Text(text) => of_type("text", vec![("text", text.as_str().into())]),
        Block::Thinking(text) => of_type("thinking", vec![("thinking", text.as_str().into())]),
        Block::Call(call) => {
            let input = match &call.arguments {
                Value::Null => Value::Map(Vec::new()),
                arguments => arguments.clone(),
            };
            let (id, name) = (call.id.as_str().into(), call.name.as_str().into());
            of_type("tool_use", vec![("id", id), ("name", name), ("input", input)])
        }
        Block::Result(answer) => {
            let id = answer.call.as_str().into();
            let mut fields = vec![("tool_use_id", id), ("content", given(answer))];
            if answer.is_error {
                fields.push(("is_error", true.into()));
            }
            of_type("tool_result", fields)
        }
        Block::Image(image) => {
            let source = match image {
                Image::Data { mime, base64 } => {
                    let data = ("data", base64.as_str().into());
                    of_type("base64", vec![("media_type", mime.as_str().into()), data])
                }
                Image::Url(url) => of_type("url", vec![("url", url.as_str().into())]),
            };
            of_type("image", vec![("source", source)])
        }
        Block::Other(value) => value.clone(),
    }
}

/// Gives what a tool answered: a text as a string, with pictures as blocks.
fn given(answer: &Answer) -> Value {
    if answer.images.is_empty() {
        return answer.text.as_str().into();
    }
    let text = Some(&answer.text).filter(|text| !text.is_empty());
    let text = text.map(|text| Block::Text(text.clone()));
    let images = answer.images.iter().cloned().map(Block::Image);
    Value::List(text.into_iter().chain(images).map(|part| block(&part)).collect())
}

fn dangling(open: &Dangling) -> Value {
    Value::map([
        ("entry", Value::from(open.entry.to_string())),
        ("id", open.call.id.as_str().into()),
        ("name", open.call.name.as_str().into()),
    ])
}
