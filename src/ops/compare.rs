//! Comparing branches: what each took since they parted, and which one took the least.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::part::{fork_point, since};
use crate::ops::{Target, origin};
use crate::repo::Place;
use crate::session::{Message, restored_entry};
use crate::store::Snapshot;

/// What is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// Money.
    #[default]
    Cost,
    /// Tokens.
    Tokens,
    /// How many entries.
    Entries,
    /// Milliseconds from the first entry to the last.
    Duration,
    /// The sum of a number that messages have in their metadata, by its path: `score.total`.
    Meta(String),
}

impl Metric {
    /// Reads a metric's name: `cost`, `tokens`, `entries`, `duration`, `meta.PATH`.
    pub fn parse(text: &str) -> Option<Metric> {
        Some(match text {
            "cost" => Metric::Cost,
            "tokens" => Metric::Tokens,
            "entries" => Metric::Entries,
            "duration" => Metric::Duration,
            _ => Metric::Meta(text.strip_prefix("meta.").filter(|path| !path.is_empty())?.into()),
        })
    }

    /// Gives its name.
    pub fn name(&self) -> String {
        match self {
            Metric::Cost => "cost".to_owned(),
            Metric::Tokens => "tokens".to_owned(),
            Metric::Entries => "entries".to_owned(),
            Metric::Duration => "duration".to_owned(),
            Metric::Meta(path) => format!("meta.{path}"),
        }
    }
}

/// A comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompareOptions {
    /// The session.
    pub target: Target,
    /// The branches, or any revisions.
    pub branches: Vec<String>,
    /// What decides.
    pub by: Metric,
    /// Whether the most wins, and not the least.
    pub highest: bool,
}

/// How branches compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The last entry that all of them share.
    pub fork_point: Option<Id>,
    /// What each took since then, in the order in which they were named.
    pub branches: Vec<Totals>,
    /// The places of the best in `branches`: one wins, more are a tie, none if nothing is known.
    pub best: Vec<usize>,
    /// Each metric for each pair.
    pub differences: Vec<Difference>,
}

/// What a branch took since the fork point.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// What it was named.
    pub name: String,
    /// Where it ends.
    pub end: Id,
    /// How many entries.
    pub entries: u64,
    /// Money, if any message says.
    pub cost: Option<f64>,
    /// Tokens, if any message says.
    pub tokens: Option<i64>,
    /// Milliseconds from the first entry to the last, if there are any.
    pub duration: Option<i64>,
    /// What was asked for of the metadata, if any message has it.
    pub meta: Option<f64>,
}

/// One metric of two branches.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What is measured.
    pub metric: Metric,
    /// The places of the two in the comparison.
    pub pair: (usize, usize),
    /// The second less the first, if both are known.
    pub diff: Option<f64>,
    /// The same in percent of the first, if that is not zero.
    pub percent: Option<f64>,
}

/// Compares branches since the point where all of them part (compareBranches).
pub fn compare(snapshot: &dyn Snapshot, options: &CompareOptions) -> Result<Comparison> {
    if options.branches.len() < 2 {
        return Err(Error::Refused {
            why: "a comparison takes two branches at least".to_owned(),
            hint: "'sapwood branch' lists the branches there are",
        });
    }
    let place = Place::in_session(options.target.session(snapshot)?);
    let find = |name: &String| origin::entry(snapshot, &place, name);
    let ends = options.branches.iter().map(find).collect::<Result<Vec<Id>>>()?;
    let fork_point = fork_point(snapshot, &ends)?;
    let mut branches = Vec::with_capacity(ends.len());
    for (name, end) in options.branches.iter().zip(&ends) {
        branches.push(totals(snapshot, name, *end, fork_point, &options.by)?);
    }
    let mut metrics = vec![Metric::Cost, Metric::Tokens, Metric::Entries, Metric::Duration];
    if !metrics.contains(&options.by) {
        metrics.push(options.by.clone());
    }
    let differences = differences(&branches, &metrics);
    let best = best(&branches, &options.by, options.highest);
    Ok(Comparison { fork_point, branches, best, differences })
}

