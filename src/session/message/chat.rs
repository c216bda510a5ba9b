//! A message as chats have it: pi, Claude Code, OpenAI, Dash and rollouts.
//!
//! The message stands in the body or under `message`; content is a string or blocks; tools are
//! called with `tool_use`, `toolCall` or `tool_calls`, and answered by blocks or by messages of
//! their own. Every body can be read so: this is the shape of what has no other.

use crate::codec::{Value, json};
use crate::session::message::{Answer, Block, Call, Image, Message, Usage, items, text};

/// Reads a message out of a body; an entry's type may say who speaks.
pub(super) fn read(label: &str, body: &Value) -> Message {
    let payload = body.get("message").filter(|inner| inner.as_map().is_some()).unwrap_or(body);
    let text = |key: &str| text(payload, key);
    let role = text("role").unwrap_or_else(|| match label {
        "user" | "assistant" => label.to_owned(),
        _ => "user".to_owned(),
    });
    let mut blocks = blocks(payload.get("content").or_else(|| payload.get("text")));
    if let (true, Some(command)) = (blocks.is_empty(), text("command")) {
        let output = text("output").unwrap_or_default();
        blocks.push(Block::Text(format!("$ {command}\n{output}")));
    }
    let thought = ["reasoning_content", "reasoning"].iter().find_map(|key| text(key));
    if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
        blocks.insert(0, Block::Thinking(thought));
    }
    blocks.extend(items(payload, "tool_calls").iter().map(block));
    if let Some(call) = answered(payload) {
        let name = text("toolName").or_else(|| text("name"));
        let answer = Answer::of(call, name, blocks, truth(payload, &["isError", "is_error"]));
        blocks = vec![Block::Result(answer)];
    }
    let metadata = body.get("metadata").unwrap_or(&Value::Null);
    let named = |key: &str| {
        let found = payload.get(key).or_else(|| metadata.get(key)).and_then(Value::as_text);
        found.map(str::to_owned)
    };
    Message {
        role,
        blocks,
        model: named("model"),
        provider: named("provider"),
        usage: usage(payload, metadata),
    }
}

fn usage(payload: &Value, metadata: &Value) -> Usage {
    let usage = payload.get("usage").or_else(|| metadata.get("usage")).unwrap_or(&Value::Null);
    let count = |keys: &[&str]| keys.iter().find_map(|key| usage.get(key)).and_then(Value::as_i64);
    let cost = match usage.get("cost") {
        Some(Value::Map(_)) => usage.get("cost").and_then(|cost| cost.get("total")),
        cost => cost,
    };
    let said = |key: &str| metadata.get(key).or_else(|| payload.get(key));
    let (input, output) = (
        count(&["input", "input_tokens", "prompt_tokens"]),
        count(&["output", "output_tokens", "completion_tokens"]),
    );
    let cached =
        usage.get("prompt_tokens_details").and_then(|of| of.get("cached_tokens")?.as_i64());
    let cache_read = count(&["cacheRead", "cache_read_input_tokens"]);
    let cache_write = count(&["cacheWrite", "cache_creation_input_tokens"]);
    let is_counted = [input, output, cache_read, cache_write].iter().any(Option::is_some);
    let told = || said("tokens").and_then(Value::as_i64).filter(|_| !is_counted);
    let usage = Usage {
        // One format counts what came from a cache as input, too.
        input: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        output,
        cache_read: cache_read.or(cached),
        cache_write,
        tokens: count(&["totalTokens", "total_tokens"]).or_else(told),
        cost: cost.or_else(|| said("cost")).and_then(Value::as_f64),
        of: payload.get("usage").and(payload.get("id")).and_then(Value::as_text).map(str::to_owned),
    };
    usage.checked()
}

/// Gives the id of the call that a whole message answers, if it answers one.
fn answered(payload: &Value) -> Option<String> {
    let role = payload.get("role").and_then(Value::as_text);
    let keys = ["toolCallId", "tool_call_id", "tool_use_id"];
    let call = keys.iter().find_map(|key| payload.get(key)).and_then(Value::as_text);
    matches!(role, Some("tool" | "toolResult")).then_some(call)?.map(str::to_owned)
}

fn blocks(content: Option<&Value>) -> Vec<Block> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Text(text)) => vec![Block::Text(text.clone())],
        Some(Value::List(items)) => items.iter().map(block).collect(),
        Some(other) => vec![block(other)],
    }
}

fn block(value: &Value) -> Block {
    if let Value::Text(text) = value {
        return Block::Text(text.clone());
    }
    let text = |key: &str| text(value, key);
    let read = match value.get("type").and_then(Value::as_text) {
        Some("text" | "input_text" | "output_text") => text("text").map(Block::Text),
        Some("thinking") => text("thinking").or_else(|| text("text")).map(Block::Thinking),
        Some("image" | "image_url" | "input_image") => Image::read(value).map(Block::Image),
        Some("tool_use" | "toolCall" | "tool_call") => call(value).map(Block::Call),
        Some("function") => call(value).map(Block::Call),
        Some("tool_result" | "toolResult") => answer(value).map(Block::Result),
        None if value.get("function").is_some() => call(value).map(Block::Call),
        _ => None,
    };
    read.unwrap_or_else(|| Block::Other(value.clone()))
}

fn call(value: &Value) -> Option<Call> {
    let id = value.get("id").or_else(|| value.get("call_id"))?.as_text()?.to_owned();
    let inner = value.get("function").unwrap_or(value);
    let name = inner.get("name")?.as_text()?.to_owned();
    let keys = ["input", "arguments", "args"];
    let arguments = keys.iter().find_map(|key| inner.get(key)).cloned().unwrap_or(Value::Null);
    // One format writes the arguments as JSON within a string.
    let parsed = match &arguments {
        Value::Text(text) => json::parse(text.as_bytes()).ok(),
        _ => None,
    };
    Some(Call { id, name, arguments: parsed.unwrap_or(arguments) })
}

fn answer(value: &Value) -> Option<Answer> {
    let keys = ["tool_use_id", "toolCallId", "tool_call_id"];
    let call = keys.iter().find_map(|key| value.get(key))?.as_text()?.to_owned();
    let content = value.get("content").or_else(|| value.get("text"));
    let is_error = truth(value, &["is_error", "isError"]);
    Some(Answer::of(call, text(value, "name"), blocks(content), is_error))
}

fn truth(value: &Value, keys: &[&str]) -> bool {
    keys.iter().find_map(|key| value.get(key)).and_then(Value::as_bool).unwrap_or(false)
}
