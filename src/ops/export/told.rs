//! An entry as it is told: long strings put back, calls with what answered them.

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::object::Session;
use crate::ops::context::SUMMARY_LABELS;
use crate::ops::export::outline::Outline;
use crate::session::{Answer, Block, Message, Words, restored_entry};
use crate::store::Snapshot;

/// How many characters of a text stand for it where it is only named.
const WORDS_CHARACTERS_MAX: usize = 90;

/// An entry as it is told.
pub(super) struct Told {
    pub(super) id: Id,
    pub(super) label: String,
    pub(super) time: i64,
    pub(super) kind: Kind,
    pub(super) body: Value,
    /// What was merged in with it, if that is told too.
    pub(super) merged: Vec<Id>,
}

/// What an entry is to people.
pub(super) enum Kind {
    /// A message, without the answers that stand with their calls, and the answer to each call.
    Message(Box<Message>, Vec<Option<Answer>>),
    /// It sums up what was said elsewhere.
    Summary(String),
    /// A command that a person ran, and its output.
    Shell(String),
    /// What a program says in a conversation.
    Note(String),
    /// Anything else, in a line.
    Other(String),
}

impl Told {
    /// Reads an entry.
    pub(super) fn read(snapshot: &dyn Snapshot, outline: &Outline, place: usize) -> Result<Told> {
        let id = outline.forest.ids()[place];
        let entry = restored_entry(snapshot, &id)?;
        let words = Words::read(&entry.label, &entry.body);
        let kind = match (words.message, entry.label.as_str()) {
            (Some(message), _) => message_of(snapshot, outline, place, message)?,
            (None, "bash_execution") => Kind::Shell(words.text),
            (None, "custom_message") => Kind::Note(words.text),
            (None, label) if SUMMARY_LABELS.contains(&label) => Kind::Summary(words.text),
            (None, _) => Kind::Other(clipped(&words.text)),
        };
        let others = entry.parents.iter().skip(1).copied();
        let is_told = |id: &Id| outline.forest.place(id).and_then(|place| outline.home(place));
        Ok(Told {
            id,
            time: entry.time,
            kind,
            merged: others.filter(|id| is_told(id).is_some()).collect(),
            label: entry.label,
            body: entry.body,
        })
    }
}

/// Gives the first words of the message that a section begins with.
pub(super) fn opening(
    snapshot: &dyn Snapshot,
    outline: &Outline,
    section: usize,
) -> Result<String> {
    let Some(place) = outline.sections[section].opening else {
        return Ok(String::new());
    };
    let entry = restored_entry(snapshot, &outline.forest.ids()[place])?;
    Ok(clipped(&Words::read(&entry.label, &entry.body).text))
}

/// Gives what a session is called: its name, else how it begins, else its id.
pub(super) fn title(snapshot: &dyn Snapshot, outline: &Outline, meta: &Session) -> Result<String> {
    if let Some(name) = meta.name.as_ref().filter(|name| !name.trim().is_empty()) {
        return Ok(name.clone());
    }
    let words = match outline.sections.is_empty() {
        true => String::new(),
        false => opening(snapshot, outline, 0)?,
    };
    Ok(if words.is_empty() { meta.sid.clone() } else { words })
}

/// Names a section: its branches, else its number.
pub(super) fn section_name(outline: &Outline, section: usize) -> String {
    match &outline.sections[section].names[..] {
        [] => format!("branch {}", section + 1),
        names => names.join(", "),
    }
}

/// Gives the first words of a text, on one line.
pub(super) fn clipped(text: &str) -> String {
    let mut words = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let space = usize::from(count > 0);
        let length = word.chars().count();
        if count + space + length > WORDS_CHARACTERS_MAX {
            let left = WORDS_CHARACTERS_MAX.saturating_sub(count + space);
            words.push_str(if space > 0 && left > 0 { " " } else { "" });
            // A long word is cut, a short one is left out.
            words.extend(word.chars().take(if length > left.max(20) { left } else { 0 }));
            words.push('…');
            return words;
        }
        words.push_str(if space > 0 { " " } else { "" });
        words.push_str(word);
        count += space + length;
    }
    words
}

/// Takes the answers away that stand with their calls, and finds those to its own calls.
fn message_of(
    snapshot: &dyn Snapshot,
    outline: &Outline,
    place: usize,
    mut message: Message,
) -> Result<Kind> {
    let mut number = 0;
    message.blocks.retain(|block| {
        let Block::Result(_) = block else {
            return true;
        };
        number += 1;
        !outline.joined.is_moved((place, number - 1))
    });
    let mut answers = Vec::new();
    // Answers to calls that were made together mostly stand together.
    let mut last: Option<(usize, Option<Message>)> = None;
    for number in 0..message.calls().count() {
        let Some((place, number)) = outline.joined.answer((place, number)) else {
            answers.push(None);
            continue;
        };
        if last.as_ref().is_none_or(|(known, _)| *known != place) {
            let entry = restored_entry(snapshot, &outline.forest.ids()[place])?;
            last = Some((place, Message::read(&entry.label, &entry.body)));
        }
        let said = last.as_ref().and_then(|(_, message)| message.as_ref());
        answers.push(said.and_then(|message| message.answers().nth(number).cloned()));
    }
    Ok(Kind::Message(Box::new(message), answers))
}
