//! The only place that touches the file system.
//!
//! The local store asks a [`Disk`] for all it does to files, so that a test can put a disk under it
//! that loses what was not synced, tears writes, runs full, or stops at the n-th call. What is
//! assumed of a disk is what SQLite assumes: writing one sector does not damage its neighbours.
//!
//! Not here: any knowledge of what the files mean.

mod bell;
mod files;
mod mapping;
mod network;
#[cfg(test)]
mod over_os;
mod scratch;
mod shared;
mod source;
mod stream;
mod system;

use std::fmt;
use std::io;
use std::path::Path;

pub use bell::{Bell, Heard, Until};
pub use files::{
    ASIDE_SUFFIX, SyncWith, aside, create_dir_durably, files_below, read_file, remove_all,
    remove_held, remove_if_empty, remove_if_there, remove_tree, replace_file, replace_file_after,
    sync_all,
};
pub use mapping::Mapping;
#[cfg(test)]
pub(crate) use over_os::OverOs;
pub use scratch::Scratch;
pub use shared::SharedBytes;
pub use source::{
    Looked, SourceFile, Unreadable, find_sources, list_below, look_at_source, open_source,
    source_text, write_export,
};
pub use stream::{Reader, Writer};
pub use system::OsDisk;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A file that must not exist yet, for reading and writing.
    CreateNew,
    /// A file for reading and writing, made if it is not there.
    OpenOrCreate,
}

/// What stands in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Its name, without the directory. Names that are not UTF-8 are left out of a listing.
    pub name: String,
    /// Whether it is a directory itself.
    pub is_dir: bool,
    /// Its length, zero for a directory.
    pub bytes: u64,
}

/// One of several calls, known by its number.
pub type Call<'a> = dyn Fn(usize) -> io::Result<()> + Sync + 'a;

/// A file system.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>>;
    /// Maps a file that nobody changes any more; a short one may be read in its place.
    fn map(&self, path: &Path) -> io::Result<Mapping>;
    /// Gives a file's length.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// Lists a directory, sorted by name.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// Lists a directory for its names: lengths may be left out.
    fn list_names(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.list(dir)
    }
    /// Makes a directory and those above it; one that exists is fine.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Renames a file, replacing what has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory that is empty. A disk that has no directories of its own need not.
    fn remove_dir(&self, _dir: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes calls that wait for the disk, known by their numbers, in any order or some at a time.
    /// Tells the lowest number that failed, after all below it were made. Here one follows the
    /// other, up to one that fails.
    fn at_once(&self, count: usize, call: &Call<'_>) -> Result<(), (usize, io::Error)> {
        (0..count).try_for_each(|number| call(number).map_err(|error| (number, error)))
    }
    /// Names the network file system that a path is on, if it is on one.
    fn network_filesystem(&self, path: &Path) -> Option<String>;
    /// Fills a buffer with random bytes.
    fn random(&self, buffer: &mut [u8]) -> io::Result<()>;

    /// Gives when a file was last written, in milliseconds since 1970, where the disk knows it.
    fn modified(&self, path: &Path) -> io::Result<Option<i64>> {
        let _ = path;
        Ok(None)
    }

    /// Gives the two bells that processes wake each other with by a file.
    fn bells(&self, path: &Path) -> (Bell, Bell) {
        let _ = path;
        Default::default()
    }
}

/// An open file.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Reads what is there, up to the buffer's length.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes some of the bytes and says how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Gives the file's length.
    fn len(&self) -> io::Result<u64>;
    /// Cuts the file, or lengthens it with zeros.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes the content durable, and what is needed to read it back.
    fn sync_data(&self) -> io::Result<()>;
    /// Says that a sync will follow: these bytes, just written, may go to the disk already.
    fn begin_sync(&self, offset: u64, bytes: u64) {
        let _ = (offset, bytes);
    }
    /// Takes the exclusive lock on the file, unless another handle has it.
    fn try_lock(&self) -> io::Result<bool>;
    /// Gives the lock back.
    fn unlock(&self) -> io::Result<()>;

    /// Says whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Writes all the bytes: one `pwrite`, unless the system takes fewer.
    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads until the buffer is full or the file ends, and says how many bytes there were.
    fn read_full_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Maps the begin of the file, which must be open for both, for reading and writing; `None`
    /// where it is to be read and written through the file.
    fn shared(&self, bytes: usize) -> Option<SharedBytes> {
        let _ = bytes;
        None
    }
}

/// The lock on a file, given back when dropped.
#[derive(Debug)]
pub(crate) struct Locked<'a>(&'a dyn DiskFile);

impl Locked<'_> {
    /// Takes the lock, unless another handle has it.
    pub(crate) fn try_new(file: &dyn DiskFile) -> io::Result<Option<Locked<'_>>> {
        Ok(file.try_lock()?.then(|| Locked(file)))
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // A lock that cannot be given back is given back when the file is closed.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_excludes_other_handles_until_it_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let one = OsDisk.open(&path, OpenMode::OpenOrCreate).unwrap();
        let two = OsDisk.open(&path, OpenMode::OpenOrCreate).unwrap();
        assert!(one.try_lock().unwrap());
        assert!(!two.try_lock().unwrap());
        one.unlock().unwrap();
        assert!(two.try_lock().unwrap());
    }
}
