//! What is taken of a session, and what is not.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::export::training::{TrainingFilter, TrainingOptions};
use crate::ops::part::is_on_path;
use crate::repo::read_entry;
use crate::session::{Context, MESSAGE_LABELS, Message, Shown, Usage, View};
use crate::walk;

/// Why branches were made that replace what was said.
const REPLACING_REASONS: [&str; 2] = ["message_edit", "retry"];

/// The filter, and what it asks about a session.
pub(super) struct Sieve<'a> {
    view: &'a View<'a>,
    pub(super) options: &'a TrainingOptions,
    /// The entries that have one of the labels.
    labelled: Vec<Id>,
    /// The ends of the branches that were made for one of the reasons.
    made: Vec<Id>,
    /// Whether the session was.
    is_made: bool,
}

impl<'a> Sieve<'a> {
    pub(super) fn new(view: &'a View<'a>, options: &'a TrainingOptions) -> Result<Sieve<'a>> {
        let filter = &options.filter;
        let mut sieve =
            Sieve { view, options, labelled: Vec::new(), made: Vec::new(), is_made: false };
        if !filter.labels.is_empty() {
            let labels = view.labels()?.into_iter();
            let wanted = labels.filter(|(name, _)| filter.labels.contains(name));
            sieve.labelled = wanted.map(|(_, entry)| entry).collect();
        }
        if !filter.reasons.is_empty() {
            let is_wanted = |reason: Option<String>| {
                reason.is_some_and(|reason| filter.reasons.contains(&reason))
            };
            sieve.is_made = is_wanted(view.meta()?.fork.and_then(|fork| fork.reason));
            for (branch, end) in view.branches()? {
                if is_wanted(view.record(&branch)?.and_then(|record| record.reason)) {
                    sieve.made.push(end);
                }
            }
        }
        Ok(sieve)
    }

    /// Says whether what was made for this reason replaces something that is asked for.
    pub(super) fn takes_reason(&self, reason: Option<&str>) -> bool {
        let wanted = &self.options.filter.reasons;
        reason.is_some_and(|reason| match wanted.is_empty() {
            true => REPLACING_REASONS.contains(&reason),
            false => wanted.iter().any(|wanted| wanted == reason),
        })
    }

    /// Says whether a branch through this entry was made for one of the reasons.
    pub(super) fn takes_branch(&self, entry: Id) -> Result<bool> {
        if self.options.filter.reasons.is_empty() || self.is_made {
            return Ok(true);
        }
        any(&self.made, &|end| is_on_path(self.view.snapshot, entry, end))
    }

    /// Says whether a path has one of the labels, and took as much as is asked for.
    pub(super) fn takes_path(&self, end: Id) -> Result<bool> {
        let TrainingFilter { labels, cost_min, cost_max, .. } = &self.options.filter;
        let on_path = |entry| is_on_path(self.view.snapshot, entry, end);
        if !labels.is_empty() && !any(&self.labelled, &on_path)? {
            return Ok(false);
        }
        if cost_min.is_none() && cost_max.is_none() {
            return Ok(true);
        }
        Ok(self.cost(end)?.is_some_and(|cost| {
            cost_min.is_none_or(|min| cost >= min) && cost_max.is_none_or(|max| cost <= max)
        }))
    }

    /// Says whether something was said by one of the models, and when it is asked for.
    pub(super) fn takes_said(&self, shown: &Shown, context: &Context) -> bool {
        let model = shown.message.model.as_deref().or(context.model.as_deref());
        self.takes_turn(shown.time, model)
    }

    /// The same of a turn of a model.
    pub(super) fn takes_turn(&self, time: i64, model: Option<&str>) -> bool {
        let TrainingFilter { models, since, until, .. } = &self.options.filter;
        let is_wanted = |model: &str| models.iter().any(|wanted| wanted == model);
        since.is_none_or(|since| time >= since)
            && until.is_none_or(|until| time <= until)
            && (models.is_empty() || model.is_some_and(is_wanted))
    }

    /// Adds up what the messages of a path took, if any says it; an answer in parts counts once.
    fn cost(&self, end: Id) -> Result<Option<f64>> {
        let mut sum = None;
        let mut counted = HashSet::new();
        for id in walk::path(self.view.snapshot, end) {
            let id = id?;
            let topology = self.view.snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            if !MESSAGE_LABELS.contains(&&*topology.label) {
                continue;
            }
            // Long strings are not needed to tell what it took.
            let entry = read_entry(self.view.snapshot, &id)?;
            let usage = Message::read(&entry.label, &entry.body).map(|message| message.usage);
            let Some(Usage { cost: Some(cost), of, .. }) = usage else {
                continue;
            };
            if of.is_none_or(|answer| counted.insert(answer)) {
                sum = Some(sum.unwrap_or(0.0) + cost);
            }
        }
        Ok(sum)
    }
}

/// Says whether something holds of one of these entries.
fn any(entries: &[Id], holds: &dyn Fn(Id) -> Result<bool>) -> Result<bool> {
    for entry in entries {
        if holds(*entry)? {
            return Ok(true);
        }
    }
    Ok(false)
}
