//! Messages as rows hold them: OpenAI's, of the roles that are wanted.

use crate::codec::Value;
use crate::ops::context::{Content, Role, openai_messages};
use crate::ops::export::training::{TrainingForm, TrainingOptions};
use crate::session::{Block, Shown};

/// Writes messages, each with the place of the last one that it is made of.
pub(super) fn placed(messages: &[Shown], options: &TrainingOptions) -> Vec<(usize, Value)> {
    let content = match options.images && options.form != TrainingForm::Sharegpt {
        true => Content::Parts,
        false => Content::Text,
    };
    let write =
        |messages: &[Shown]| openai_messages(messages, &options.roles, options.thinking, content);
    if options.filter.roles.is_empty() {
        return write(messages);
    }
    let (places, messages): (Vec<usize>, Vec<Shown>) =
        wanted(messages, options).into_iter().unzip();
    write(&messages).into_iter().map(|(place, message)| (places[place], message)).collect()
}

/// Writes messages.
pub(super) fn written(messages: &[Shown], options: &TrainingOptions) -> Vec<Value> {
    placed(messages, options).into_iter().map(|(_, message)| message).collect()
}

/// Takes the end away until the model speaks last.
pub(super) fn end_with_model(messages: &mut Vec<Value>) {
    messages.truncate(messages.iter().rposition(is_said_by_model).map_or(0, |last| last + 1));
}

/// Says whether the model says this.
pub(super) fn is_said_by_model(message: &Value) -> bool {
    role(message) == "assistant"
}

/// Says whether a model can answer this.
pub(super) fn is_prompt(messages: &[Value]) -> bool {
    messages.last().is_some_and(|last| role(last) != "system")
}

/// Finds what the model said last.
pub(super) fn last_said<'a>(messages: &'a [Shown], options: &TrainingOptions) -> Option<&'a Shown> {
    let mut newest_first = messages.iter().rev();
    newest_first.find(|shown| options.roles.read(&shown.message.role).0 == Role::Assistant)
}

/// Gives who speaks in a written message.
pub(super) fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_text).unwrap_or_default()
}

/// Takes the messages of the roles that are wanted, with their places; where tools are not, without
/// calls.
fn wanted(messages: &[Shown], options: &TrainingOptions) -> Vec<(usize, Shown)> {
    let is_wanted = |role: &str| options.filter.roles.iter().any(|wanted| wanted == role);
    let mut kept = Vec::new();
    for (place, shown) in messages.iter().enumerate() {
        let known = options.roles.read(&shown.message.role).0.name();
        let is_kept = known == "assistant" || is_wanted(&shown.message.role) || is_wanted(known);
        let mut shown = shown.clone();
        shown.message.blocks.retain(|block| match block {
            Block::Call(_) | Block::Result(_) => is_wanted("tool"),
            _ => is_kept,
        });
        if !shown.message.blocks.is_empty() {
            kept.push((place, shown));
        }
    }
    kept
}
