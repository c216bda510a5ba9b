//! What a command is fed with: messages, as Markdown or as JSON.

use std::fmt::Write;

use sapwood::codec::{Value, json};
use sapwood::session::{Block, Message};

use super::{Setting, With};
use crate::failure::Failure;

/// A command that reads messages.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Feed {
    #[command(flatten)]
    pub(crate) with: With,
    /// Feed the command with JSON instead of Markdown
    #[arg(long, requires = "with")]
    json_input: bool,
}

impl Feed {
    /// Runs the command on messages, if there is one.
    pub(crate) fn run(
        &self,
        setting: Setting<'_>,
        messages: &[Message],
    ) -> Result<Option<String>, Failure> {
        let input = match self.json_input {
            false => markdown(messages),
            true => json::to_string(&object(setting, messages)) + "\n",
        };
        self.with.run(setting, input)
    }
}

/// Writes messages with a heading for each.
fn markdown(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        // Writing to a string does not fail.
        let _ = writeln!(text, "## {}\n", message.role);
        for part in message.blocks.iter().filter_map(part) {
            text.push_str(part.trim_end());
            text.push_str("\n\n");
        }
    }
    text
}

fn part(block: &Block) -> Option<String> {
    Some(match block {
        Block::Text(text) => text.clone(),
        Block::Thinking(_) => return None,
        Block::Call(call) => {
            format!("Calls the tool {}: {}", call.name, json::to_string(&call.arguments))
        }
        Block::Result(answer) if answer.is_error => format!("The tool failed:\n\n{}", answer.text),
        Block::Result(answer) => format!("The tool answered:\n\n{}", answer.text),
        Block::Image(_) => "[image]".to_owned(),
        Block::Other(value) => json::to_string(value),
    })
}

fn object(setting: Setting<'_>, messages: &[Message]) -> Value {
    let messages = messages.iter().map(|message| {
        let content = match message.blocks.as_slice() {
            [Block::Text(text)] => Value::from(text.as_str()),
            blocks => Value::List(blocks.iter().map(block).collect()),
        };
        Value::map([("role", Value::from(message.role.as_str())), ("content", content)])
    });
    let fields = [
        ("command", Value::from(setting.command)),
        ("session", setting.session.map(str::to_owned).into()),
        ("branch", setting.branch.map(str::to_owned).into()),
        ("messages", Value::List(messages.collect())),
    ];
    Value::map(fields.into_iter().filter(|(_, value)| !value.is_null()))
}

fn block(block: &Block) -> Value {
    let text = |kind: &str, text: &str| {
        Value::map([("type", Value::from(kind)), (kind, Value::from(text))])
    };
    match block {
        Block::Text(words) => text("text", words),
        Block::Thinking(words) => text("thinking", words),
        Block::Call(call) => Value::map([
            ("type", Value::from("tool_use")),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("input", call.arguments.clone()),
        ]),
        Block::Result(answer) => Value::map([
            ("type", Value::from("tool_result")),
            ("tool_use_id", answer.call.as_str().into()),
            ("content", answer.text.as_str().into()),
            ("is_error", answer.is_error.into()),
        ]),
        Block::Image(value) | Block::Other(value) => value.clone(),
    }
}
