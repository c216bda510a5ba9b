//! Messages as Markdown, for the commands that sum them up.

use sapwood::id::Id;
use sapwood::session::{Message, restored_entry};
use sapwood::store::Snapshot;

use crate::failure::Failure;

/// Writes messages one after the other, each under who speaks.
pub(crate) fn markdown<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let mut text = String::new();
    for message in messages {
        text.push_str(&format!("## {}\n\n{}\n\n", message.role, message.text()));
        for call in message.calls() {
            text.push_str(&format!("(calls {})\n\n", call.name));
        }
        for answer in message.answers() {
            text.push_str(&format!("{}\n\n", answer.text));
        }
    }
    text
}

/// Reads those of some entries that are messages.
pub(crate) fn messages(snapshot: &dyn Snapshot, ids: &[Id]) -> Result<Vec<Message>, Failure> {
    let mut found = Vec::new();
    for id in ids {
        let entry = restored_entry(snapshot, id)?;
        found.extend(Message::read(&entry.label, &entry.body));
    }
    Ok(found)
}
