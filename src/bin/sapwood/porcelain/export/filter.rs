//! The flags of `export` that are for training data.

use clap::builder::NonEmptyStringValueParser;
use sapwood::ops::{TrainingFilter, TrainingForm, TrainingOptions};

use crate::failure::Failure;
use crate::when;

/// What is taken, and how it is written.
#[derive(clap::Args, Clone, Debug, Default)]
#[group(id = "training")]
#[command(next_help_heading = "Training data")]
pub(super) struct Filter {
    /// Only branches made for this reason: message_edit, retry, …
    #[arg(long, value_name = "WORD", value_parser = NonEmptyStringValueParser::new())]
    branch_reason: Vec<String>,
    /// Only paths with this label
    #[arg(long, value_name = "LABEL", value_parser = NonEmptyStringValueParser::new())]
    label: Vec<String>,
    /// Only messages of this role, and what the model says
    #[arg(long, value_name = "ROLE", value_parser = NonEmptyStringValueParser::new())]
    role: Vec<String>,
    /// Only what this model says
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Vec<String>,
    /// Only paths that took so much at the least
    #[arg(long, value_name = "COST")]
    cost_min: Option<f64>,
    /// Only paths that took so much at the most
    #[arg(long, value_name = "COST")]
    cost_max: Option<f64>,
    /// Only what was said since then
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<i64>,
    /// Only what was said until then
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    until: Option<i64>,
    /// Tell what the model thought, too
    #[arg(long)]
    thinking: bool,
    /// Put pictures in, too
    #[arg(long)]
    images: bool,
    /// Write train and test files: so much of all sessions, from 0 to 1, is for
    /// training; always the same
    #[arg(long, value_name = "SHARE")]
    pub(super) split: Option<f64>,
    /// Write Parquet instead of lines of JSON
    #[arg(long)]
    pub(super) parquet: bool,
}

impl Filter {
    /// Says whether any flag was given.
    pub(super) fn is_given(&self) -> bool {
        let lists = [&self.branch_reason, &self.label, &self.role, &self.model];
        lists.iter().any(|list| !list.is_empty())
            || [self.cost_min, self.cost_max, self.split].iter().any(Option::is_some)
            || self.since.is_some()
            || self.until.is_some()
            || self.thinking
            || self.images
            || self.parquet
    }

    /// Gives the options that the flags say.
    pub(super) fn options(&self, form: TrainingForm) -> Result<TrainingOptions, Failure> {
        if self.split.is_some_and(|split| !(0.0..=1.0).contains(&split)) {
            return Err(Failure::Usage("--split takes a number from 0 to 1".to_owned()));
        }
        Ok(TrainingOptions {
            form,
            thinking: self.thinking,
            images: self.images,
            filter: TrainingFilter {
                reasons: self.branch_reason.clone(),
                labels: self.label.clone(),
                roles: self.role.clone(),
                models: self.model.clone(),
                cost_min: self.cost_min,
                cost_max: self.cost_max,
                since: self.since,
                until: self.until,
            },
            ..TrainingOptions::default()
        })
    }
}
