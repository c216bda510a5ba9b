//! Transcripts that were written in two places and came together again.
//!
//! An event may have several priors: then it joins what was said and what happened in two places.
//! It is read as one line all the same: all that hangs on the first prior, what hangs on the others
//! and was not told yet, then the event. An entry that both places said is told once: a run is cut
//! where an entry was told before. An entry comes after its parents wherever it was said, so what
//! both said is the old end of a run, and never its middle.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{Event, Run};
use crate::store::Snapshot;
use crate::walk::{circle, path};

/// Events in the order in which they are told.
pub(super) struct Line {
    pub(super) events: Vec<(Id, Event)>,
    /// Whether any of them joins two lines.
    pub(super) is_joined: bool,
}

/// Reads the events that lead to these, themselves included, oldest first.
pub(super) fn line(snapshot: &dyn Snapshot, last: &[Id]) -> Result<Line> {
    enum Step {
        Visit(Id),
        Tell(Id, Event),
    }
    let mut line = Line { events: Vec::new(), is_joined: last.len() > 1 };
    let mut told = HashSet::new();
    let mut open = HashSet::new();
    let mut steps: Vec<Step> = last.iter().rev().map(|id| Step::Visit(*id)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Visit(id) if told.contains(&id) => {}
            Step::Visit(id) => {
                if !open.insert(id) {
                    return Err(circle(&id));
                }
                let event = read_event(snapshot, &id)?;
                line.is_joined |= event.priors.len() > 1;
                let priors: Vec<Id> = event.priors.iter().rev().copied().collect();
                steps.push(Step::Tell(id, event));
                steps.extend(priors.into_iter().map(Step::Visit));
            }
            Step::Tell(id, event) => {
                told.insert(id);
                line.events.push((id, event));
            }
        }
    }
    Ok(line)
}

/// Cuts a run where an entry was told before, and notes what is left of it as told.
pub fn cut_run(snapshot: &dyn Snapshot, run: &Run, told: &mut HashSet<Id>) -> Result<Option<Run>> {
    let mut count = 0;
    let limit = usize::try_from(run.count).unwrap_or(usize::MAX);
    for id in path(snapshot, run.tip).take(limit) {
        if !told.insert(id?) {
            return Ok((count > 0).then_some(Run { tip: run.tip, count }));
        }
        count += 1;
    }
    match count == run.count {
        true => Ok((count > 0).then_some(*run)),
        false => {
            let why = format!("its run has {} entries, its path {count}", run.count);
            Err(Error::corrupt(format!("the transcript at entry {}", run.tip), None, why))
        }
    }
}

/// Collects every entry that was told up to these events.
pub fn told(snapshot: &dyn Snapshot, last: &[Id]) -> Result<HashSet<Id>> {
    let mut told = HashSet::new();
    for (_, event) in line(snapshot, last)?.events {
        for run in &event.runs {
            cut_run(snapshot, run, &mut told)?;
        }
    }
    Ok(told)
}

/// Checks that a transcript with these ends can be read: every run is as long as it says.
pub fn check_transcript(
    snapshot: &dyn Snapshot,
    tip: Option<Id>,
    last_event: Option<Id>,
) -> Result<()> {
    let events = line(snapshot, last_event.as_slice())?.events;
    if let Some(tip) = tip {
        super::run_count(snapshot, &tip, events.last().map(|(_, event)| event))?;
    }
    for (id, event) in &events {
        let broken = |why: &str| Error::corrupt(format!("the event {id}"), None, why);
        let tips: Vec<Id> = event.runs.iter().map(|run| run.tip).collect();
        if snapshot.kinds(&tips)?.iter().any(|kind| *kind != Some(Kind::Entry)) {
            return Err(broken("a run of it ends in what is no entry"));
        }
        for run in &event.runs {
            let depth = snapshot.depth(&run.tip)?.ok_or(Error::ObjectMissing { id: run.tip })?;
            if run.count > depth + 1 {
                return Err(broken("a run of it is longer than its path"));
            }
        }
    }
    Ok(())
}

pub(super) fn read_event(snapshot: &dyn Snapshot, id: &Id) -> Result<Event> {
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
