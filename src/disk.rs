//! The only place that touches the file system.
//!
//! The local store asks a [`Disk`] for all it does to files, so that a test can put a disk under it
//! that loses what was not synced, tears writes, runs full, or stops at the n-th call. What is
//! assumed of a disk is what SQLite assumes: writing one sector does not damage its neighbours.
//!
//! Not here: any knowledge of what the files mean.

mod bell;
mod files;
mod network;
#[cfg(test)]
mod over_os;
mod scratch;
mod shared;
mod source;
mod stream;
mod system;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub use bell::{Bell, Heard, Until};
pub use files::{
    ASIDE_SUFFIX, SyncWith, aside, create_dir_durably, files_below, read_file, remove_all,
    remove_held, remove_if_empty, remove_if_there, remove_tree, replace_file, replace_file_after,
    sync_all,
};
#[cfg(test)]
pub(crate) use over_os::OverOs;
pub use scratch::Scratch;
pub use shared::SharedBytes;
pub use source::{
    Looked, SourceFile, Unreadable, find_sources, list_below, look_at_source, open_source,
    source_text, write_export,
};
pub use stream::{Reader, Writer};

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

/// So much the system reads around a byte of a mapping that is looked at.
const READ_AROUND_BYTES: usize = 128 << 10;

/// A file of up to two pages is read: mapping it, and a first look at it, takes longer.
const READ_BYTES_MAX: usize = 8 << 10;

/// The bytes of an immutable file.
pub struct Mapping(Bytes);

enum Bytes {
    File(memmap2::Mmap),
    Memory(Box<dyn AsRef<[u8]> + Send + Sync>),
}

impl Mapping {
    /// Wraps bytes that stay as they are.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Mapping {
        Mapping(Bytes::Memory(Box::new(bytes)))
    }

    /// Says that a part will be looked at: what of it is not in memory is read at once, and no
    /// more. Where that can't be done, it is read when it is looked at; so it is in a short file,
    /// all of which the system reads then.
    pub fn will_need(&self, offset: u64, bytes: usize) {
        #[cfg(unix)]
        if let (Bytes::File(map), Ok(offset)) = (&self.0, usize::try_from(offset))
            && map.len() > READ_AROUND_BYTES
            && offset.checked_add(bytes).is_some_and(|end| end <= map.len())
        {
            let _ = map.advise_range(memmap2::Advice::WillNeed, offset, bytes);
        }
    }

    /// Gives the memory back that the bytes of a file take; they are found again when they are
    /// looked at. Where that can't be done, nothing happens.
    #[allow(unsafe_code)]
    pub fn release(&self) {
        #[cfg(target_os = "linux")]
        if let Bytes::File(map) = &self.0 {
            // SAFETY: the mapping is of a file and can't be written through, so its pages hold
            // nothing but what the file has; dropped ones are read from there again.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::File(map) => map,
            Bytes::Memory(bytes) => (**bytes).as_ref(),
        }
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Mapping({} bytes)", self.len())
    }
}

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

#[derive(Debug)]
struct OsFile(File);

impl Disk for OsDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => &mut options,
            OpenMode::Write => options.write(true),
            OpenMode::CreateNew => options.write(true).create_new(true),
            OpenMode::OpenOrCreate => options.write(true).create(true).truncate(false),
        };
        Ok(Box::new(OsFile(options.open(path)?)))
    }

    fn map(&self, path: &Path) -> io::Result<Mapping> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len() as usize;
        if bytes > READ_BYTES_MAX {
            return map_immutable(&file, bytes);
        }
        let mut content = vec![0; bytes];
        file.read_exact_at(&mut content, 0)?;
        Ok(Mapping::new(content))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        system::list(dir, true)
    }

    fn list_names(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        system::list(dir, false)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn at_once(&self, count: usize, call: &Call<'_>) -> Result<(), (usize, io::Error)> {
        system::at_once(count, call)
    }

    fn modified(&self, path: &Path) -> io::Result<Option<i64>> {
        let since = fs::metadata(path)?.modified()?.duration_since(std::time::UNIX_EPOCH);
        Ok(Some(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))))
    }

    fn network_filesystem(&self, path: &Path) -> Option<String> {
        let path = (!network::is_surely_local(path)).then(|| fs::canonicalize(path).ok())??;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        network::network_mount(&mounts, &path)
    }

    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        getrandom::fill(buffer).map_err(io::Error::other)
    }

    fn bells(&self, path: &Path) -> (Bell, Bell) {
        // Where it can't be mapped, those who wait look again by themselves.
        map_bells(path).unwrap_or_default()
    }
}

impl DiskFile for OsFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Linux begins to write what it is told will not be needed; until then it stays in memory.
    #[cfg(target_os = "linux")]
    fn begin_sync(&self, offset: u64, bytes: u64) {
        if let Some(bytes) = std::num::NonZeroU64::new(bytes) {
            let advice = rustix::fs::Advice::DontNeed;
            let _ = rustix::fs::fadvise(&self.0, offset, Some(bytes), advice);
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        let contended = fs2::lock_contended_error().raw_os_error();
        match fs2::FileExt::try_lock_exclusive(&self.0) {
            Err(error) if error.raw_os_error() == contended => Ok(false),
            locked => locked.map(|()| true),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        fs2::FileExt::unlock(&self.0)
    }

    #[cfg(target_os = "linux")]
    fn shared(&self, bytes: usize) -> Option<SharedBytes> {
        let long_enough = self.len().is_ok_and(|found| found >= bytes as u64);
        let map = || memmap2::MmapOptions::new().len(bytes).map_raw(&self.0);
        long_enough.then(|| map().ok())?.map(SharedBytes::new)
    }
}

/// Maps a file into memory.
#[allow(unsafe_code)]
fn map_immutable(file: &File, bytes: usize) -> io::Result<Mapping> {
    // SAFETY: a mapping is sound while nobody shortens or rewrites the file under it. Only packs,
    // indexes and snapshots are mapped: they are written aside, synced and renamed before the
    // manifest names them, and from then on no code of ours opens them for writing; removing them
    // leaves the mapping whole. Whoever maps compares the length with the manifest's next. A
    // stranger who truncates such a file by hand can make a process fault, as with git and SQLite.
    let map = unsafe { memmap2::MmapOptions::new().len(bytes).map(file)? };
    Ok(Mapping(Bytes::File(map)))
}

/// Maps the file of two bells, and makes it where there is none.
#[cfg(target_os = "linux")]
fn map_bells(path: &Path) -> io::Result<(Bell, Bell)> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
    let found = file.metadata()?.len();
    if let Some(missing) = (Bell::PAIR_BYTES as u64).checked_sub(found) {
        // Written, not only made long: touching a hole of a full disk kills the process.
        file.write_all_at(&[0; Bell::PAIR_BYTES][..missing as usize], found)?;
    }
    let map = memmap2::MmapOptions::new().len(Bell::PAIR_BYTES).map_raw(&file)?;
    Ok(Bell::pair(map))
}

#[cfg(not(target_os = "linux"))]
fn map_bells(_: &Path) -> io::Result<(Bell, Bell)> {
    Ok(Default::default())
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
