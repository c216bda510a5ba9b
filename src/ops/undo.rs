//! Undo and redo: the last operation of a session is taken back, as a new event.
//!
//! The operations log says what every operation moved. Undoing one moves the same refs back, if
//! they are still where it left them; `tip` and `events` never go back, they get an event `undo`
//! that says which operation. An operation that is itself an undo or a redo is known by that event.
//!
//! A session that an operation removed comes back from `deleted/`; one that it made goes there.

mod run;
mod session;

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::Event;
use crate::ops::Target;
use crate::ops::redact::FINAL;
use crate::ops::removed::{numbers, parts};
use crate::ops::undo_meta;
use crate::repo::{Repo, read_event, read_session};
use crate::session::Change;
use crate::store::{
    Durability, Operation, OperationRecord, RefName, RefValue, Snapshot, Transaction,
};

pub use run::{UndoneRun, undo_run};

/// Which way to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Take the last operation back.
    Undo,
    /// Do again what was taken back last.
    Redo,
}

impl Direction {
    /// Gives the word for it, which is also the type of its event.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Undo => "undo",
            Direction::Redo => "redo",
        }
    }
}

/// What was undone or redone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoOutcome {
    /// The session's id.
    pub session: String,
    /// The operation's place in the log.
    pub number: u64,
    /// What it was.
    pub command: String,
    /// The session's active branch now, if the session is there.
    pub branch: Option<String>,
}

/// Takes back the last operation of a session by an actor, or does it again.
///
/// The session is the target's; without one, the last operation of all decides. Fails with
/// [`Error::MovedOn`] if something has moved since, and changes nothing then.
pub fn undo(
    repo: &Repo,
    target: &Target,
    actor: &str,
    direction: Direction,
    operation: &Operation,
) -> Result<UndoOutcome> {
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let session = session(snapshot, target)?;
        let (found, first) = last(snapshot, session.as_deref(), actor, direction)?;
        let record = found.ok_or_else(|| nothing(actor, direction, first))?;
        refuse_final(snapshot, &record)?;
        let owner = owner(&record).map(str::to_owned).or(session);
        let owner = owner.ok_or_else(|| Error::Refused {
            why: format!("operation {} belongs to no session", record.number),
            hint: "'sapwood update-ref' moves refs by hand",
        })?;
        let plan = Plan { snapshot, session: &owner, record: &record, direction };
        let (transaction, branch) = plan.make(operation)?;
        let (number, command) = (record.number, record.operation.command.clone());
        outcome = Some(UndoOutcome { session: owner, number, command, branch });
        Ok(transaction)
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Says that there is nothing to go back to; the first operation that is kept may be a later one.
fn nothing(actor: &str, direction: Direction, first: Option<u64>) -> Error {
    let why = format!("there is nothing of {actor}'s to {}", direction.name());
    Error::Refused {
        why: match first {
            Some(first @ 2..) => format!("{why}: operations before number {first} have expired"),
            _ => why,
        },
        hint: "'sapwood op log' lists the operations",
    }
}

/// Finds the session, deleted ones included; `None` if none is named and none is current.
fn session(snapshot: &dyn Snapshot, target: &Target) -> Result<Option<String>> {
    match (target.place().session_id(snapshot), &target.session) {
        (Err(error), Some(named)) => match numbers(snapshot, named)?.is_empty() {
            false => Ok(Some(named.clone())),
            true => Err(error),
        },
        (found, _) => found,
    }
}

/// Gives the session whose refs an operation moved.
fn owner(record: &OperationRecord) -> Option<&str> {
    record.moves.iter().find_map(|moved| moved.name.session()).map(|(session, _)| session)
}

/// Says whether an operation is about a session: its refs, or that it is the current one.
pub fn concerns(record: &OperationRecord, session: &str) -> bool {
    record.moves.iter().any(|moved| {
        let leads = |value: &Option<RefValue>| match value {
            Some(RefValue::Symbolic(to)) => parts(to).is_some_and(|(id, _)| id == session),
            _ => false,
        };
        parts(&moved.name).is_some_and(|(id, _)| id == session)
            || moved.name == RefName::head() && (leads(&moved.old) || leads(&moved.new))
    })
}

/// Reads which operation an operation undid or redid, if that is what it was.
fn reversal(snapshot: &dyn Snapshot, record: &OperationRecord) -> Result<Option<(Direction, u64)>> {
    for event in own_events(snapshot, record)? {
        let direction = match event.label.as_str() {
            "undo" => Direction::Undo,
            "redo" => Direction::Redo,
            _ => continue,
        };
        let number = event.body.get("operation").and_then(Value::as_i64);
        let number = number.and_then(|number| u64::try_from(number).ok());
        return Ok(number.map(|number| (direction, number)));
    }
    Ok(None)
}

/// Reads the events that an operation made. One that came with a transcript from elsewhere is older
/// than the operation: it tells what was done there, and counts the operations there.
fn own_events(snapshot: &dyn Snapshot, record: &OperationRecord) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for moved in &record.moves {
        let Some(RefValue::Id(id)) = &moved.new else {
            continue;
        };
        let is_new = record.moves.iter().all(|other| other.old != moved.new);
        let is_events = parts(&moved.name).is_some_and(|(_, rest)| rest == "events");
        if !is_events || !is_new || snapshot.kinds(&[*id])?[0] != Some(Kind::Event) {
            continue;
        }
        let event = read_event(snapshot, id)?;
        if event.time == record.operation.time {
            events.push(event);
        }
    }
    Ok(events)
}

