//! The model: plain lists of entries, memory and sessions. It knows nothing of refs and objects.

use std::collections::BTreeMap;

use super::facts::Node;
use super::undo::Record;

/// Why something is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Unknown,
    Exists,
    Unanswered,
    Refused,
    Conflict,
    MovedOn,
}

pub(super) type Outcome<T = ()> = Result<T, Why>;

/// What an entry says. Links are places among the world's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    User(String),
    Assistant(String),
    Call(String),
    Answer { call: String, text: String },
    Aside(String),
    Quiet { label: &'static str, text: String },
    Config { model: Option<String>, thinking: Option<String> },
    Compaction { summary: Option<String>, kept: Option<usize>, state: State },
    Summary { text: String, from: usize, is_stack: bool },
    Merge(String),
    Memory(usize),
}

/// The model and the level of thinking in force.
pub(super) type State = (Option<String>, Option<String>);

/// An entry. Two that are alike in everything are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) said: Said,
    pub(super) parents: Vec<usize>,
    pub(super) time: i64,
    pub(super) origin: Option<usize>,
}

/// What a name of a session stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Entry(usize),
    Record(usize),
    Text(String),
}

/// What is known of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) at: Option<usize>,
    pub(super) parent: Option<String>,
    pub(super) reason: Option<&'static str>,
}

/// A turn of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Said(usize),
    Happened { label: &'static str, from: Option<String> },
}

/// A session. Its cells are `heads/x`, `records/x`, `labels/x`, `attachments/x`, `active`, `name`.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) sid: String,
    /// When it was made.
    pub(super) made: i64,
    pub(super) cells: BTreeMap<String, Cell>,
    pub(super) tip: Option<usize>,
    pub(super) turns: Vec<Turn>,
    /// The branches that were left by switches, in this order.
    pub(super) left: Vec<String>,
    pub(super) parent: Option<(String, Option<usize>)>,
    pub(super) model: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) entries: Vec<Entry>,
    pub(super) nodes: Vec<Node>,
    pub(super) records: Vec<Known>,
    pub(super) sessions: Vec<Session>,
    /// Removed sessions, with the number they are kept under.
    pub(super) removed: Vec<(u64, Session)>,
    pub(super) current: Option<String>,
    pub(super) log: Vec<Record>,
    pub(super) now: i64,
}

/// A revision, as somebody writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rev {
    Entry(usize),
    Name(String),
}

/// Where to write: `-s`, `-b`, `--parent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Where {
    pub(super) session: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) parent: Option<Rev>,
}

/// Where to write, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) session: usize,
    pub(super) branch: String,
    pub(super) parent: Option<usize>,
}

impl Session {
    pub(super) fn new(sid: &str, active: &str, made: i64) -> Session {
        let mut session = Session { sid: sid.to_owned(), made, ..Session::default() };
        session.set("active", Some(Cell::Text(active.to_owned())));
        session.set("name", Some(Cell::Text(String::new())));
        session
    }

    pub(super) fn set(&mut self, cell: &str, value: Option<Cell>) {
        match value {
            Some(value) => drop(self.cells.insert(cell.to_owned(), value)),
            None => drop(self.cells.remove(cell)),
        }
    }

    pub(super) fn active(&self) -> String {
        match &self.cells["active"] {
            Cell::Text(active) => active.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn entry(&self, cell: &str) -> Option<usize> {
        match self.cells.get(cell) {
            Some(Cell::Entry(entry)) => Some(*entry),
            _ => None,
        }
    }

    pub(super) fn head(&self, branch: &str) -> Option<usize> {
        self.entry(&format!("heads/{branch}"))
    }

    pub(super) fn label(&self, name: &str) -> Option<usize> {
        self.entry(&format!("labels/{name}"))
    }

    pub(super) fn record(&self, branch: &str) -> Option<usize> {
        match self.cells.get(&format!("records/{branch}")) {
            Some(Cell::Record(record)) => Some(*record),
            _ => None,
        }
    }

    pub(super) fn end(&self) -> Option<usize> {
        self.head(&self.active())
    }

    /// Lists the names of a class of cells.
    pub(super) fn names(&self, class: &str) -> Vec<String> {
        let names = self.cells.keys().filter_map(|cell| cell.strip_prefix(class));
        names.filter_map(|name| name.strip_prefix('/')).map(str::to_owned).collect()
    }

    /// Lists all branches, born or not.
    pub(super) fn branches(&self) -> Vec<String> {
        let mut names = self.names("heads");
        names.extend(self.names("records"));
        names.push(self.active());
        names.sort();
        names.dedup();
        names
    }

    pub(super) fn has_branch(&self, name: &str) -> bool {
        self.head(name).is_some() || self.record(name).is_some()
    }

    /// Names a new branch.
    pub(super) fn free(&self, stem: &str) -> String {
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.to_owned()).chain(numbered);
        names.find(|name| !self.has_branch(name)).unwrap()
    }

    pub(super) fn resolve(&self, rev: &Rev) -> Outcome<usize> {
        match rev {
            Rev::Entry(entry) => Ok(*entry),
            Rev::Name(name) => self.head(name).or(self.label(name)).ok_or(Why::Unknown),
        }
    }

    pub(super) fn happened(&mut self, label: &'static str, next: Option<usize>) {
        self.turns.push(Turn::Happened { label, from: None });
        self.tip = next;
    }

    pub(super) fn noted(&mut self, label: &'static str) {
        self.happened(label, self.tip);
    }
}

/// Finding.
impl World {
    pub(super) fn place(&self, sid: &str) -> Option<usize> {
        self.sessions.iter().position(|session| session.sid == sid)
    }

