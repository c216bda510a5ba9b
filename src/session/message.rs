//! One view of a message, whatever program wrote it.
//!
//! A body is what a front end gave, and front ends differ. Each shape has a file here, and is told
//! by its keys, since an entry does not say which program wrote it: a path may mix them. Everything
//! that reads conversations (log, context, compare, stats, grep) reads them through this.
//!
//! Nothing here fails: what is not understood is a block of its own, [`Block::Other`].

mod chat;
pub mod codex;

use crate::codec::Value;

pub use crate::repo::MESSAGE_LABELS;

/// Reads a body of one shape; `None` if it is of another.
type Shape = fn(&Value) -> Option<Message>;

/// The shapes that are told by their keys, in the order of their files' names. What has none of
/// them is a chat.
const SHAPES: &[Shape] = &[codex::read];

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Who speaks: `user`, `assistant`, `system`, `tool`, or any other word.
    pub role: String,
    /// What is said, in order.
    pub blocks: Vec<Block>,
    /// The model that said it.
    pub model: Option<String>,
    /// Who serves the model.
    pub provider: Option<String>,
    /// What it took.
    pub usage: Usage,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Text(String),
    /// What the model thought before it spoke.
    Thinking(String),
    /// A tool is called.
    Call(Call),
    /// A tool has answered.
    Result(Answer),
    /// A picture.
    Image(Value),
    /// Anything else.
    Other(Value),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What its result names.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Value,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The id of the call.
    pub call: String,
    /// The tool, where the answer says it.
    pub name: Option<String>,
    /// What it says, as text.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// What a message took, as far as is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens read, those from a cache left out.
    pub input: Option<i64>,
    /// Tokens written.
    pub output: Option<i64>,
    /// Tokens read from a cache.
    pub cache_read: Option<i64>,
    /// Tokens written to a cache.
    pub cache_write: Option<i64>,
    /// All tokens.
    pub tokens: Option<i64>,
    /// Money.
    pub cost: Option<f64>,
}

/// Costs are compared by bits: both were read from text.
impl Eq for Usage {}

impl Message {
    /// Reads a message out of an entry's type and body; `None` if it is of another type.
    pub fn read(label: &str, body: &Value) -> Option<Message> {
        MESSAGE_LABELS.contains(&label).then(|| Message::of(label, body))
    }

    /// Reads a message out of a body that is known to hold one.
    pub(super) fn of(label: &str, body: &Value) -> Message {
        let told = SHAPES.iter().find_map(|shape| shape(body));
        told.unwrap_or_else(|| chat::read(label, body))
    }

    /// Gives the words, without thinking, calls and results.
    pub fn text(&self) -> String {
        let words = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect::<Vec<_>>().join("\n")
    }

    /// Lists the tools that are called.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Lists what tools answered.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Result(answer) => Some(answer),
            _ => None,
        })
    }

    /// Says whether a person speaks here, and not a tool in a person's name.
    pub fn is_from_user(&self) -> bool {
        self.role == "user" && self.answers().next().is_none()
    }
}
