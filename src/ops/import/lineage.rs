//! Where sessions were forked from, also if that session comes later.

use crate::codec::Value;
use crate::dialect::Lineage;
use crate::error::Result;
use crate::object::Fork;
use crate::ops::import::Importer;
use crate::ops::import::elsewhere::Elsewhere;
use crate::ops::import::tree::name_hash;
use crate::session::{Change, View};
use crate::store::Durability;

impl Elsewhere {
    /// Says where a file's session was forked from: in the words of the file, as long as that
    /// session is not here.
    pub(super) fn fork(&mut self, lineage: &Lineage, sid: Option<&str>) -> Result<Fork> {
        let place = self.families.get(&lineage.session).into_iter().flatten();
        let is_own = |place: &&usize| sid == Some(self.sessions[**place].sid.as_str());
        let place = place.copied().find(|place| !is_own(&place));
        let name = lineage.entry.as_deref().map(name_hash);
        let mut entry = None;
        if let (Some(place), Some(name)) = (place, name) {
            self.register_session(place, Some(name))?;
            let row = self.register.all(name).find(|(on, _)| *on == place);
            entry = row.map(|(_, row)| self.entry(place, row)).transpose()?.flatten();
        }
        let parent = place.map(|place| self.sessions[place].sid.clone());
        Ok(Fork {
            session: parent.unwrap_or_else(|| lineage.session.clone()),
            entry,
            reason: lineage.reason.clone(),
            metadata: lineage.metadata.clone(),
        })
    }

    /// Lists the sessions that were forked from one that came or changed in this run, though they
    /// were landed before it, and where.
    pub(super) fn forked(&self) -> Vec<(String, Lineage)> {
        let mut forked = Vec::new();
        for known in self.sessions.iter().filter(|known| !known.is_over) {
            let Some((session, entry)) = &known.record.lineage else {
                continue;
            };
            let from = self.families.get(session).into_iter().flatten();
            if from.clone().any(|place| self.landed.contains(place)) {
                let (session, entry) = (session.clone(), entry.clone());
                let lineage = Lineage { session, entry, reason: None, metadata: Value::Null };
                forked.push((known.sid.clone(), lineage));
            }
        }
        forked
    }
}

impl Importer<'_> {
    /// Tells sessions that were forked from one that has come since, or has other entries now.
    pub(super) fn follow_lineage(&mut self) -> Result<()> {
        for (sid, lineage) in self.elsewhere.forked() {
            let now = self.elsewhere.fork(&lineage, Some(&sid))?;
            let is_news = |fork: &Option<Fork>| {
                fork.as_ref()
                    .is_some_and(|was| (&was.session, was.entry) != (&now.session, now.entry))
            };
            let snapshot = self.repo.snapshot()?;
            if !is_news(&View::of(&*snapshot, &sid)?.meta()?.fork) {
                continue;
            }
            self.repo.commit(Durability::Relaxed, &mut |snapshot| {
                let mut change = Change::on(snapshot, &sid, self.operation.time)?;
                if let Some(fork) = &mut change.meta()?.fork {
                    fork.session.clone_from(&now.session);
                    fork.entry = now.entry;
                }
                change.finish(Some(self.operation.clone()))
            })?;
        }
        Ok(())
    }
}
