//! Sessions as training data: rows for those who train models, by form.
//!
//! | form | a row | there is one for |
//! | --- | --- | --- |
//! | `openai-jsonl` | `messages` | each branch that no other goes on from |
//! | `sharegpt` | `conversations` of `from` and `value` | the same |
//! | `sft` | `prompt`, `completion` | each turn of the model, on any branch, once |
//! | `dpo` | `prompt`, `chosen`, `rejected` | each answer that another one replaced |
//! | `kto` | `prompt`, `completion`, `label` | each of these answers, and each labelled one |
//!
//! All but `sharegpt` are lists of messages as OpenAI's, which is what TRL calls conversational.
//! What a model is shown is its [context](crate::session::context), with calls that nothing
//! answered closed; history that branches share is in the rows of each.
//!
//! Invariants:
//! - a list that is trained on ends with what the model says; what was said after it is left out;
//! - a prompt is never empty, and chosen and rejected follow the same one. Of an edit of what a
//!   person said, both begin with what was asked; it gives no verdict on an answer alone;
//! - a column has one type: content is always a text, or with pictures always a list of parts.
//!
//! Rows are written as they are made; no more than one context is held at a time.

mod answer;
mod fork;
mod maker;
mod messages;
mod parquet;
mod paths;
mod row;
mod sharegpt;
mod sieve;
#[cfg(test)]
mod tests;

use std::io::Write;

use crate::error::{Error, Result};
use crate::ops::context::RoleMap;
use crate::ops::export::Scope;
use crate::ops::root_of;
use crate::session::View;
use crate::store::Snapshot;

use maker::Maker;
use row::{Lines, Sink};

/// What a row looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrainingForm {
    /// `messages`: OpenAI's, with calls of tools.
    #[default]
    Openai,
    /// `conversations` of `human`, `gpt`, `system`, `function_call` and `observation`.
    Sharegpt,
    /// `prompt` and `completion`: supervised, one turn of the model at a time.
    Sft,
    /// `prompt`, `chosen` and `rejected`: preferences in pairs.
    Dpo,
    /// `prompt`, `completion` and `label`: preferences one by one.
    Kto,
}

/// How rows are made, and of what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingOptions {
    /// What a row looks like.
    pub form: TrainingForm,
    /// Whether what the model thought is told: as `reasoning_content`, in ShareGPT within tags.
    pub thinking: bool,
    /// Whether pictures are, as parts of type `image_url`. Else a text stands for each.
    pub images: bool,
    /// What roles stand for that models do not know.
    pub roles: RoleMap,
    /// What is taken.
    pub filter: TrainingFilter,
}

/// What is taken. Nothing given takes everything; of several values one must fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingFilter {
    /// Why the branch was made, or its session. Pairs are made of edits and retries if nothing is
    /// given.
    pub reasons: Vec<String>,
    /// A label on the path.
    pub labels: Vec<String>,
    /// Only messages of these roles, and what the model says. Without `tool` it calls none.
    pub roles: Vec<String>,
    /// The model that says what is trained on.
    pub models: Vec<String>,
    /// What the whole path took, at the least. What is unknown is not taken.
    pub cost_min: Option<f64>,
    /// What the whole path took, at the most. What is unknown is not taken.
    pub cost_max: Option<f64>,
    /// When the model said it, in milliseconds since 1970, at the earliest.
    pub since: Option<i64>,
    /// When the model said it, at the latest.
    pub until: Option<i64>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainingOutcome {
    /// How many rows.
    pub rows: u64,
    /// How many branches, turns or forks passed the filter and made no row: nobody answers, or the
    /// sides answer different things.
    pub left_out: u64,
}

/// What a session is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingPart {
    /// To train.
    Train,
    /// To test what was trained.
    Test,
}

/// Writes sessions as training data, a line for each row.
pub fn training(
    snapshot: &dyn Snapshot,
    sessions: &[(String, Scope)],
    options: &TrainingOptions,
    out: &mut dyn Write,
) -> Result<TrainingOutcome> {
    write_rows(snapshot, sessions, options, &mut Lines { out })
}

/// Writes sessions as training data, as a Parquet file.
pub fn training_parquet(
    snapshot: &dyn Snapshot,
    sessions: &[(String, Scope)],
    options: &TrainingOptions,
    out: &mut dyn Write,
) -> Result<TrainingOutcome> {
    let failed = || Error::io("write", "training data");
    let mut file = parquet::Writer::new(out, row::columns(options)).map_err(failed())?;
    let outcome = write_rows(snapshot, sessions, options, &mut file)?;
    file.finish().map_err(failed())?;
    Ok(outcome)
}

/// Says what a session is used for, if `split` of all are to train: always the same.
///
/// Sessions that were forked from each other share their history, so they stay together.
pub fn training_part(snapshot: &dyn Snapshot, session: &str, split: f64) -> Result<TrainingPart> {
    let hash = blake3::hash(root_of(snapshot, session)?.as_bytes());
    let first = hash.as_bytes().first_chunk().expect("a hash is longer than eight bytes");
    let share = u64::from_le_bytes(*first) as f64 / u64::MAX as f64;
    Ok(if share < split { TrainingPart::Train } else { TrainingPart::Test })
}

impl TrainingForm {
    /// All forms.
    pub const ALL: [TrainingForm; 5] = [
        TrainingForm::Openai,
        TrainingForm::Sharegpt,
        TrainingForm::Sft,
        TrainingForm::Dpo,
        TrainingForm::Kto,
    ];

    /// Gives its name.
    pub fn name(self) -> &'static str {
        match self {
            TrainingForm::Openai => "openai-jsonl",
            TrainingForm::Sharegpt => "sharegpt",
            TrainingForm::Sft => "sft",
            TrainingForm::Dpo => "dpo",
            TrainingForm::Kto => "kto",
        }
    }

    /// Finds a form by its name.
    pub fn parse(text: &str) -> Option<TrainingForm> {
        TrainingForm::ALL.into_iter().find(|form| form.name() == text)
    }
}

/// Makes the rows and hands them on.
fn write_rows(
    snapshot: &dyn Snapshot,
    sessions: &[(String, Scope)],
    options: &TrainingOptions,
    sink: &mut dyn Sink,
) -> Result<TrainingOutcome> {
    let mut maker = Maker::new(snapshot, options, sink);
    for (session, scope) in sessions {
        maker.add(&View::of(snapshot, session)?, *scope)?;
    }
    Ok(maker.outcome)
}
