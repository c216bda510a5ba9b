//! `forget`: an entry and all that follows it, or a whole session, is removed for good.
//!
//! What hangs on a forgotten entry goes with it, in every session: branches end at the nearest
//! entry before it, labels on what went go too, and the transcript loses those stretches. Long
//! strings and memory that only they had go as well. What was forgotten is refused when it comes
//! back; long strings are not, others may say the same.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::Object;
use crate::ops::redact::derived;
use crate::ops::redact::graph::Row;
use crate::ops::redact::ledger::{Ledger, moved, sessions_touched};
use crate::ops::redact::mend::Fate;
use crate::ops::redact::record::{Recorded, record};
use crate::ops::redact::seen::Seen;
use crate::ops::removed::parts;
use crate::ops::undo::concerns;
use crate::store::local::{Ending, LocalStore, Operations, Put, Rewriter};
use crate::store::{Operation, OperationRecord, RefName, RefValue, Snapshot, Store};

/// The event and the operation that say what was forgotten.
pub(super) const FORGET: &str = "forget";

/// What to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetWhat {
    /// An entry and all that follows it.
    Entry(Id),
    /// A session, removed or not, by its id.
    Session(String),
}

/// A ref that moved or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Its name.
    pub name: RefName,
    /// Where it is now; nothing if it went.
    pub now: Option<Id>,
}

/// What was forgotten, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// How many entries went.
    pub entries: u64,
    /// How many nodes of the memory tree went with them.
    pub nodes: u64,
    /// How many long strings and attachments went with them.
    pub blobs: u64,
    /// How many events and session objects went with them.
    pub others: u64,
    /// How many objects have other ids now, because they spoke of what went.
    pub rewritten: u64,
    /// The sessions that lost something, by their ids.
    pub sessions: Vec<String>,
    /// The refs that moved or went.
    pub refs: Vec<Shortened>,
    /// Branches that an import named after what went, and that are there still.
    pub named: Vec<RefName>,
}

/// Removes an entry and all that follows it, or a session, for good. `tell` learns how many objects
/// of how many were looked at.
pub fn forget(
    store: &LocalStore,
    what: &ForgetWhat,
    dry_run: bool,
    operation: &Operation,
    tell: &dyn Fn(u64, u64),
) -> Result<ForgetOutcome> {
    let seen = Seen::of(store, 1, tell)?;
    if let ForgetWhat::Entry(id) = what {
        crate::repo::read_entry(&*store.snapshot()?, id)?;
    }
    let mut forgetting = Forgetting {
        ledger: Ledger::default(),
        seen: &seen,
        what,
        operation,
        gone: HashSet::new(),
        outcome: ForgetOutcome::default(),
    };
    store.rewrite(&mut forgetting, dry_run)?;
    Ok(forgetting.outcome)
}

/// A store while something is forgotten.
struct Forgetting<'a> {
    ledger: Ledger,
    seen: &'a Seen<'a>,
    what: &'a ForgetWhat,
    operation: &'a Operation,
    gone: HashSet<Id>,
    outcome: ForgetOutcome,
}