impl Totals {
    /// Gives what was measured, if it is known.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        match metric {
            Metric::Cost => self.cost,
            Metric::Tokens => self.tokens.map(|tokens| tokens as f64),
            Metric::Entries => Some(self.entries as f64),
            Metric::Duration => self.duration.map(|duration| duration as f64),
            Metric::Meta(_) => self.meta,
        }
    }
}

fn totals(
    snapshot: &dyn Snapshot,
    name: &str,
    end: Id,
    point: Option<Id>,
    by: &Metric,
) -> Result<Totals> {
    let own = since(snapshot, end, point)?;
    let (mut cost, mut tokens, mut meta) = (None, None, None);
    let (mut first, mut last) = (None, None);
    let mut of = None;
    for id in &own {
        let entry = restored_entry(snapshot, id)?;
        first = first.or(Some(entry.time));
        last = Some(entry.time);
        let message = Message::read(&entry.label, &entry.body);
        let is_part = |message: &Message| message.usage.of.is_some() && message.usage.of == of;
        if let Some(message) = message.filter(|message| !is_part(message)) {
            of.clone_from(&message.usage.of);
            add(&mut cost, message.usage.cost);
            tokens = match (tokens, message.usage.tokens) {
                (Some(sum), Some(more)) => Some(i64::saturating_add(sum, more)),
                (sum, more) => sum.or(more),
            };
        }
        if let Metric::Meta(path) = by {
            let mut value = entry.body.get("metadata");
            for key in path.split('.') {
                value = value.and_then(|value| value.get(key));
            }
            add(&mut meta, value.and_then(|value| value.as_f64()));
        }
    }
    Ok(Totals {
        name: name.to_owned(),
        end,
        entries: own.len() as u64,
        cost: known(cost),
        tokens,
        duration: first.zip(last).map(|(first, last)| last.saturating_sub(first)),
        meta: known(meta),
    })
}

fn add(sum: &mut Option<f64>, more: Option<f64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0.0) + more);
    }
}

/// Gives a sum without noise. One that is too large for a number is unknown.
fn known(sum: Option<f64>) -> Option<f64> {
    sum.filter(|sum| sum.is_finite()).map(rounded)
}

/// Drops the noise that adding decimal fractions leaves in a double.
fn rounded(value: f64) -> f64 {
    const PARTS: f64 = 1e9;
    let rounded = (value * PARTS).round() / PARTS;
    if rounded.is_finite() { rounded } else { value }
}

fn differences(branches: &[Totals], metrics: &[Metric]) -> Vec<Difference> {
    let mut found = Vec::new();
    for metric in metrics {
        for (one, left) in branches.iter().enumerate() {
            for (other, right) in branches.iter().enumerate().skip(one + 1) {
                let (left, right) = (left.value(metric), right.value(metric));
                let diff = left.zip(right).map(|(left, right)| rounded(right - left));
                let percent = match (diff, left) {
                    (Some(diff), Some(left)) if left != 0.0 => {
                        Some((diff / left * 10_000.0).round() / 100.0)
                    }
                    _ => None,
                };
                let metric = metric.clone();
                found.push(Difference { metric, pair: (one, other), diff, percent });
            }
        }
    }
    found
}

/// Finds the branches whose value is the best; an unknown one never is.
fn best(branches: &[Totals], by: &Metric, highest: bool) -> Vec<usize> {
    let known = branches.iter().enumerate();
    let known: Vec<(usize, f64)> =
        known.filter_map(|(at, totals)| Some((at, totals.value(by)?))).collect();
    let better = |one: f64, other: f64| if highest { one.max(other) } else { one.min(other) };
    let best = known.iter().map(|(_, value)| *value).reduce(better);
    known.into_iter().filter(|(_, value)| Some(*value) == best).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
