//! Answers: what a model says, and what its tools do, until somebody else speaks.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::context::{Role, RoleMap};
use crate::ops::export::training::TrainingOptions;
use crate::ops::export::training::fork::Side;
use crate::ops::export::training::messages::{
    end_with_model, is_prompt, is_said_by_model, last_said, written,
};
use crate::ops::part::since;
use crate::repo::read_entry;
use crate::session::{self, MESSAGE_LABELS, Message};
use crate::store::Snapshot;

/// The types of entries, messages aside, that speak to the model.
const ASKING_LABELS: [&str; 6] =
    ["compaction", "branch_summary", "stack_summary", "merge", "custom_message", "bash_execution"];

/// An answer, and what it answers.
pub(super) struct Answer {
    /// What it answers.
    pub(super) prompt: Vec<Value>,
    /// What is said. It ends with the model, and begins with it unless a question was edited.
    pub(super) completion: Vec<Value>,
    /// Whether it begins with a question.
    pub(super) is_asked_anew: bool,
    /// When it ended.
    pub(super) time: i64,
    /// The model.
    pub(super) model: Option<String>,
}

impl Answer {
    /// Reads the answer that begins a side of a fork, and the question before it where the side
    /// begins with one; `None` if nobody answers.
    pub(super) fn read(
        snapshot: &dyn Snapshot,
        at: Option<Id>,
        side: &Side,
        options: &TrainingOptions,
    ) -> Result<Option<Answer>> {
        let mut own = since(snapshot, side.end, at)?;
        let mut length = 0;
        while length < own.len() && asks(snapshot, &own[length], &options.roles)? {
            length += 1;
        }
        let is_asked_anew = length > 0;
        while length < own.len() && !asks(snapshot, &own[length], &options.roles)? {
            length += 1;
        }
        own.truncate(length);
        let Some(end) = own.last() else {
            return Ok(None);
        };
        let mut context = session::context(snapshot, Some(&side.session), *end)?;
        context.repair();
        let begin = context.messages.iter().position(|shown| own.contains(&shown.entry));
        let (before, after) = context.messages.split_at(begin.unwrap_or(context.messages.len()));
        let Some(last) = last_said(after, options) else {
            return Ok(None);
        };
        let (prompt, mut completion) = (written(before, options), written(after, options));
        end_with_model(&mut completion);
        let begins = is_asked_anew || completion.first().is_some_and(is_said_by_model);
        let is_answer = is_prompt(&prompt) && begins && !completion.is_empty();
        let model = last.message.model.clone().or_else(|| context.model.clone());
        let time = last.time;
        Ok(is_answer.then_some(Answer { prompt, completion, is_asked_anew, time, model }))
    }
}

/// Says whether an entry is said to the model, and neither by it nor by one of its tools.
pub(super) fn asks(snapshot: &dyn Snapshot, id: &Id, roles: &RoleMap) -> Result<bool> {
    let topology = snapshot.topology(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    if ASKING_LABELS.contains(&&*topology.label) {
        return Ok(true);
    }
    if !MESSAGE_LABELS.contains(&&*topology.label) {
        return Ok(false);
    }
    // Long strings are not needed to tell who speaks.
    let entry = read_entry(snapshot, id)?;
    let message = Message::read(&entry.label, &entry.body);
    Ok(message.is_some_and(|message| {
        roles.read(&message.role).0 != Role::Assistant && message.answers().next().is_none()
    }))
}
