//! What writers make values of: messages as a chat tells them, and what is set.

#[cfg(test)]
pub(super) mod tests;

use crate::codec::{Value, json};
use crate::dialect::Leaving;
use crate::session::{Answer, Block, Image, Message, NO_MODEL, Settings, Usage};

/// Gives the role of a message in the words of a chat: `user`, `assistant`, `system`, `tool`.
pub(super) fn role(message: &Message) -> &'static str {
    match message.role.as_str() {
        "assistant" => "assistant",
        "system" | "developer" => "system",
        "tool" | "toolResult" => "tool",
        _ => "user",
    }
}

/// Tells a message as a chat does: role, content, and which call it answers.
pub(super) fn told(message: &Message) -> Vec<(&'static str, Value)> {
    let role = role(message);
    let mut fields = vec![("role", role.into())];
    match message.blocks.as_slice() {
        [Block::Result(answer)] if role == "tool" => {
            fields.push(("tool_call_id", answer.call.as_str().into()));
            fields.extend(answer.name.clone().map(|name| ("name", name.into())));
            fields.push(("content", answer.text.as_str().into()));
            fields.extend(answer.is_error.then_some(("is_error", Value::Bool(true))));
        }
        [Block::Text(text)] => fields.push(("content", text.as_str().into())),
        blocks => fields.push(("content", Value::List(blocks.iter().map(block).collect()))),
    }
    fields
}

/// Tells which model spoke and what it took, as far as is known.
pub(super) fn spent(message: &Message) -> Vec<(&'static str, Value)> {
    let Usage { input, output, cache_read, cache_write, tokens, cost, .. } = message.usage;
    let counts = [
        ("input", input),
        ("output", output),
        ("cacheRead", cache_read),
        ("cacheWrite", cache_write),
        ("totalTokens", tokens),
    ];
    let counts = counts.into_iter().filter_map(|(key, count)| Some((key, count?.into())));
    let cost = cost.and_then(|cost| Some(("cost", Value::number(&cost.to_string())?)));
    let usage: Vec<(&str, Value)> = counts.chain(cost).collect();
    let names = [("model", &message.model), ("provider", &message.provider)];
    let names = names.into_iter().filter_map(|(key, name)| Some((key, name.clone()?.into())));
    let usage = (!usage.is_empty()).then(|| ("usage", Value::map(usage)));
    names.chain(usage).collect()
}

/// Gives the model and the thinking that a step sets, if it sets any.
pub(super) fn set(step: &Leaving) -> Settings {
    match &step.message {
        Some(message) if step.label != "compaction" => {
            let is_made_up = message.model.as_deref() == Some(NO_MODEL);
            let speaks = (message.role == "assistant" && !is_made_up).then_some(message);
            Settings {
                model: speaks.and_then(|message| message.model.clone()),
                provider: speaks.and_then(|message| message.provider.clone()),
                ..Settings::default()
            }
        }
        _ => Settings::said(&step.label, &step.body),
    }
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => typed("text", [("text", text.as_str().into())]),
        Block::Thinking(text) => typed("thinking", [("thinking", text.as_str().into())]),
        Block::Call(call) => {
            let arguments = match &call.arguments {
                // A string is read as JSON where it is some.
                Value::Text(text) if json::parse(text.as_bytes()).is_ok() => {
                    json::to_string(&call.arguments).into()
                }
                arguments => arguments.clone(),
            };
            let name = [("id", call.id.as_str()), ("name", call.name.as_str())];
            let name = name.map(|(key, value)| (key, value.into()));
            typed("toolCall", name.into_iter().chain([("arguments", arguments)]))
        }
        Block::Result(answer) => result(answer),
        Block::Image(image) => picture(image),
        Block::Other(value) => value.clone(),
    }
}

fn result(answer: &Answer) -> Value {
    let name = answer.name.clone().map(|name| ("name", name.into()));
    let is_error = answer.is_error.then_some(("isError", Value::Bool(true)));
    let said = [("toolCallId", answer.call.as_str()), ("content", answer.text.as_str())];
    let said = said.into_iter().map(|(key, value)| (key, value.into()));
    typed("toolResult", said.chain(name).chain(is_error))
}

fn picture(image: &Image) -> Value {
    match image {
        Image::Data { mime, base64 } => {
            typed("image", [("data", base64.as_str().into()), ("mimeType", mime.as_str().into())])
        }
        Image::Url(url) => {
            typed("image_url", [("image_url", Value::map([("url", Value::from(url.as_str()))]))])
        }
    }
}

fn typed<'a>(kind: &str, fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::map([("type", kind.into())].into_iter().chain(fields))
}
