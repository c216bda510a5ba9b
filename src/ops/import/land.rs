//! The last transaction of a file: its session, and the refs that make it one.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::object::{self, Fork, NewObject, Object, Session};
use crate::ops::import::feed::{self, Ending};
use crate::ops::import::intake::{Intake, STRETCH_VALUES};
use crate::ops::import::names::{
    BRANCH_CHARACTERS_MAX, clean, free_sid, given_name, overtaken, stem_of,
};
use crate::ops::import::tree::{Row, Side, name_hash};
use crate::ops::imported::{KnownSide, Record, Stretch};
use crate::repo::Repo;
use crate::session::{BranchRecord, FIRST_BRANCH, Transcript, View, check_name};
use crate::store::{
    Durability, Expected, Operation, RefName, RefUpdate, RefValue, Snapshot, Transaction,
};
use crate::walk::BRANCH;

/// The file that a session came from, as it was when it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct From {
    pub(super) source: Option<String>,
    pub(super) size: u64,
    pub(super) modified_ms: i64,
}

/// What is put into the store.
pub(super) struct Landing<'a> {
    pub(super) repo: &'a Repo,
    pub(super) from: &'a From,
    /// The session that goes on, if it is not a new one, and what it noted of its file when that
    /// was read.
    pub(super) sid: Option<String>,
    pub(super) noted: Option<Record>,
    /// Where its file says that it was forked from.
    pub(super) fork: Option<Fork>,
    /// Whether the file was read before, perhaps to where it ended then: its values stand in the
    /// same places.
    pub(super) is_same_text: bool,
    pub(super) operation: &'a Operation,
}

/// A session that has landed.
pub(super) struct Landed {
    pub(super) meta: Session,
    pub(super) record: Record,
}

/// What a plan gathers.
pub(super) struct Plan<'a> {
    pub(super) view: View<'a>,
    objects: Vec<NewObject>,
    pub(super) refs: BTreeMap<String, RefValue>,
    /// Refs that go, if they are there.
    pub(super) drops: Vec<String>,
    pub(super) events: Option<Id>,
    /// The numbers that branches get next whose names are taken.
    numbers: HashMap<String, u64>,
    now_ms: i64,
}

impl Landing<'_> {
    /// Makes the session, or brings it up to date, in one transaction.
    pub(super) fn land(&self, intake: &mut Intake<'_>, ending: Ending) -> Result<Landed> {
        let mut blobs = Vec::new();
        let tail = feed::raw(ending.tail, &mut blobs)?;
        if let Some(layout) = intake.layouts.last_mut() {
            layout.tail = tail;
        }
        intake.objects.extend(blobs);
        intake.flush()?;
        let mut landed = None;
        self.repo.commit(Durability::Relaxed, &mut |snapshot| {
            let (transaction, meta, record) = self.plan(snapshot, intake, &ending.prefix)?;
            landed = Some(Landed { meta, record });
            Ok(transaction)
        })?;
        Ok(landed.expect("the plan was called"))
    }

    fn plan(
        &self,
        snapshot: &dyn Snapshot,
        intake: &Intake<'_>,
        prefix: &feed::Prefix,
    ) -> Result<(Transaction, Session, Record)> {
        let sid = match &self.sid {
            Some(sid) => sid.clone(),
            None => free_sid(snapshot, intake, self.from.source.as_deref())?,
        };
        let view = View::unchecked(snapshot, &sid);
        let old = match self.sid {
            Some(_) => Some(view.meta()?),
            None => None,
        };
        let old_record = old.as_ref().and_then(|meta| Record::of(&meta.meta));
        if old_record != self.noted {
            return Err(overtaken(&sid));
        }
        let mut plan = Plan::on(view, self.operation.time)?;
        let branch = plan.branch(old_record.as_ref())?;
        let head = intake.tree.end().map(|row| intake.tree.id(row));
        plan.leave(head)?;
        plan.stretches(intake, head)?;
        let before = old_record.clone().unwrap_or_default();
        let sides = match intake.has_late_parents() {
            true => before.sides,
            false => plan.sides(intake, &branch, &before.sides, self.is_same_text)?,
        };
        let labels = plan.labels(intake, &before.labels)?;
        match head {
            Some(head) => {
                plan.refs.insert(format!("heads/{branch}"), RefValue::Id(head));
                plan.refs.insert("tip".to_owned(), RefValue::Id(head));
            }
            None => plan.drops.extend([format!("heads/{branch}"), "tip".to_owned()]),
        }
        if old.is_none() {
            let name = plan.view.name(&format!("heads/{branch}"))?;
            plan.refs.insert("HEAD".to_owned(), RefValue::Symbolic(name));
        }
        let lineage = intake.source.lineage.as_ref();
        let record = Record {
            foreign: intake.source.foreign.clone(),
            name: intake.source.name.clone(),
            bytes: prefix.bytes,
            hash: prefix.hash.clone(),
            size: self.from.size,
            modified_ms: self.from.modified_ms,
            branch,
            head,
            orphans: intake.missing().map(str::to_owned).collect(),
            hangs: intake.hangs.values().cloned().collect(),
            lineage: lineage.map(|lineage| (lineage.session.clone(), lineage.entry.clone())),
            values: intake.tree.len() as u64,
            is_document: intake.is_document(),
            sides,
            labels,
        };
        let meta = self.meta(sid, old, old_record.as_ref(), intake, &record);
        let transaction = plan.finish(&meta, self.operation)?;
        Ok((transaction, meta, record))
    }

    /// Makes the session's metadata; what a person changed stays.
    fn meta(
        &self,
        sid: String,
        old: Option<Session>,
        old_record: Option<&Record>,
        intake: &Intake<'_>,
        record: &Record,
    ) -> Session {
        let source = &intake.source;
        let time = source.time.or(intake.first_time()).unwrap_or(self.operation.time);
        let is_new = old.is_none();
        let mut meta = old.unwrap_or_else(|| Session::new(sid, time));
        if is_new || meta.name == old_record.and_then(|record| record.name.clone()) {
            meta.name.clone_from(&source.name);
        }
        meta.cwd = source.cwd.clone().or(meta.cwd);
        meta.provider = source.provider.clone().or(meta.provider);
        meta.model = source.model.clone().or(meta.model);
        meta.dialect = intake.dialect.map(|dialect| dialect.name().to_owned());
        meta.source.clone_from(&self.from.source);
        meta.fork = self.fork.clone().or(meta.fork);
        record.put(&mut meta.meta);
        meta
    }
}

