//! One file on its way into the store: values become entries, entries a tree.
//!
//! Objects are committed as the file goes by, with nothing that points to them; the session and its
//! refs come with the last transaction (see `land`). An import that stops leaves objects that
//! nothing leads to, and no half session.

use std::collections::{BTreeMap, HashSet};

use crate::codec::json::Style;
use crate::dialect::{self, Dialect, Layout, Parent, Source, Step, Voice};
use crate::error::{Error, Result};
use crate::id::{Id, IdSet};
use crate::object::{Entry, LABEL_BYTES_MAX, NewObject};
use crate::ops::import::elsewhere::Elsewhere;
use crate::ops::import::feed::{Prepared, Spent};
use crate::ops::import::large::Large;
use crate::ops::import::late::GATHERED_BYTES_MAX;
use crate::ops::import::report::{Oddity, Strange, Tally};
use crate::ops::import::seek::Place;
use crate::ops::import::tree::{Hang, Row, Tree, name_hash};
use crate::ops::imported::{Hung, Record};
use crate::repo::Repo;
use crate::store::{Durability, Transaction};

/// The type of an entry that could not be read: its text is kept, and nothing else is known.
pub(super) const UNPARSED: &str = "unparsed";

/// How many values are looked at to recognise a dialect.
const VALUES_RECOGNISED: usize = 8;

/// How many bytes are looked at to recognise a dialect, at the most.
const BYTES_RECOGNISED: usize = 8 << 20;

/// How many values one event closes. Copies of a file share the events of what they share.
pub(super) const STRETCH_VALUES: usize = 4096;

/// How much is committed together.
pub(super) const COMMIT_BYTES: usize = 3 << 20;

/// How many oddities of a file are told one by one.
const ODDITIES_TOLD_MAX: usize = 1000;

/// One file on its way into the store.
pub(super) struct Intake<'a> {
    repo: &'a Repo,
    large: &'a Large,
    /// Nothing is written.
    is_dry: bool,
    pub(super) dialect: Option<&'static dyn Dialect>,
    /// What was read before the dialect was known.
    waiting: Vec<Prepared>,
    /// Whether no dialect was recognised, and none is looked for any more.
    is_unknown: bool,
    pub(super) source: Source,
    pub(super) tree: Tree,
    /// How the values of each stretch stood.
    pub(super) layouts: Vec<Layout>,
    /// How many values stand in the store already.
    pub(super) known: usize,
    /// The time of the first value that has one, and of the value before.
    pub(super) first_time: Option<i64>,
    pub(super) time: i64,
    pub(super) objects: Vec<NewObject>,
    pub(super) objects_bytes: usize,
    /// What goes back to the thread that reads.
    pub(super) spent: Spent,
    /// The lines of the objects that are gathered.
    lines: Vec<(Id, u64)>,
    /// Parents that were not found, by the hashes of their ids.
    pub(super) orphans: BTreeMap<u64, String>,
    /// Parents that were not found in the file so far.
    absent: HashSet<u64>,
    /// Parents that were found in other files.
    pub(super) hangs: BTreeMap<String, Hung>,
    /// The parents of values that the store has, where they are named: the value and the entry.
    pub(super) recalled: Vec<(Row, Id)>,
    pub(super) odds: Vec<Oddity>,
    pub(super) odd_count: u64,
    pub(super) tally: Tally,
    /// What a dry run would have written.
    pub(super) dry_seen: HashSet<Id>,
    /// Values that other files wait for.
    pub(super) answered: Vec<(u64, Id)>,
    /// Whether all values are gathered before the first is placed.
    pub(super) is_whole: bool,
    pub(super) gathered: Vec<(Prepared, Step)>,
    pub(super) gathered_bytes: usize,
    is_document: bool,
}

