//! Reading again what can be hung on what has come since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::disk;
use crate::error::{Error, Result};
use crate::ops::exact::Exact;
use crate::ops::import::Importer;
use crate::ops::import::files::File;

/// How often all of it is done again, because other processes import the same files meanwhile.
const ROUNDS_MAX: usize = 64;

impl Importer<'_> {
    /// Reads again what can be hung on what has come since, until there is no more of it.
    pub(super) fn link(&mut self) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            self.read_late()?;
            for sid in self.elsewhere.search()? {
                self.again.entry(sid).or_default();
            }
            let again = std::mem::take(&mut self.again);
            let seeds: BTreeSet<usize> =
                again.keys().filter_map(|sid| self.elsewhere.by_sid.get(sid).copied()).collect();
            for group in self.elsewhere.order(&seeds) {
                self.link_group(&group, &again)?;
            }
            if self.again.is_empty() && self.late.is_empty() && self.overtaken.is_empty() {
                break;
            }
        }
        self.follow_lineage()
    }

    /// Reads the files whose values come before what they hang on, and those that others imported
    /// at the same time.
    fn read_late(&mut self) -> Result<()> {
        let mut files = Vec::new();
        if !self.overtaken.is_empty() {
            self.elsewhere.renew()?;
        }
        let overtaken = std::mem::take(&mut self.overtaken).into_iter().map(|path| (path, false));
        let late = std::mem::take(&mut self.late).into_iter().map(|path| (path, true));
        for (path, is_late) in overtaken.chain(late) {
            match disk::look_at_source(&path) {
                Ok(file) => {
                    let known = self.elsewhere.of_source(&disk::source_text(&file.path));
                    let sid = known.map(|known| known.sid.clone());
                    files.push(File { is_late, ..File::new(file, sid) });
                }
                Err(error) => self.fail(&path, Error::io("read", &path)(error))?,
            }
        }
        if files.is_empty() { Ok(()) } else { self.pass(files) }
    }

    /// Reads a group of sessions again, as far as it has to be, until nothing moves.
    ///
    /// One that hangs on no other of its group is read once at the most. In a group that is not
    /// alone no values hang on each other in a circle, so what moves is further down each time.
    fn link_group(&mut self, group: &[usize], late: &BTreeMap<String, bool>) -> Result<()> {
        let mut cut = match group.len() {
            1 => BTreeSet::new(),
            _ => self.elsewhere.cut_circles(group)?,
        };
        let mut late: BTreeSet<usize> = group
            .iter()
            .copied()
            .filter(|place| late.get(&self.elsewhere.sessions[*place].sid) == Some(&true))
            .collect();
        loop {
            let mut moved = false;
            for place in group {
                let is_late = late.remove(place);
                if !is_late && !cut.remove(place) && !self.elsewhere.has_news(*place)? {
                    continue;
                }
                let known = &self.elsewhere.sessions[*place];
                let (sid, before) = (known.sid.clone(), known.record.clone());
                let file = File {
                    path: known.source.clone().map(PathBuf::from),
                    bytes: before.size,
                    modified_ms: before.modified_ms,
                    is_again: true,
                    is_late,
                    stream: Some(Box::new(Exact::of(self.repo, &sid)?)),
                    sid: Some(sid),
                };
                self.pass(vec![file])?;
                moved |= self.elsewhere.sessions[*place].record != before;
            }
            if !moved || group.len() == 1 {
                return Ok(());
            }
        }
    }
}
