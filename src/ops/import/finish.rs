//! What becomes of a file that was read: whether it changed, and how it gets into the store.

use std::path::PathBuf;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::ops::imported;
use crate::session::View;

use super::Importer;
use super::elsewhere::Names;
use super::feed::Ending;
use super::files::File;
use super::intake::Intake;
use super::land::Landing;
use super::report::{ImportChange, ImportNote, Imported, Strange};

impl Importer<'_> {
    /// Lands what was read of a file.
    pub(super) fn finish(
        &mut self,
        file: &File,
        intake: &mut Intake<'_>,
        ending: Ending,
        resumed: bool,
        bytes: u64,
    ) -> Result<()> {
        let path = file.path.clone().unwrap_or_else(|| PathBuf::from("-"));
        let Some(dialect) = intake.dialect.filter(|_| intake.tree.len() > 0) else {
            self.dry_seen = std::mem::take(&mut intake.dry_seen);
            self.outcome.unknown += 1;
            (self.note)(ImportNote::Unknown(&path));
            return Ok(());
        };
        let is_late = intake.has_late_parents() || self.is_answered(file, intake);
        if is_late && !file.is_again && file.path.is_some() {
            self.dry_seen = std::mem::take(&mut intake.dry_seen);
            self.late.extend(file.path.clone());
            return Ok(());
        }
        let known = file.sid.as_deref().and_then(|sid| self.elsewhere.session(sid));
        let is_unmoved = file.is_again
            && !file.is_late
            && known.is_some_and(|known| intake.hangs_as(&known.record));
        let is_circle = intake.odds.iter().any(|odd| odd.what == Strange::Circle);
        if is_unmoved && !is_circle {
            return Ok(());
        }
        let change = self.change(file, intake, &ending, resumed)?;
        if change == ImportChange::Rewritten {
            intake.odd(Strange::Rewritten, 1);
        }
        if !ending.tail.iter().all(u8::is_ascii_whitespace) && !intake.is_document() {
            intake.odd(Strange::TornEnd, ending.lines + 1);
        }
        let mut session = file.sid.clone();
        if is_unmoved || change == ImportChange::Unchanged || self.options.dry_run {
            intake.flush()?;
        } else {
            session = self.land(file, intake, ending, is_late)?;
        }
        self.dry_seen = std::mem::take(&mut intake.dry_seen);
        if session.is_none() && !self.options.dry_run {
            return Ok(());
        }
        self.tell(&Imported {
            session,
            source: file.path.clone(),
            dialect: dialect.name(),
            change,
            values: intake.source.values,
            bytes,
            tally: intake.tally,
            odds: std::mem::take(&mut intake.odds),
            odd_count: intake.odd_count,
        });
        Ok(())
    }

    /// Says what happened to a file since it was read last.
    fn change(
        &self,
        file: &File,
        intake: &Intake<'_>,
        ending: &Ending,
        resumed: bool,
    ) -> Result<ImportChange> {
        let known = file.sid.as_deref().and_then(|sid| self.elsewhere.session(sid));
        let known = known.filter(|_| !file.is_again);
        let is_known = known.is_some_and(|known| {
            let prefix = &ending.prefix;
            let record = &known.record;
            record.is_document && (record.bytes, &record.hash) == (prefix.bytes, &prefix.hash)
        });
        let is_same = (is_known || resumed && intake.known == intake.tree.len()) && {
            let snapshot = self.repo.snapshot()?;
            let sid = file.sid.as_deref().unwrap_or_default();
            let known = imported::stretches(&View::of(&*snapshot, sid)?)?;
            known.last().is_some_and(|last| match &last.layout.tail {
                Value::Link(id) => Id::of(Kind::Blob, &ending.tail) == *id,
                tail => tail.as_text().map(str::as_bytes) == Some(&ending.tail),
            })
        };
        Ok(match (&file.sid, resumed) {
            _ if is_same => ImportChange::Unchanged,
            (None, _) => ImportChange::New,
            (Some(_), true) => ImportChange::Grown,
            (Some(_), false) if file.is_again => ImportChange::Linked,
            (Some(_), false) if file.is_late || intake.is_document() => ImportChange::Grown,
            (Some(_), false) => ImportChange::Rewritten,
        })
    }

    /// Puts a file's session into the store, and gives its id.
    fn land(
        &mut self,
        file: &File,
        intake: &mut Intake<'_>,
        ending: Ending,
        is_late: bool,
    ) -> Result<Option<String>> {
        let from = file.from();
        let lineage = intake.source.lineage.as_ref();
        let fork = lineage.map(|lineage| self.elsewhere.fork(lineage, file.sid.as_deref()));
        let noted = file.sid.as_deref().and_then(|sid| self.elsewhere.session(sid));
        let landing = Landing {
            repo: self.repo,
            from: &from,
            sid: file.sid.clone(),
            noted: noted.map(|known| known.record.clone()),
            fork: fork.transpose()?,
            is_same_text: file.is_again || file.is_late,
            operation: self.operation,
        };
        let landed = match landing.land(intake, ending) {
            Err(Error::RefConflict { .. }) if file.path.is_some() => {
                self.overtaken.extend(file.path.clone());
                return Ok(None);
            }
            landed => landed?,
        };
        let sid = landed.meta.sid.clone();
        for (name, id) in std::mem::take(&mut intake.answered) {
            // What was placed whole has found it.
            let waiting = self.elsewhere.answered(name, id);
            for other in waiting.filter(|other| !intake.is_whole || *other != sid) {
                self.again.entry(other.to_owned()).or_default();
            }
        }
        if is_late {
            self.again.insert(sid.clone(), true);
        }
        let tree = std::mem::take(&mut intake.tree);
        let names = match file.is_again {
            true => Names::Same,
            false => Names::From(&tree, intake.known),
        };
        self.elsewhere.learn(&landed.meta, landed.record, names);
        Ok(Some(sid))
    }

    /// Says whether a file has brought what its own values waited for.
    fn is_answered(&self, file: &File, intake: &Intake<'_>) -> bool {
        let known = file.sid.as_deref().filter(|_| !file.is_again && !file.is_late);
        let awaits = |sid: &str| {
            intake.answered.iter().any(|(name, _)| self.elsewhere.is_awaited_by(*name, sid))
        };
        known.is_some_and(awaits)
    }
}
