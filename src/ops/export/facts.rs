//! What is said of a session before anybody speaks.

use std::collections::BTreeMap;

use crate::dialect;
use crate::object::Session;
use crate::ops::export::outline::Outline;
use crate::session::{Message, Usage};
use crate::time;

/// How many models are named at the most.
const MODELS_MAX: usize = 8;

/// What the entries of a session come to.
#[derive(Default)]
pub(super) struct Facts {
    entries: u64,
    messages: u64,
    prompts: u64,
    calls: u64,
    compactions: u64,
    input: i64,
    output: i64,
    tokens: i64,
    cost: Option<f64>,
    /// The models and how many messages each said.
    models: BTreeMap<String, u64>,
    /// The answer that was counted last.
    of: Option<String>,
    /// The first time and the last.
    times: Option<(i64, i64)>,
}

impl Facts {
    /// Counts an entry.
    pub(super) fn add(&mut self, time: i64, message: Option<&Message>, is_compaction: bool) {
        self.entries += 1;
        self.compactions += u64::from(is_compaction);
        let Some(message) = message else {
            return;
        };
        self.messages += 1;
        self.prompts += u64::from(message.is_from_user());
        self.calls += message.calls().count() as u64;
        let usage = &match &message.usage.of {
            of @ Some(_) if *of == self.of => Usage::default(),
            of => {
                self.of.clone_from(of);
                message.usage.clone()
            }
        };
        self.input = self.input.saturating_add(input(usage).unwrap_or(0));
        self.output = self.output.saturating_add(usage.output.unwrap_or(0).max(0));
        self.tokens = self.tokens.saturating_add(usage.tokens.unwrap_or(0));
        if let Some(cost) = usage.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
        if let Some(model) = &message.model {
            *self.models.entry(model.clone()).or_default() += 1;
        }
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    /// Names the models, those that said most first.
    fn models(&self) -> Option<String> {
        let mut models: Vec<_> = self.models.iter().collect();
        models.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let more = models.len().saturating_sub(MODELS_MAX);
        let named = models.iter().take(MODELS_MAX).map(|(model, count)| match models.len() {
            1 => (*model).clone(),
            _ => format!("{model} ({})", grouped(**count)),
        });
        let more = (more > 0).then(|| format!("{} more", grouped(more as u64)));
        let named: Vec<String> = named.chain(more).collect();
        Some(named.join(", ")).filter(|names| !names.is_empty())
    }

    /// Gives the first time and the last.
    fn times(&self) -> Option<String> {
        let (first, last) = self.times?;
        let (first, last) = (minute(first), minute(last));
        Some(match last.strip_prefix(first.get(..11).unwrap_or(&first)) {
            _ if first == last => format!("{first} UTC"),
            Some(time) => format!("{first} – {time} UTC"),
            None => format!("{first} – {last} UTC"),
        })
    }
}

/// Lists what is known of a session: names and values, for people.
pub(super) fn facts(meta: &Session, outline: &Outline) -> Vec<(&'static str, String)> {
    let Facts { messages, prompts, calls, .. } = outline.facts;
    let facts = &outline.facts;
    let said = format!(
        "{} (from the user {}, tool calls {})",
        grouped(messages),
        grouped(prompts),
        grouped(calls)
    );
    let count = |count: u64, least: u64| (count >= least).then(|| grouped(count));
    let tokens = format!(
        "{} (in {}, out {})",
        grouped(facts.tokens.unsigned_abs()),
        grouped(facts.input.unsigned_abs()),
        grouped(facts.output.unsigned_abs())
    );
    let dialect = meta.dialect.as_ref().map(|name| {
        dialect::named(name).map_or(name.clone(), |dialect| dialect.title().to_owned())
    });
    let listed = [
        ("Session", Some(meta.sid.clone())),
        ("Program", dialect),
        ("Directory", meta.cwd.clone()),
        ("Provider", meta.provider.clone()),
        ("Models", facts.models().or(meta.model.clone())),
        ("Status", meta.status.clone()),
        ("Time", facts.times()),
        ("Messages", Some(said)),
        ("Entries", count(facts.entries, 1)),
        ("Branches", count(outline.sections.len() as u64, 2)),
        ("Compactions", count(facts.compactions, 1)),
        ("Tokens", Some(tokens).filter(|_| facts.tokens > 0)),
        ("Cost", facts.cost.map(money)),
        ("Forked from", meta.fork.as_ref().map(|fork| fork.session.clone())),
    ];
    let known = listed.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.filter(|(_, value)| !value.trim().is_empty()).collect()
}

/// Says what a message took.
pub(super) fn usage(usage: &Usage) -> String {
    let number = |name: &str, count: Option<i64>| {
        let count = u64::try_from(count?).ok().filter(|count| *count > 0)?;
        Some(format!("{name} {}", grouped(count)))
    };
    let both = [number("in", input(usage)), number("out", usage.output)];
    let all = match both.iter().any(Option::is_some) {
        true => None,
        false => number("tokens", usage.tokens),
    };
    let parts = both.into_iter().chain([all, usage.cost.filter(|cost| *cost > 0.0).map(money)]);
    parts.flatten().collect::<Vec<_>>().join(" · ")
}

/// Adds up the tokens that were read, from a cache or not.
fn input(usage: &Usage) -> Option<i64> {
    let known = [usage.input, usage.cache_read, usage.cache_write].into_iter().flatten();
    known.filter(|count| *count >= 0).reduce(i64::saturating_add)
}

/// Writes a time as `2026-01-31 08:30`; what is no time of a calendar as the number it is.
pub(super) fn minute(time_ms: i64) -> String {
    let text = time::format(time_ms);
    match text.get(..16).filter(|_| text.ends_with('Z')) {
        Some(minute) => minute.replace('T', " "),
        None => text,
    }
}

/// Writes a number with its digits in threes.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes an amount of money: cents where it is much, more digits where it is little.
pub(super) fn money(amount: f64) -> String {
    if amount >= 1.0 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_for_people() {
        let texts = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.01234, 12.5].map(money), ["$0.0123", "$12.50"]);
        assert_eq!(minute(1_769_848_200_250), "2026-01-31 08:30");
        assert_eq!(minute(i64::MAX), i64::MAX.to_string());
    }
}
