//! What other files of the store hold: sessions by their files, and values by their ids.
//!
//! A value that hangs on one of another file looks for it here (see `seek`). One that is not there
//! yet is awaited: when it comes, the file that waits is read again (see `order` for when).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::id::Id;
use crate::object::Session;
use crate::ops::import::register::Register;
use crate::ops::import::tree::{Tree, name_hash};
use crate::ops::imported::Record;
use crate::repo::{Repo, read_session, restored};
use crate::store::RefValue;

/// A session that was imported.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) sid: String,
    pub(super) source: Option<String>,
    pub(super) dialect: Option<String>,
    pub(super) record: Record,
    /// Whether all names of its values are in the register.
    pub(super) is_registered: bool,
    /// Whether its file was written anew since: its rows are others now.
    pub(super) is_over: bool,
}

impl Known {
    /// Gives the names that it waits for or hangs on, and the entries that these are.
    pub(super) fn awaits(&self) -> impl Iterator<Item = (&str, Option<Id>)> {
        let orphans = self.record.orphans.iter().map(|name| (name.as_str(), None));
        orphans.chain(self.record.hangs.iter().map(|hung| (hung.name.as_str(), Some(hung.entry))))
    }
}

/// The names of a session's values, as far as its import tells them.
pub(super) enum Names<'a> {
    /// They are not told.
    Unknown,
    /// They are what they were.
    Same,
    /// Those of a tree from a row on; before it they are what they were.
    From(&'a Tree, usize),
}

/// A session that waits for a value of another file.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) sid: String,
    /// The entry that it hangs on till then.
    pub(super) on: Option<Id>,
}

/// What other files of the store hold.
pub(super) struct Elsewhere {
    pub(super) repo: Repo,
    pub(super) sessions: Vec<Known>,
    pub(super) by_sid: HashMap<String, usize>,
    /// The places of sessions by what they were imported from.
    by_source: HashMap<String, usize>,
    /// The places of sessions by their ids in their files.
    pub(super) families: HashMap<String, Vec<usize>>,
    /// Sessions that wait for a value or hang on it, by the hash of its id.
    pub(super) awaited: HashMap<u64, Vec<Waiting>>,
    pub(super) register: Register,
    /// Awaited values that were not looked for in all sessions yet.
    pub(super) fresh: HashSet<u64>,
    /// Sessions and the values that they must not hang on, lest there be a circle.
    pub(super) cuts: HashSet<(String, u64)>,
    /// Sessions that were landed in this run.
    pub(super) landed: BTreeSet<usize>,
    /// The file that is being imported, and the directory it is in.
    pub(super) current: Option<usize>,
    pub(super) directory: Option<PathBuf>,
    /// Entries that were looked up last: the place, the first row, and the entries from it on.
    pub(super) shelf: Option<(usize, usize, Vec<Id>)>,
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
            register: Register::default(),
            fresh: HashSet::new(),
            cuts: HashSet::new(),
            landed: BTreeSet::new(),
            current: None,
            directory: None,
            shelf: None,
        };
        for (name, value) in snapshot.references("sessions/")? {
            let (RefValue::Id(id), true) = (value, name.is_meta()) else {
                continue;
            };
            let mut meta = read_session(&*snapshot, &id)?;
            restored(&*snapshot, &mut meta.meta)?;
            if let Some(record) = Record::of(&meta.meta) {
                elsewhere.learn(&meta, record, Names::Unknown);
            }
        }
        elsewhere.landed.clear();
        elsewhere.fresh.clear();
        Ok(elsewhere)
    }

    /// Looks at the store again, which others have changed; what is to be done still is.
    pub(super) fn renew(&mut self) -> Result<()> {
        let mut new = Elsewhere::of(&self.repo)?;
        new.fresh = std::mem::take(&mut self.fresh);
        new.cuts = std::mem::take(&mut self.cuts);
        let landed = self.landed.iter().map(|place| &self.sessions[*place].sid);
        new.landed = landed.filter_map(|sid| new.by_sid.get(sid).copied()).collect();
        *self = new;
        Ok(())
    }

    /// Notes a session that was imported, and the names of its values.
    pub(super) fn learn(&mut self, meta: &Session, record: Record, names: Names<'_>) {
        let mut known = Known {
            sid: meta.sid.clone(),
            source: meta.source.clone(),
            dialect: meta.dialect.clone(),
            record,
            is_registered: false,
            is_over: false,
        };
        for (name, on) in known.awaits() {
            let hash = name_hash(name);
            let waiting = self.awaited.entry(hash).or_default();
            let was = waiting.iter_mut().find(|waiting| waiting.sid == meta.sid);
            let is_fresh = on.is_none() && was.as_ref().is_none_or(|was| was.on.is_some());
            match was {
                Some(was) => was.on = on,
                None => waiting.push(Waiting { sid: meta.sid.clone(), on }),
            }
            if is_fresh {
                self.fresh.insert(hash);
            }
        }
        let old = self.by_sid.get(&known.sid).copied();
        let is_anew = matches!(names, Names::From(_, 0));
        let place = match old {
            Some(place) if !is_anew => {
                known.is_registered = self.sessions[place].is_registered;
                self.sessions[place] = known;
                place
            }
            old => {
                old.into_iter().for_each(|old| self.sessions[old].is_over = true);
                self.sessions.push(known);
                self.sessions.len() - 1
            }
        };
        self.shelf = None;
        self.place(place, old);
        match names {
            Names::From(tree, from) => self.register_tree(place, tree, from),
            Names::Same | Names::Unknown => {}
        }
    }

    /// Makes a session known under its names.
    fn place(&mut self, place: usize, old: Option<usize>) {
        let known = &self.sessions[place];
        if let Some(source) = &known.source {
            self.by_source.insert(source.clone(), place);
        }
        if let Some(foreign) = &known.record.foreign {
            let family = self.families.entry(foreign.clone()).or_default();
            match family.iter().position(|one| *one == place || Some(*one) == old) {
                Some(at) => family[at] = place,
                None => family.push(place),
            }
        }
        self.by_sid.insert(known.sid.clone(), place);
        self.landed.insert(place);
    }

    fn register_tree(&mut self, place: usize, tree: &Tree, from: usize) {
        let is_whole = from == 0 || self.sessions[place].is_registered;
        let rows = || tree.names().filter(|(_, row)| *row as usize >= from);
        let has_room = is_whole && self.register.has_room(rows().count());
        if has_room {
            rows().for_each(|(name, row)| self.register.add(name, place, row));
        }
        self.sessions[place].is_registered = has_room;
    }

    /// Finds the session that came from a file.
    pub(super) fn of_source(&self, source: &str) -> Option<&Known> {
        self.by_source.get(source).map(|place| &self.sessions[*place])
    }

    /// Finds a session by its id.
    pub(super) fn session(&self, sid: &str) -> Option<&Known> {
        self.by_sid.get(sid).map(|place| &self.sessions[*place])
    }

    /// Says which file is being imported, and which session it has, if any.
    pub(super) fn begin(&mut self, path: Option<&Path>, sid: Option<&str>) {
        self.current = sid.and_then(|sid| self.by_sid.get(sid)).copied();
        self.directory = path.and_then(Path::parent).map(Path::to_owned);
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

    /// Gives the sessions that wait for a value that has come, or hang on what it was.
    pub(super) fn answered(&self, name: u64, id: Id) -> impl Iterator<Item = &str> {
        let waiting = self.awaited.get(&name).into_iter().flatten();
        waiting.filter(move |waiting| waiting.on != Some(id)).map(|waiting| waiting.sid.as_str())
    }
}
