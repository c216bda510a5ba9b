//! What was written of each step, for writers of trees: what hangs where, and what was kept.
//!
//! A step that the target does not know is left out. What hangs on it then hangs on the nearest
//! step before it that was written.

use std::collections::{HashMap, HashSet};

use crate::codec::Value;
use crate::dialect::Leaving;
use crate::id::{Id, Kind};

/// The steps that were written, or left out.
#[derive(Debug, Default)]
pub(super) struct Trail {
    steps: HashMap<Id, Trace>,
}

#[derive(Debug)]
struct Trace {
    parent: Option<Id>,
    /// The first value that was written of it.
    first: Option<String>,
    /// What hangs on it hangs on this value.
    last: Option<String>,
}

impl Trail {
    /// Notes which values were written of a step, by their ids; of none it was left out.
    pub(super) fn note(&mut self, step: &Leaving, written: &[String]) {
        let above = || self.hangs_on(step).map(str::to_owned);
        let last = written.last().cloned().or_else(above);
        let trace = Trace { parent: step.parent, first: written.first().cloned(), last };
        self.steps.insert(step.id, trace);
    }

    /// Gives the value on which hangs what hangs on this step.
    pub(super) fn value_at(&self, step: Option<Id>) -> Option<&str> {
        self.steps.get(&step?)?.last.as_deref()
    }

    /// Gives the first value that was written of a step.
    pub(super) fn first_of(&self, step: &Id) -> Option<&str> {
        self.steps.get(step)?.first.as_deref()
    }

    /// Lists the steps before a compaction that it keeps, in order.
    pub(super) fn kept(&self, compaction: &Leaving) -> Vec<Id> {
        let path = self.path_to(compaction.parent);
        let begin = match (compaction.first_kept, place(&compaction.body, "firstKeptEntryIndex")) {
            (Some(first), _) => path.iter().position(|step| *step == first),
            (None, place) => place.map(|place| place.saturating_sub(1)),
        };
        path.get(begin.unwrap_or(path.len())..).unwrap_or_default().to_vec()
    }

    /// Gives the value on which a step hangs: on its parent's, or where a pop goes back to.
    pub(super) fn hangs_on(&self, step: &Leaving) -> Option<&str> {
        let back_to = place(&step.body, "backToIndex").filter(|_| step.label == "stack_pop");
        match back_to {
            Some(back_to) => {
                let path = self.path_to(step.parent);
                let before = back_to.saturating_sub(1).min(path.len());
                self.value_at(path[..before].last().copied())
            }
            None => self.value_at(step.parent),
        }
    }

    /// Lists the steps from the root to this one.
    fn path_to(&self, step: Option<Id>) -> Vec<Id> {
        let above = |step: &Id| self.steps.get(step).and_then(|trace| trace.parent);
        let mut path: Vec<Id> = std::iter::successors(step, above).collect();
        path.reverse();
        path
    }
}

/// Ids of eight hex digits, no two the same.
#[derive(Debug, Default)]
pub(super) struct ShortIds {
    given: HashSet<String>,
}

impl ShortIds {
    /// How many hex digits an id has.
    const DIGITS: usize = 8;

    /// Gives an id that was not given before.
    pub(super) fn give(&mut self, mut id: Id) -> String {
        loop {
            let short = id.short(ShortIds::DIGITS);
            if self.given.insert(short.clone()) {
                return short;
            }
            id = derived(&id, b"again");
        }
    }
}

/// Derives another id from an id: of the further values of a step, of copies.
pub(super) fn derived(id: &Id, from: &[u8]) -> Id {
    Id::of(Kind::Blob, &[id.as_bytes(), from].concat())
}

/// Reads a place in a linear file, whose header has place 0.
fn place(body: &Value, key: &str) -> Option<usize> {
    body.get(key)?.as_i64()?.try_into().ok()
}
