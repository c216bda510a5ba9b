//! `redact`: what must not stay in a store is replaced wherever it stands, and purged.
//!
//! Objects that contain it, and all that link them, are written anew; refs, operations and names
//! follow; the old bytes are removed from every file of the store (see
//! [`LocalStore::rewrite`]). Then every part of the store is searched once more. What contained it
//! is refused from now on, by id; what was only rewritten because its parent was is not.
//!
//! Not here: other stores, backups and bundles, which have copies of their own.

mod blank;
mod check;
mod derived;
mod forget;
mod graph;
mod ledger;
mod mend;
mod patterns;
mod record;
mod rename;
mod scrub;
mod secrets;
mod seen;
mod unescape;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::Object;
use crate::repo::read_entry;
use crate::store::local::{Ending, LocalStore, Operations, Put, Rewriter};
use crate::store::{Operation, RefName, RefValue, Snapshot, Store};

pub use forget::{ForgetOutcome, ForgetWhat, Shortened, forget};
use ledger::Ledger;
use mend::Mender;
pub use patterns::Patterns;
use record::{Recorded, record};
pub use scrub::{REPLACEMENT, Scrubber};
use seen::Seen;

/// The event and the operation that say what was redacted.
const REDACT: &str = "redact";

/// The events of what can't be taken back.
pub(super) const FINAL: [&str; 2] = [REDACT, forget::FORGET];

/// How many objects are listed by id.
const LISTED_MAX: usize = 1000;

/// What to redact.
#[derive(Debug)]
pub enum RedactWhat {
    /// Whatever these find.
    Patterns(Patterns),
    /// What this entry says.
    Entry(Id),
}

/// What to redact, and how.
#[derive(Debug)]
pub struct RedactOptions {
    /// What.
    pub what: RedactWhat,
    /// What stands there afterwards.
    pub replacement: String,
    /// Whether only to say what would be done.
    pub dry_run: bool,
}

/// An object in which something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// Its id before.
    pub id: Id,
    /// Its kind.
    pub kind: Kind,
}

/// What was redacted, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactOutcome {
    /// How often each pattern was found, by its name.
    pub matches: Vec<(String, u64)>,
    /// The first objects in which something was found.
    pub objects: Vec<Redacted>,
    /// How many there are.
    pub objects_found: u64,
    /// How many objects have other ids now, those among them.
    pub objects_rewritten: u64,
    /// The sessions whose refs moved, by the ids they had.
    pub sessions: Vec<String>,
    /// How many refs moved or have other names.
    pub refs: u64,
    /// How many operations say something else now.
    pub operations: u64,
    /// Where something was found afterwards all the same, in words.
    pub left: Vec<String>,
    /// Branches that an import named after the entry, which keep their names.
    pub named: Vec<RefName>,
}

impl RedactOutcome {
    /// Says whether there was nothing to redact.
    pub fn is_nothing(&self) -> bool {
        self.objects_rewritten == 0 && self.refs == 0 && self.operations == 0
    }
}

/// Replaces what is looked for in all of a store, for good. `tell` learns how many objects of how
/// many were looked at.
pub fn redact(
    store: &LocalStore,
    options: RedactOptions,
    operation: &Operation,
    tell: &dyn Fn(u64, u64),
) -> Result<RedactOutcome> {
    let RedactOptions { what, replacement, dry_run } = options;
    let is_searched = matches!(what, RedactWhat::Patterns(_)) && !dry_run;
    let seen = Seen::of(store, if is_searched { 2 } else { 1 }, tell)?;
    let mut redaction = Redaction {
        ledger: Ledger::default(),
        seen: &seen,
        hits: Vec::new(),
        scrubber: None,
        finder: Mender::default(),
        names: BTreeSet::new(),
        entry: None,
        blobs: HashSet::new(),
        replacement,
        operation,
        outcome: RedactOutcome::default(),
    };
    match what {
        RedactWhat::Patterns(patterns) => {
            let scrubber = Arc::new(Scrubber::new(patterns, &redaction.replacement)?);
            redaction.ledger.mender = Mender::scrubbing(&Arc::new(scrubber.uncounted()));
            redaction.finder = Mender::scrubbing(&scrubber);
            redaction.scrubber = Some(scrubber);
        }
        RedactWhat::Entry(id) => {
            let entry = read_entry(&*store.snapshot()?, &id)?;
            redaction.blobs = blank::strings(&entry);
            redaction.entry = Some(id);
        }
    }
    store.rewrite(&mut redaction, dry_run)?;
    let Redaction { scrubber, mut outcome, .. } = redaction;
    if let Some(scrubber) = &scrubber {
        outcome.matches = scrubber.counted();
        if !dry_run {
            outcome.left = check::search(store, scrubber, &seen)?;
        }
    }
    Ok(outcome)
}

/// A store while something is redacted.
struct Redaction<'a> {
    ledger: Ledger,
    seen: &'a Seen<'a>,
    /// Which objects contain it, by number.
    hits: Vec<bool>,
    /// What is looked for; it counts.
    scrubber: Option<Arc<Scrubber>>,
    finder: Mender,
    /// Names that were made of what was found.
    names: BTreeSet<String>,
    /// The entry whose words go, and its long strings.
    entry: Option<Id>,
    blobs: HashSet<Id>,
    replacement: String,
    operation: &'a Operation,
    outcome: RedactOutcome,
}

