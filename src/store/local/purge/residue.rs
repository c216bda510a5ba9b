//! What a purge leaves to be removed: loose files, mirrors, caches, unnamed files.
//!
//! Every step can be done again. The manifest names the purge until the last is done.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{self, ASIDE_SUFFIX};
use crate::error::{Error, Result};
use crate::store::local::Inner;
use crate::store::local::loose::INCOMING;
use crate::store::local::state::State;

impl Inner {
    /// Gives the state of today, in which no purge is under way: one that is gets finished first.
    pub(crate) fn settled(self: &Arc<Inner>) -> Result<Arc<State>> {
        let state = self.refresh()?;
        if state.purge.is_none() {
            return Ok(state);
        }
        self.alone_or_wait(Inner::finish_purge)?;
        self.refresh()
    }

    /// Removes what a purge has left, if there is one under way. The caller holds the maintenance
    /// lock.
    pub(crate) fn finish_purge(self: &Arc<Inner>) -> Result<()> {
        let state = self.reload()?;
        let Some(purged) = &state.purge else {
            return Ok(());
        };
        let mut dirs = BTreeSet::new();
        for id in purged.ids()? {
            self.loose.remove(&id)?;
            dirs.extend(self.layout.loose(&id).parent().map(Path::to_owned));
        }
        for aside in self.loose.list_aside()? {
            if purged.contains(&aside.id)? {
                self.loose.remove_aside(&aside)?;
                dirs.insert(self.layout.cruft_fan(&aside.id.short(2)));
            }
        }
        self.remove_incoming()?;
        self.forget_cache()?;
        self.mirror_all()?;
        self.remove_stray_mirrors(&mut dirs)?;
        self.sweep()?;
        let layout = &self.layout;
        dirs.extend([layout.objects_dir(), layout.pack_dir(), layout.journal_dir()]);
        dirs.extend([layout.refs_dir(), layout.logs_dir(), layout.cache_dir()]);
        for dir in &dirs {
            match self.disk.sync_dir(dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                synced => synced.map_err(Error::io("sync", dir))?,
            }
        }
        self.edit_manifest(|manifest| manifest.purge = None)?;
        self.sweep()
    }

    /// Removes what was left of large objects that were never whole. One that is being written at
    /// this moment fails.
    fn remove_incoming(&self) -> Result<()> {
        let dir = self.layout.objects_dir();
        for entry in self.disk.list(&dir).map_err(Error::io("list", &dir))? {
            if entry.name.starts_with(INCOMING) && entry.name.ends_with(ASIDE_SUFFIX) {
                self.remove_file(&dir.join(entry.name))?;
            }
        }
        Ok(())
    }

    /// Removes mirror files of refs that are no more, and directories that are empty then.
    fn remove_stray_mirrors(self: &Arc<Inner>, dirs: &mut BTreeSet<PathBuf>) -> Result<()> {
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let refs = state.references(state.segments.len(), u64::MAX, "")?;
        let named: HashSet<PathBuf> = refs.keys().map(|name| mirrors.path(name)).collect();
        let refs_dir = self.layout.refs_dir();
        let (files, below) = self.below(&refs_dir)?;
        for path in files {
            let is_mirror = path.parent() != Some(&refs_dir)
                || path.file_name().is_some_and(|name| name == "HEAD");
            if is_mirror && !named.contains(&path) {
                self.remove_file(&path)?;
                dirs.extend(path.parent().map(Path::to_owned));
            }
        }
        // The names of directories tell something, too. Writers make them under the lock.
        for dir in below.iter().rev() {
            if disk::remove_if_empty(&*self.disk, dir).map_err(Error::io("remove", dir))? {
                dirs.remove(dir);
                dirs.extend(dir.parent().map(Path::to_owned));
            }
        }
        mirrors.keep_if(false);
        guard.release(state.manifest.generation)
    }

    /// Lists all files and directories below a directory.
    pub(super) fn below(&self, dir: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        disk::files_below(&*self.disk, dir).map_err(Error::io("list", dir))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        disk::remove_if_there(&*self.disk, path).map_err(Error::io("remove", path))
    }
}
