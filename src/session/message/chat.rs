//! A message as chats have it: pi, Claude Code, OpenAI, Dash and rollouts.
//!
//! The message stands in the body or under `message`; content is a string or blocks; tools are
//! called with `tool_use`, `toolCall` or `tool_calls`, and answered by blocks or by messages of
//! their own. Every body can be read so: this is the shape of what has no other.

use crate::codec::{Value, json};
use crate::session::message::{Answer, Block, Call, Message, Usage};

/// Reads a message out of a body; an entry's type may say who speaks.
pub(super) fn read(label: &str, body: &Value) -> Message {
    let payload = body.get("message").filter(|inner| inner.as_map().is_some()).unwrap_or(body);
    let text = |key: &str| payload.get(key).and_then(Value::as_text).map(str::to_owned);
    let role = text("role").unwrap_or_else(|| match label {
        "user" | "assistant" => label.to_owned(),
        _ => "user".to_owned(),
    });
    let mut blocks = blocks(payload.get("content").or_else(|| payload.get("text")));
    if let (true, Some(command)) = (blocks.is_empty(), text("command")) {
        let output = text("output").unwrap_or_default();
        blocks.push(Block::Text(format!("$ {command}\n{output}")));
    }
    let calls = payload.get("tool_calls").and_then(Value::as_list).unwrap_or_default();
    blocks.extend(calls.iter().map(block));
    if let Some(call) = answered(payload) {
        let answer = Answer {
            call,
            name: text("toolName").or_else(|| text("name")),
            text: plain(&blocks),
            is_error: truth(payload, &["isError", "is_error"]),
        };
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
        usage: Usage::read(payload, metadata),
    }
}

impl Usage {
    fn read(payload: &Value, metadata: &Value) -> Usage {
        let usage = payload.get("usage").or_else(|| metadata.get("usage")).unwrap_or(&Value::Null);
        let count =
            |keys: &[&str]| keys.iter().find_map(|key| usage.get(key)).and_then(Value::as_i64);
        let input = count(&["input", "input_tokens", "prompt_tokens"]);
        let output = count(&["output", "output_tokens", "completion_tokens"]);
        let cache_read = count(&["cacheRead", "cache_read_input_tokens"]);
        let cache_write = count(&["cacheWrite", "cache_creation_input_tokens"]);
        let parts = [input, output, cache_read, cache_write];
        let sum = parts.iter().flatten().copied().reduce(i64::saturating_add);
        let total = count(&["totalTokens", "total_tokens"]);
        let cost = match usage.get("cost") {
            Some(Value::Map(_)) => usage.get("cost").and_then(|cost| cost.get("total")),
            cost => cost,
        };
        let said = |key: &str| metadata.get(key).or_else(|| payload.get(key));
        let tokens = total.or(sum).or_else(|| said("tokens").and_then(Value::as_i64));
        let cost = cost.or_else(|| said("cost")).and_then(Value::as_f64);
        Usage {
            input,
            output,
            cache_read,
            cache_write,
            // What can't be is as good as unknown.
            tokens: tokens.filter(|tokens| *tokens >= 0),
            cost: cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
        }
    }
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
    let text = |key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
    let read = match value.get("type").and_then(Value::as_text) {
        Some("text" | "input_text" | "output_text") => text("text").map(Block::Text),
        Some("thinking") => text("thinking").or_else(|| text("text")).map(Block::Thinking),
        Some("image" | "image_url" | "input_image") => Some(Block::Image(value.clone())),
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
    Some(Answer {
        call,
        name: value.get("name").and_then(Value::as_text).map(str::to_owned),
        text: plain(&blocks(content)),
        is_error: truth(value, &["is_error", "isError"]),
    })
}

/// Gives what blocks say as text; what is no text, as JSON.
fn plain(blocks: &[Block]) -> String {
    let parts = blocks.iter().map(|block| match block {
        Block::Text(text) | Block::Thinking(text) => text.clone(),
        Block::Result(answer) => answer.text.clone(),
        Block::Call(call) => json::to_string(&call.arguments),
        Block::Image(_) => "[image]".to_owned(),
        Block::Other(value) => json::to_string(value),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn truth(value: &Value, keys: &[&str]) -> bool {
    keys.iter().find_map(|key| value.get(key)).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message {
        Message::read("message", &json::parse(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn one_text_is_read_from_every_shape() {
        let shapes = [
            r#"{"role":"assistant","content":"hi"}"#,
            r#"{"message":{"role":"assistant","content":"hi"}}"#,
            r#"{"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}"#,
            r#"{"role":"assistant","content":["hi"]}"#,
        ];
        for shape in shapes {
            let message = read(shape);
            assert_eq!((message.role.as_str(), message.text().as_str()), ("assistant", "hi"));
        }
        let body = json::parse(br#"{"text":"hi"}"#).unwrap();
        assert_eq!(Message::read("assistant", &body).unwrap().role, "assistant");
        assert_eq!(Message::read("label", &body), None);
    }

    #[test]
    fn calls_are_read_from_every_shape() {
        let shapes = [
            r#"{"content":[{"type":"tool_use","id":"c1","name":"ls","input":{"a":1}}]}"#,
            r#"{"content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{"a":1}}]}"#,
            r#"{"content":null,"tool_calls":[{"id":"c1","type":"function",
               "function":{"name":"ls","arguments":"{\"a\":1}"}}]}"#,
        ];
        for shape in shapes {
            let message = read(shape);
            let call = message.calls().next().unwrap();
            assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "ls"));
            assert_eq!(json::to_string(&call.arguments), r#"{"a":1}"#);
        }
    }

    #[test]
    fn answers_are_read_from_every_shape() {
        let shapes = [
            r#"{"role":"user",
               "content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}"#,
            r#"{"role":"tool","tool_call_id":"c1","content":"x"}"#,
            r#"{"message":{"role":"toolResult","toolCallId":"c1",
               "content":[{"type":"text","text":"x"}]}}"#,
        ];
        for shape in shapes {
            let message = read(shape);
            let answer = message.answers().next().unwrap();
            assert_eq!((answer.call.as_str(), answer.text.as_str()), ("c1", "x"));
            assert!(!message.is_from_user());
        }
    }

    #[test]
    fn what_it_took_is_read_from_every_shape() {
        let pi = read(
            r#"{"message":{"role":"assistant","model":"m","usage":{"input":3,"output":4,
            "totalTokens":9,"cost":{"total":0.5}}}}"#,
        );
        assert_eq!((pi.usage.tokens, pi.usage.cost), (Some(9), Some(0.5)));
        let claude = read(
            r#"{"message":{"usage":{"input_tokens":3,"output_tokens":4,
            "cache_read_input_tokens":5}}}"#,
        );
        assert_eq!((claude.usage.tokens, claude.usage.cost), (Some(12), None));
        let dash = read(
            r#"{"role":"assistant","content":"x","metadata":{"model":"kimi-k2.5",
            "provider":"moonshot","cost":0.001,"tokens":150}}"#,
        );
        assert_eq!((dash.usage.tokens, dash.usage.cost), (Some(150), Some(0.001)));
        assert_eq!(dash.model.as_deref(), Some("kimi-k2.5"));
    }
}
