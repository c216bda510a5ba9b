//! What other files of the store hold: sessions by their files, and values by their ids.
//!
//! A value may hang on one of another file. It is looked for in the files that were just imported,
//! then in those of its family (one session of the other program in several files) and of its
//! directory. One that is not there yet is awaited: when it comes, the file that waits is read
//! again.

use std::collections::HashMap;
use std::path::Path;

use crate::dialect::{self, Source};
use crate::error::Result;
use crate::id::Id;
use crate::object::Session;
use crate::ops::import::tree::name_hash;
use crate::ops::imported::{self, Record};
use crate::repo::{Repo, read_entry, read_session, restored};
use crate::session::View;
use crate::store::RefValue;

/// How many names of values are held in memory at the most.
pub(super) const NAMES_MAX: usize = 1 << 18;

/// A session that was imported.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) sid: String,
    pub(super) source: Option<String>,
    pub(super) dialect: Option<String>,
    pub(super) record: Record,
    /// The names of its values, once they were asked for.
    names: Option<HashMap<u64, Id>>,
}

impl Known {
    /// Finds one of its values, if their names are in memory.
    pub(super) fn value(&self, name: u64) -> Option<Id> {
        self.names.as_ref()?.get(&name).copied()
    }
}

/// A session that waits for a value of another file.
#[derive(Clone, Debug)]
struct Waiting {
    sid: String,
    /// The entry that it hangs on till then.
    on: Option<Id>,
}

/// What other files of the store hold.
pub(super) struct Elsewhere {
    repo: Repo,
    sessions: Vec<Known>,
    by_sid: HashMap<String, usize>,
    /// The places of sessions by what they were imported from.
    by_source: HashMap<String, usize>,
    /// The places of sessions by their ids in their files.
    families: HashMap<String, Vec<usize>>,
    /// Sessions that wait for a value or hang on it, by the hash of its id.
    awaited: HashMap<u64, Vec<Waiting>>,
    /// What was found for them.
    found: HashMap<u64, Id>,
    names_held: usize,
    /// The file that is being imported.
    current: Option<String>,
}

impl Elsewhere {
    /// Looks at all sessions of the store.
    pub(super) fn of(repo: &Repo) -> Result<Elsewhere> {
        let snapshot = repo.snapshot()?;
        let mut elsewhere = Elsewhere {
            repo: repo.clone(),
            sessions: Vec::new(),
            by_sid: HashMap::new(),
            by_source: HashMap::new(),
            families: HashMap::new(),
            awaited: HashMap::new(),
            found: HashMap::new(),
            names_held: 0,
            current: None,
        };
        for (name, value) in snapshot.references("sessions/")? {
            let (RefValue::Id(id), true) = (value, name.as_str().ends_with("/meta")) else {
                continue;
            };
            let mut meta = read_session(&*snapshot, &id)?;
            restored(&*snapshot, &mut meta.meta)?;
            if let Some(record) = Record::of(&meta.meta) {
                elsewhere.learn(&meta, record, None);
            }
        }
        Ok(elsewhere)
    }

    /// Notes a session that was imported, and the names of its values.
    pub(super) fn learn(
        &mut self,
        meta: &Session,
        record: Record,
        names: Option<HashMap<u64, Id>>,
    ) {
        let orphans = record.orphans.iter().map(|name| (name, None));
        for (name, on) in orphans.chain(record.hangs.iter().map(|(name, id)| (name, Some(*id)))) {
            let waiting = self.awaited.entry(name_hash(name)).or_default();
            waiting.retain(|waiting| waiting.sid != meta.sid);
            waiting.push(Waiting { sid: meta.sid.clone(), on });
        }
        let names = names.filter(|names| self.names_held + names.len() <= NAMES_MAX);
        self.names_held += names.as_ref().map_or(0, HashMap::len);
        let known = Known {
            sid: meta.sid.clone(),
            source: meta.source.clone(),
            dialect: meta.dialect.clone(),
            record,
            names,
        };
        let old = self.by_sid.get(&known.sid).copied();
        let place = old.unwrap_or(self.sessions.len());
        if let Some(source) = &known.source {
            self.by_source.insert(source.clone(), place);
        }
        match old {
            Some(place) => self.sessions[place] = known,
            None => {
                if let Some(foreign) = &known.record.foreign {
                    self.families.entry(foreign.clone()).or_default().push(place);
                }
                self.by_sid.insert(known.sid.clone(), place);
                self.sessions.push(known);
            }
        }
    }

