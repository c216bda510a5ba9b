//! The lists of what is refused, and of what a purge under way removes.
//!
//! What was redacted stays refused after a repair, also if the manifest was lost: the newest list
//! that is whole is named. One that is damaged goes aside; what it said is lost, as `fsck` says.

use std::path::PathBuf;

use crate::store::local::layout::{PURGE, REFUSED};
use crate::store::local::manifest::{FileRecord, Manifest};
use crate::store::local::paged::Magic;
use crate::store::local::refused::{IdList, PURGE_MAGIC, REFUSED_MAGIC};

use super::survey::{Survey, numbered};

impl Survey<'_> {
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
        let bytes = self.disk.len(&path).ok()?;
        let list = IdList::open(&*self.disk, &path, bytes, magic).ok()?;
        list.check().ok()?;
        Some(FileRecord { number, bytes })
    }
}
