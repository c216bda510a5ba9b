//! Holding what a backup will copy against its checksums.
//!
//! Files are opened anew: what this process has checked before, or holds in memory, says nothing
//! about the bytes that are copied now. What the backup has is not checked again.
//!
//! Not here: what a writer did wrong. Nothing is unpacked but large objects.

use std::sync::Arc;

use super::copy::Copy;
use crate::error::{Error, Result};
use crate::store::local::Inner;
use crate::store::local::manifest::Manifest;
use crate::store::local::oplog::OperationLog;
use crate::store::local::pack::{Pack, PackFile, PackInfo};
use crate::store::local::packed_refs::PackedRefs;
use crate::store::local::refused::{IdList, PURGE_MAGIC, REFUSED_MAGIC};
use crate::store::local::snapshot::LocalSnapshot;

impl Copy<'_> {
    /// Refuses damage, so that it does not take the place of what is whole. A graph that is
    /// damaged, or of another version, is left out: it can be made again.
    pub(super) fn check(&mut self, inner: &Inner, snapshot: &LocalSnapshot) -> Result<()> {
        for (id, bytes) in inner.loose.list()? {
            if !self.has(&self.to.loose(&id), bytes) {
                inner.loose.verify(&id)?;
            }
        }
        for aside in inner.loose.list_aside()? {
            if !self.has(&self.to.cruft(&aside.id, aside.since_ms), aside.bytes) {
                inner.loose.verify_aside(&aside)?;
            }
        }
        for segment in &snapshot.state.segments {
            segment.check_contents()?;
        }
        let manifest = &snapshot.state.manifest;
        self.check_lists(manifest)?;
        let packs = manifest.packs.iter().chain(manifest.cruft.iter().map(|record| &record.pack));
        for info in packs.filter(|info| self.lacks(info)).copied().collect::<Vec<_>>() {
            let pack = Pack::open_checked(Arc::clone(&inner.disk), &self.from.pack_dir(), &info)?;
            pack.check_bytes()?;
            match pack.check_graph() {
                Err(Error::Corrupt { .. } | Error::UnsupportedFormat { .. }) => {
                    self.damaged_graphs.insert(info.id);
                }
                Err(error) if error.is_not_found() => {}
                checked => checked?,
            }
        }
        Ok(())
    }

    /// Says whether the copy has not all files of a pack.
    fn lacks(&self, info: &PackInfo) -> bool {
        PackFile::ALL.iter().any(|file| {
            let bytes = self.disk.len(&file.path(&self.from.pack_dir(), &info.id));
            !self.has(&file.path(&self.to.pack_dir(), &info.id), bytes.unwrap_or(u64::MAX))
        })
    }

    /// Checks refs, operations, and the lists of ids.
    fn check_lists(&self, manifest: &Manifest) -> Result<()> {
        let (disk, from) = (self.disk, self.from);
        if let Some(refs) = &manifest.refs {
            PackedRefs::open(disk, &from.packed_refs(refs.number), refs.bytes)?.check()?;
        }
        for log in &manifest.logs {
            OperationLog::open(disk, &from.log(log.file.number), log.file.bytes, 0)?.check()?;
        }
        if let Some(list) = &manifest.refused {
            IdList::open(disk, &from.refused(list.number), list.bytes, REFUSED_MAGIC)?.check()?;
        }
        if let Some(list) = &manifest.purge {
            IdList::open(disk, &from.purge(list.number), list.bytes, PURGE_MAGIC)?.check()?;
        }
        Ok(())
    }
}
