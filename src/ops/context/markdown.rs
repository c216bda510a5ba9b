//! A context for people, and for programs that take text.

use crate::codec::{Value, json};
use crate::ops::context::{ContextOutcome, RoleMap};
use crate::session::{Block, IMAGE_WORD, Message, Shown};

/// The types of entries that sum up what is not shown.
pub(in crate::ops) const SUMMARY_LABELS: [&str; 4] =
    ["compaction", "branch_summary", "stack_summary", "merge"];

/// Gives the messages, each under a heading; what is known comes first, if it was asked for.
pub(super) fn write(outcome: &ContextOutcome) -> String {
    let mut sections = Vec::new();
    if let Some(known) = outcome.known() {
        sections.push(format!("## Memory\n\n{known}\n"));
    }
    for Shown { label, message, .. } in &outcome.context.messages {
        sections.push(match SUMMARY_LABELS.contains(&label.as_str()) {
            true => format!("## Summary\n\n{}", said(message)),
            false => section(message, &outcome.roles),
        });
    }
    sections.join("\n")
}

/// Writes messages as Markdown, each under who speaks.
pub fn messages_to_markdown(messages: &[Message], roles: &RoleMap) -> String {
    messages.iter().map(|message| section(message, roles)).collect::<Vec<_>>().join("\n")
}

fn section(message: &Message, roles: &RoleMap) -> String {
    format!("## {}\n\n{}", heading(message, roles), said(message))
}

/// Names who speaks.
pub(in crate::ops) fn heading(message: &Message, roles: &RoleMap) -> String {
    let role = match roles.mapped(&message.role) {
        Some(role) => role.name(),
        None if message.answers().next().is_some() => "tool",
        None => &message.role,
    };
    titled(role)
}

/// Makes a heading of a word.
pub(in crate::ops) fn titled(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).map(|letter| if letter == '_' { ' ' } else { letter }).collect()
}

/// Writes what a message says, each block a paragraph.
fn said(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        let part = match block {
            Block::Text(text) => text.trim_end().to_owned(),
            Block::Thinking(_) => continue,
            Block::Call(call) => {
                let arguments = fenced("json", &json::to_string(&call.arguments));
                format!("Calls `{}` ({}):\n\n{arguments}", call.name, call.id)
            }
            Block::Result(answer) => {
                let how = if answer.is_error { "Error" } else { "Result" };
                format!("{how} ({}):\n\n{}", answer.call, fenced("", &answer.words()))
            }
            Block::Image(_) => IMAGE_WORD.to_owned(),
            Block::Other(value) => other(value),
        };
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(&part);
        text.push('\n');
    }
    text
}

fn other(value: &Value) -> String {
    fenced("json", &json::to_string(value))
}

/// Puts a text into a fence that is longer than any in it.
pub(in crate::ops) fn fenced(language: &str, text: &str) -> String {
    let (mut longest, mut length) = (2, 0);
    for letter in text.chars() {
        length = if letter == '`' { length + 1 } else { 0 };
        longest = longest.max(length);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}
