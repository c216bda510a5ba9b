//! A message in the parts that most programs write it in: what is said, and what tools answered.

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
