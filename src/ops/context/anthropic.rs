//! A context as Anthropic's messages take it: the system apart, user and assistant in turn.

use crate::codec::Value;
use crate::ops::context::json::block;
use crate::ops::context::{ContextOutcome, Role};
use crate::session::Block;

/// Gives the request: `model` and `system` where there are any, and `messages`.
pub(super) fn write(outcome: &ContextOutcome) -> Value {
    let mut system: Vec<String> = Vec::new();
    let mut messages: Vec<(Role, Vec<Value>)> = Vec::new();
    for turn in outcome.turns() {
        let answers = turn.answers.into_iter().map(Block::Result);
        let blocks: Vec<Block> = answers.chain(turn.blocks).collect();
        if turn.role == Role::System {
            system.extend(blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.clone()),
                _ => None,
            }));
            continue;
        }
        let blocks: Vec<Value> = blocks.iter().map(block).collect();
        match messages.last_mut() {
            Some((role, said)) if *role == turn.role => said.extend(blocks),
            _ => messages.push((turn.role, blocks)),
        }
    }
    let mut fields = Vec::new();
    if let Some(model) = &outcome.context.model {
        fields.push(("model", model.as_str().into()));
    }
    if !system.is_empty() {
        fields.push(("system", system.join("\n\n").into()));
    }
    let messages = messages.into_iter().map(|(role, blocks)| {
        Value::map([("role", Value::from(role.name())), ("content", Value::List(blocks))])
    });
    fields.push(("messages", Value::List(messages.collect())));
    Value::map(fields)
}
