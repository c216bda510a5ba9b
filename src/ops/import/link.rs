//! Reading again what can be hung on what has come since.

use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::{Error, Result};
use crate::ops::exact::Exact;
use crate::ops::import::Importer;
use crate::ops::import::elsewhere::Elsewhere;
use crate::ops::import::files::File;

/// How often files are read again because what they hang on has changed. A chain of files needs as
/// many rounds as it is long, if they are read in the worst order.
const LINK_ROUNDS_MAX: usize = 64;

impl Importer<'_> {
    /// Reads again what can be hung on what has come since, until there is no more of it.
    pub(super) fn link(&mut self) -> Result<()> {
        let mut rounds = 0;
        while !self.again.is_empty() || !self.late.is_empty() || !self.overtaken.is_empty() {
            rounds += 1;
            if rounds > LINK_ROUNDS_MAX {
                // Files hang on each other in a circle; what they hang on is in the store.
                return Ok(());
            }
            let mut files = Vec::new();
            if !self.overtaken.is_empty() {
                self.elsewhere = Elsewhere::of(self.repo)?;
            }
            let overtaken = std::mem::take(&mut self.overtaken).into_iter();
            let late = std::mem::take(&mut self.late).into_iter();
            let sources: Vec<(String, bool)> = overtaken
                .map(|source| (source, false))
                .chain(late.map(|source| (source, true)))
                .collect();
            for (source, is_late) in sources {
                let known = self.elsewhere.of_source(&source).map(|known| known.sid.clone());
                match disk::look_at_source(Path::new(&source)) {
                    Ok(file) => files.push(File { is_late, ..File::new(file, known) }),
                    Err(error) => {
                        let error = Error::io("read", &source)(error);
                        self.fail(Path::new(&source), error)?;
                    }
                }
            }
            for (sid, is_late) in std::mem::take(&mut self.again) {
                let Some(known) = self.elsewhere.session(&sid) else {
                    continue;
                };
                files.push(File {
                    path: known.source.clone().map(PathBuf::from),
                    bytes: known.record.size,
                    modified_ms: known.record.modified_ms,
                    is_again: true,
                    is_late,
                    stream: Some(Box::new(Exact::of(self.repo, &sid)?)),
                    sid: Some(sid),
                });
            }
            self.pass(files)?;
        }
        Ok(())
    }
}