impl<'a> Intake<'a> {
    pub(super) fn new(repo: &'a Repo, is_dry: bool, stem: String, large: &'a Large) -> Intake<'a> {
        Intake {
            repo,
            large,
            is_dry,
            dialect: None,
            waiting: Vec::new(),
            is_unknown: false,
            source: Source { stem, ..Source::default() },
            tree: Tree::default(),
            layouts: Vec::new(),
            known: 0,
            first_time: None,
            time: 0,
            objects: Vec::new(),
            objects_bytes: 0,
            spent: Spent::default(),
            lines: Vec::new(),
            orphans: BTreeMap::new(),
            absent: HashSet::new(),
            hangs: BTreeMap::new(),
            recalled: Vec::new(),
            odds: Vec::new(),
            odd_count: 0,
            tally: Tally::default(),
            dry_seen: HashSet::new(),
            answered: Vec::new(),
            is_whole: false,
            gathered: Vec::new(),
            gathered_bytes: 0,
            is_document: false,
        }
    }

    /// Says whether the file is one document.
    pub(super) fn is_document(&self) -> bool {
        self.is_document
    }

    /// Says whether values hang on others that came after them.
    pub(super) fn has_late_parents(&self) -> bool {
        !self.is_whole && self.absent.iter().any(|name| self.tree.named(*name).is_some())
    }

    /// Gives the ids of parents that are neither in the file nor elsewhere.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        let missing = self.orphans.iter().filter(|(hash, _)| self.tree.named(**hash).is_none());
        missing.map(|(_, name)| name.as_str())
    }

    /// Says whether its values hang on those of other files as they did.
    pub(super) fn hangs_as(&self, record: &Record) -> bool {
        let orphans: HashSet<&str> = record.orphans.iter().map(String::as_str).collect();
        self.missing().collect::<HashSet<&str>>() == orphans
            && self.hangs.values().eq(record.hangs.iter())
    }

    /// Gives the time of the first value that has one.
    pub(super) fn first_time(&self) -> Option<i64> {
        self.first_time
    }

    /// Gives the time of the last value.
    pub(super) fn time(&self) -> i64 {
        self.time
    }

    /// Begins a stretch of values, in the manner of the one before it.
    pub(super) fn open_layout(&mut self, anew: bool, before: Option<Layout>) {
        let Layout { style, between, .. } = before.unwrap_or_default();
        self.layouts.push(Layout { anew, style, between, ..Layout::default() });
    }

    /// Says how values are written from here on.
    pub(super) fn write_as(&mut self, style: Style) {
        if let Some(layout) = self.layouts.last_mut() {
            layout.style = style;
        }
    }

    /// Says what is odd.
    pub(super) fn odd(&mut self, what: Strange, line: u64) {
        self.odd_count += 1;
        if self.odds.len() < ODDITIES_TOLD_MAX {
            self.odds.push(Oddity { what, line, file: None });
        }
    }

    /// Takes values in; what can't be placed waits until the dialect is known.
    pub(super) fn take(
        &mut self,
        values: &mut Vec<Prepared>,
        elsewhere: &mut Elsewhere,
    ) -> Result<()> {
        if self.dialect.is_some() {
            return values.iter_mut().try_for_each(|value| self.value(value, elsewhere));
        }
        if self.is_unknown {
            return Ok(());
        }
        self.waiting.append(values);
        let maps = self.waiting.iter().filter(|one| one.value.is_some()).count();
        let bytes: usize = self.waiting.iter().map(|one| one.bytes).sum();
        if maps >= VALUES_RECOGNISED || bytes >= BYTES_RECOGNISED {
            self.recognise(elsewhere)?;
            self.is_unknown = self.dialect.is_none();
        }
        if self.is_unknown {
            self.waiting.clear();
        }
        Ok(())
    }

    /// Decides on a dialect, if there is none yet, and takes in what waited for it.
    pub(super) fn recognise(&mut self, elsewhere: &mut Elsewhere) -> Result<()> {
        if self.dialect.is_none() {
            let mut first = Vec::new();
            for waiting in self.waiting.iter().filter(|one| one.value.is_some()) {
                first.extend(waiting.document.iter().chain(&waiting.value).cloned());
                if first.len() >= VALUES_RECOGNISED {
                    break;
                }
            }
            self.dialect = dialect::recognised(&first);
        }
        if self.dialect.is_none() {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.iter_mut().try_for_each(|value| self.value(value, elsewhere))?;
        self.spent.pieces.push(waiting);
        Ok(())
    }

    fn value(&mut self, prepared: &mut Prepared, elsewhere: &mut Elsewhere) -> Result<()> {
        let step = self.step(prepared);
        match self.is_whole && self.gathered_bytes <= GATHERED_BYTES_MAX {
            true => self.gather(std::mem::take(prepared), step, elsewhere),
            false => self.place_next(prepared, step, elsewhere),
        }
    }

    /// Gives a value its place behind those before it.
    pub(super) fn place_next(
        &mut self,
        prepared: &mut Prepared,
        step: Step,
        elsewhere: &mut Elsewhere,
    ) -> Result<()> {
        let line = prepared.line;
        let (hang, parent) = self.parent(&step, line, elsewhere)?;
        self.note_before(&prepared.before);
        let id = self.put(prepared, &step, parent)?;
        self.seat(id, &step, hang, line, elsewhere);
        match self.objects_bytes >= COMMIT_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Asks the dialect what a value is.
    fn step(&mut self, prepared: &Prepared) -> Step {
        if let Some(odd) = prepared.odd {
            self.odd(Strange::Text(odd), prepared.line);
        }
        let Some(dialect) = self.dialect else {
            return Step::beside(UNPARSED, None);
        };
        if let Some(document) = &prepared.document {
            self.is_document = true;
            dialect.read(document, &mut self.source);
        }
        let step = match &prepared.value {
            Some(value) => dialect.read(value, &mut self.source),
            None => Step::beside(UNPARSED, None),
        };
        self.source.values += 1;
        step
    }

    /// Finds what a value hangs on.
    pub(super) fn parent(
        &mut self,
        step: &Step,
        line: u64,
        elsewhere: &mut Elsewhere,
    ) -> Result<(Hang, Option<Id>)> {
        let on = |row: u32| (Hang::On(row), Some(self.tree.id(row)));
        let name = match &step.parent {
            Parent::Beside => return Ok((Hang::Beside, None)),
            Parent::Root => return Ok((Hang::Top, None)),
            Parent::Before => return Ok(self.tree.last().map_or((Hang::Top, None), on)),
            Parent::Id(name) => name,
        };
        let hash = name_hash(name);
        if let Some(row) = self.tree.named(hash) {
            return Ok(on(row));
        }
        self.absent.insert(hash);
        let dialect = self.dialect.map(|dialect| dialect.name());
        let is_own = |name: u64| self.tree.named(name).is_some();
        let found = elsewhere.find(name, &self.source, dialect, &is_own)?;
        let strange = match found {
            Place::In(entry, session) => {
                self.hangs.insert(name.clone(), Hung { name: name.clone(), entry, session });
                return Ok((Hang::Top, Some(entry)));
            }
            Place::Circle => Strange::Circle,
            Place::Nowhere => Strange::Orphan,
        };
        self.odd(strange, line);
        self.orphans.insert(hash, name.clone());
        Ok((Hang::Top, None))
    }

    /// Makes an entry of a value, and gives its id. The value stays where it is.
    pub(super) fn put(
        &mut self,
        prepared: &mut Prepared,
        step: &Step,
        parent: Option<Id>,
    ) -> Result<Id> {
        self.time = step.time.unwrap_or(self.time);
        self.first_time = self.first_time.or(step.time);
        let entry = Entry {
            label: label(&step.label),
            time: self.time,
            parents: parent.into_iter().collect(),
            body: prepared.value.take().unwrap_or_default(),
            raw: prepared.raw.take(),
        };
        for blob in prepared.blobs.drain(..) {
            self.lines.push((blob.id(), prepared.line));
            self.objects_bytes += blob.content().len();
            self.objects.push(blob);
        }
        let object = entry.encode()?;
        let id = object.id();
        self.lines.push((id, prepared.line));
        (prepared.value, prepared.raw) = (Some(entry.body), entry.raw);
        self.objects_bytes += object.content().len();
        self.objects.push(object);
        Ok(id)
    }

    /// Notes what stands before the next value, and begins a stretch where that is due.
    pub(super) fn note_before(&mut self, before: &str) {
        let place = (self.tree.len() - self.known) % STRETCH_VALUES;
        if place == 0
            && self.tree.len() > self.known
            && let Some(last) = self.layouts.last()
        {
            let (style, between) = (last.style, last.between.clone());
            self.layouts.push(Layout { style, between, ..Layout::default() });
        }
        if let Some(layout) = self.layouts.last_mut() {
            layout.note(place as u64, before);
        }
    }

    /// Gives a value that has an entry its row.
    pub(super) fn seat(
        &mut self,
        id: Id,
        step: &Step,
        hang: Hang,
        line: u64,
        elsewhere: &Elsewhere,
    ) {
        let name = step.id.as_deref().map(name_hash);
        if let Some(name) = name {
            if let Some(twin) = self.tree.named(name)
                && self.tree.id(twin) != id
                && self.tree.hang_of(twin) != hang
            {
                self.odd(Strange::Twin, line);
            }
            if elsewhere.is_awaited(name) {
                self.answered.push((name, id));
            }
        }
        let voice = if hang == Hang::Beside { Voice::None } else { step.voice };
        self.tree.add(id, name, hang, voice);
    }

    /// Commits what has been gathered, and counts what the store had of it.
    pub(super) fn flush(&mut self) -> Result<()> {
        let objects = self.settle()?;
        let lines = std::mem::take(&mut self.lines);
        if !self.is_dry && !objects.is_empty() {
            self.commit(&objects, &lines)?;
        }
        objects.into_iter().for_each(|object| self.spent.keep(object));
        Ok(())
    }

    fn commit(&self, objects: &[NewObject], lines: &[(Id, u64)]) -> Result<()> {
        let committed = self.repo.commit(Durability::Relaxed, &mut |_| {
            Ok(Transaction { objects: objects.to_vec(), ..Transaction::default() })
        });
        committed.map_err(|error| match error {
            Error::Removed { id, kind, .. } => {
                let line = lines.iter().find(|(known, _)| *known == id).map(|(_, line)| *line);
                Error::Removed { id, kind, line }
            }
            error => error,
        })
    }

    /// Takes what has been gathered and the store has not.
    pub(super) fn settle(&mut self) -> Result<Vec<NewObject>> {
        let objects = std::mem::take(&mut self.objects);
        self.objects_bytes = 0;
        let new_ahead: IdSet =
            objects.iter().filter(|object| self.large.is_new(object)).map(NewObject::id).collect();
        let known = self.repo.snapshot()?.known(&objects)?;
        let mut seen = IdSet::default();
        let mut missing = Vec::with_capacity(objects.len());
        for (object, is_known) in objects.into_iter().zip(known) {
            let is_new = (!is_known || new_ahead.contains(&object.id()))
                && seen.insert(object.id())
                && (!self.is_dry || self.dry_seen.insert(object.id()));
            self.tally.count(&object, is_new);
            match is_new {
                true => missing.push(object),
                false => self.spent.keep(object),
            }
        }
        Ok(missing)
    }
}

/// Makes a type of an entry of the word that a file has for it.
fn label(word: &str) -> String {
    let mut label = word.to_owned();
    label.retain(|letter| !letter.is_control());
    while label.len() > LABEL_BYTES_MAX {
        label.pop();
    }
    if label.is_empty() { UNPARSED.to_owned() } else { label }
}
