//! Finding values of other files by their ids.
//!
//! A value is looked for where it was found before, in the files that were just imported, in those
//! of its family (one session of the other program in several files) and of its directory; when all
//! files are read, in all sessions of the store.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use crate::dialect::{self, Source, Step};
use crate::error::Result;
use crate::id::Id;
use crate::ops::import::elsewhere::{Elsewhere, Known, Waiting};
use crate::ops::import::tree::{Row, name_hash};
use crate::ops::imported;
use crate::repo::read_entry;
use crate::session::View;

/// Ids of so many bytes are no others' by chance; shorter ones are counted from one in each file.
const UNIQUE_BYTES_MIN: usize = 16;

/// Where a value is that another hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In another session: its entry, and the session's id.
    In(Id, String),
    /// It hangs on the value itself.
    Circle,
    /// Not in the store.
    Nowhere,
}

/// Who looks for a value.
struct Seeker<'a> {
    place: Option<usize>,
    dialect: Option<&'a str>,
    foreign: Option<&'a str>,
    lineage: Option<&'a str>,
    is_own: &'a dyn Fn(u64) -> bool,
}

impl Elsewhere {
    /// Finds a value that a value of the current file hangs on.
    pub(super) fn find(
        &mut self,
        id: &str,
        source: &Source,
        dialect: Option<&str>,
        is_own: &dyn Fn(u64) -> bool,
    ) -> Result<Place> {
        let seeker = Seeker {
            place: self.current,
            dialect,
            foreign: source.foreign.as_deref(),
            lineage: source.lineage.as_ref().map(|lineage| lineage.session.as_str()),
            is_own,
        };
        self.seek(id, &seeker)
    }

