//! Two transcripts of one session: which goes on from which, and how they come together.
//!
//! A session that is carried on in two stores has two transcripts. One may have all that the other
//! has, and more; then the other simply moves on. Else an event joins them, as
//! [`walk`](crate::walk) reads it: nothing that was said or that happened in either is lost, and
//! the conversation goes on where it was here.

use std::collections::HashSet;

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::object::{Event, Run};
use crate::repo::read_event;
use crate::session::run::Transcript;
use crate::store::Snapshot;
use crate::walk;

/// The event in which two transcripts come together.
const JOIN: &str = "join";

/// How another transcript stands to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It is the same.
    Same,
    /// It has all of ours, and more.
    Ahead,
    /// Ours has all of it, and more.
    Behind,
    /// Each has something that the other has not.
    Apart,
}

impl Transcript {
    /// Says how another transcript of the same session stands to this one.
    pub(crate) fn relation(
        &self,
        snapshot: &dyn Snapshot,
        theirs: &Transcript,
    ) -> Result<Relation> {
        if self == theirs {
            return Ok(Relation::Same);
        }
        if theirs.covers(snapshot, self)? {
            return Ok(Relation::Ahead);
        }
        match self.covers(snapshot, theirs)? {
            true => Ok(Relation::Behind),
            false => Ok(Relation::Apart),
        }
    }

    /// Says whether this transcript has all of another: it goes on from its last event, and told
    /// the end of its current run. An entry is told after its parents, so it told the rest, too.
    fn covers(&self, snapshot: &dyn Snapshot, other: &Transcript) -> Result<bool> {
        if let Some(last) = other.events
            && !comes_from(snapshot, self.events, last)?
        {
            return Ok(false);
        }
        let Some(tip) = other.tip.filter(|tip| self.tip != Some(*tip)) else {
            return Ok(true);
        };
        if other.run_count(snapshot)? == 0 {
            return Ok(true);
        }
        let count = self.run_count(snapshot)?;
        let mut runs: Vec<Run> = self.tip.map(|tip| Run { tip, count }).into_iter().collect();
        let mut later = walk::ancestors(snapshot, self.events.as_slice(), other.events.as_slice())?;
        loop {
            for run in &runs {
                if is_in_run(snapshot, &tip, run)? {
                    return Ok(true);
                }
            }
            let Some(id) = later.next() else {
                return Ok(false);
            };
            runs = read_event(snapshot, &id?)?.runs;
        }
    }

    /// Makes the events in which this transcript and others come together; none if the others say
    /// nothing new. The conversation goes on where this one is, and all that this one told keeps
    /// its place: where the others have events of their own, the current run is closed first.
    pub(crate) fn join(
        &self,
        snapshot: &dyn Snapshot,
        others: &[Transcript],
        body: Value,
        now_ms: i64,
    ) -> Result<Vec<Event>> {
        let mut priors: Vec<Id> = self.events.into_iter().collect();
        for theirs in others.iter().filter_map(|other| other.events) {
            add_prior(snapshot, &mut priors, theirs)?;
        }
        let is_one_line = priors.as_slice() == self.events.as_slice();
        let mut told = walk::told(snapshot, &priors)?;
        let ours = self.open_run(snapshot, &mut told)?;
        let mut runs = Vec::new();
        for other in others {
            runs.extend(other.open_run(snapshot, &mut told)?);
        }
        if runs.is_empty() && is_one_line {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        match ours {
            Some(run) if is_one_line => runs.insert(0, run),
            Some(run) => {
                let place = Value::from(self.tip.map(|tip| tip.to_string()));
                let at = Value::map([("from", place.clone()), ("to", place)]);
                let closing = self.close(run.count, walk::MOVE, self.tip, at, now_ms);
                priors.retain(|prior| Some(*prior) != self.events);
                priors.insert(0, closing.encode()?.id());
                events.push(closing);
            }
            None => {}
        }
        let next = self.tip.or_else(|| others.iter().find_map(|other| other.tip));
        let links = next.into_iter().collect();
        events.push(Event { label: JOIN.to_owned(), time: now_ms, priors, runs, links, body });
        Ok(events)
    }

    /// Says whether the current run can simply go on to an entry: nothing between was said before.
    pub(crate) fn grows_to(&self, snapshot: &dyn Snapshot, entry: &Id) -> Result<bool> {
        let Some(tip) = self.tip.filter(|tip| tip != entry) else {
            return Ok(self.tip.is_some());
        };
        if !walk::is_on_path(snapshot, &tip, entry)? {
            return Ok(false);
        }
        let depth = |id: &Id| snapshot.depth(id).map(Option::unwrap_or_default);
        let count = depth(entry)?.saturating_sub(depth(&tip)?);
        let mut told = walk::told(snapshot, self.events.as_slice())?;
        self.open_run(snapshot, &mut told)?;
        let run = walk::cut_run(snapshot, &Run { tip: *entry, count }, &mut told)?;
        Ok(run.is_some_and(|run| run.count == count))
    }

    /// Gives what the current run says that was not told before.
    fn open_run(&self, snapshot: &dyn Snapshot, told: &mut HashSet<Id>) -> Result<Option<Run>> {
        let count = self.run_count(snapshot)?;
        match self.tip.filter(|_| count > 0) {
            Some(tip) => walk::cut_run(snapshot, &Run { tip, count }, told),
            None => Ok(None),
        }
    }
}

/// Adds an event to those that others lead to, unless it is among what they lead to themselves.
fn add_prior(snapshot: &dyn Snapshot, priors: &mut Vec<Id>, event: Id) -> Result<()> {
    let mut ends = Vec::with_capacity(priors.len() + 1);
    for prior in priors.iter() {
        if comes_from(snapshot, Some(*prior), event)? {
            return Ok(());
        }
        if !comes_from(snapshot, Some(event), *prior)? {
            ends.push(*prior);
        }
    }
    ends.push(event);
    *priors = ends;
    Ok(())
}

/// Says whether an event is among those that lead to another, or is the same.
fn comes_from(snapshot: &dyn Snapshot, last: Option<Id>, wanted: Id) -> Result<bool> {
    match last {
        Some(last) => walk::is_ancestor(snapshot, &wanted, &last),
        None => Ok(false),
    }
}

/// Says whether an entry is one of a run.
fn is_in_run(snapshot: &dyn Snapshot, entry: &Id, run: &Run) -> Result<bool> {
    let (end, place) = (snapshot.depth(&run.tip)?, snapshot.depth(entry)?);
    let (end, place) = (end.unwrap_or_default(), place.unwrap_or_default());
    Ok(place <= end && end - place < run.count && walk::is_on_path(snapshot, entry, &run.tip)?)
}
