//! One view of a message, whatever program wrote it.
//!
//! A body is what a front end gave, and front ends differ. Each shape has a file here, and is told
//! by its keys, since an entry does not say which program wrote it: a path may mix them. Everything
//! that reads conversations (log, context, compare, stats, grep) reads them through this.
//!
//! Nothing here fails: what is not understood is a block of its own, [`Block::Other`].

mod chat;
pub mod codex;
mod copilot;
mod gemini;
mod image;
mod opencode;

use crate::codec::{Value, json};

pub use crate::repo::MESSAGE_LABELS;
pub use image::Image;

/// Reads a body of one shape; `None` if it is of another.
type Shape = fn(&Value) -> Option<Message>;

/// The shapes that are told by their keys, in the order of their files' names. What has none of
/// them is a chat.
const SHAPES: &[Shape] = &[codex::read, copilot::read, gemini::read, opencode::read];

/// What stands for a picture in a text.
pub const IMAGE_WORD: &str = "[image]";

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
    Image(Image),
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The id of the call.
    pub call: String,
    /// The tool, where the answer says it.
    pub name: Option<String>,
    /// What it says, as text.
    pub text: String,
    /// The pictures it gave.
    pub images: Vec<Image>,
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
    /// The answer that it is part of, by its provider's id: each part says what the whole took.
    pub of: Option<String>,
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

    /// Gives the message as models take it: where it holds both calls and their results, each
    /// result is a message of its own behind the calls.
    pub fn apart(self) -> Vec<Message> {
        if self.calls().next().is_none() || self.answers().next().is_none() {
            return vec![self];
        }
        let Message { role, blocks, model, provider, mut usage } = self;
        let (mut parts, mut said, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        let mut part = |said: &mut Vec<Block>, answers: &mut Vec<Block>| {
            if !said.is_empty() {
                let blocks = std::mem::take(said);
                let (model, provider) = (model.clone(), provider.clone());
                // What it took counts once.
                let usage = std::mem::take(&mut usage);
                parts.push(Message { role: role.clone(), blocks, model, provider, usage });
            }
            let answers = answers.drain(..).map(|answer| vec![answer]);
            parts.extend(answers.map(|blocks| Message {
                role: "tool".to_owned(),
                blocks,
                ..Message::default()
            }));
        };
        for block in blocks {
            match block {
                Block::Result(_) => answers.push(block),
                Block::Call(_) => said.push(block),
                _ => {
                    if !answers.is_empty() {
                        part(&mut said, &mut answers);
                    }
                    said.push(block);
                }
            }
        }
        part(&mut said, &mut answers);
        parts
    }

    /// Gives the words, without thinking, calls and results.
    pub fn text(&self) -> String {
        let words = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        words.collect::<Vec<_>>().join("\n")
    }

    /// Gives what was thought.
    pub fn thinking(&self) -> String {
        let thoughts = self.blocks.iter().filter_map(|block| match block {
            Block::Thinking(text) => Some(text.as_str()),
            _ => None,
        });
        thoughts.collect::<Vec<_>>().join("\n")
    }

    /// Lists the pictures, those in results included.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Image(image) => std::slice::from_ref(image),
            Block::Result(answer) => &answer.images,
            _ => &[],
        })
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

impl Answer {
    /// Makes an answer of what a tool gave: pictures apart, all else as text.
    fn of(call: String, name: Option<String>, given: Vec<Block>, is_error: bool) -> Answer {
        let (mut words, mut images) = (Vec::new(), Vec::new());
        for block in given {
            match block {
                Block::Text(text) | Block::Thinking(text) => words.push(text),
                Block::Result(answer) => {
                    words.push(answer.text);
                    images.extend(answer.images);
                }
                Block::Call(call) => words.push(json::to_string(&call.arguments)),
                Block::Image(image) => images.push(image),
                Block::Other(value) => words.push(json::to_string(&value)),
            }
        }
        Answer { call, name, text: words.join("\n"), images, is_error }
    }

    /// Gives what it says to who sees no pictures.
    pub fn words(&self) -> String {
        let texts = Some(self.text.as_str()).filter(|text| !text.is_empty());
        let images = self.images.iter().map(|_| IMAGE_WORD);
        texts.into_iter().chain(images).collect::<Vec<_>>().join("\n")
    }
}

impl Usage {
    /// Adds up what is known, unless a sum is given. What can't be is as good as unknown.
    fn checked(self) -> Usage {
        let parts = [self.input, self.output, self.cache_read, self.cache_write];
        let sum = parts.iter().flatten().copied().reduce(i64::saturating_add);
        Usage {
            tokens: self.tokens.or(sum).filter(|tokens| *tokens >= 0),
            cost: self.cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
            ..self
        }
    }
}

/// Gives the text under a key.
fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_text).map(str::to_owned)
}

/// Gives a text as a block, unless there is none.
fn said(value: &Value, key: &str) -> Option<Block> {
    text(value, key).filter(|text| !text.is_empty()).map(Block::Text)
}

/// Gives the items of the list under a key; none if there is no list.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_default()
}

#[cfg(test)]
mod tests;
