//! Undoing what made or removed a session: its refs move away, or come back.

use super::Plan;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{Event, Object, encode_lifted};
use crate::ops::removed;
use crate::repo::read_session;
use crate::session::{Change, Transcript};
use crate::store::{Operation, RefName, RefValue, Transaction};

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
        let changed = std::mem::take(&mut transaction.refs);
        let away = removed::free_place(self.snapshot, self.session)?;
        let home = removed::home(self.session);
        transaction.refs = removed::relocate(self.snapshot, &home, &away, changed)?;
        self.move_head(&mut transaction)?;
        let head = RefName::head();
        let is_moved = transaction.refs.iter().any(|update| update.name == head);
        if !is_moved && self.leads_here(&self.snapshot.reference(&head)?) {
            transaction.refs.push(removed::update(self.snapshot, head, None)?);
        }
        Ok(transaction)
    }

    /// Brings a session back from where removed ones are.
    pub(super) fn restore(&self, operation: &Operation) -> Result<(Transaction, Option<String>)> {
        let home = removed::home(self.session);
        if let Some((name, value)) = self.snapshot.references(&format!("{home}/"))?.first() {
            return Err(self.moved_on(name, Some(value)));
        }
        let away = self.kept()?;
        let held = |rest: &str| -> Result<Option<RefValue>> {
            let value = self.snapshot.reference(&RefName::new(format!("{away}/{rest}"))?)?;
            value.map(|value| removed::value_after(value, &away, &home)).transpose()
        };
        for (name, _, to) in self.steps().filter(|(name, ..)| self.is_own(name)) {
            let found = removed::parts(name).map(|(_, rest)| held(rest)).transpose()?.flatten();
            if found != *to {
                return Err(self.moved_on(name, found.as_ref()));
            }
        }
        let target = |rest: &str| match held(rest) {
            Ok(Some(RefValue::Id(id))) => Ok(Some(id)),
            other => other.map(|_| None),
        };
        let mut transaction =
            Transaction { operation: Some(operation.clone()), ..Transaction::default() };
        let event = self.event(target("tip")?, target("events")?, operation.time)?;
        let event = encode_lifted(Object::Event(event), &mut transaction.objects)?;
        let events = RefName::new(format!("{away}/events"))?;
        let events = removed::update(self.snapshot, events, Some(RefValue::Id(event)))?;
        transaction.refs = removed::relocate(self.snapshot, &away, &home, vec![events])?;
        self.move_head(&mut transaction)?;
        let branch = match held("HEAD")? {
            Some(RefValue::Symbolic(head)) => removed::parts(&head)
                .and_then(|(_, rest)| rest.strip_prefix("heads/"))
                .map(str::to_owned),
            _ => None,
        };
        Ok((transaction, branch))
    }

    /// Finds where the session is kept: where the operation put it, else where it went last.
    ///
    /// Others of the same id are told from it by their metadata. One that was made when it was has
    /// moved on.
    fn kept(&self) -> Result<String> {
        let meta =
            |(name, _, to): &super::Step<'_>| self.is_own(name) && name.is_meta() && to.is_some();
        let wanted = self.steps().find(meta).and_then(|(_, _, to)| to.clone());
        let own = self.record.moves.iter().find_map(|moved| {
            let place = moved.name.as_str().strip_suffix("/meta")?;
            let is_own = removed::parts(&moved.name)? == (self.session, "meta");
            (is_own && place.starts_with(removed::DELETED)).then(|| place.to_owned())
        });
        let numbers = removed::numbers(self.snapshot, self.session)?;
        let others = numbers.iter().rev().map(|number| removed::place(self.session, *number));
        let mut metas = Vec::new();
        for place in own.into_iter().chain(others) {
            let name = RefName::new(format!("{place}/meta"))?;
            let found = self.snapshot.reference(&name)?;
            if found == wanted {
                return Ok(place);
            }
            metas.push((name, found));
        }
        let made = self.made(wanted.as_ref())?;
        for (name, found) in metas {
            if made.is_some() && self.made(found.as_ref())? == made {
                return Err(self.moved_on(&name, found.as_ref()));
            }
        }
        Err(self.gone())
    }

    /// Reads when the session with this metadata was made.
    fn made(&self, meta: Option<&RefValue>) -> Result<Option<i64>> {
        match meta {
            Some(RefValue::Id(id)) => Ok(Some(read_session(self.snapshot, id)?.time)),
            _ => Ok(None),
        }
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
        let end = Transcript { tip, events: prior };
        let count = end.run_count(self.snapshot)?;
        Ok(end.close(count, self.direction.name(), tip, self.body(), time))
    }

    /// Moves the store's HEAD as the operation did, if it is still there.
    fn move_head(&self, transaction: &mut Transaction) -> Result<()> {
        let head = RefName::head();
        for (name, from, to) in self.steps() {
            if *name == head && self.snapshot.reference(&head)? == *from {
                let to = if self.leads_here(to) { to.clone() } else { self.there(to)? };
                transaction.refs.push(removed::update(self.snapshot, head.clone(), to)?);
            }
        }
        Ok(())
    }
}
