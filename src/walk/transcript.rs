//! Reading a session's transcript: its runs and events in turn.
//!
//! A run is a stretch of a path: its newest entry, and how many entries back it goes. An event
//! closes the run before it, and its first link is the entry that the next run hangs on: no link,
//! and the next run begins with a root. So the current run is what lies between that entry and
//! `tip`, and the first run of all is the whole path to it.
//!
//! Where two places wrote on one transcript, an event joins them: see [`joined`].

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{Event, Run};
use crate::store::{RefName, RefValue, Snapshot};
use crate::walk::joined::{self, cut_run, read_event};
use crate::walk::{circle, path};

/// The event that an append elsewhere makes by itself.
pub const MOVE: &str = "move";

/// The event that keeps what is known of a branch.
pub const BRANCH: &str = "branch";

/// Says whether an event is a turn: moves and new branches are not, nothing was said or left.
pub fn is_turn(event: &Event) -> bool {
    ![MOVE, BRANCH].contains(&event.label.as_str())
}

/// Lists everything a session ever said, oldest first.
pub fn transcript(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<Id>> {
    let mut entries = Vec::new();
    for piece in pieces(snapshot, session)? {
        if let Piece::Run(run) = piece {
            read_run(snapshot, &run, &mut entries)?;
        }
    }
    Ok(entries)
}

/// Gives everything that a session said and that happened to it, oldest first, run by run.
pub fn transcript_items<'a>(snapshot: &'a dyn Snapshot, session: &str) -> Result<Items<'a>> {
    let pieces = pieces(snapshot, session)?.into_iter();
    Ok(Items { snapshot, pieces, run: Vec::new().into_iter(), turn: 0 })
}

/// Lists the ends of the runs of a transcript, oldest first: all that it said hangs on them.
pub fn run_tips(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<Id>> {
    let tips = pieces(snapshot, session)?.into_iter().filter_map(|piece| match piece {
        Piece::Run(run) => Some(run.tip),
        Piece::Event(..) => None,
    });
    Ok(tips.collect())
}

/// Counts the turns of a transcript: its entries, and those events that are.
pub fn turn_count(snapshot: &dyn Snapshot, session: &str) -> Result<u64> {
    let turns = pieces(snapshot, session)?;
    Ok(turns.iter().map(Piece::turns).fold(0, u64::saturating_add))
}

/// One thing of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Something that was said.
    Entry(Id),
    /// Something that happened.
    Event(Id, Event),
}

/// The things of a transcript and their turns, from 1. What is none has the turn before it.
pub struct Items<'a> {
    snapshot: &'a dyn Snapshot,
    pieces: std::vec::IntoIter<Piece>,
    run: std::vec::IntoIter<Id>,
    turn: u64,
}

impl Items<'_> {
    /// Goes on with the first thing after so many turns. What it passes is not read.
    pub fn skip_turns(&mut self, count: u64) -> Result<()> {
        while self.turn < count {
            let Some(piece) = self.pieces.as_slice().first() else {
                return Ok(());
            };
            let turns = piece.turns();
            if self.turn.saturating_add(turns) > count {
                self.refill()?;
                let skip = usize::try_from(count - self.turn).unwrap_or(usize::MAX);
                self.run.by_ref().take(skip).for_each(drop);
                self.turn = count;
                return Ok(());
            }
            self.turn = self.turn.saturating_add(turns);
            self.pieces.next();
        }
        Ok(())
    }

    /// Reads the run that comes next, or gives the event.
    fn refill(&mut self) -> Result<Option<Item>> {
        match self.pieces.next() {
            None => Ok(None),
            Some(Piece::Event(id, event)) => Ok(Some(Item::Event(id, event))),
            Some(Piece::Run(run)) => {
                let mut entries = Vec::new();
                read_run(self.snapshot, &run, &mut entries)?;
                self.run = entries.into_iter();
                Ok(None)
            }
        }
    }

    fn step(&mut self) -> Result<Option<(u64, Item)>> {
        loop {
            if let Some(id) = self.run.next() {
                self.turn += 1;
                return Ok(Some((self.turn, Item::Entry(id))));
            }
            if self.pieces.as_slice().is_empty() {
                return Ok(None);
            }
            if let Some(Item::Event(id, event)) = self.refill()? {
                self.turn += u64::from(is_turn(&event));
                return Ok(Some((self.turn, Item::Event(id, event))));
            }
        }
    }
}