/// Refuses to take back what was done for good.
fn refuse_final(snapshot: &dyn Snapshot, record: &OperationRecord) -> Result<()> {
    match record.moves.is_empty() || is_final(snapshot, record)? {
        true => Err(for_good(record.number)),
        false => Ok(()),
    }
}

/// Says whether an operation removed something for good.
fn is_final(snapshot: &dyn Snapshot, record: &OperationRecord) -> Result<bool> {
    let events = own_events(snapshot, record)?;
    Ok(events.iter().any(|event| FINAL.contains(&event.label.as_str())))
}

/// Refuses what lies at or before an operation that removed something for good.
fn for_good(number: u64) -> Error {
    Error::Refused {
        why: format!("operation {number} removed something for good"),
        hint: "nothing brings back what 'redact' and 'forget' removed",
    }
}

/// Finds the operation to undo or redo, and the number of the oldest one if all were looked at.
fn last(
    snapshot: &dyn Snapshot,
    session: Option<&str>,
    actor: &str,
    direction: Direction,
) -> Result<(Option<OperationRecord>, Option<u64>)> {
    // The newest undo or redo of an operation decides whether it is in force.
    let mut settled: HashMap<u64, Direction> = HashMap::new();
    let mut wanted = None;
    let mut found = None;
    let mut first = None;
    snapshot.operations(&mut |record| {
        first = Some(record.number);
        if session.is_some_and(|session| !concerns(record, session)) {
            return Ok(ControlFlow::Continue(()));
        }
        if wanted == Some(record.number) {
            found = Some(record.clone());
            return Ok(ControlFlow::Break(()));
        }
        if wanted.is_some() {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some((was, number)) = reversal(snapshot, record)? {
            let is_news = !settled.contains_key(&number);
            settled.entry(number).or_insert(was);
            let is_own = record.operation.actor == actor;
            if is_news && is_own && was == Direction::Undo && direction == Direction::Redo {
                wanted = Some(number);
            }
            return Ok(ControlFlow::Continue(()));
        }
        if record.operation.actor != actor {
            return Ok(ControlFlow::Continue(()));
        }
        if direction == Direction::Redo {
            // Something else was done since; how far the log goes back does not matter.
            first = None;
            return Ok(ControlFlow::Break(()));
        }
        if settled.get(&record.number) == Some(&Direction::Undo) {
            return Ok(ControlFlow::Continue(()));
        }
        found = Some(record.clone());
        Ok(ControlFlow::Break(()))
    })?;
    Ok((found, first))
}

/// Moving the refs of one operation.
struct Plan<'a> {
    snapshot: &'a dyn Snapshot,
    session: &'a str,
    record: &'a OperationRecord,
    direction: Direction,
}

/// A ref that has to go from one value to another.
type Step<'a> = (&'a RefName, &'a Option<RefValue>, &'a Option<RefValue>);

