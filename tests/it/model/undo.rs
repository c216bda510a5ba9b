//! What the model keeps of each operation, and how it takes one back.

use std::collections::BTreeSet;

use super::world::{Cell, Outcome, Session, Turn, Where, Why, World};

/// What an operation changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    actor: &'static str,
    /// The session it changed, if any.
    owner: Option<String>,
    /// When that session was made.
    made: Option<i64>,
    /// The number under which it put the session, if it removed it.
    away: Option<u64>,
    cells: Vec<Change<Cell>>,
    tip: Option<(Option<usize>, Option<usize>)>,
    current: Option<(Option<String>, Option<String>)>,
    /// The operation it took back, or did again.
    reversed: Option<(Way, usize)>,
}

type Change<T> = (String, Option<T>, Option<T>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Undo,
    Redo,
}

impl Way {
    fn label(self) -> &'static str {
        match self {
            Way::Undo => "undo",
            Way::Redo => "redo",
        }
    }

    fn turned<T: Clone>(self, old: &T, new: &T) -> (T, T) {
        match self {
            Way::Undo => (new.clone(), old.clone()),
            Way::Redo => (old.clone(), new.clone()),
        }
    }
}

impl Record {
    /// Compares two worlds; `None` if nothing moved.
    pub(super) fn between(
        before: &World,
        after: &World,
        actor: &'static str,
        reversed: Option<(Way, usize)>,
    ) -> Option<Record> {
        let changed = |sid: &String| {
            let of = |world: &World| {
                world.place(sid).map(|place| world.sessions[place].clone()).unwrap_or_default()
            };
            let (old, new) = (of(before), of(after));
            let names: BTreeSet<&String> = old.cells.keys().chain(new.cells.keys()).collect();
            let cell = |name: &String| {
                let (old, new) = (old.cells.get(name).cloned(), new.cells.get(name).cloned());
                (old != new).then(|| (name.clone(), old, new))
            };
            let cells: Vec<Change<Cell>> = names.into_iter().filter_map(cell).collect();
            let tip = Some((old.tip, new.tip)).filter(|(old, new)| old != new);
            let moved = old.turns.len() != new.turns.len() || tip.is_some() || !cells.is_empty();
            let made = old.made.max(new.made);
            moved.then(|| (sid.clone(), made, cells, tip))
        };
        let sids = before.sessions.iter().chain(&after.sessions).map(|session| &session.sid);
        let owner = sids.filter_map(changed).next();
        let current = (before.current.clone(), after.current.clone());
        let current = Some(current).filter(|(old, new)| old != new);
        if owner.is_none() && current.is_none() {
            return None;
        }
        let (owner, made, cells, tip) = match owner {
            Some((sid, made, cells, tip)) => (Some(sid), Some(made), cells, tip),
            None => (None, None, Vec::new(), None),
        };
        let away = owner.as_ref().and_then(|sid| {
            let is_new = |number: &u64| before.numbers(sid).all(|known| known != *number);
            after.numbers(sid).find(is_new)
        });
        Some(Record { actor, owner, made, away, cells, tip, current, reversed })
    }

    fn concerns(&self, sid: &str) -> bool {
        let current = self.current.iter().flat_map(|(old, new)| [old, new]).flatten();
        self.owner.iter().chain(current).any(|known| known == sid)
    }
}

impl World {
    pub(super) fn reverse(&mut self, at: &Where, actor: &'static str, way: Way) -> Outcome {
        let before = self.clone();
        let number = self.silently(|world| {
            let session = match &at.session {
                None => world.current.clone(),
                Some(sid) => {
                    let is_removed = world.removed.iter().any(|(_, session)| session.sid == *sid);
                    let is_known = is_removed || world.place(sid).is_some();
                    Some(is_known.then(|| sid.clone()).ok_or(Why::Unknown)?)
                }
            };
            let number = world.last(session.as_deref(), actor, way).ok_or(Why::Refused)?;
            let record = world.log[number].clone();
            let owner = record.owner.clone().or(session).ok_or(Why::Refused)?;
            let name = record.cells.iter().find(|(cell, ..)| cell == "name");
            let (from, to) = name.map_or((None, None), |(_, old, new)| way.turned(old, new));
            match (from.is_some(), to.is_some()) {
                (true, false) => world.take_away(&owner, &record, way)?,
                (false, true) => world.bring_back(&owner, &record, way)?,
                _ => world.move_back(&owner, &record, way)?,
            }
            Ok(number)
        })?;
        self.log.extend(Record::between(&before, self, actor, Some((way, number))));
        Ok(())
    }

