//! Rows of sessions, form by form.

use std::collections::{BTreeMap, HashSet};

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::export::Scope;
use crate::ops::export::training::answer::Answer;
use crate::ops::export::training::fork::{Side, forks, labelled};
use crate::ops::export::training::messages::{
    end_with_model, is_prompt, is_said_by_model, last_said, placed, written,
};
use crate::ops::export::training::paths::{before_compactions, ends};
use crate::ops::export::training::row::{Cell, Sink};
use crate::ops::export::training::sharegpt::conversation;
use crate::ops::export::training::sieve::Sieve;
use crate::ops::export::training::{TrainingForm, TrainingOptions, TrainingOutcome};
use crate::session::{self, Context, View};
use crate::store::Snapshot;

/// Makes rows, and hands them to a sink.
pub(super) struct Maker<'a> {
    snapshot: &'a dyn Snapshot,
    options: &'a TrainingOptions,
    sink: &'a mut dyn Sink,
    /// What has its row: ends of branches, turns, or the first entries of answers.
    seen: HashSet<Id>,
    pub(super) outcome: TrainingOutcome,
}

impl<'a> Maker<'a> {
    pub(super) fn new(
        snapshot: &'a dyn Snapshot,
        options: &'a TrainingOptions,
        sink: &'a mut dyn Sink,
    ) -> Maker<'a> {
        let outcome = TrainingOutcome::default();
        Maker { snapshot, options, sink, seen: HashSet::new(), outcome }
    }

    /// Makes the rows of a session.
    pub(super) fn add(&mut self, view: &View<'_>, scope: Scope) -> Result<()> {
        let sieve = Sieve::new(view, self.options)?;
        match self.options.form {
            TrainingForm::Openai | TrainingForm::Sharegpt => self.branches(view, scope, &sieve),
            TrainingForm::Sft => self.turns(view, scope, &sieve),
            TrainingForm::Dpo => self.pairs(view, scope, &sieve),
            TrainingForm::Kto => self.verdicts(view, scope, &sieve),
        }
    }

    /// Makes a row of each branch.
    fn branches(&mut self, view: &View<'_>, scope: Scope, sieve: &Sieve<'_>) -> Result<()> {
        for end in ends(view, scope)? {
            let is_taken = sieve.takes_branch(end)? && sieve.takes_path(end)?;
            if !is_taken || !self.seen.insert(end) {
                continue;
            }
            let context = self.context(view, end)?;
            let last = last_said(&context.messages, self.options);
            if last.is_some_and(|last| !sieve.takes_said(last, &context)) {
                continue;
            }
            let mut messages = written(&context.messages, self.options);
            let column = match self.options.form {
                TrainingForm::Sharegpt => {
                    messages = conversation(&messages);
                    "conversations"
                }
                _ => {
                    end_with_model(&mut messages);
                    "messages"
                }
            };
            match messages.is_empty() {
                true => self.outcome.left_out += 1,
                false => self.row(&[(column, Cell::List(&messages))])?,
            }
        }
        Ok(())
    }

    /// Makes a row of each turn of the model, as far back as anything was ever shown to it.
    fn turns(&mut self, view: &View<'_>, scope: Scope, sieve: &Sieve<'_>) -> Result<()> {
        let mut looked_at = HashSet::new();
        for end in ends(view, scope)? {
            if !sieve.takes_branch(end)? || !sieve.takes_path(end)? {
                continue;
            }
            for end in before_compactions(self.snapshot, end)?.into_iter().chain([end]) {
                if looked_at.insert(end) {
                    self.turns_of(&self.context(view, end)?, sieve)?;
                }
            }
        }
        Ok(())
    }

    fn turns_of(&mut self, context: &Context, sieve: &Sieve<'_>) -> Result<()> {
        let (places, messages): (Vec<usize>, Vec<Value>) =
            placed(&context.messages, self.options).into_iter().unzip();
        for (at, place) in places.into_iter().enumerate() {
            let shown = &context.messages[place];
            if !is_said_by_model(&messages[at])
                || !sieve.takes_said(shown, context)
                || !self.seen.insert(shown.entry)
            {
                continue;
            }
            match is_prompt(&messages[..at]) {
                true => self.row(&[
                    ("prompt", Cell::List(&messages[..at])),
                    ("completion", Cell::List(&messages[at..=at])),
                ])?,
                false => self.outcome.left_out += 1,
            }
        }
        Ok(())
    }

    /// Makes a row of each answer that was preferred to another.
    fn pairs(&mut self, view: &View<'_>, scope: Scope, sieve: &Sieve<'_>) -> Result<()> {
        for fork in forks(view, scope, sieve)? {
            if !sieve.takes_path(fork.chosen.end)? {
                continue;
            }
            let chosen = Answer::read(self.snapshot, fork.at, &fork.chosen, self.options)?;
            let rejected = Answer::read(self.snapshot, fork.at, &fork.rejected, self.options)?;
            match (chosen, rejected) {
                (Some(chosen), Some(rejected))
                    if chosen.is_asked_anew == rejected.is_asked_anew =>
                {
                    if sieve.takes_turn(chosen.time, chosen.model.as_deref()) {
                        self.row(&[
                            ("prompt", Cell::List(&chosen.prompt)),
                            ("chosen", Cell::List(&chosen.completion)),
                            ("rejected", Cell::List(&rejected.completion)),
                        ])?;
                    }
                }
                _ => self.outcome.left_out += 1,
            }
        }
        Ok(())
    }

    /// Makes a row of each answer of which it is known whether it was good.
    ///
    /// One that was preferred to another and then replaced was not good enough; a label has the
    /// last word.
    fn verdicts(&mut self, view: &View<'_>, scope: Scope, sieve: &Sieve<'_>) -> Result<()> {
        let mut known: BTreeMap<Id, (Option<Id>, Side, bool)> = BTreeMap::new();
        for fork in forks(view, scope, sieve)? {
            for (side, is_good) in [(fork.chosen, true), (fork.rejected, false)] {
                let verdict = known.entry(side.first).or_insert((fork.at, side, is_good));
                verdict.2 &= is_good;
            }
        }
        for (at, side, is_good) in labelled(view, scope, sieve)? {
            known.insert(side.first, (at, side, is_good));
        }
        for (at, side, is_good) in known.into_values() {
            if !sieve.takes_path(side.end)? || !self.seen.insert(side.first) {
                continue;
            }
            let answer = Answer::read(self.snapshot, at, &side, self.options)?;
            match answer.filter(|answer| !answer.is_asked_anew) {
                Some(answer) if sieve.takes_turn(answer.time, answer.model.as_deref()) => self
                    .row(&[
                        ("prompt", Cell::List(&answer.prompt)),
                        ("completion", Cell::List(&answer.completion)),
                        ("label", Cell::Truth(is_good)),
                    ])?,
                Some(_) => {}
                None => self.outcome.left_out += 1,
            }
        }
        Ok(())
    }

    fn context(&self, view: &View<'_>, end: Id) -> Result<Context> {
        let mut context = session::context(self.snapshot, Some(view.id()), end)?;
        context.repair();
        Ok(context)
    }

    fn row(&mut self, cells: &[(&'static str, Cell<'_>)]) -> Result<()> {
        self.outcome.rows += 1;
        self.sink.row(cells).map_err(Error::io("write", "training data"))
    }
}
