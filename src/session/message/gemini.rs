//! A message of Gemini CLI: of type `user` or `gemini`, its calls with their results inside.
//!
//! What is said is a string or parts, which are told by their one key.

use crate::codec::{Value, json};
use crate::session::message::{Answer, Block, Call, Image, Message, Usage, items, text};

/// Reads a message, unless it is of another program with such types.
pub(super) fn read(body: &Value) -> Option<Message> {
    let others = ["role", "message", "data", "uuid"];
    let role = match body.get("type")?.as_text()? {
        "gemini" => "assistant",
        "user" if body.get("id").is_some() => "user",
        _ => return None,
    };
    if others.iter().any(|key| body.get(key).is_some()) {
        return None;
    }
    let mut blocks: Vec<Block> = items(body, "thoughts").iter().filter_map(thought).collect();
    blocks.extend(parts(body.get("content")).filter(|block| !is_empty(block)));
    let calls = items(body, "toolCalls");
    blocks.extend(calls.iter().map(|made| match call(made) {
        Some(call) => Block::Call(call),
        None => Block::Other(made.clone()),
    }));
    blocks.extend(calls.iter().filter_map(answer).map(Block::Result));
    Some(Message {
        role: role.to_owned(),
        blocks,
        model: text(body, "model"),
        provider: None,
        usage: usage(body.get("tokens").unwrap_or(&Value::Null)),
    })
}

fn is_empty(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.is_empty())
}

fn thought(thought: &Value) -> Option<Block> {
    let parts = [text(thought, "subject"), text(thought, "description")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Block::Thinking(parts.join("\n")))
}

/// Reads parts: one, or a list.
fn parts(content: Option<&Value>) -> impl Iterator<Item = Block> {
    let parts = match content {
        None | Some(Value::Null) => &[],
        Some(Value::List(parts)) => parts.as_slice(),
        Some(part) => std::slice::from_ref(part),
    };
    parts.iter().map(part)
}

fn part(value: &Value) -> Block {
    if let Value::Text(text) = value {
        return Block::Text(text.clone());
    }
    if let Some(words) = text(value, "text") {
        let is_thought = value.get("thought").and_then(Value::as_bool) == Some(true);
        return if is_thought { Block::Thinking(words) } else { Block::Text(words) };
    }
    let call = || call(value.get("functionCall")?).map(Block::Call);
    let result = || {
        let response = value.get("functionResponse")?;
        let (id, name) = (text(response, "id")?, text(response, "name"));
        let (given, is_error) = given(response);
        Some(Block::Result(Answer::of(id, name, vec![given], is_error)))
    };
    let image = || Image::read(value).map(Block::Image);
    call().or_else(result).or_else(image).unwrap_or_else(|| Block::Other(value.clone()))
}

fn call(made: &Value) -> Option<Call> {
    let (id, name) = (text(made, "id")?, text(made, "name")?);
    Some(Call { id, name, arguments: made.get("args").cloned().unwrap_or_default() })
}

/// Reads the result inside a call, if it has come.
fn answer(made: &Value) -> Option<Answer> {
    let call = text(made, "id")?;
    let failed = made.get("status").and_then(Value::as_text).is_some_and(|how| how != "success");
    let result = made.get("result").filter(|result| !result.is_null());
    let shown = || made.get("resultDisplay").filter(|shown| !shown.is_null());
    let mut is_error = failed;
    let given = parts(Some(result.or_else(shown)?)).map(|block| match block {
        Block::Other(part) => match part.get("functionResponse") {
            Some(response) => {
                let (given, is_failure) = given(response);
                is_error |= is_failure;
                given
            }
            None => Block::Other(part),
        },
        block => block,
    });
    let given = given.collect();
    Some(Answer::of(call, text(made, "name"), given, is_error))
}

/// Reads what a tool gave back, and whether that is an error.
fn given(response: &Value) -> (Block, bool) {
    let response = response.get("response").unwrap_or(response);
    let (given, is_error) = match (response.get("output"), response.get("error")) {
        (Some(output), _) => (output, false),
        (None, Some(error)) => (error, true),
        (None, None) => (response, false),
    };
    let words = given.as_text().map(str::to_owned).unwrap_or_else(|| json::to_string(given));
    (Block::Text(words), is_error)
}

/// Reads counts of tokens: those from a cache are part of the input, thoughts not of the output.
fn usage(tokens: &Value) -> Usage {
    let count = |key: &str| tokens.get(key).and_then(Value::as_i64);
    let cached = count("cached");
    let plus = |left: i64, key: &str| left.saturating_add(count(key).unwrap_or(0));
    let usage = Usage {
        input: count("input").map(|input| input.saturating_sub(cached.unwrap_or(0))),
        output: count("output").map(|output| plus(output, "thoughts")),
        cache_read: cached,
        tokens: count("total"),
        ..Usage::default()
    };
    usage.checked()
}
