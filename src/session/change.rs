//! One operation on one session, while it is planned: objects, ref moves, what happened.
//!
//! A command builds a [`Change`] inside the plan of a [commit](crate::Repo::commit), so all that it
//! reads is what its transaction follows, and all that it writes happens together.
//!
//! Invariants that it keeps, so that no command has to:
//! - every ref is expected where the snapshot has it;
//! - `tip` is the end of the transcript's current run, and an event closes that run: its link is
//!   the entry that the next run hangs on, and `tip` goes there with it;
//! - an entry that does not follow `tip` is preceded by an event that says where it does follow;
//! - `memory/<branch>` agrees with the branch's path, or is not there.

use std::collections::BTreeMap;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{self, Entry, Event, NewObject, Object, Session};
use crate::session::name::check_name;
use crate::session::remember::{MEMORY_LABEL, shortcut_of};
use crate::session::run::Transcript;
use crate::session::view::{BranchRecord, View, free_name};
use crate::store::{Expected, Operation, RefName, RefUpdate, RefValue, Snapshot, Transaction};
use crate::walk;

/// One operation on one session, while it is planned.
pub struct Change<'a> {
    view: View<'a>,
    /// The metadata, if it changes.
    meta: Option<Session>,
    objects: Vec<NewObject>,
    refs: BTreeMap<RefName, Option<RefValue>>,
    end: Transcript,
    /// How many entries of the current run this change adds.
    added: u64,
    /// Whether this change began the current run, so that it has no others.
    is_new_run: bool,
    /// An entry, and the last message up its path, if that was asked for.
    pub(super) message_at: Option<(Id, Option<Id>)>,
    now_ms: i64,
}

/// Beginning and ending.
impl<'a> Change<'a> {
    /// Changes a session that exists.
    pub fn on(snapshot: &'a dyn Snapshot, session: &str, now_ms: i64) -> Result<Change<'a>> {
        let view = View::of(snapshot, session)?;
        Change::new(view, None, now_ms)
    }

    /// Makes a session, with its active branch unborn.
    pub fn create(
        snapshot: &'a dyn Snapshot,
        session: Session,
        branch: &str,
        now_ms: i64,
    ) -> Result<Change<'a>> {
        let meta = RefName::of_session(&session.sid, "meta")?;
        if let Some(found) = snapshot.reference(&meta)? {
            return Err(Error::RefConflict {
                name: meta.to_string(),
                expected: "nothing".to_owned(),
                found: found.to_string(),
            });
        }
        let view = View::unchecked(snapshot, &session.sid);
        let head = view.name(&format!("heads/{branch}"))?;
        let mut change = Change::new(view, Some(session), now_ms)?;
        change.set("HEAD", Some(RefValue::Symbolic(head)))?;
        Ok(change)
    }

    fn new(view: View<'a>, meta: Option<Session>, now_ms: i64) -> Result<Change<'a>> {
        let end = Transcript { tip: view.target("tip")?, events: view.target("events")? };
        Ok(Change {
            view,
            meta,
            objects: Vec::new(),
            refs: BTreeMap::new(),
            end,
            added: 0,
            is_new_run: false,
            message_at: None,
            now_ms,
        })
    }

    /// Gives the transaction; without an operation it is a plain append.
    pub fn finish(mut self, operation: Option<Operation>) -> Result<Transaction> {
        if let Some(meta) = self.meta.take() {
            let id = self.put(Object::Session(meta))?;
            self.set("meta", Some(RefValue::Id(id)))?;
        }
        for (rest, id) in [("tip", self.end.tip), ("events", self.end.events)] {
            self.refs.insert(self.view.name(rest)?, id.map(RefValue::Id));
        }
        let mut refs = Vec::with_capacity(self.refs.len());
        for (name, new) in self.refs {
            let expected = match self.view.snapshot.reference(&name)? {
                Some(value) => Expected::Is(value),
                None if new.is_none() => continue,
                None => Expected::Missing,
            };
            refs.push(RefUpdate { name, expected, new });
        }
        Ok(Transaction { objects: self.objects, refs, operation })
    }
}

/// Reading, as it will be.
impl<'a> Change<'a> {
    /// Gives the session as it was before.
    pub fn view(&self) -> &View<'a> {
        &self.view
    }

    /// Reads a ref of the session.
    pub fn reference(&self, rest: &str) -> Result<Option<RefValue>> {
        let name = self.view.name(rest)?;
        match self.refs.get(&name) {
            Some(value) => Ok(value.clone()),
            None => self.view.snapshot.reference(&name),
        }
    }

