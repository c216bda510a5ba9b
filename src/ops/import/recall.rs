//! Taking in what the store has of a file that goes on.

use std::collections::HashMap;

use crate::dialect::{self, Layout, Parent, Step, Voice};
use crate::error::Result;
use crate::id::Id;
use crate::object::Entry;
use crate::ops::import::Importer;
use crate::ops::import::feed::Prefix;
use crate::ops::import::intake::{Intake, UNPARSED};
use crate::ops::import::tree::{Hang, Row, name_hash};
use crate::ops::imported::{self, Record};
use crate::repo::read_entry;
use crate::session::View;

impl Intake<'_> {
    /// Takes in what the store knows of a file that goes on.
    pub(super) fn recall_record(&mut self, record: &Record) {
        self.orphans.extend(record.orphans.iter().map(|name| (name_hash(name), name.clone())));
        let hangs = record.hangs.iter().map(|hung| (hung.name.clone(), hung.clone()));
        self.hangs.extend(hangs);
    }

    /// Takes a value in that the store has: an entry of the session that goes on.
    pub(super) fn recall(&mut self, id: Id, entry: &Entry) {
        let Some(dialect) = self.dialect else {
            return;
        };
        let step = match entry.body.as_map() {
            Some(_) => dialect.read(&entry.body, &mut self.source),
            None => Step::beside(UNPARSED, None),
        };
        self.source.values += 1;
        self.time = entry.time;
        self.first_time = self.first_time.or(Some(entry.time));
        let hang = match (&step.parent, self.tree.last()) {
            (Parent::Beside, _) => Hang::Beside,
            (Parent::Before, Some(last)) if !entry.parents.is_empty() => Hang::On(last),
            _ => Hang::Top,
        };
        if let (Parent::Id(_), Some(parent)) = (&step.parent, entry.parents.first()) {
            // It may come later in the file.
            self.recalled.push((self.tree.len() as Row, *parent));
        }
        let name = step.id.as_deref().map(name_hash);
        let voice = if hang == Hang::Beside { Voice::None } else { step.voice };
        self.tree.add(id, name, hang, voice);
        self.known += 1;
    }

    /// Hangs what was recalled on each other, as far as it does.
    pub(super) fn hang_recalled(&mut self) {
        let recalled = std::mem::take(&mut self.recalled);
        let rows = if recalled.is_empty() { HashMap::new() } else { self.tree.rows() };
        for (row, parent) in recalled {
            if let Some(parent) = rows.get(&parent) {
                self.tree.hang(row, *parent);
            }
        }
    }
}

impl Importer<'_> {
    /// Gives what was read before of a session's file.
    pub(super) fn prefix(&self, sid: &str) -> Result<Option<Prefix>> {
        let Some(known) = self.elsewhere.session(sid) else {
            return Ok(None);
        };
        let snapshot = self.repo.snapshot()?;
        let stretches = imported::stretches(&View::of(&*snapshot, sid)?)?;
        let values: u64 =
            stretches.iter().flat_map(|stretch| &stretch.runs).map(|run| run.count).sum();
        // Where an import was taken back, the record is older than what the transcript tells.
        let is_whole = values == known.record.values && !known.record.is_document;
        Ok(stretches.last().filter(|_| is_whole).map(|last| Prefix {
            bytes: known.record.bytes,
            hash: known.record.hash.clone(),
            style: last.layout.style,
        }))
    }

    /// Takes in what the store has of a file that goes on.
    pub(super) fn recall(&self, intake: &mut Intake<'_>, sid: &str) -> Result<Option<Layout>> {
        let snapshot = self.repo.snapshot()?;
        let view = View::of(&*snapshot, sid)?;
        let named = view.meta()?.dialect;
        intake.dialect = named.as_deref().and_then(dialect::named).or(intake.dialect);
        let mut last = None;
        for stretch in imported::stretches(&view)? {
            for id in stretch.entries(&*snapshot)? {
                intake.recall(id, &read_entry(&*snapshot, &id)?);
            }
            last = Some(stretch.layout);
        }
        intake.hang_recalled();
        if let Some(known) = self.elsewhere.session(sid) {
            intake.recall_record(&known.record);
        }
        Ok(last)
    }
}
