//! The end of a transcript: its current run, and the events that close one.
//!
//! Every event is made here, so that all of them keep the rule by which a transcript is read: an
//! event closes the run before it, and its only link is the entry that the next run hangs on.

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::object::{Event, Run};
use crate::repo::read_event;
use crate::store::Snapshot;
use crate::walk::{self, MOVE};

/// Where a transcript ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transcript {
    /// The end of its current run.
    pub(crate) tip: Option<Id>,
    /// Its last event.
    pub(crate) events: Option<Id>,
}

impl Transcript {
    /// Counts the entries of the current run, all of them stored.
    pub(crate) fn run_count(&self, snapshot: &dyn Snapshot) -> Result<u64> {
        let Some(tip) = self.tip else {
            return Ok(0);
        };
        let begun = self.events.map(|id| read_event(snapshot, &id)).transpose()?;
        walk::run_count(snapshot, &tip, begun.as_ref())
    }

    /// Makes the event that closes the current run of so many entries; the next hangs on `next`.
    pub(crate) fn close(
        &self,
        count: u64,
        label: &str,
        next: Option<Id>,
        body: Value,
        now_ms: i64,
    ) -> Event {
        let run = self.tip.filter(|_| count > 0).map(|tip| Run { tip, count });
        Event {
            label: label.to_owned(),
            time: now_ms,
            priors: self.events.into_iter().collect(),
            runs: run.into_iter().collect(),
            links: next.into_iter().collect(),
            body,
        }
    }

    /// Makes the event that has to come before an entry that follows `parent`, if one has to.
    pub(crate) fn leave(
        &self,
        count: impl FnOnce() -> Result<u64>,
        parent: Option<Id>,
        now_ms: i64,
    ) -> Result<Option<Event>> {
        let is_begun = self.tip.is_some() || self.events.is_some();
        if !is_begun || self.tip == parent {
            return Ok(None);
        }
        let place = |id: Option<Id>| Value::from(id.map(|id| id.to_string()));
        let body = Value::map([("from", place(self.tip)), ("to", place(parent))]);
        Ok(Some(self.close(count()?, MOVE, parent, body, now_ms)))
    }
}