    /// Says whether a session would hang elsewhere if it was read again.
    pub(super) fn has_news(&mut self, place: usize) -> Result<bool> {
        let known = self.sessions[place].clone();
        self.begin(known.source.as_deref().map(Path::new), Some(&known.sid));
        for (name, on) in known.awaits() {
            let found = match self.seek(name, &seeker(&known, place))? {
                Place::In(id, _) => Some(id),
                Place::Circle | Place::Nowhere => None,
            };
            if found != on {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds the session that has a value which another session's values hang on.
    pub(super) fn provider(&mut self, place: usize, name: &str) -> Result<Option<usize>> {
        let known = self.sessions[place].clone();
        self.begin(known.source.as_deref().map(Path::new), Some(&known.sid));
        match self.seek(name, &seeker(&known, place))? {
            Place::In(_, sid) => Ok(self.by_sid.get(&sid).copied()),
            Place::Circle | Place::Nowhere => Ok(None),
        }
    }

    fn seek(&mut self, id: &str, seeker: &Seeker<'_>) -> Result<Place> {
        let name = name_hash(id);
        let known = seeker.place.map(|place| &self.sessions[place]);
        if known.is_some_and(|known| self.cuts.contains(&(known.sid.clone(), name))) {
            return Ok(Place::Circle);
        }
        let hung = known.and_then(|known| known.record.hangs.iter().find(|hung| hung.name == id));
        let hung = hung.and_then(|hung| self.by_sid.get(&hung.session)).copied();
        let of_family = [seeker.foreign, seeker.lineage].into_iter().flatten();
        let of_family = of_family.filter_map(|id| self.families.get(id)).flatten().rev();
        let near: Vec<usize> = hung.into_iter().chain(of_family.copied()).collect();
        for place in &near {
            self.register_session(*place, Some(name))?;
        }
        let is_unique = id.len() >= UNIQUE_BYTES_MIN;
        let found = self.look(name, is_unique, &near, seeker)?;
        if found != Place::Nowhere {
            return Ok(found);
        }
        let beside = self.beside(seeker.dialect);
        for place in &beside {
            self.register_session(*place, None)?;
        }
        match beside.is_empty() {
            true => Ok(Place::Nowhere),
            false => self.look(name, is_unique, &near, seeker),
        }
    }

    /// Looks a value up. Short ids may be counted anew in each file: a file with an id that the
    /// seeker has too is then none to hang on, unless it is near.
    fn look(
        &mut self,
        name: u64,
        is_unique: bool,
        near: &[usize],
        seeker: &Seeker<'_>,
    ) -> Result<Place> {
        let rank = |place: &usize| near.iter().position(|one| one == place).unwrap_or(near.len());
        let mut all: Vec<(usize, Row)> = self.register.all(name).collect();
        all.sort_by_key(|(place, _)| (rank(place), usize::MAX - place));
        for (place, row) in all {
            let known = &self.sessions[place];
            let is_near = near.contains(&place);
            let is_akin = is_near || known.dialect.as_deref() == seeker.dialect;
            if known.is_over || Some(place) == seeker.place || !is_akin {
                continue;
            }
            let sid = known.sid.clone();
            if !is_near && !is_unique && self.has_any(place, seeker.is_own)? {
                continue;
            }
            if let Some(id) = self.entry(place, row)? {
                return Ok(Place::In(id, sid));
            }
        }
        Ok(Place::Nowhere)
    }

    /// Lists the sessions of the same dialect in the current file's directory and below it whose
    /// names are not known yet.
    fn beside(&self, dialect: Option<&str>) -> Vec<usize> {
        let Some(above) = self.directory.as_ref().filter(|_| self.register.has_room(1)) else {
            return Vec::new();
        };
        let is_beside = |known: &Known| {
            let path = known.source.as_deref().map(Path::new);
            known.dialect.as_deref() == dialect && path.is_some_and(|path| path.starts_with(above))
        };
        let places = self.sessions.iter().enumerate();
        let places = places.filter(|(_, known)| !known.is_registered && is_beside(known));
        let count: u64 = places.clone().map(|(_, known)| known.record.values).sum();
        match self.register.has_room(usize::try_from(count).unwrap_or(usize::MAX)) {
            true => places.map(|(place, _)| place).collect(),
            false => Vec::new(),
        }
    }

    /// Says whether a session has one of some names.
    fn has_any(&self, place: usize, is_one: &dyn Fn(u64) -> bool) -> Result<bool> {
        let mut found = false;
        self.steps(place, &mut |_, step| {
            found = found || step.id.as_deref().is_some_and(|id| is_one(name_hash(id)));
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }

    /// Registers the names of a session; if there is no room for all, the one that is wanted.
    pub(super) fn register_session(&mut self, place: usize, wanted: Option<u64>) -> Result<()> {
        let known = &self.sessions[place];
        if known.is_registered {
            return Ok(());
        }
        let count = usize::try_from(known.record.values).unwrap_or(usize::MAX);
        let is_all = self.register.has_room(count);
        let wanted = |name: u64| is_all || Some(name) == wanted;
        let mut names = HashMap::new();
        self.steps(place, &mut |row, step| {
            let name = step.id.as_deref().map(name_hash).filter(|name| wanted(*name));
            names.extend(name.map(|name| (name, row)));
            ControlFlow::Continue(())
        })?;
        for (name, row) in names {
            self.register.add(name, place, row);
        }
        self.sessions[place].is_registered = is_all;
        Ok(())
    }

    /// Looks for what is awaited in the sessions that were not looked through yet, and gives those
    /// that wait for what is there.
    pub(super) fn search(&mut self) -> Result<Vec<String>> {
        let fresh = std::mem::take(&mut self.fresh);
        let is_waiting = |waiting: &Waiting| waiting.on.is_none();
        let waiting = fresh.iter().filter_map(|name| self.awaited.get(name)).flatten();
        let waiting = waiting.filter(|waiting| is_waiting(waiting));
        let dialects: HashSet<Option<String>> =
            waiting.filter_map(|one| Some(self.session(&one.sid)?.dialect.clone())).collect();
        let mut answered = Vec::new();
        for place in 0..self.sessions.len() {
            let known = &self.sessions[place];
            if known.is_registered || known.is_over || !dialects.contains(&known.dialect) {
                continue;
            }
            let mut names = HashMap::new();
            self.steps(place, &mut |row, step| {
                let name = step.id.as_deref().map(name_hash).filter(|name| fresh.contains(name));
                names.extend(name.map(|name| (name, row)));
                ControlFlow::Continue(())
            })?;
            for (name, row) in names {
                self.register.add(name, place, row);
                let waiting = self.awaited.get(&name).into_iter().flatten();
                answered.extend(waiting.filter(|it| is_waiting(it)).map(|it| it.sid.clone()));
            }
        }
        Ok(answered)
    }

    /// Reads what the values of a session are, in their order, until it is enough.
    pub(super) fn steps(
        &self,
        place: usize,
        each: &mut dyn FnMut(Row, Step) -> ControlFlow<()>,
    ) -> Result<()> {
        let known = &self.sessions[place];
        let Some(dialect) = known.dialect.as_deref().and_then(dialect::named) else {
            return Ok(());
        };
        let snapshot = self.repo.snapshot()?;
        let view = View::of(&*snapshot, &known.sid)?;
        let mut source = Source::default();
        let mut rows = 0..;
        for stretch in imported::stretches(&view)? {
            for (id, row) in stretch.entries(&*snapshot)?.into_iter().zip(&mut rows) {
                let entry = read_entry(&*snapshot, &id)?;
                if entry.body.as_map().is_some()
                    && each(row, dialect.read(&entry.body, &mut source)).is_break()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Gives the entry of a session's value.
    pub(super) fn entry(&mut self, place: usize, row: Row) -> Result<Option<Id>> {
        let row = row as usize;
        if let Some((on, first, ids)) = &self.shelf
            && *on == place
            && let Some(id) = row.checked_sub(*first).and_then(|at| ids.get(at))
        {
            return Ok(Some(*id));
        }
        let snapshot = self.repo.snapshot()?;
        let view = View::of(&*snapshot, &self.sessions[place].sid)?;
        let mut first = 0;
        for stretch in imported::stretches(&view)? {
            let count: u64 = stretch.runs.iter().map(|run| run.count).sum();
            if row < first + count as usize {
                let ids = stretch.entries(&*snapshot)?;
                let id = ids.get(row - first).copied();
                self.shelf = Some((place, first, ids));
                return Ok(id);
            }
            first += count as usize;
        }
        Ok(None)
    }
}

/// Makes a seeker of a session that is known.
fn seeker(known: &Known, place: usize) -> Seeker<'_> {
    Seeker {
        place: Some(place),
        dialect: known.dialect.as_deref(),
        foreign: known.record.foreign.as_deref(),
        lineage: known.record.lineage.as_ref().map(|(session, _)| session.as_str()),
        is_own: &|_| false,
    }
}
