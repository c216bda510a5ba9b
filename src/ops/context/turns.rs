//! A context as turns: calls of one turn together, and all their results right behind them.
//!
//! Models want it so: whatever was said between a call and its result comes after the result.

use crate::ops::context::{Role, RoleMap};
use crate::session::{Answer, Block, Shown};

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) role: Role,
    /// What is said; of results only those to no call.
    pub(super) blocks: Vec<Block>,
    /// Results of the calls of the turn before.
    pub(super) answers: Vec<Answer>,
    /// The place of the last message that it is made of; of answers, of the one that calls.
    pub(super) place: usize,
}

/// Reads messages as turns. What was thought stays private unless it is asked for.
pub(super) fn turns(messages: &[Shown], roles: &RoleMap, thinking: bool) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut left: Vec<(Role, Vec<Block>)> =
        messages.iter().map(|shown| said(shown, roles, thinking)).collect();
    let mut place = 0;
    while place < left.len() {
        let (role, mut blocks) = (left[place].0, std::mem::take(&mut left[place].1));
        place += 1;
        let mut last = place - 1;
        // Between what the model says, a place is empty if its results were taken already.
        while role == Role::Assistant
            && let Some((next, said)) = left.get_mut(place)
            && (*next == role || said.is_empty())
        {
            last = if *next == role { place } else { last };
            blocks.append(said);
            place += 1;
        }
        if blocks.is_empty() {
            continue;
        }
        let answers = answers(&blocks, &mut left[place..]);
        turns.push(Turn { role, blocks, answers: Vec::new(), place: last });
        if !answers.is_empty() {
            turns.push(Turn { role: Role::User, blocks: Vec::new(), answers, place: last });
        }
    }
    turns
}

/// Takes the results of a turn's calls out of what follows, in the order of the calls.
fn answers(blocks: &[Block], later: &mut [(Role, Vec<Block>)]) -> Vec<Answer> {
    let mut found = Vec::new();
    for block in blocks {
        let Block::Call(call) = block else {
            continue;
        };
        let is_call = |block: &Block| matches!(block, Block::Call(next) if next.id == call.id);
        for (_, blocks) in later.iter_mut() {
            let place = blocks.iter().position(|block| match block {
                Block::Result(answer) => answer.call == call.id,
                _ => false,
            });
            if let Some(place) = place
                && let Block::Result(answer) = blocks.remove(place)
            {
                found.push(answer);
                break;
            }
            if blocks.iter().any(is_call) {
                // The id comes again: what follows answers that call.
                break;
            }
        }
    }
    found
}

/// Gives who speaks and what is said, the name first where it must be told.
fn said(shown: &Shown, roles: &RoleMap, thinking: bool) -> (Role, Vec<Block>) {
    let name = &shown.message.role;
    let (role, is_told) = roles.read(name);
    let blocks = shown.message.blocks.iter().filter(|block| match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::Thinking(_) => thinking,
        _ => true,
    });
    let mut blocks: Vec<Block> = blocks.cloned().collect();
    if is_told {
        match blocks.first_mut() {
            Some(Block::Text(text)) => *text = format!("{name}: {text}"),
            Some(_) => blocks.insert(0, Block::Text(format!("{name}:"))),
            None => {}
        }
    }
    (role, blocks)
}