    /// Finds the operation to undo or redo.
    fn last(&self, session: Option<&str>, actor: &str, way: Way) -> Option<usize> {
        let of_session = |record: &Record| session.is_none_or(|sid| record.concerns(sid));
        let known: Vec<usize> =
            (0..self.log.len()).filter(|number| of_session(&self.log[*number])).collect();
        let is_undone = |number: usize| {
            let reversals = known.iter().rev().filter_map(|later| self.log[*later].reversed);
            let mut reversals = reversals.filter(|(_, of)| *of == number);
            reversals.next().is_some_and(|(way, _)| way == Way::Undo)
        };
        let own = known.iter().rev().filter(|number| self.log[**number].actor == actor);
        let ordinary = |number: &&&usize| self.log[***number].reversed.is_none();
        match way {
            Way::Undo => {
                own.filter(|number| ordinary(&number)).copied().find(|number| !is_undone(*number))
            }
            Way::Redo => {
                let since = own.take_while(|number| !ordinary(&number));
                let mut undone = since.filter_map(|number| match self.log[*number].reversed {
                    Some((Way::Undo, of)) => Some((*number, of)),
                    _ => None,
                });
                let newest = |number: usize, of: usize| {
                    let later = known.iter().filter(|later| **later > number);
                    later
                        .into_iter()
                        .all(|later| self.log[*later].reversed.is_none_or(|(_, other)| other != of))
                };
                let found = undone.find(|(number, of)| newest(*number, *of)).map(|(_, of)| of);
                found.filter(|of| known.contains(of))
            }
        }
    }

    /// Moves the current session as the operation did, if it is still there.
    fn move_current(&mut self, record: &Record, way: Way) {
        if let Some((old, new)) = &record.current {
            let (from, to) = way.turned(old, new);
            if self.current == from {
                self.current = to.filter(|sid| self.place(sid).is_some());
            }
        }
    }

    fn take_away(&mut self, sid: &str, record: &Record, way: Way) -> Outcome {
        let place = self.place(sid).ok_or(Why::MovedOn)?;
        let tip = record.tip.as_ref().and_then(|(old, new)| way.turned(old, new).0);
        let session = &self.sessions[place];
        if session.tip != tip {
            return Err(Why::MovedOn);
        }
        for (cell, old, new) in &record.cells {
            if session.cells.get(cell) != way.turned(old, new).0.as_ref() {
                return Err(Why::MovedOn);
            }
        }
        let mut session = self.sessions.remove(place);
        session.noted(way.label());
        self.put_away(session);
        self.move_current(record, way);
        if self.current.as_deref() == Some(sid) {
            self.current = None;
        }
        Ok(())
    }

    /// Lists the numbers under which removed sessions of an id are kept.
    fn numbers(&self, sid: &str) -> impl Iterator<Item = u64> {
        let same = self.removed.iter().filter(move |(_, session)| session.sid == sid);
        same.map(|(number, _)| *number)
    }

    /// Keeps a removed session under the number after the last.
    pub(super) fn put_away(&mut self, session: Session) {
        let last = self.numbers(&session.sid).max().unwrap_or(0);
        self.removed.push((last + 1, session));
    }

    fn bring_back(&mut self, sid: &str, record: &Record, way: Way) -> Outcome {
        if self.place(sid).is_some() {
            return Err(Why::MovedOn);
        }
        let kept =
            self.removed.iter().enumerate().filter(|(_, (_, session))| {
                session.sid == sid && Some(session.made) == record.made
            });
        let number =
            |(_, (number, _)): &(usize, &(u64, Session))| (Some(*number) == record.away, *number);
        let found = kept.max_by_key(number).map(|(place, _)| place);
        let (_, mut session) = self.removed.remove(found.ok_or(Why::Refused)?);
        for (cell, old, new) in &record.cells {
            if session.cells.get(cell) != way.turned(old, new).1.as_ref() {
                return Err(Why::MovedOn);
            }
        }
        session.noted(way.label());
        self.sessions.push(session);
        self.move_current(record, way);
        Ok(())
    }

    fn move_back(&mut self, sid: &str, record: &Record, way: Way) -> Outcome {
        let place = self.place(sid).ok_or(Why::Unknown)?;
        if record.owner.is_none()
            && let Some((old, new)) = &record.current
        {
            let (from, to) = way.turned(old, new);
            if self.current != from {
                return Err(Why::MovedOn);
            }
            if to.is_some_and(|sid| self.place(&sid).is_none()) {
                return Err(Why::Refused);
            }
        }
        self.move_current(record, way);
        let session = &mut self.sessions[place];
        let was_born = session.branches();
        let was_born: Vec<String> =
            was_born.into_iter().filter(|name| session.head(name).is_some()).collect();
        for (cell, old, new) in &record.cells {
            let (from, to) = way.turned(old, new);
            if session.cells.get(cell) != from.as_ref() {
                return Err(Why::MovedOn);
            }
            session.set(cell, to);
        }
        let active = session.active();
        let goes = was_born.contains(&active) && session.head(&active).is_none();
        if goes && !record.only_spoke(&active, way) {
            return Err(Why::Refused);
        }
        let next = if record.tip.is_some() { session.end() } else { session.tip };
        session.turns.push(Turn::Happened { label: way.label(), from: None });
        session.tip = next;
        Ok(())
    }
}

impl Record {
    /// Says whether the operation did not make the branch, but said its first words.
    fn only_spoke(&self, branch: &str, way: Way) -> bool {
        let made = self.cells.iter().any(|(cell, ..)| *cell == format!("records/{branch}"));
        let head = self.cells.iter().find(|(cell, ..)| *cell == format!("heads/{branch}"));
        let end = head.and_then(|(_, _, new)| new.clone());
        let tip = self.tip.and_then(|(_, new)| new);
        let said = end.is_some() && end == tip.map(Cell::Entry);
        way == Way::Undo && !made && said
    }
}