impl Forgetting<'_> {
    fn is_of_session(&self, name: &RefName) -> bool {
        match self.what {
            ForgetWhat::Session(session) => parts(name).is_some_and(|(id, _)| id == session),
            ForgetWhat::Entry(_) => false,
        }
    }

    fn concerns(&self, record: &OperationRecord) -> bool {
        match self.what {
            ForgetWhat::Session(session) => concerns(record, session),
            ForgetWhat::Entry(_) => false,
        }
    }

    /// Marks what goes with an entry: what follows it, and what only that has.
    fn mark_entry(&self, id: &Id, snapshot: &dyn Snapshot) -> Result<Vec<bool>> {
        let graph = &self.ledger.graph;
        let mut gone = vec![false; graph.len()];
        let row = graph.row(id).ok_or(Error::ObjectMissing { id: *id })?;
        gone[row as usize] = true;
        graph.turned(true).spread(&mut gone);
        // Nodes and events have parents of their own kinds; entries follow entries alone.
        let entries: Vec<Row> = (0..graph.len() as Row).filter(|row| gone[*row as usize]).collect();
        let mut pinned = vec![false; graph.len()];
        for (name, value) in snapshot.references("")? {
            if let RefValue::Id(id) = value
                && !is_shortcut(&name)
                && let Some(row) = graph.row(&id)
            {
                pinned[row as usize] = true;
            }
        }
        let turned = graph.turned(false);
        let mut open = entries;
        while let Some(row) = open.pop() {
            for link in graph.links(row) {
                let (kind, place) = (graph.kind(*link), *link as usize);
                let is_part = matches!(kind, Some(Kind::Blob | Kind::Node));
                // What is known is known on a path; an event only tells of it.
                let goes = |from: &Row| {
                    let tells = kind == Some(Kind::Node) && graph.kind(*from) == Some(Kind::Event);
                    gone[*from as usize] || tells
                };
                if is_part && !gone[place] && !pinned[place] && turned.of(*link).iter().all(goes) {
                    gone[place] = true;
                    open.push(*link);
                }
            }
        }
        Ok(gone)
    }

    /// Marks what only a session has.
    fn mark_session(&self, snapshot: &dyn Snapshot) -> Result<Vec<bool>> {
        let graph = &self.ledger.graph;
        let (mut kept, mut going) = (vec![false; graph.len()], vec![false; graph.len()]);
        let mark = |marks: &mut Vec<bool>, id: &Id| {
            if let Some(row) = graph.row(id) {
                marks[row as usize] = true;
            }
        };
        for (name, value) in snapshot.references("")? {
            if let RefValue::Id(id) = value {
                let is_going = self.is_of_session(&name);
                mark(if is_going { &mut going } else { &mut kept }, &id);
            }
        }
        snapshot.operations(&mut |record| {
            let marks = if self.concerns(record) { &mut going } else { &mut kept };
            for value in record.moves.iter().flat_map(|moved| [&moved.old, &moved.new]).flatten() {
                if let RefValue::Id(id) = value {
                    mark(marks, id);
                }
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        self.reach(&mut kept);
        self.reach(&mut going);
        (0..graph.len()).for_each(|row| going[row] &= !kept[row]);
        // What nothing leads to and speaks of what goes, goes too: nothing may link what is gone.
        graph.turned(false).spread(&mut going);
        Ok(going)
    }

    /// Marks all that what is marked leads to.
    fn reach(&self, marked: &mut [bool]) {
        let mut open: Vec<Row> =
            (0..marked.len() as Row).filter(|row| marked[*row as usize]).collect();
        while let Some(row) = open.pop() {
            for link in self.ledger.graph.links(row) {
                if !std::mem::replace(&mut marked[*link as usize], true) {
                    open.push(*link);
                }
            }
        }
    }

    /// Notes of everything that goes what stays before it.
    fn note_gone(&mut self, gone: &[bool]) {
        let rows = (0..gone.len() as Row).filter(|row| gone[*row as usize]);
        let rows: Vec<Row> = rows.filter(|row| self.ledger.graph.kind(*row).is_some()).collect();
        self.gone = rows.iter().map(|row| *self.ledger.graph.id(*row)).collect();
        let fates = &mut self.ledger.mender.fates;
        fates.retain(|_, fate| matches!(fate, Fate::Became(_)));
        for row in rows {
            // From the first that stays, or is known, back to this one.
            let mut path = vec![row];
            let graph = &self.ledger.graph;
            let (mut before, mut went) = (None, 0);
            while let Some(parent) = graph.parents(*path.last().expect("it has one")).first() {
                match fates.get(graph.id(*parent)) {
                    Some(Fate::Gone { before: known, went: count }) => {
                        (before, went) = (*known, *count);
                        break;
                    }
                    _ if !gone[*parent as usize] => {
                        before = Some(*graph.id(*parent));
                        break;
                    }
                    _ => path.push(*parent),
                }
            }
            for row in path.into_iter().rev() {
                went += 1;
                let is_entry = graph.kind(row) == Some(Kind::Entry);
                let before = before.filter(|_| is_entry);
                fates.insert(*graph.id(row), Fate::Gone { before, went });
            }
        }
    }

    fn count(&mut self) {
        let outcome = &mut self.outcome;
        (outcome.entries, outcome.nodes, outcome.blobs, outcome.others) = (0, 0, 0, 0);
        for id in &self.gone {
            let row = self.ledger.graph.row(id).expect("it was seen");
            *match self.ledger.graph.kind(row) {
                Some(Kind::Entry) => &mut outcome.entries,
                Some(Kind::Node) => &mut outcome.nodes,
                Some(Kind::Blob) => &mut outcome.blobs,
                _ => &mut outcome.others,
            } += 1;
        }
        let fates = self.ledger.mender.fates.values();
        outcome.rewritten = fates.filter(|fate| matches!(fate, Fate::Became(_))).count() as u64;
    }

    /// Takes the words out of operations that tell of what went.
    fn silence(&self, operations: &mut Operations) {
        for (number, (operation, moves)) in (1..).zip(operations.iter_mut()) {
            let (told, moved) = (operation.clone(), std::mem::take(moves));
            let record = OperationRecord { number, operation: told, moves: moved };
            match self.concerns(&record) {
                // It keeps its number, which undo and redo go by.
                true => operation.command = FORGET.to_owned(),
                false => *moves = record.moves,
            }
        }
        for (operation, moves) in operations {
            let values = moves.iter().flat_map(|moved| [&moved.old, &moved.new]).flatten();
            let mut ids = values.filter_map(|value| match value {
                RefValue::Id(id) => Some(id),
                RefValue::Symbolic(_) => None,
            });
            if ids.any(|id| self.gone.contains(id)) {
                // What was typed may be what was said.
                let word = operation.command.split(' ').next().unwrap_or_default().to_owned();
                operation.command = word;
            }
        }
    }

    /// Lists what went of some kinds.
    fn gone_of<'g>(&'g self, kinds: &'g [Kind]) -> impl Iterator<Item = &'g Id> {
        self.gone.iter().filter(move |id| {
            let row = self.ledger.graph.row(id).expect("it was seen");
            self.ledger.graph.kind(row).is_some_and(|kind| kinds.contains(&kind))
        })
    }

    /// Gives the refs as they are now.
    fn mend_refs(&self, refs: &BTreeMap<RefName, RefValue>) -> BTreeMap<RefName, RefValue> {
        let is_gone = |value: &RefValue| match value {
            RefValue::Id(id) => self.gone.contains(id),
            RefValue::Symbolic(name) => self.is_of_session(name),
        };
        let mut mended = BTreeMap::new();
        for (name, value) in refs {
            let rest = parts(name).map_or("", |(_, rest)| rest);
            let stays_short = match rest.strip_prefix("memory/") {
                Some(branch) => {
                    let head = name.as_str().strip_suffix(rest).unwrap_or_default();
                    let head = RefName::new(format!("{head}heads/{branch}"));
                    !head.is_ok_and(|head| refs.get(&head).is_some_and(is_gone))
                }
                None => true,
            };
            // A branch or a run ends before what went; whatever else points there is about it.
            let ends = rest == "tip" || rest.starts_with("heads/");
            if self.is_of_session(name) || !stays_short || is_gone(value) && !ends {
                continue;
            }
            mended.extend(self.ledger.value(value).map(|value| (name.clone(), value)));
        }
        mended
    }
}

/// Says whether a ref is a shortcut to memory, which is dropped where its branch moves.
fn is_shortcut(name: &RefName) -> bool {
    parts(name).is_some_and(|(_, rest)| rest.starts_with("memory/"))
}

impl Rewriter for Forgetting<'_> {
    fn see(&mut self, id: &Id, kind: Kind, content: &[u8]) -> Result<()> {
        if !self.ledger.graph.has(id) {
            self.seen.one();
            self.ledger.note(id, &Object::decode(kind, content)?);
        }
        Ok(())
    }

    fn replace(&mut self, snapshot: &dyn Snapshot, put: Put<'_>) -> Result<()> {
        let gone = match self.what {
            ForgetWhat::Entry(id) => self.mark_entry(id, snapshot)?,
            ForgetWhat::Session(_) => self.mark_session(snapshot)?,
        };
        self.note_gone(&gone);
        self.ledger.rewrite(snapshot, gone, &|_, _| false, put)
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
        self.silence(&mut operations);
        self.ledger.mend_operations(&mut operations, &mut RefName::clone);
        let mut mended = self.mend_refs(&refs);
        self.count();
        let moved = moved(&refs, &mended);
        let shortened = moved.iter().filter(|name| match refs.get(**name) {
            Some(RefValue::Id(id)) => self.gone.contains(id),
            _ => true,
        });
        let now = |name: &RefName| match mended.get(name) {
            Some(RefValue::Id(id)) => Some(*id),
            _ => None,
        };
        self.outcome.refs = shortened
            .map(|name| Shortened { name: RefName::clone(name), now: now(name) })
            .collect();
        let sessions: BTreeSet<String> = sessions_touched(moved.iter().copied());
        self.outcome.sessions = sessions.iter().cloned().collect();
        if self.gone.is_empty() && moved.is_empty() {
            return Ok(None);
        }
        let gone = self.gone_of(&[Kind::Entry]);
        self.outcome.named = derived::named_after(snapshot, gone, mended.keys())?;
        let entries = i64::try_from(self.outcome.entries).unwrap_or(i64::MAX);
        let recorded = Recorded {
            label: FORGET,
            body: Value::map([("entries", Value::Integer(entries))]),
            operation: self.operation,
        };
        let left: BTreeSet<String> = sessions
            .into_iter()
            .filter(|session| {
                RefName::of_session(session, "meta").is_ok_and(|meta| mended.contains_key(&meta))
            })
            .collect();
        let rename = &mut RefName::clone;
        let moves = record(&recorded, snapshot, &self.ledger, &left, rename, &mut mended, put)?;
        operations.push((self.operation.clone(), moves));
        let refused = self.gone_of(&[Kind::Entry, Kind::Node]).copied().collect();
        Ok(Some(Ending { refs: mended, operations, refused }))
    }
}
