//! What the last collection left clean, so that the next one need not look.
//!
//! A note in the cache: a hash of the manifest and of the names of loose files. It is written when
//! all that there is was reached from refs and operations. While the store is that, with nothing in
//! the journal, a collection would find no garbage: what objects lead to does not change.
//!
//! The note is not synced, and may be missing or torn. Nothing is lost by a wrong one: garbage
//! stays until something changes.

use super::Collection;
use crate::disk::{self, OpenMode};
use crate::error::Result;
use crate::id::Id;

const NOTE: &str = "clean";

impl Collection<'_> {
    /// Says whether the store is as the last collection left it, without garbage.
    pub(super) fn is_noted(&self) -> Result<bool> {
        let path = self.inner.layout.cache_dir().join(NOTE);
        let noted = disk::read_file(&*self.inner.disk, &path, Id::BYTES as u64);
        let Ok(noted) = noted else {
            return Ok(false);
        };
        Ok(self.fingerprint()?.is_some_and(|found| noted == found))
    }

    /// Notes that the store holds no garbage. Where that fails, the next run looks again.
    pub(super) fn note(&self) -> Result<()> {
        let Some(found) = self.fingerprint()? else {
            return Ok(());
        };
        let (disk, dir) = (&*self.inner.disk, self.inner.layout.cache_dir());
        let _ = disk
            .create_dir(&dir)
            .and_then(|()| disk.open(&dir.join(NOTE), OpenMode::OpenOrCreate))
            .and_then(|file| file.set_len(0).and_then(|()| file.write_all_at(&found, 0)));
        Ok(())
    }

    /// Gives what is noted; `None` while something is on its way.
    fn fingerprint(&self) -> Result<Option<[u8; Id::BYTES]>> {
        let state = self.inner.refresh()?;
        let manifest = &state.manifest;
        if !self.inner.is_at_rest(&state)
            || !manifest.cruft.is_empty()
            || !self.inner.loose.list_aside()?.is_empty()
        {
            return Ok(None);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(manifest.to_text().as_bytes());
        for (id, _) in self.inner.loose.list()? {
            hasher.update(id.as_bytes());
        }
        Ok(Some(*hasher.finalize().as_bytes()))
    }
}