impl Plan<'_> {
    fn make(&self, operation: &Operation) -> Result<(Transaction, Option<String>)> {
        let meta = RefName::of_session(self.session, "meta")?;
        let of_meta = self.steps().find(|(name, ..)| **name == meta);
        match of_meta {
            Some((_, Some(_), None)) => Ok((self.remove(operation)?, None)),
            Some((_, None, Some(_))) => self.restore(operation),
            _ => self.move_back(operation),
        }
    }

    /// Lists what the operation moved, in the direction that is wanted.
    fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.record.moves.iter().map(|moved| match self.direction {
            Direction::Undo => (&moved.name, &moved.new, &moved.old),
            Direction::Redo => (&moved.name, &moved.old, &moved.new),
        })
    }

    fn body(&self) -> Value {
        Value::map([
            ("operation", Value::Integer(i64::try_from(self.record.number).unwrap_or(i64::MAX))),
            ("command", Value::from(self.record.operation.command.as_str())),
        ])
    }

    fn moved_on(&self, name: &RefName, found: Option<&RefValue>) -> Error {
        let rest = parts(name).map_or(name.as_str(), |(_, rest)| rest);
        let name = match rest.split_once('/') {
            Some(("heads", branch)) => format!("branch '{branch}'"),
            Some(("labels", label)) => format!("label '{label}'"),
            Some((class, rest)) => format!("{class} '{rest}'"),
            None => format!("the session's {rest}"),
        };
        Error::MovedOn {
            number: self.record.number,
            command: self.record.operation.command.clone(),
            name,
            at: found.map_or("nothing".to_owned(), ToString::to_string),
        }
    }

    /// Gives what HEAD shall lead to, if the session is there.
    fn there(&self, to: &Option<RefValue>) -> Result<Option<RefValue>> {
        match to {
            Some(RefValue::Symbolic(head)) if self.snapshot.reference(head)?.is_none() => Ok(None),
            to => Ok(to.clone()),
        }
    }

    /// Checks that a ref is where the operation left it.
    fn check(&self, name: &RefName, from: &Option<RefValue>) -> Result<()> {
        let found = self.snapshot.reference(name)?;
        if found == *from { Ok(()) } else { Err(self.moved_on(name, found.as_ref())) }
    }

    /// Moves the refs of a session that stays.
    fn move_back(&self, operation: &Operation) -> Result<(Transaction, Option<String>)> {
        let mut change = Change::on(self.snapshot, self.session, operation.time)?;
        let mut moved_tip = false;
        let mut steps: Vec<Step<'_>> = self.steps().collect();
        // A branch that moves drops its shortcut to memory, which comes after it.
        steps.sort_by_key(|(name, ..)| *name);
        let only_head = steps.len() == 1;
        for (name, from, to) in steps {
            let rest = parts(name).map_or("", |(_, rest)| rest);
            match (rest, from, to) {
                ("events", ..) => {}
                ("tip", ..) => moved_tip = true,
                // A shortcut belongs to its branch, which is checked.
                _ if rest.starts_with("memory/") => change.set_ref(name.clone(), to.clone())?,
                ("meta", Some(RefValue::Id(from)), Some(RefValue::Id(to))) => {
                    self.move_meta(&mut change, name, from, to)?;
                }
                _ if *name == RefName::head() && !only_head => {
                    if self.snapshot.reference(name)? == *from {
                        change.set_ref(name.clone(), self.there(to)?)?;
                    }
                }
                _ if *name == RefName::head() && self.there(to)? != *to => {
                    return Err(Error::Refused {
                        why: "the session that was the current one then is removed".to_owned(),
                        hint: "bring it back with 'sapwood session restore'",
                    });
                }
                _ => {
                    self.check(name, from)?;
                    change.set_ref(name.clone(), to.clone())?;
                }
            }
        }
        let active = self.active(&change)?;
        let end = active.as_deref().map(|branch| change.branch(branch)).transpose()?.flatten();
        let next = if moved_tip { end } else { change.tip() };
        change.happened(self.direction.name(), next, self.body())?;
        Ok((change.finish(Some(operation.clone()))?, active))
    }

    /// Gives the branch that will be active, which must not be one that goes.
    fn active(&self, change: &Change<'_>) -> Result<Option<String>> {
        let Some(RefValue::Symbolic(head)) = change.reference("HEAD")? else {
            return Ok(None);
        };
        let branch = parts(&head).and_then(|(_, rest)| rest.strip_prefix("heads/"));
        let branch = branch.unwrap_or_default().to_owned();
        let goes = change.branch(&branch)?.is_none() && self.snapshot.reference(&head)?.is_some();
        if goes && !self.spoke_first(&branch) {
            return Err(Error::Refused {
                why: format!("branch '{branch}' would go, and it is the active one"),
                hint: "switch to another branch first",
            });
        }
        Ok(Some(branch))
    }

    /// Says whether the operation made no branch, but said the first words on one that was active.
    fn spoke_first(&self, branch: &str) -> bool {
        let new = |wanted: String| {
            let mut moves = self.record.moves.iter();
            moves.find(|moved| parts(&moved.name).is_some_and(|(_, rest)| rest == wanted))
        };
        let head = new(format!("heads/{branch}")).and_then(|moved| moved.new.as_ref());
        let said = new("tip".to_owned()).and_then(|moved| moved.new.as_ref());
        self.direction == Direction::Undo
            && new(format!("records/{branch}")).is_none()
            && head.is_some()
            && head == said
    }

    /// Takes back those fields of the metadata that the operation changed.
    fn move_meta(&self, change: &mut Change<'_>, name: &RefName, from: &Id, to: &Id) -> Result<()> {
        let from = read_session(self.snapshot, from)?;
        let to = read_session(self.snapshot, to)?;
        if undo_meta::apply(change.meta()?, &from, &to) {
            return Ok(());
        }
        let found = self.snapshot.reference(name)?;
        Err(self.moved_on(name, found.as_ref()))
    }
}

#[cfg(test)]
mod tests;