    /// Gives the entry that a branch points to, if it is born.
    pub fn branch(&self, name: &str) -> Result<Option<Id>> {
        match self.reference(&format!("heads/{name}"))? {
            Some(RefValue::Id(id)) => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    /// Finds a name for a new branch: the stem, or the stem and the first number that is free.
    pub fn free_branch(&self, stem: &str) -> Result<String> {
        free_name(stem, &|rest| Ok(self.reference(rest)?.is_some()))
    }

    /// Gives an object that this change adds.
    pub(super) fn planned(&self, id: &Id) -> Option<&NewObject> {
        self.objects.iter().rev().find(|object| object.id() == *id)
    }

    /// Gives the time of the change.
    pub fn now(&self) -> i64 {
        self.now_ms
    }

    /// Gives the end of the transcript's current run.
    pub fn tip(&self) -> Option<Id> {
        self.end.tip
    }

    /// Gives the metadata, to be changed. Its long strings are links.
    pub fn meta(&mut self) -> Result<&mut Session> {
        if self.meta.is_none() {
            self.meta = Some(self.view.stored_meta()?);
        }
        Ok(self.meta.as_mut().expect("it was just set"))
    }
}

/// Writing.
impl Change<'_> {
    /// Adds an object, its long strings lifted, and gives its id.
    pub fn put(&mut self, object: Object) -> Result<Id> {
        object::encode_lifted(object, &mut self.objects)
    }

    /// Moves a ref of the session; nothing deletes it.
    pub fn set(&mut self, rest: &str, value: Option<RefValue>) -> Result<()> {
        self.set_ref(self.view.name(rest)?, value)
    }

    /// Moves any ref; nothing deletes it. A branch that goes elsewhere loses its `memory/` ref.
    ///
    /// Refuses the ends of a transcript, which follow from what is said and what happens.
    pub fn set_ref(&mut self, name: RefName, value: Option<RefValue>) -> Result<()> {
        if name.session().is_some_and(|(_, rest)| matches!(rest, "tip" | "events")) {
            return Err(Error::InvalidName {
                what: "ref to move",
                name: name.to_string(),
                why: "the end of a transcript moves by itself",
            });
        }
        let shortcut = shortcut_of(&name);
        self.refs.insert(name, value);
        if let Some(shortcut) = shortcut {
            self.refs.insert(shortcut, None);
        }
        Ok(())
    }

    /// Makes this the store's current session.
    pub fn use_session(&mut self) -> Result<()> {
        let head = self.view.name("HEAD")?;
        self.set_ref(RefName::head(), Some(RefValue::Symbolic(head)))
    }

    /// Makes a branch the active one.
    pub fn use_branch(&mut self, branch: &str) -> Result<()> {
        let head = self.view.name(&format!("heads/{branch}"))?;
        self.set("HEAD", Some(RefValue::Symbolic(head)))
    }

    /// Adds an entry to the end of a branch, and gives its id.
    pub fn append(&mut self, branch: &str, label: &str, body: Value, time: i64) -> Result<Id> {
        let parents = self.branch(branch)?.into_iter().collect();
        self.append_entry(branch, Entry { label: label.to_owned(), time, parents, body, raw: None })
    }

    /// Adds an entry with parents of its own, makes it the end of a branch, and gives its id.
    pub fn append_entry(&mut self, branch: &str, entry: Entry) -> Result<Id> {
        let parent = entry.parents.first().copied();
        if let Some(event) = self.end.leave(|| self.run_count(), parent, self.now_ms)? {
            self.begin_run(event, parent)?;
        }
        let head = format!("heads/{branch}");
        let memory = match self.branch(branch)? == parent && entry.label != MEMORY_LABEL {
            true => self.reference(&format!("memory/{branch}"))?,
            false => None,
        };
        let id = self.put(Object::Entry(entry))?;
        self.set(&head, Some(RefValue::Id(id)))?;
        self.set(&format!("memory/{branch}"), memory)?;
        self.end.tip = Some(id);
        self.added += 1;
        Ok(id)
    }

    /// Begins a new session at the end of a path that another one wrote: that is its first run.
    pub fn begin_at(&mut self, branch: &str, entry: Id) -> Result<()> {
        let topology = self.view.snapshot.topology(&entry)?;
        let depth = topology.ok_or(Error::ObjectMissing { id: entry })?.depth;
        self.set(&format!("heads/{branch}"), Some(RefValue::Id(entry)))?;
        self.end.tip = Some(entry);
        self.added = depth + 1;
        Ok(())
    }

    /// Records an event after which the conversation goes on at `next`.
    ///
    /// What else it speaks of stands in its body, as links.
    pub fn happened(&mut self, label: &str, next: Option<Id>, body: Value) -> Result<Id> {
        let event = self.end.close(self.run_count()?, label, next, body, self.now_ms);
        self.begin_run(event, next)
    }

    /// Records an event that leaves the conversation where it is.
    pub fn noted(&mut self, label: &str, body: Value) -> Result<Id> {
        self.happened(label, self.end.tip, body)
    }

    fn begin_run(&mut self, event: Event, next: Option<Id>) -> Result<Id> {
        let id = self.put(Object::Event(event))?;
        self.end = Transcript { tip: next, events: Some(id) };
        (self.added, self.is_new_run) = (0, true);
        Ok(id)
    }

    /// Makes a branch, records it, and keeps what is known of it.
    pub fn create_branch(&mut self, name: &str, record: &BranchRecord) -> Result<()> {
        check_name("branch", name)?;
        if let Some(found) = self.reference(&format!("heads/{name}"))? {
            return Err(Error::Exists {
                what: "branch",
                name: name.to_owned(),
                at: found.to_string(),
            });
        }
        let memory = self.inherited_memory(record)?;
        self.set(&format!("heads/{name}"), record.at.map(RefValue::Id))?;
        self.set(&format!("memory/{name}"), memory)?;
        self.record_branch(walk::BRANCH, name, record)
    }

    /// Gives the shortcut to memory of a branch that begins where the one it comes from ends.
    fn inherited_memory(&self, record: &BranchRecord) -> Result<Option<RefValue>> {
        match &record.parent {
            Some(parent) if record.at.is_some() && self.branch(parent)? == record.at => {
                self.reference(&format!("memory/{parent}"))
            }
            _ => Ok(None),
        }
    }

    /// Records what is known of a branch from now on, in an event.
    pub fn record_branch(&mut self, label: &str, name: &str, record: &BranchRecord) -> Result<()> {
        let event = self.noted(label, record.body(name))?;
        self.set(&format!("records/{name}"), Some(RefValue::Id(event)))
    }

    fn run_count(&self) -> Result<u64> {
        let old = match self.is_new_run {
            true => 0,
            false => {
                let tip = self.view.target("tip")?;
                Transcript { tip, ..self.end }.run_count(self.view.snapshot)?
            }
        };
        Ok(old + self.added)
    }
}
