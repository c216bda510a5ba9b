//! Conversations as ShareGPT's: texts in turn, by people and tools, and by the model.
//!
//! Readers of this form want the two sides strictly in turn, and calls as JSON and nothing else.
//! So what comes from people in a row is one text, calls that were made together come one after
//! the other, each with its result, and words beside a call are left out: `openai-jsonl` has them.
//! Where somebody interrupts the model right behind a result, both stay as they are: nothing is put
//! into the model's mouth, and strict readers pass over the conversation.

use crate::codec::{Value, json};
use crate::ops::export::training::messages::role;

/// Makes a conversation of messages as OpenAI's. It ends with the model; else it is empty.
pub(super) fn conversation(messages: &[Value]) -> Vec<Value> {
    let mut turns: Vec<(&'static str, String)> = Vec::new();
    let mut messages = messages.iter().peekable();
    while let Some(message) = messages.next() {
        let content = text(message, "content");
        let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or_default();
        match role(message) {
            "assistant" if calls.is_empty() => turns.push(("gpt", thought(message) + content)),
            "assistant" => {
                for (number, call) in calls.iter().enumerate() {
                    let thought = if number == 0 { thought(message) } else { String::new() };
                    turns.push(("function_call", thought + &function(call)));
                    let answer = messages.next_if(|next| role(next) == "tool");
                    turns.extend(
                        answer.map(|next| ("observation", text(next, "content").to_owned())),
                    );
                }
            }
            "tool" => turns.push(("observation", content.to_owned())),
            "system" if turns.iter().all(|(from, _)| *from == "system") => {
                add(&mut turns, "system", content);
            }
            _ => add(&mut turns, "human", content),
        }
    }
    let is_model = |turn: &(&str, String)| matches!(turn.0, "gpt" | "function_call");
    turns.truncate(turns.iter().rposition(is_model).map_or(0, |last| last + 1));
    let values = turns
        .into_iter()
        .map(|(from, value)| Value::map([("from", Value::from(from)), ("value", value.into())]));
    values.collect()
}

/// Adds a text to what the same side just said, or begins a turn.
fn add(turns: &mut Vec<(&'static str, String)>, from: &'static str, text: &str) {
    match turns.last_mut() {
        Some((last, said)) if *last == from => {
            said.push_str("\n\n");
            said.push_str(text);
        }
        _ => turns.push((from, text.to_owned())),
    }
}

/// Gives what the model thought before it spoke, in the tags that readers know.
fn thought(message: &Value) -> String {
    match text(message, "reasoning_content") {
        "" => String::new(),
        thought => format!("<think>\n{thought}\n</think>\n\n"),
    }
}

/// Gives a call as JSON: the name, and the arguments as they are.
fn function(call: &Value) -> String {
    let function = call.get("function").unwrap_or(&Value::Null);
    let arguments = text(function, "arguments");
    let arguments = json::parse(arguments.as_bytes()).unwrap_or_else(|_| arguments.into());
    let name = Value::from(text(function, "name"));
    json::to_string(&Value::map([("name", name), ("arguments", arguments)]))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_text).unwrap_or_default()
}
