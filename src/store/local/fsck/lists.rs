//! Lists of ids: what is refused, and what a purge under way removes.

use crate::error::Result;
use crate::id::Id;
use crate::store::local::manifest::{FileRecord, Manifest};
use crate::store::local::paged::Magic;
use crate::store::local::refused::{IdList, PURGE_MAGIC, REFUSED_MAGIC};

use super::{Check, Severity};

impl Check<'_> {
    /// Checks the lists of ids, and takes note of the loose files that no longer count.
    pub(super) fn id_lists(&mut self, manifest: &Manifest) {
        if let Some(record) = &manifest.refused {
            let path = self.layout.refused(record.number);
            self.lists.push(path.clone());
            if let Err(error) = self.id_list(&path, record, REFUSED_MAGIC) {
                self.fault(Severity::Error, "refused-damaged", None, error);
            }
        }
        if let Some(record) = &manifest.purge {
            let path = self.layout.purge(record.number);
            self.lists.push(path.clone());
            match self.id_list(&path, record, PURGE_MAGIC) {
                Ok(ids) => self.purged.extend(ids),
                Err(error) => self.fault(Severity::Error, "purge-damaged", None, error),
            }
            let why = "what was redacted or forgotten is still to be removed; the next writer does";
            self.odd(Severity::Notice, "purge-pending", &path, why);
        }
    }

    fn id_list(
        &self,
        path: &std::path::Path,
        record: &FileRecord,
        magic: &Magic,
    ) -> Result<Vec<Id>> {
        let list = IdList::open(&*self.disk, path, record.bytes, magic)?;
        list.check()?;
        list.ids()
    }
}