impl Redaction<'_> {
    /// Says whether an object contains what is looked for.
    fn contains(&self, id: &Id, object: &mut Object) -> bool {
        if self.scrubber.is_some() {
            return self.finder.object(object);
        }
        let is_copy = |object: &Object| match object {
            Object::Entry(entry) => entry.body.get("origin").and_then(Value::as_link) == self.entry,
            _ => false,
        };
        self.entry == Some(*id) || self.blobs.contains(id) || is_copy(object)
    }

    /// Looks for names that were made of what was found, too, and in all that was seen before.
    fn look_for_names(&mut self, snapshot: &dyn Snapshot) -> Result<()> {
        let Some(scrubber) = &self.scrubber else {
            return Ok(());
        };
        let mut names = derived::names(snapshot, scrubber)?;
        names.retain(|name| !self.names.contains(name));
        if names.is_empty() {
            return Ok(());
        }
        let patterns = Patterns::names_of(&names)?;
        let extended = Arc::new(scrubber.and(&patterns)?);
        let alone = Arc::new(scrubber.only(patterns));
        let finder = Mender::scrubbing(&alone);
        for row in 0..self.ledger.graph.len() as graph::Row {
            let is_known = self.ledger.graph.kind(row).is_some();
            if !is_known || self.hits.get(row as usize) == Some(&true) {
                continue;
            }
            let id = *self.ledger.graph.id(row);
            let stored = snapshot.get(&id)?.ok_or(Error::ObjectMissing { id })?;
            let mut object = Object::decode(stored.kind, &stored.content)?;
            if finder.object(&mut object) {
                self.hit(row, &id, stored.kind);
            }
        }
        extended.count_last(&alone);
        self.ledger.mender.scrubber = Some(Arc::new(extended.uncounted()));
        self.finder = Mender::scrubbing(&extended);
        self.scrubber = Some(extended);
        self.names.append(&mut names);
        Ok(())
    }

    /// Takes note of an object that contains what is looked for.
    fn hit(&mut self, row: graph::Row, id: &Id, kind: Kind) {
        self.hits.resize(self.ledger.graph.len(), false);
        self.hits[row as usize] = true;
        self.outcome.objects_found += 1;
        if self.outcome.objects.len() < LISTED_MAX {
            self.outcome.objects.push(Redacted { id: *id, kind });
        }
    }

    fn hit_ids(&self) -> Vec<Id> {
        let rows = (0..).zip(&self.hits).filter(|(_, hit)| **hit);
        rows.map(|(row, _)| *self.ledger.graph.id(row)).collect()
    }
}

impl Rewriter for Redaction<'_> {
    fn see(&mut self, id: &Id, kind: Kind, content: &[u8]) -> Result<()> {
        if self.ledger.graph.has(id) {
            return Ok(());
        }
        self.seen.one();
        let mut object = Object::decode(kind, content)?;
        let Some(row) = self.ledger.note(id, &object) else {
            return Ok(());
        };
        if self.contains(id, &mut object) {
            self.hit(row, id, kind);
        }
        Ok(())
    }

    fn replace(&mut self, snapshot: &dyn Snapshot, put: Put<'_>) -> Result<()> {
        self.look_for_names(snapshot)?;
        self.hits.resize(self.ledger.graph.len(), false);
        let hits: HashSet<Id> = match self.entry {
            Some(_) => self.hit_ids().into_iter().collect(),
            None => HashSet::new(),
        };
        let replacement = self.replacement.clone();
        let alter = move |id: &Id, object: &mut Object| {
            hits.contains(id) && blank::blank(object, &replacement)
        };
        self.ledger.rewrite(snapshot, self.hits.clone(), &alter, put)
    }

    fn drops(&self, id: &Id) -> bool {
        self.ledger.mender.fates.contains_key(id)
    }

    fn finish(
        &mut self,
        snapshot: &dyn Snapshot,
        refs: BTreeMap<RefName, RefValue>,
        mut operations: Operations,
        put: Put<'_>,
    ) -> Result<Option<Ending>> {
        let mender = &self.ledger.mender;
        let mut renamer = rename::Renamer::new(mender.scrubber.as_deref());
        let mut mended: BTreeMap<RefName, RefValue> = BTreeMap::new();
        for (name, value) in &refs {
            mended.extend(self.ledger.value(value).map(|value| (name.clone(), value)));
        }
        let mut moved = ledger::moved(&refs, &mended);
        let mut mended = renamer.rename_all(mended);
        moved.extend(refs.keys().filter(|name| renamer.rename(name) != **name));
        let sessions: BTreeSet<String> = ledger::sessions_touched(moved.iter().copied());
        let names: HashSet<&RefName> = moved.into_iter().collect();
        self.outcome.refs = names.len() as u64;
        let rename = &mut |name: &RefName| renamer.rename(name);
        self.outcome.operations = self.ledger.mend_operations(&mut operations, rename);
        self.outcome.objects_rewritten = mender.fates.len() as u64;
        self.outcome.sessions = sessions.iter().cloned().collect();
        if self.outcome.is_nothing() {
            return Ok(None);
        }
        self.outcome.named = derived::named_after(snapshot, self.entry.iter(), mended.keys())?;
        let body = record::body(&self.outcome, self.scrubber.as_deref());
        let recorded = Recorded { label: REDACT, body, operation: self.operation };
        let moves = record(&recorded, snapshot, &self.ledger, &sessions, rename, &mut mended, put)?;
        operations.push((self.operation.clone(), moves));
        let refused = self.hit_ids().into_iter().filter(|id| self.drops(id)).collect();
        Ok(Some(Ending { refs: mended, operations, refused }))
    }
}
