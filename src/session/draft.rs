//! Entries that are not written yet, and what a known type of entry must say.
//!
//! Front ends append what they like with `session::append`; what people write by hand is held
//! against this table. Types that are not in it are kept as they are.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::session::context::FIRST_KEPT_KEYS;
use crate::session::message::Message;

/// What an agent can have done.
const ACTIONS: [&str; 4] = ["spawn", "complete", "fork", "branch"];

/// The fields that set a model or how it is to work, and are texts.
const SETTING_KEYS: [&str; 5] = ["model", "modelId", "provider", "thinking", "thinkingLevel"];

/// An entry that is not written yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its type.
    pub label: String,
    /// What it says.
    pub body: Value,
    /// When, in milliseconds since 1970; else when it is written.
    pub time: Option<i64>,
}

impl Draft {
    /// A message in somebody's words.
    pub fn message(role: &str, text: impl Into<String>) -> Draft {
        let body = Value::map([("role", Value::from(role)), ("content", text.into().into())]);
        Draft { label: "message".to_owned(), body, time: None }
    }

    /// Reads the message that it will be, if it is of such a type.
    pub fn read(&self) -> Option<Message> {
        Message::read(&self.label, &self.body)
    }

    /// Refuses what its type does not allow.
    pub fn check(&self) -> Result<()> {
        let body = &self.body;
        for name in [Some(&self.label), self.read().as_ref().map(|message| &message.role)] {
            if name.is_some_and(|name| name.contains(char::is_control)) {
                return Err(self.lacks("a role or type has no control characters".to_owned()));
            }
        }
        match self.label.as_str() {
            "message" | "user" | "assistant" | "custom_message" => {
                self.demand_any(&["content", "text", "message", "tool_calls"])
            }
            "agent_action" => {
                self.demand_text("agentId")?;
                self.demand_text("action")?;
                match body.get("action").and_then(Value::as_text) {
                    Some(action) if ACTIONS.contains(&action) => Ok(()),
                    _ => Err(self.lacks(format!("'action' must be one of {}", ACTIONS.join(", ")))),
                }
            }
            "branch_point" => self.demand_text("branchName"),
            "config_change" => {
                self.allow_texts(&SETTING_KEYS)?;
                self.demand_any(&[
                    "model",
                    "provider",
                    "thinking",
                    "tools",
                    "environment",
                    "endpoint",
                    "environment_type",
                ])
            }
            "model_change" => {
                self.allow_texts(&SETTING_KEYS)?;
                self.demand_any(&["model", "modelId"])
            }
            "thinking_level_change" => {
                self.allow_texts(&SETTING_KEYS)?;
                self.demand_any(&["thinking", "thinkingLevel"])
            }
            "compaction" => {
                self.demand_text("summary")?;
                self.allow_texts(&FIRST_KEPT_KEYS)
            }
            "branch_summary" | "stack_summary" | "merge" => self.demand_text("summary"),
            "memory" => Err(self.lacks("'sapwood memory commit' makes these".to_owned())),
            _ => Ok(()),
        }
    }

    fn demand_text(&self, key: &str) -> Result<()> {
        match self.body.get(key).and_then(Value::as_text) {
            Some(text) if !text.trim().is_empty() => Ok(()),
            _ => Err(self.lacks(format!("'{key}' must be a text"))),
        }
    }

    /// Lets these fields be missing, null, a link, or a text that is not empty.
    fn allow_texts(&self, keys: &[&str]) -> Result<()> {
        let given = |key: &&&str| {
            let value = self.body.get(key);
            value.is_some_and(|value| !value.is_null() && value.as_link().is_none())
        };
        keys.iter().filter(given).try_for_each(|key| self.demand_text(key))
    }

    fn demand_any(&self, keys: &[&str]) -> Result<()> {
        match keys.iter().any(|key| self.body.get(key).is_some_and(|value| !value.is_null())) {
            true => Ok(()),
            false => Err(self.lacks(format!("it needs one of {}", keys.join(", ")))),
        }
    }

    fn lacks(&self, why: String) -> Error {
        Error::InvalidObject {
            kind: "entry",
            why: format!("type {}: {why}", self.label.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    fn check(label: &str, body: &str) -> Result<()> {
        let body = json::parse(body.as_bytes()).unwrap();
        Draft { label: label.to_owned(), body, time: None }.check()
    }

    #[test]
    fn known_types_are_held_to_what_they_must_say() {
        let cases = [
            ("agent_action", r#"{"action":"spawn","agentId":"a1"}"#, true),
            ("agent_action", r#"{"action":"complete","agentId":"a1","data":{"n":1}}"#, true),
            ("agent_action", r#"{"action":"dance","agentId":"a1"}"#, false),
            ("agent_action", r#"{"action":"spawn"}"#, false),
            ("agent_action", r#"{"action":"spawn","agentId":7}"#, false),
            ("branch_point", r#"{"branchName":"x","description":"y"}"#, true),
            ("branch_point", r#"{"name":"x"}"#, false),
            ("config_change", r#"{"endpoint":{"model":"m"},"environment_type":"coding"}"#, true),
            ("config_change", r#"{"colour":"blue"}"#, false),
            ("model_change", r#"{"modelId":"m"}"#, true),
            ("model_change", "{}", false),
            ("model_change", r#"{"model":5}"#, false),
            ("model_change", r#"{"model":"m","provider":["p"]}"#, false),
            ("config_change", r#"{"model":{},"tools":[]}"#, false),
            ("config_change", r#"{"model":null,"tools":[]}"#, true),
            ("thinking_level_change", r#"{"thinking":true}"#, false),
            ("merge", "{}", false),
            ("merge", r#"{"summary":"s"}"#, true),
            ("compaction", r#"{"summary":"s"}"#, true),
            ("compaction", r#"{"summary":"s","firstKept":null}"#, true),
            ("compaction", r#"{"summary":"s","firstKept":5}"#, false),
            ("thinking_level_change", r#"{"thinkingLevel":"high"}"#, true),
            ("thinking_level_change", r#"{"level":"high"}"#, false),
            ("custom", "{}", true),
            ("custom_message", r#"{"content":"x"}"#, true),
            ("custom_message", "{}", false),
            ("message", r#"{"role":"user"}"#, false),
            ("message", "{\"role\":\"a\\nb\",\"content\":\"x\"}", false),
            ("a\u{1b}b", "{}", false),
            ("memory", "{}", false),
            ("anything.else", "{}", true),
        ];
        for (label, body, is_fine) in cases {
            assert_eq!(check(label, body).is_ok(), is_fine, "{label} {body}");
        }
        let refused = check("agent_action", r#"{"action":"x","agentId":"a"}"#).unwrap_err();
        let expected = "not a valid entry: type agent_action: 'action' must be one of spawn, \
                        complete, fork, branch";
        assert_eq!(refused.to_string(), expected);
    }
}