    pub(super) fn session(&self, at: &Where) -> Outcome<usize> {
        match &at.session {
            Some(sid) => self.place(sid).ok_or(Why::Unknown),
            None => {
                let current = self.current.as_ref().ok_or(Why::Refused)?;
                Ok(self.place(current).expect("the current session is there"))
            }
        }
    }

    pub(super) fn spot(&self, at: &Where) -> Outcome<Spot> {
        let place = self.session(at)?;
        let session = &self.sessions[place];
        let parent = at.parent.as_ref().map(|rev| session.resolve(rev)).transpose()?;
        let branch = at.branch.clone().unwrap_or_else(|| session.active());
        Ok(Spot { session: place, branch, parent })
    }

    /// Lists the path to an entry, oldest first.
    pub(super) fn path(&self, end: Option<usize>) -> Vec<usize> {
        let first = |entry: &usize| self.entries[*entry].parents.first().copied();
        let mut path: Vec<usize> = std::iter::successors(end, first).collect();
        path.reverse();
        path
    }

    /// Finds the last entry that two paths share.
    pub(super) fn fork_point(&self, one: usize, other: usize) -> Option<usize> {
        let (one, other) = (self.path(Some(one)), self.path(Some(other)));
        one.iter().zip(&other).take_while(|(one, other)| one == other).last().map(|(one, _)| *one)
    }

    /// Lists what a path has after an entry of it, oldest first.
    pub(super) fn since(&self, end: usize, point: Option<usize>) -> Vec<usize> {
        let path = self.path(Some(end));
        let begin = path.iter().position(|entry| Some(*entry) == point).map_or(0, |at| at + 1);
        path[begin..].to_vec()
    }

    pub(super) fn is_ancestor(&self, entry: usize, of: usize) -> bool {
        entry == of
            || self.entries[of].parents.iter().any(|parent| self.is_ancestor(entry, *parent))
    }

    /// Gives the node that is known at an entry.
    pub(super) fn known(&self, end: Option<usize>) -> Option<usize> {
        self.path(end).into_iter().rev().find_map(|entry| match self.entries[entry].said {
            Said::Memory(node) => Some(node),
            _ => None,
        })
    }
}

/// Changing.
impl World {
    /// Does something, or nothing at all, and writes it down if it moved anything.
    pub(super) fn operate<T>(
        &mut self,
        actor: &'static str,
        work: impl FnOnce(&mut World) -> Outcome<T>,
    ) -> Outcome<T> {
        let before = self.clone();
        let outcome = self.silently(work);
        if outcome.is_ok() {
            self.log.extend(Record::between(&before, self, actor, None));
        }
        outcome
    }

    /// Does something, or nothing at all.
    pub(super) fn silently<T>(
        &mut self,
        work: impl FnOnce(&mut World) -> Outcome<T>,
    ) -> Outcome<T> {
        let before = self.clone();
        let outcome = work(self);
        if outcome.is_err() {
            *self = before;
        }
        outcome
    }

    pub(super) fn add(&mut self, entry: Entry) -> usize {
        if let Some(found) = self.entries.iter().position(|known| *known == entry) {
            return found;
        }
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// Adds an entry to the end of a branch.
    pub(super) fn say(&mut self, place: usize, branch: &str, said: Said) -> usize {
        let parents = self.sessions[place].head(branch).into_iter().collect();
        let time = self.now;
        self.say_entry(place, branch, Entry { said, parents, time, origin: None })
    }

    pub(super) fn say_entry(&mut self, place: usize, branch: &str, entry: Entry) -> usize {
        let entry = self.add(entry);
        let session = &mut self.sessions[place];
        session.set(&format!("heads/{branch}"), Some(Cell::Entry(entry)));
        session.turns.push(Turn::Said(entry));
        session.tip = Some(entry);
        entry
    }

    /// Gets a branch ready to be written to: a new one begins at the parent or the active end.
    pub(super) fn ready(&mut self, spot: &Spot) -> Outcome {
        let session = &self.sessions[spot.session];
        let active = session.active();
        match (session.head(&spot.branch), spot.parent) {
            (Some(end), Some(parent)) if end != parent => return Err(Why::Conflict),
            (Some(_), _) => return Ok(()),
            (None, None) if active == spot.branch || session.has_branch(&spot.branch) => {
                return Ok(());
            }
            (None, _) => {}
        }
        let at = spot.parent.or(session.end());
        let parent = Some(active).filter(|active| *active != spot.branch);
        self.record(spot.session, &spot.branch, Known { at, parent, reason: None });
        Ok(())
    }

    /// Makes a branch.
    pub(super) fn record(&mut self, place: usize, name: &str, known: Known) {
        let session = &mut self.sessions[place];
        session.set(&format!("heads/{name}"), known.at.map(Cell::Entry));
        session.set(&format!("records/{name}"), Some(Cell::Record(self.records.len())));
        self.records.push(known);
    }
}