impl Iterator for Items<'_> {
    type Item = Result<(u64, Item)>;

    fn next(&mut self) -> Option<Result<(u64, Item)>> {
        let step = self.step();
        if step.is_err() {
            self.pieces = Vec::new().into_iter();
        }
        step.transpose()
    }
}

/// A run or an event.
enum Piece {
    Run(Run),
    Event(Id, Event),
}

impl Piece {
    fn turns(&self) -> u64 {
        match self {
            Piece::Run(run) => run.count,
            Piece::Event(_, event) => u64::from(is_turn(event)),
        }
    }
}

/// Reads the runs and events of a transcript, oldest first.
fn pieces(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<Piece>> {
    let last = target(snapshot, session, "events")?;
    let line = joined::line(snapshot, last.as_slice())?;
    let mut current = None;
    if let Some(tip) = target(snapshot, session, "tip")? {
        let count = run_count(snapshot, &tip, line.events.last().map(|(_, event)| event))?;
        current = Some(Run { tip, count }).filter(|run| run.count > 0);
    }
    let mut told = HashSet::new();
    let mut pieces = Vec::with_capacity(2 * line.events.len() + 1);
    for (id, event) in line.events {
        for run in &event.runs {
            let run = match line.is_joined {
                true => cut_run(snapshot, run, &mut told)?,
                false => Some(*run),
            };
            pieces.extend(run.map(Piece::Run));
        }
        pieces.push(Piece::Event(id, event));
    }
    pieces.extend(current.map(Piece::Run));
    Ok(pieces)
}

/// Lists what a session said from an entry on, itself included, oldest first; nothing if it never
/// said it. Reads only that much of the transcript.
pub fn transcript_since(snapshot: &dyn Snapshot, session: &str, from: &Id) -> Result<Vec<Id>> {
    let mut newest_first = Vec::new();
    let mut seen = HashSet::new();
    let mut next = target(snapshot, session, "events")?;
    let mut event = next.map(|id| read_event(snapshot, &id)).transpose()?;
    let mut runs = Vec::new();
    if let Some(tip) = target(snapshot, session, "tip")? {
        runs.push(Run { tip, count: run_count(snapshot, &tip, event.as_ref())? });
    }
    loop {
        for run in runs.iter().rev() {
            let count = usize::try_from(run.count).unwrap_or(usize::MAX);
            for id in path(snapshot, run.tip).take(count) {
                newest_first.push(id?);
                if newest_first.last() == Some(from) {
                    newest_first.reverse();
                    return Ok(newest_first);
                }
            }
        }
        let Some(current) = event.take() else {
            return Ok(Vec::new());
        };
        if let Some(id) = next.filter(|id| !seen.insert(*id)) {
            return Err(circle(&id));
        }
        next = match current.priors.as_slice() {
            [_, _, ..] => return joined_since(snapshot, session, from),
            priors => priors.first().copied(),
        };
        event = next.map(|id| read_event(snapshot, &id)).transpose()?;
        runs = current.runs;
    }
}

/// Lists what a session said from an entry on, where two places said it.
fn joined_since(snapshot: &dyn Snapshot, session: &str, from: &Id) -> Result<Vec<Id>> {
    let mut all = transcript(snapshot, session)?;
    let place = all.iter().position(|id| id == from).unwrap_or(all.len());
    Ok(all.split_off(place))
}

/// Counts the entries of the run that ends in `tip` and was begun by `event`, or by nothing.
pub fn run_count(snapshot: &dyn Snapshot, tip: &Id, event: Option<&Event>) -> Result<u64> {
    let depth_of = |id: &Id| snapshot.depth(id)?.ok_or(Error::ObjectMissing { id: *id });
    let Some(before) = event.and_then(|event| event.links.first()) else {
        return Ok(depth_of(tip)? + 1);
    };
    let broken = |why: &str| Error::corrupt(format!("the transcript at entry {tip}"), None, why);
    if snapshot.kinds(&[*before])? != [Some(Kind::Entry)] {
        return Err(broken("the run that ends there hangs on what is no entry"));
    }
    let count = depth_of(tip)?.checked_sub(depth_of(before)?);
    count.ok_or_else(|| broken("the run that ends there begins after it"))
}

fn target(snapshot: &dyn Snapshot, session: &str, rest: &str) -> Result<Option<Id>> {
    match snapshot.reference(&RefName::of_session(session, rest)?)? {
        Some(RefValue::Id(id)) => Ok(Some(id)),
        _ => Ok(None),
    }
}

/// Adds the entries of a run, oldest first.
pub fn read_run(snapshot: &dyn Snapshot, run: &Run, entries: &mut Vec<Id>) -> Result<()> {
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
