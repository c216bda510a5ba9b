//! Dialects: the session formats of other programs, one file each.
//!
//! A dialect reads the values of a file one by one, and says of each which type of entry it is and
//! where it hangs ([`Dialect::read`]); what a value says of its whole session it notes in the
//! [`Source`]. The value itself becomes the entry's body, unchanged, so the file can be given back
//! byte for byte; what it says as a message is read by [`crate::session::Message`] by its shape.
//!
//! A dialect that can be written gives a [`Writer`], which makes values of steps that came from
//! anywhere ([`Dialect::writer`]).
//!
//! Every file has the same functions in the same order: `name`, `title`, `recognise`, `read`,
//! `writer`. Nothing here fails: what a dialect does not know is kept, beside the tree or on it.
//!
//! Not here: files, lines and damage, objects and refs (see [`crate::ops`]).

mod chat;
mod claude;
mod codex;
mod copilot;
mod dash;
mod fields;
mod gemini;
mod layout;
pub mod memory_tree;
pub(crate) mod openai;
mod opencode;
mod parts;
mod pi;
mod rollouts;
mod split;
mod told;
mod trail;

use crate::codec::Value;
use crate::id::Id;
use crate::object::Session;
use crate::session::Message;

pub use codex::Turns;
pub use gemini::Trail;
pub use layout::Layout;
pub use split::{LINE_BYTES_MAX, Odd, PARSED_BYTES_MAX, Piece, Split, Splitter};

/// The format of another program's sessions.
pub trait Dialect: Send + Sync {
    /// Gives the name by which commands know it: `pi`, `claude`.
    fn name(&self) -> &'static str;

    /// Gives the name of the program.
    fn title(&self) -> &'static str;

    /// Says whether a file is of this dialect, by its first values (one at least).
    ///
    /// Of a document with a list of messages, the first value is the document with that list
    /// empty, and the messages follow.
    fn recognise(&self, first: &[Value]) -> bool;

    /// Reads the next value of a file: a map, its long strings perhaps links.
    fn read(&self, value: &Value, source: &mut Source) -> Step;

    /// Says whether a file can hold a tree. If not, it has one path.
    fn has_tree(&self) -> bool {
        self.writer().is_some_and(|writer| writer.has_tree())
    }

    /// Makes a writer, if sessions can be written in this dialect.
    fn writer(&self) -> Option<Box<dyn Writer>> {
        None
    }
}

/// What a value is, and where it hangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The type of its entry in our words: `message`, `compaction`, `model_change`, `custom`, ….
    pub label: String,
    /// When, in milliseconds since 1970; else as the one before it.
    pub time: Option<i64>,
    /// Its own id in the file, by which others hang on it.
    pub id: Option<String>,
    /// Where it hangs.
    pub parent: Parent,
    /// Who speaks.
    pub voice: Voice,
}

/// Where a value hangs in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// It is not part of the tree: a header, a snapshot of files.
    Beside,
    /// It begins a path.
    Root,
    /// On the last value before it that is part of the tree; the first begins a path.
    Before,
    /// On the value with this id, wherever it is.
    Id(String),
}

/// Who speaks in a value. Where people or models speak on two paths, somebody made a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// A person.
    Person,
    /// A model.
    Model,
    /// A tool, or nobody.
    None,
}

/// What is known of a file so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// The name of the file, without its endings; empty if it has none.
    pub stem: String,
    /// The session's id in the file.
    pub foreign: Option<String>,
    /// The agent that another agent of the session set to work, if the file is its part of it.
    pub agent: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub time: Option<i64>,
    /// What it is called.
    pub name: Option<String>,
    /// How much the name counts, where a file has several: a person's word most.
    pub name_weight: u8,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Who serves the model.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where it was forked from.
    pub lineage: Option<Lineage>,
    /// Names for entries: the name, and the id of the entry in the file; none clears it.
    pub labels: Vec<Label>,
    /// Names for branches that the file gives: the name, and the id of the first entry on it.
    pub branches: Vec<Label>,
    /// The id of the header, where the first entries hang on it.
    pub header: Option<String>,
    /// The path so far, where a file takes back what was said.
    pub trail: Trail,
    /// Whether the next message begins a conversation of its own.
    pub is_new: bool,
    /// The version of the dialect, where it has several.
    pub version: u32,
    /// How many values were read before this one.
    pub values: u64,
    /// How many of them are messages, where a file counts them.
    pub messages: u64,
    /// Where turns began that a file may take back.
    pub turns: Turns,
}

/// A name for an entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name; `None` takes the names away that the entry had.
    pub name: Option<String>,
    /// The entry's id in the file.
    pub target: String,
}

/// Where a file's session was forked from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The other session's id in its file.
    pub session: String,
    /// The id of the entry there.
    pub entry: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Any more; null if nothing.
    pub metadata: Value,
}

/// Makes the values of a file, in order.
pub trait Writer {
    /// Says whether a file can hold a tree. If not, it is given one path.
    fn has_tree(&self) -> bool;

    /// Says whether compactions can be written. If not, it is given what the model is shown.
    fn has_compaction(&self) -> bool;

    /// Makes what comes before all steps.
    fn begin(&mut self, session: &Session) -> Vec<Value>;

    /// Makes the values of a step; a parent comes before its children.
    fn step(&mut self, step: &Leaving) -> Vec<Value>;

    /// Notes a step that stands in the file already, under its id there, if it has one.
    fn known(&mut self, step: &Leaving, id: Option<&str>) {
        let _ = (step, id);
    }

    /// Makes what comes after all steps.
    fn end(&mut self) -> Vec<Value> {
        Vec::new()
    }
}

/// A step that is written in some dialect, wherever it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaving {
    /// Its entry.
    pub id: Id,
    /// The entry it hangs on, if any.
    pub parent: Option<Id>,
    /// Its type in our words.
    pub label: String,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// What it says, long strings put back.
    pub body: Value,
    /// The message it is, if it is one that a model is shown: summaries are, too.
    pub message: Option<Message>,
    /// The first entry that a compaction keeps.
    pub first_kept: Option<Id>,
}

/// All dialects, in the order in which a file is tried.
pub fn dialects() -> &'static [&'static dyn Dialect] {
    // Two come before pi, whose header theirs are like. Plain chat comes last: almost anything
    // with a role is one.
    &[
        &rollouts::Rollouts,
        &dash::Dash,
        &pi::Pi,
        &claude::Claude,
        &codex::Codex,
        &copilot::Copilot,
        &gemini::Gemini,
        &opencode::OpenCode,
        &chat::Chat,
    ]
}

/// Finds a dialect by its name.
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    dialects().iter().copied().find(|dialect| dialect.name() == name)
}

/// Recognises the dialect of a file by its first values.
pub fn recognised(first: &[Value]) -> Option<&'static dyn Dialect> {
    match first {
        [] => None,
        _ => dialects().iter().copied().find(|dialect| dialect.recognise(first)),
    }
}

impl Step {
    /// A step that is part of no tree.
    pub fn beside(label: &str, time: Option<i64>) -> Step {
        let label = label.to_owned();
        Step { label, time, id: None, parent: Parent::Beside, voice: Voice::None }
    }
}

#[cfg(test)]
mod tests;
