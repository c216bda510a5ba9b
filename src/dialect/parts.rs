//! A message in the parts that most programs write it in: what is said, and what tools answered.

use crate::codec::Value;
use crate::dialect::fields::text;
use crate::session::{Answer, Block, Message};

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// What is said, thought and called.
    Said(Vec<&'a Block>),
    /// What tools answered.
    Answered(Vec<&'a Answer>),
}

/// Takes a message apart; one without blocks has one part in which nothing is said.
pub(super) fn parts(message: &Message) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for block in &message.blocks {
        match (block, parts.last_mut()) {
            (Block::Result(answer), Some(Part::Answered(answers))) => answers.push(answer),
            (Block::Result(answer), _) => parts.push(Part::Answered(vec![answer])),
            (block, Some(Part::Said(blocks))) => blocks.push(block),
            (block, _) => parts.push(Part::Said(vec![block])),
        }
    }
    if parts.is_empty() {
        parts.push(Part::Said(Vec::new()));
    }
    parts
}

/// Finds what a provider signed a thought with, in a body that holds the thought.
pub(super) fn signature<'a>(body: &'a Value, thought: &str) -> Option<&'a str> {
    let payload = body.get("message").unwrap_or(body);
    let blocks = payload.get("content").and_then(Value::as_list).unwrap_or_default();
    let block = blocks.iter().find(|block| text(block, "thinking") == Some(thought))?;
    text(block, "signature").or_else(|| text(block, "thinkingSignature"))
}
