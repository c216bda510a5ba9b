//! The lists of what is refused, and of what a purge under way removes.
//!
//! What was redacted stays refused after a repair, also if the manifest was lost: the newest list
//! counts then. One that is damaged goes aside, and what is left of it is written anew. Files that
//! a crash left may still hold what was redacted: it is taken for damage.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::layout::{PURGE, REFUSED};
use crate::store::local::manifest::{FileRecord, Manifest};
use crate::store::local::paged::Magic;
use crate::store::local::refused::{self, IdList, PURGE_MAGIC, REFUSED_MAGIC};

use super::survey::{Survey, numbered};

/// A list of what may not come back.
#[derive(Debug)]
pub(super) struct FoundList {
    /// Which list it is.
    pub(super) number: u64,
    /// What is left of it, ascending.
    ids: Vec<Id>,
    /// Its length, if it is whole.
    bytes: Option<u64>,
}

impl Survey<'_> {
    /// Fails where a list is sound, and of another version: what it says is not known.
    pub(super) fn check_lists(&self) -> Result<()> {
        for (path, magic) in self.lists() {
            if let Err(error @ Error::UnsupportedFormat { .. }) =
                refused::salvage(&*self.disk, &path, magic)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Finds the list of what is refused: the one that was named, else the newest. Where that is
    /// damaged, what older ones have is refused as well: a crash may leave one that never counted.
    pub(super) fn find_refused(&self) -> Option<FoundList> {
        let numbers = match &self.manifest {
            Some(manifest) => manifest.refused.iter().map(|record| record.number).collect(),
            None => numbered(&*self.disk, &self.layout.objects_dir(), REFUSED),
        };
        let mut lists = numbers.into_iter().rev().filter_map(|number| {
            let path = self.layout.refused(number);
            let ids = refused::salvage(&*self.disk, &path, REFUSED_MAGIC).ok()?;
            let bytes = self.whole_list(&path, REFUSED_MAGIC);
            let is_one = bytes.is_some() || !ids.is_empty();
            is_one.then_some(FoundList { number, ids, bytes })
        });
        let mut newest = lists.next()?;
        if newest.bytes.is_none() {
            newest.ids.extend(lists.flat_map(|list| list.ids));
            newest.ids.sort_unstable();
            newest.ids.dedup();
        }
        Some(newest)
    }

    /// Says whether an object may not come back.
    pub(super) fn is_refused(&self, id: &Id) -> bool {
        self.refused.as_ref().is_some_and(|list| list.ids.binary_search(id).is_ok())
    }

    /// Writes the list of what is refused anew, if it is damaged.
    pub(super) fn write_refused(&self, manifest: &mut Manifest, number: u64) -> Result<()> {
        if let (None, Some(list)) = (&manifest.refused, &self.refused) {
            let path = self.layout.refused(number);
            let bytes = IdList::write(&self.disk, &path, REFUSED_MAGIC, &list.ids)?;
            manifest.refused = Some(FileRecord { number, bytes });
        }
        Ok(())
    }

    /// Names the lists that are whole: those that were named, else the newest.
    pub(super) fn name_lists(&self, manifest: &mut Manifest) {
        manifest.refused = self
            .refused
            .as_ref()
            .and_then(|list| list.bytes.map(|bytes| FileRecord { number: list.number, bytes }));
        let named = manifest.purge.take().map(|record| record.number);
        // Without a manifest it is not known which list counted: the newest does.
        let newest = match &self.manifest {
            Some(_) => Vec::new(),
            None => numbered(&*self.disk, &self.layout.objects_dir(), PURGE),
        };
        manifest.purge = named.into_iter().chain(newest.into_iter().rev()).find_map(|number| {
            let bytes = self.whole_list(&self.layout.purge(number), PURGE_MAGIC)?;
            Some(FileRecord { number, bytes })
        });
    }

    /// Gives the files of such lists, whole or not, and what they are.
    pub(super) fn lists(&self) -> impl Iterator<Item = (PathBuf, &'static Magic)> {
        let (disk, layout) = (&*self.disk, &self.layout);
        let refused = numbered(disk, &layout.objects_dir(), REFUSED).into_iter();
        let purge = numbered(disk, &layout.objects_dir(), PURGE).into_iter();
        let refused = refused.map(|number| (layout.refused(number), REFUSED_MAGIC));
        refused.chain(purge.map(|number| (layout.purge(number), PURGE_MAGIC)))
    }

    /// Gives the length of a list that is whole.
    fn whole_list(&self, path: &Path, magic: &Magic) -> Option<u64> {
        let bytes = self.disk.len(path).ok()?;
        let list = IdList::open(&*self.disk, path, bytes, magic).ok()?;
        list.check().ok()?;
        Some(bytes)
    }
}
