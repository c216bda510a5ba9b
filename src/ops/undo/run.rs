//! Undoing a command that was several operations, one for each session: an import.
//!
//! Its operations have the same time, actor and command. Each is taken back in a transaction of its
//! own, the last first. One whose session has moved on stays, and is told; so does one from which
//! something was removed for good since. Stopped in the middle, the rest is taken back when it is
//! done again.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::{
    Direction, Plan, UndoOutcome, for_good, is_final, last, nothing, owner, refuse_final, reversal,
    session,
};
use crate::error::{Error, Result};
use crate::ops::Target;
use crate::repo::Repo;
use crate::store::{Durability, Operation, OperationRecord, Snapshot};

/// What became of a command that was several operations.
#[derive(Debug)]
pub struct UndoneRun {
    /// What was taken back, or done again.
    pub done: Vec<UndoOutcome>,
    /// The sessions that stay as they are, and why.
    pub kept: Vec<(String, Error)>,
}

/// Takes back the last command of an actor whole, or does it again: all of its operations, whatever
/// their sessions. With `everywhere` it is the last of all; else the last of the current session.
pub fn undo_run(
    repo: &Repo,
    everywhere: bool,
    actor: &str,
    direction: Direction,
    operation: &Operation,
) -> Result<UndoneRun> {
    let snapshot = repo.snapshot()?;
    let session = match everywhere {
        true => None,
        false => session(&*snapshot, &Target::default())?,
    };
    let (chosen, first) = last(&*snapshot, session.as_deref(), actor, direction)?;
    let chosen = chosen.ok_or_else(|| nothing(actor, direction, first))?;
    refuse_final(&*snapshot, &chosen)?;
    let mut run = UndoneRun { done: Vec::new(), kept: Vec::new() };
    let mut kept: HashSet<String> = HashSet::new();
    let (records, finals) = siblings(&*snapshot, &chosen, direction)?;
    for record in records {
        let Some(owner) = owner(&record).map(str::to_owned).or_else(|| session.clone()) else {
            continue;
        };
        if kept.contains(&owner) {
            continue;
        }
        let gone = finals.get(&owner).filter(|number| **number > record.number);
        let gone = gone.map_or(Ok(()), |number| Err(for_good(*number)));
        match gone.and_then(|()| go(repo, &owner, &record, direction, operation)) {
            Ok(done) => run.done.push(done),
            Err(error @ (Error::MovedOn { .. } | Error::Refused { .. })) => {
                kept.insert(owner.clone());
                run.kept.push((owner, error));
            }
            Err(error) => return Err(error),
        }
    }
    repo.store().sync()?;
    match (run.done.is_empty(), run.kept.pop()) {
        (true, Some((_, error))) => Err(error),
        (_, popped) => {
            run.kept.extend(popped);
            Ok(run)
        }
    }
}

/// Takes one operation back, or does it again.
fn go(
    repo: &Repo,
    owner: &str,
    record: &OperationRecord,
    direction: Direction,
    operation: &Operation,
) -> Result<UndoOutcome> {
    let mut branch = None;
    repo.commit(Durability::Relaxed, &mut |snapshot| {
        let plan = Plan { snapshot, session: owner, record, direction };
        let (transaction, active) = plan.make(operation)?;
        branch = active;
        Ok(transaction)
    })?;
    let (number, command) = (record.number, record.operation.command.clone());
    Ok(UndoOutcome { session: owner.to_owned(), number, command, branch })
}

/// The last operation that removed something for good, by session.
type Finals = HashMap<String, u64>;

/// Lists the operations of the command that one belongs to, in the order in which they are taken
/// back or done again. For the latter they are those that one undo took back.
fn siblings(
    snapshot: &dyn Snapshot,
    chosen: &OperationRecord,
    direction: Direction,
) -> Result<(Vec<OperationRecord>, Finals)> {
    // The newest undo or redo of an operation decides whether it is in force, and whose turn it is.
    let mut settled: HashMap<u64, (Direction, Operation)> = HashMap::new();
    let (mut records, mut finals) = (Vec::new(), Finals::new());
    snapshot.operations(&mut |record| {
        if is_final(snapshot, record)? {
            for (session, _) in record.moves.iter().filter_map(|moved| moved.name.session()) {
                finals.entry(session.to_owned()).or_insert(record.number);
            }
        }
        if let Some((was, number)) = reversal(snapshot, record)? {
            settled.entry(number).or_insert_with(|| (was, record.operation.clone()));
        } else if record.operation == chosen.operation {
            records.push(record.clone());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let undone = |number: u64| settled.get(&number).filter(|(was, _)| *was == Direction::Undo);
    match direction {
        Direction::Undo => records.retain(|record| undone(record.number).is_none()),
        Direction::Redo => {
            let by = undone(chosen.number).map(|(_, by)| by.clone());
            records.retain(|record| undone(record.number).map(|(_, by)| by) == by.as_ref());
            records.reverse();
        }
    }
    Ok((records, finals))
}
