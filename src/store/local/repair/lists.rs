//! The lists of what is refused, and of what a purge under way removes.
//!
//! What was redacted stays refused after a repair, also if the manifest was lost: the newest list
//! that is whole is named. One that is damaged goes aside; what it said is lost, as `fsck` says.
//! Files that a crash left may still hold what was redacted: it is taken for damage.

use std::path::{Path, PathBuf};

use crate::id::Id;
use crate::store::local::layout::{PURGE, REFUSED};
use crate::store::local::manifest::{FileRecord, Manifest};
use crate::store::local::paged::Magic;
use crate::store::local::refused::{IdList, PURGE_MAGIC, REFUSED_MAGIC};

use super::survey::{Survey, numbered};

impl Survey<'_> {
    /// Finds the list of what is refused: the one that was named, else the newest.
    pub(super) fn find_refused(&self) -> Option<(IdList, u64)> {
        let numbers = match &self.manifest {
            Some(manifest) => manifest.refused.iter().map(|record| record.number).collect(),
            None => numbered(&*self.disk, &self.layout.objects_dir(), REFUSED),
        };
        numbers.into_iter().rev().find_map(|number| {
            let (list, _) = self.open_list(&self.layout.refused(number), REFUSED_MAGIC)?;
            Some((list, number))
        })
    }

    /// Says whether an object may not come back.
    pub(super) fn is_refused(&self, id: &Id) -> bool {
        self.refused.as_ref().is_some_and(|(list, _)| list.contains(id).unwrap_or(false))
    }

    /// Names the lists that are whole: those that were named, else the newest.
    pub(super) fn name_lists(&self, manifest: &mut Manifest) {
        let layout = &self.layout;
        let (refused, purge) = (manifest.refused.take(), manifest.purge.take());
        // Without a manifest it is not known which lists counted: the newest do.
        let is_lost = self.manifest.is_none();
        let newest = |prefix: &str| match is_lost {
            true => numbered(&*self.disk, &layout.objects_dir(), prefix),
            false => Vec::new(),
        };
        let whole = |named: Option<FileRecord>, prefix, magic, path: &dyn Fn(u64) -> PathBuf| {
            let named = named.map(|record| record.number).into_iter();
            let mut numbers = named.chain(newest(prefix).into_iter().rev());
            numbers.find_map(|number| self.whole_list(path(number), number, magic))
        };
        manifest.refused = whole(refused, REFUSED, REFUSED_MAGIC, &|number| layout.refused(number));
        manifest.purge = whole(purge, PURGE, PURGE_MAGIC, &|number| layout.purge(number));
    }

    /// Lists the files of such lists, whole or not.
    pub(super) fn list_files(&self) -> Vec<PathBuf> {
        let (disk, layout) = (&*self.disk, &self.layout);
        let refused = numbered(disk, &layout.objects_dir(), REFUSED).into_iter();
        let purge = numbered(disk, &layout.objects_dir(), PURGE).into_iter();
        let refused = refused.map(|number| layout.refused(number));
        refused.chain(purge.map(|number| layout.purge(number))).collect()
    }

    fn whole_list(&self, path: PathBuf, number: u64, magic: &Magic) -> Option<FileRecord> {
        let (_, bytes) = self.open_list(&path, magic)?;
        Some(FileRecord { number, bytes })
    }

    /// Opens a list that is whole, and gives its length.
    fn open_list(&self, path: &Path, magic: &Magic) -> Option<(IdList, u64)> {
        let bytes = self.disk.len(path).ok()?;
        let list = IdList::open(&*self.disk, path, bytes, magic).ok()?;
        list.check().ok()?;
        Some((list, bytes))
    }
}
