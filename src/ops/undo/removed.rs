//! Sessions that go away and come back: their refs move to `deleted/<session>` and from there.
//!
//! Where a session of the same id was removed before, the name gets a number: `deleted/s1~2`.

use std::collections::{BTreeSet, HashMap};

use super::{Plan, parts, put};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{Event, Object, Run, encode_lifted};
use crate::repo::read_event;
use crate::session::Change;
use crate::store::{Operation, RefName, RefValue, Snapshot, Transaction};
use crate::walk;

/// Gives the numbers under which sessions of this id were removed; the first has none, and is 1.
pub(super) fn numbers(snapshot: &dyn Snapshot, session: &str) -> Result<BTreeSet<u64>> {
    let prefix = format!("deleted/{session}");
    let refs = snapshot.references(&prefix)?;
    let numbers = refs.iter().filter_map(|(name, _)| {
        let (mark, _) = name.as_str()[prefix.len()..].split_once('/')?;
        if mark.is_empty() { Some(1) } else { mark.strip_prefix('~')?.parse().ok() }
    });
    Ok(numbers.collect())
}

fn place(session: &str, number: u64) -> String {
    match number {
        1 => format!("deleted/{session}/"),
        _ => format!("deleted/{session}~{number}/"),
    }
}

/// Gives a ref's value after the refs below `from` went below `to`.
fn moved(value: RefValue, from: &str, to: &str) -> Result<RefValue> {
    Ok(match value {
        RefValue::Symbolic(name) => RefValue::Symbolic(match name.as_str().strip_prefix(from) {
            Some(rest) => RefName::new(format!("{to}{rest}"))?,
            None => name,
        }),
        id => id,
    })
}

impl Plan<'_> {
    /// Moves a session away, if nothing was said in it since.
    pub(super) fn remove(&self, operation: &Operation) -> Result<Transaction> {
        let tip = RefName::of_session(self.session, "tip")?;
        let left = self.steps().find(|(name, ..)| **name == tip);
        self.check(&tip, left.map_or(&None, |(_, from, _)| from))?;
        for (name, from, _) in self.steps().filter(|(name, ..)| self.is_own(name)) {
            self.check(name, from)?;
        }
        let mut change = Change::on(self.snapshot, self.session, operation.time)?;
        change.noted(self.direction.name(), self.body())?;
        let mut transaction = change.finish(Some(operation.clone()))?;
        let home = format!("sessions/{}/", self.session);
        let mut refs: HashMap<RefName, Option<RefValue>> = HashMap::new();
        for (name, value) in self.snapshot.references(&home)? {
            refs.insert(name, Some(value));
        }
        refs.extend(transaction.refs.drain(..).map(|update| (update.name, update.new)));
        let taken = numbers(self.snapshot, self.session)?;
        let free = (1..).find(|number| !taken.contains(number)).unwrap_or(1);
        let away = place(self.session, free);
        for (name, value) in refs {
            let rest = &name.as_str()[home.len()..];
            let new = RefName::new(format!("{away}{rest}"))?;
            let value = value.map(|value| moved(value, &home, &away)).transpose()?;
            transaction.refs.push(put(self.snapshot, new, value)?);
            transaction.refs.push(put(self.snapshot, name, None)?);
        }
        self.move_head(&mut transaction)?;
        let head = RefName::head();
        let is_moved = transaction.refs.iter().any(|update| update.name == head);
        if !is_moved && self.leads_here(&self.snapshot.reference(&head)?) {
            transaction.refs.push(put(self.snapshot, head, None)?);
        }
        Ok(transaction)
    }

    /// Brings a session back from where removed ones are.
    pub(super) fn restore(&self, operation: &Operation) -> Result<(Transaction, Option<String>)> {
        let home = format!("sessions/{}/", self.session);
        if let Some((name, value)) = self.snapshot.references(&home)?.first() {
            return Err(self.moved_on(name, Some(value)));
        }
        let last = numbers(self.snapshot, self.session)?.last().copied();
        let away = place(self.session, last.ok_or_else(|| self.gone())?);
        let mut transaction = Transaction::default();
        let mut held = HashMap::new();
        for (name, value) in self.snapshot.references(&away)? {
            let rest = name.as_str()[away.len()..].to_owned();
            held.insert(rest, moved(value, &away, &home)?);
            transaction.refs.push(put(self.snapshot, name, None)?);
        }
        for (name, _, to) in self.steps().filter(|(name, ..)| self.is_own(name)) {
            let found = parts(name).and_then(|(_, rest)| held.get(rest));
            if found != to.as_ref() {
                return Err(self.moved_on(name, found));
            }
        }
        let target = |rest: &str| match held.get(rest) {
            Some(RefValue::Id(id)) => Some(*id),
            _ => None,
        };
        let event = self.event(target("tip"), target("events"), operation.time)?;
        let event = encode_lifted(Object::Event(event), &mut transaction.objects)?;
        held.insert("events".to_owned(), RefValue::Id(event));
        let branch = match held.get("HEAD") {
            Some(RefValue::Symbolic(head)) => head.as_str().strip_prefix(&format!("{home}heads/")),
            _ => None,
        };
        let branch = branch.map(str::to_owned);
        for (rest, value) in held {
            let name = RefName::of_session(self.session, &rest)?;
            transaction.refs.push(put(self.snapshot, name, Some(value))?);
        }
        self.move_head(&mut transaction)?;
        transaction.operation = Some(operation.clone());
        Ok((transaction, branch))
    }

    /// Says whether a ref is one of the session's that may go back.
    fn is_own(&self, name: &RefName) -> bool {
        name.session().is_some_and(|(session, rest)| {
            let is_follower = matches!(rest, "events" | "tip") || rest.starts_with("memory/");
            session == self.session && !is_follower
        })
    }

    fn gone(&self) -> Error {
        Error::Refused {
            why: format!("session '{}' is gone for good", self.session),
            hint: "what was removed is kept only until it is collected",
        }
    }

    /// Says whether a HEAD leads to the session.
    fn leads_here(&self, to: &Option<RefValue>) -> bool {
        matches!(to, Some(RefValue::Symbolic(head))
            if head.session().is_some_and(|(session, _)| session == self.session))
    }

    /// Makes the event that ends the run of a session that is not there yet.
    fn event(&self, tip: Option<Id>, prior: Option<Id>, time: i64) -> Result<Event> {
        let begun = prior.map(|id| read_event(self.snapshot, &id)).transpose()?;
        let count = tip.map(|tip| walk::run_count(self.snapshot, &tip, begun.as_ref()));
        let count = count.transpose()?.unwrap_or(0);
        let runs = tip.filter(|_| count > 0).map(|tip| Run { tip, count });
        Ok(Event {
            label: self.direction.name().to_owned(),
            time,
            priors: prior.into_iter().collect(),
            runs: runs.into_iter().collect(),
            links: tip.into_iter().collect(),
            body: self.body(),
        })
    }

    /// Moves the store's HEAD as the operation did, if it is still there.
    fn move_head(&self, transaction: &mut Transaction) -> Result<()> {
        let head = RefName::head();
        for (name, from, to) in self.steps() {
            if *name == head && self.snapshot.reference(&head)? == *from {
                let to = if self.leads_here(to) { to.clone() } else { self.there(to)? };
                transaction.refs.push(put(self.snapshot, head.clone(), to)?);
            }
        }
        Ok(())
    }
}
