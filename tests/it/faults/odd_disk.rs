//! A simulated disk that shows half a write once, or claims to be elsewhere.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood::disk::{DirEntry, Disk, DiskFile, Mapping, OpenMode};

use super::segment;
use crate::sim::SimDisk;

/// A disk with an oddity.
#[derive(Clone, Debug)]
pub(crate) struct OddDisk {
    disk: SimDisk,
    /// Whether the next read of the first segment sees only its first bytes, then zeros.
    pub(crate) tears: Arc<AtomicBool>,
    /// The network file system that it claims to be.
    pub(crate) network: Option<String>,
}

impl OddDisk {
    pub(crate) fn new(disk: &SimDisk) -> OddDisk {
        OddDisk { disk: disk.clone(), tears: Arc::default(), network: None }
    }
}

#[derive(Debug)]
struct OddFile {
    file: Box<dyn DiskFile>,
    tears: Option<Arc<AtomicBool>>,
}

impl DiskFile for OddFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(buffer, offset)?;
        let tears = self.tears.as_ref();
        if tears.is_some_and(|tears| tears.swap(false, Ordering::Relaxed)) {
            buffer[8..].fill(0);
        }
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl Disk for OddDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(path, mode)?;
        let tears = (path == segment(1)).then(|| Arc::clone(&self.tears));
        Ok(Box::new(OddFile { file, tears }))
    }

    fn map(&self, path: &Path) -> io::Result<Mapping> {
        self.disk.map(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.disk.len(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }

    fn network_filesystem(&self, _path: &Path) -> Option<String> {
        self.network.clone()
    }

    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.random(buffer)
    }
}
