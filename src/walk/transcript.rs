//! Reading a session's transcript: its runs and events in turn.
//!
//! A run is a stretch of a path: its newest entry, and how many entries back it goes. An event
//! closes the run before it, and its first link is the entry that the next run hangs on: no link,
//! and the next run begins with a root. So the current run is what lies between that entry and
//! `tip`, and the first run of all is the whole path to it.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{Event, Run};
use crate::store::{RefName, RefValue, Snapshot};
use crate::walk::{circle, path, topology};

/// How far back the begin of a run is looked for step by step.
const SHORT_RUN: usize = 16;

/// Lists everything a session ever said, oldest first.
pub fn transcript(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<Id>> {
    let events = events(snapshot, session)?;
    let mut entries = Vec::new();
    for (_, event) in &events {
        for run in &event.runs {
            read_run(snapshot, run, &mut entries)?;
        }
    }
    if let Some(tip) = target(snapshot, session, "tip")? {
        let count = run_count(snapshot, &tip, events.last().map(|(_, event)| event))?;
        read_run(snapshot, &Run { tip, count }, &mut entries)?;
    }
    Ok(entries)
}

/// Counts the entries of the run that ends in `tip` and was begun by `event`, or by nothing.
pub fn run_count(snapshot: &dyn Snapshot, tip: &Id, event: Option<&Event>) -> Result<u64> {
    let Some(before) = event.and_then(|event| event.links.first()) else {
        return Ok(topology(snapshot, tip)?.depth + 1);
    };
    // Where many write at once runs are short, and a few steps are less work than two depths.
    for limit in [2, SHORT_RUN] {
        if let Some(steps) = snapshot.path(tip, limit)?.iter().position(|id| id == before) {
            return Ok(steps as u64);
        }
    }
    let depth = topology(snapshot, tip)?.depth;
    let before = topology(snapshot, before)?.depth;
    depth.checked_sub(before).ok_or_else(|| {
        let why = "the run that ends there begins after it";
        Error::corrupt(format!("the transcript at entry {tip}"), None, why)
    })
}

/// Reads a session's events, oldest first.
fn events(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<(Id, Event)>> {
    let mut events = Vec::new();
    let mut seen = HashSet::new();
    let mut next = target(snapshot, session, "events")?;
    while let Some(id) = next {
        if !seen.insert(id) {
            return Err(circle(&id));
        }
        let event = read_event(snapshot, &id)?;
        next = event.priors.first().copied();
        events.push((id, event));
    }
    events.reverse();
    Ok(events)
}

fn read_event(snapshot: &dyn Snapshot, id: &Id) -> Result<Event> {
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    if stored.kind != Kind::Event {
        return Err(Error::WrongKind {
            id: *id,
            expected: Kind::Event.name(),
            found: stored.kind.name(),
        });
    }
    Event::decode(&stored.content)
}

fn target(snapshot: &dyn Snapshot, session: &str, rest: &str) -> Result<Option<Id>> {
    match snapshot.reference(&RefName::of_session(session, rest)?)? {
        Some(RefValue::Id(id)) => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// Adds a run's entries, oldest first.
fn read_run(snapshot: &dyn Snapshot, run: &Run, entries: &mut Vec<Id>) -> Result<()> {
    let begin = entries.len();
    let count = usize::try_from(run.count).unwrap_or(usize::MAX);
    for id in path(snapshot, run.tip).take(count) {
        entries.push(id?);
    }
    if entries.len() - begin != count {
        let why = format!("its run has {count} entries, its path {}", entries.len() - begin);
        return Err(Error::corrupt(format!("the transcript at entry {}", run.tip), None, why));
    }
    entries[begin..].reverse();
    Ok(())
}
