//! Disks for tests that do one thing otherwise than the real one.

use std::fmt;
use std::io;
use std::path::Path;

use super::{Bell, DirEntry, Disk, DiskFile, Mapping, OpenMode, OsDisk};

/// The real disk, but for what is said here.
pub(crate) trait OverOs: fmt::Debug + Send + Sync {
    fn open_file(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        OsDisk.open(path, mode)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }
}

impl<D: OverOs> Disk for D {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        self.open_file(path, mode)
    }
    fn map(&self, path: &Path) -> io::Result<Mapping> {
        OsDisk.map(path)
    }
    fn len(&self, path: &Path) -> io::Result<u64> {
        OsDisk.len(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        OsDisk.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        OsDisk.create_dir(dir)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.remove_file(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        OsDisk.sync_dir(dir)
    }
    fn network_filesystem(&self, _: &Path) -> Option<String> {
        None
    }
    fn bells(&self, path: &Path) -> (Bell, Bell) {
        OsDisk.bells(path)
    }
    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        OsDisk.random(buffer)
    }
}
