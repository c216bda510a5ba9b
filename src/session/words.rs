//! What an entry or event says, as text that people read and search.

use crate::codec::{Value, json};
use crate::session::context::summaries;
use crate::session::message::{Block, IMAGE_WORD, Message};

/// What a compaction says that has nothing to say.
const NOTHING_SAID: &str = "what was compacted is shown again";

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Who says it: a message's role, else the entry's type.
    pub who: String,
    /// The whole text.
    pub text: String,
    /// The message, if it is one.
    pub message: Option<Message>,
}

impl Words {
    /// What can be read though no entry says it: words of this file, of messages and of JSON.
    pub(crate) const FIXED: [&'static str; 13] = [
        "thinking",
        "error",
        IMAGE_WORD,
        "image/png",
        NOTHING_SAID,
        "completed",
        "true",
        "false",
        "null",
        "link",
        "type",
        "data",
        "mimeType",
    ];

    /// Reads an entry's type and body, long strings put back.
    pub fn read(label: &str, body: &Value) -> Words {
        let message = match label {
            "custom_message" | "bash_execution" => None,
            label => Message::read(label, body),
        };
        match message {
            Some(message) => {
                let text = said(&message);
                Words { who: message.role.clone(), text, message: Some(message) }
            }
            None => Words { who: label.to_owned(), text: other(label, body), message: None },
        }
    }

    /// Gives the first line that is not blank.
    pub fn first_line(&self) -> &str {
        self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// Gives all that a message says: words, thoughts, calls and results.
fn said(message: &Message) -> String {
    let parts = message.blocks.iter().map(|block| match block {
        Block::Text(text) => text.clone(),
        Block::Thinking(text) => format!("(thinking) {text}"),
        Block::Call(call) => format!("→ {} {}", call.name, json::to_string(&call.arguments)),
        Block::Result(answer) if answer.is_error => format!("← error: {}", answer.words()),
        Block::Result(answer) => format!("← {}", answer.words()),
        Block::Image(_) => IMAGE_WORD.to_owned(),
        Block::Other(value) => json::to_string(value),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Gives what an entry of another type says: its summary or text, else its fields.
fn other(label: &str, body: &Value) -> String {
    for key in ["summary", "text", "content"] {
        if let Some(text) = body.get(key).and_then(Value::as_text) {
            return text.to_owned();
        }
    }
    if label == "compaction" {
        let told = summaries(body).iter().map(said).collect::<Vec<_>>().join("\n");
        if !told.is_empty() {
            return told;
        }
        return NOTHING_SAID.to_owned();
    }
    if matches!(label, "custom_message" | "bash_execution") {
        return said(&Message::of(label, body));
    }
    fields(body)
}

/// Writes the fields of a body as `key=value`, without what its envelope repeats.
pub fn fields(body: &Value) -> String {
    const ENVELOPE: [&str; 7] =
        ["type", "timestamp", "id", "uuid", "parentId", "parentUuid", "sessionId"];
    let pairs = body.as_map().unwrap_or_default().iter();
    let shown = pairs.filter(|(key, value)| !value.is_null() && !ENVELOPE.contains(&&**key));
    let texts = shown.map(|(key, value)| match value {
        Value::Text(text) => format!("{key}={text}"),
        Value::Link(id) => format!("{key}={}", id.short(8)),
        Value::List(items) if items.iter().all(|item| item.as_link().is_some()) => {
            let ids = items.iter().filter_map(Value::as_link).map(|id| id.short(8));
            format!("{key}={}", ids.collect::<Vec<_>>().join(","))
        }
        value => format!("{key}={}", json::to_string(value)),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(label: &str, text: &str) -> Words {
        Words::read(label, &json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn every_type_says_something() {
        let call = r#"{"role":"assistant","content":[{"type":"text","text":"\n look \nat"},
            {"type":"tool_use","id":"c","name":"ls","input":{"a":1}}]}"#;
        let words = read("message", call);
        assert_eq!((words.who.as_str(), words.first_line()), ("assistant", "look"));
        assert_eq!(words.text, "\n look \nat\n→ ls {\"a\":1}");
        let result = r#"{"role":"tool","tool_call_id":"c","content":"no","isError":true}"#;
        assert_eq!(read("message", result).text, "← error: no");
        assert_eq!(read("branch_summary", r#"{"summary":"tried"}"#).text, "tried");
        let compacted = r#"{"type":"compacted","payload":{"message":"so far"}}"#;
        assert_eq!(read("compaction", compacted).text, "so far");
        let bash = r#"{"command":"ls","output":"a"}"#;
        assert_eq!(read("bash_execution", bash).text, "$ ls\na");
        let change = read("config_change", r#"{"type":"config_change","model":"haiku","n":[1]}"#);
        assert_eq!(
            (change.who.as_str(), change.text.as_str()),
            ("config_change", "model=haiku n=[1]")
        );
        assert_eq!(read("custom", "null").first_line(), "");
        let id = crate::Id::from_bytes([0xab; 32]);
        let ids = Value::List(vec![id.into(), id.into()]);
        assert_eq!(fields(&Value::map([("entries", ids)])), "entries=abababab,abababab");
    }
}