    /// Finds the session that came from a file.
    pub(super) fn of_source(&self, source: &str) -> Option<&Known> {
        self.by_source.get(source).map(|place| &self.sessions[*place])
    }

    /// Finds a session by its id.
    pub(super) fn session(&self, sid: &str) -> Option<&Known> {
        self.by_sid.get(sid).map(|place| &self.sessions[*place])
    }

    /// Finds the session that has an id in its own file, the first that was imported.
    pub(super) fn of_foreign(&self, foreign: &str) -> Option<&Known> {
        let place = self.families.get(foreign)?.first()?;
        Some(&self.sessions[*place])
    }

    /// Says which file is being imported.
    pub(super) fn begin(&mut self, source: Option<String>) {
        self.current = source;
    }

    /// Says whether a value with this id is waited for.
    pub(super) fn is_awaited(&self, name: u64) -> bool {
        self.awaited.contains_key(&name)
    }

    /// Says whether a session waits for a value with this id.
    pub(super) fn is_awaited_by(&self, name: u64, sid: &str) -> bool {
        let waiting = self.awaited.get(&name).into_iter().flatten();
        waiting.into_iter().any(|waiting| waiting.sid == sid && waiting.on.is_none())
    }

    /// Notes that a value has come, and gives the sessions that waited for it; if it was there
    /// before, those too that hang on what it was.
    pub(super) fn answer(&mut self, name: u64, id: Id, was_there: bool) -> Vec<String> {
        self.found.insert(name, id);
        let Some(waiting) = self.awaited.get_mut(&name) else {
            return Vec::new();
        };
        let is_answered = |waiting: &Waiting| match waiting.on {
            None => true,
            Some(on) => was_there && on != id,
        };
        let answered = waiting.iter().filter(|waiting| is_answered(waiting));
        let answered = answered.map(|waiting| waiting.sid.clone()).collect();
        waiting.retain(|waiting| !is_answered(waiting));
        answered
    }

    /// Finds a value that a value of the current file hangs on.
    pub(super) fn find(&mut self, name: u64, source: &Source) -> Result<Option<Id>> {
        if let Some(found) = self.found.get(&name) {
            return Ok(Some(*found));
        }
        let family = source.foreign.as_ref().and_then(|id| self.families.get(id));
        let mut near: Vec<usize> = family.into_iter().flatten().rev().copied().collect();
        let directory = self.current.as_deref().and_then(|path| Path::new(path).parent());
        let is_beside = |known: &Known| {
            let path = known.source.as_deref().map(Path::new);
            path.is_some_and(|path| directory.is_some_and(|above| path.starts_with(above)))
        };
        for (place, known) in self.sessions.iter().enumerate().rev() {
            if (known.names.is_some() || is_beside(known)) && !near.contains(&place) {
                near.push(place);
            }
        }
        for place in near {
            if self.sessions[place].source == self.current && self.current.is_some() {
                continue;
            }
            if let Some(id) = self.names(place)?.and_then(|names| names.get(&name)) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Gives the names of a session's values.
    fn names(&mut self, place: usize) -> Result<Option<&HashMap<u64, Id>>> {
        if self.sessions[place].names.is_none() && self.names_held < NAMES_MAX {
            let names = self.read_names(&self.sessions[place])?;
            self.names_held += names.len();
            self.sessions[place].names = Some(names);
        }
        Ok(self.sessions[place].names.as_ref())
    }

    fn read_names(&self, known: &Known) -> Result<HashMap<u64, Id>> {
        let mut names = HashMap::new();
        let Some(dialect) = known.dialect.as_deref().and_then(dialect::named) else {
            return Ok(names);
        };
        let snapshot = self.repo.snapshot()?;
        let view = View::of(&*snapshot, &known.sid)?;
        let mut source = Source::default();
        for stretch in imported::stretches(&view)? {
            for id in stretch.entries(&*snapshot)? {
                let entry = read_entry(&*snapshot, &id)?;
                if entry.body.as_map().is_some()
                    && let Some(name) = dialect.read(&entry.body, &mut source).id
                {
                    names.insert(name_hash(&name), id);
                }
            }
        }
        Ok(names)
    }
}