impl<'a> Plan<'a> {
    /// Begins to change a session, or to make one.
    pub(super) fn on(view: View<'a>, now_ms: i64) -> Result<Plan<'a>> {
        let events = view.target("events")?;
        let (objects, refs, drops) = (Vec::new(), BTreeMap::new(), Vec::new());
        Ok(Plan { view, objects, refs, drops, events, numbers: HashMap::new(), now_ms })
    }

    /// Chooses the branch that follows the file: the one that did, unless somebody moved it.
    fn branch(&self, old: Option<&Record>) -> Result<String> {
        let Some(old) = old else {
            return Ok(FIRST_BRANCH.to_owned());
        };
        match self.view.branch(&old.branch)? == old.head {
            true => Ok(old.branch.clone()),
            false => self.view.free_branch(&old.branch),
        }
    }

    /// Closes the run that somebody began since the last import.
    pub(super) fn leave(&mut self, next: Option<Id>) -> Result<()> {
        let end = Transcript { tip: self.view.target("tip")?, events: self.events };
        let count = end.run_count(self.view.snapshot)?;
        if count > 0
            && let Some(event) = end.leave(|| Ok(count), next, self.now_ms)?
        {
            self.events = Some(self.put(Object::Event(event))?);
        }
        Ok(())
    }

    /// Closes the runs of the values that are new.
    fn stretches(&mut self, intake: &Intake<'_>, head: Option<Id>) -> Result<()> {
        let mut from = intake.known;
        for layout in &intake.layouts {
            let to = intake.tree.len().min(from + STRETCH_VALUES);
            let runs = intake.tree.runs(from, to);
            let stretch = Stretch { layout: layout.clone(), runs };
            let event = stretch.event(intake.time(), self.events, head);
            self.events = Some(self.put(Object::Event(event))?);
            from = to;
        }
        Ok(())
    }

    /// Makes branches of the paths that somebody decided on, and gives them. One that a person has
    /// moved or deleted since is left as it is.
    fn sides(
        &mut self,
        intake: &Intake<'_>,
        main: &str,
        before: &[KnownSide],
        is_same_text: bool,
    ) -> Result<Vec<KnownSide>> {
        let mut sides = Vec::new();
        let by_first: HashMap<Id, &KnownSide> =
            before.iter().map(|known| (known.first, known)).collect();
        let by_row: HashMap<Row, &KnownSide> =
            before.iter().filter(|_| is_same_text).map(|known| (known.row, known)).collect();
        for side in intake.tree.sides() {
            let row = side.first;
            let first = intake.tree.id(side.first);
            let head = intake.tree.id(side.tip);
            let tip = RefValue::Id(head);
            let known = by_first.get(&first).or_else(|| by_row.get(&row));
            if let Some(known) = known {
                let is_ours = self.view.branch(&known.name)? == Some(known.head);
                let head = if is_ours { head } else { known.head };
                let name = known.name.clone();
                if is_ours {
                    self.refs.insert(format!("heads/{name}"), tip);
                    if known.first != first {
                        self.record_side(&name, &side, intake, main)?;
                    }
                }
                sides.push(KnownSide { name, first, head, row });
                continue;
            }
            let stem = match given_name(intake, &side) {
                Some(name) => name,
                None => stem_of(self.view.snapshot, &[first, intake.tree.id(side.speaks)])?,
            };
            let name = self.free_branch(&stem, main)?;
            self.record_side(&name, &side, intake, main)?;
            self.refs.insert(format!("heads/{name}"), tip);
            sides.push(KnownSide { name, first, head, row });
        }
        // What was read anew has other entries: what stands on the old ones goes, if it is ours.
        let names: HashSet<&str> = sides.iter().map(|known| known.name.as_str()).collect();
        for known in before.iter().filter(|known| !names.contains(known.name.as_str())) {
            let name = &known.name;
            if self.view.branch(name)? == Some(known.head) {
                self.drops.extend([format!("heads/{name}"), format!("records/{name}")]);
            }
        }
        Ok(sides)
    }

    /// Records where a side path leaves the others, and why.
    fn record_side(
        &mut self,
        name: &str,
        side: &Side,
        intake: &Intake<'_>,
        main: &str,
    ) -> Result<()> {
        let first = intake.tree.id(side.first);
        let record = BranchRecord {
            reason: side.reason.map(str::to_owned),
            metadata: Value::map([("first", Value::Link(first))]),
            ..BranchRecord::at(side.at.map(|row| intake.tree.id(row)), Some(main.to_owned()))
        };
        let next = intake.tree.end().map(|row| intake.tree.id(row));
        self.record(name, &record, next, intake.time())
    }

    /// Records what is known of a branch; the conversation goes on at `next`.
    pub(super) fn record(
        &mut self,
        name: &str,
        record: &BranchRecord,
        next: Option<Id>,
        time: i64,
    ) -> Result<()> {
        let end = Transcript { tip: None, events: self.events };
        let id = self.put(Object::Event(end.close(0, BRANCH, next, record.body(name), time)))?;
        self.events = Some(id);
        self.refs.insert(format!("records/{name}"), RefValue::Id(id));
        Ok(())
    }

    pub(super) fn free_branch(&mut self, stem: &str, main: &str) -> Result<String> {
        let mut name = stem.to_owned();
        // Lower ones were taken when this was asked before.
        let mut number = self.numbers.get(stem).copied().unwrap_or(2);
        if number > 2 {
            name = format!("{stem}-{}", number - 1);
        }
        loop {
            let head = format!("heads/{name}");
            let is_free = name != main
                && !self.refs.contains_key(&head)
                && self.view.reference(&head)?.is_none();
            if is_free {
                self.numbers.insert(stem.to_owned(), number + 1);
                return Ok(name);
            }
            name = format!("{stem}-{number}");
            number += 1;
        }
    }

    /// Sets the labels that the file gives, and gives them. One that a person has set otherwise
    /// is left as it is; one that the file no longer gives goes.
    fn labels(
        &mut self,
        intake: &Intake<'_>,
        before: &[(String, Id)],
    ) -> Result<Vec<(String, Id)>> {
        let mut labels = Vec::new();
        let mut by_target: BTreeMap<Row, String> = BTreeMap::new();
        for label in &intake.source.labels {
            let Some(row) = intake.tree.named(name_hash(&label.target)) else {
                continue;
            };
            match &label.name {
                Some(name) => drop(by_target.insert(row, name.clone())),
                None => drop(by_target.remove(&row)),
            }
        }
        for (row, name) in by_target {
            let name = clean(&name, BRANCH_CHARACTERS_MAX, "label");
            let rest = format!("labels/{name}");
            if check_name("label", &name).is_err() || self.view.name(&rest).is_err() {
                continue;
            }
            let was = before.iter().find(|(known, _)| *known == name).map(|(_, id)| *id);
            if self.view.target(&rest)? == was {
                let id = intake.tree.id(row);
                self.refs.insert(rest, RefValue::Id(id));
                labels.push((name, id));
            }
        }
        let is_gone = |name: &String| !labels.iter().any(|(known, _)| known == name);
        for (name, was) in before.iter().filter(|(name, _)| is_gone(name)) {
            let rest = format!("labels/{name}");
            if self.view.target(&rest)? == Some(*was) {
                self.drops.push(rest);
            }
        }
        Ok(labels)
    }

    pub(super) fn put(&mut self, object: Object) -> Result<Id> {
        object::encode_lifted(object, &mut self.objects)
    }

    pub(super) fn finish(mut self, meta: &Session, operation: &Operation) -> Result<Transaction> {
        let meta = self.put(Object::Session(meta.clone()))?;
        self.refs.insert("meta".to_owned(), RefValue::Id(meta));
        self.refs.extend(self.events.map(|events| ("events".to_owned(), RefValue::Id(events))));
        let snapshot = self.view.snapshot;
        let mut refs = Vec::with_capacity(self.refs.len() + 1);
        for (rest, new) in std::mem::take(&mut self.refs) {
            let name = self.view.name(&rest)?;
            let expected = snapshot.reference(&name)?.map_or(Expected::Missing, Expected::Is);
            refs.push(RefUpdate { name, expected, new: Some(new) });
        }
        for rest in &self.drops {
            let name = self.view.name(rest)?;
            if let Some(value) = snapshot.reference(&name)? {
                refs.push(RefUpdate { name, expected: Expected::Is(value), new: None });
            }
        }
        let current = RefName::new("HEAD")?;
        if snapshot.reference(&current)?.is_none() {
            let head = RefValue::Symbolic(self.view.name("HEAD")?);
            refs.push(RefUpdate { name: current, expected: Expected::Missing, new: Some(head) });
        }
        Ok(Transaction { objects: self.objects, refs, operation: Some(operation.clone()) })
    }
}
