//! Sessions as training data.

use std::io::Write;

use crate::error::Result;
use crate::ops::export::Scope;
use crate::store::Snapshot;

/// What a line of training data looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingForm {
    /// `{"messages":[…]}` with tool calls, as OpenAI's.
    Openai,
}

/// What is taken.
#[derive(Clone, Debug)]
pub struct TrainingOptions {
    /// The form of a line.
    pub form: TrainingForm,
}

/// Writes sessions as training data.
pub fn training(
    _snapshot: &dyn Snapshot,
    _sessions: &[(String, Scope)],
    _options: &TrainingOptions,
    _out: &mut dyn Write,
) -> Result<()> {
    Ok(())
}
