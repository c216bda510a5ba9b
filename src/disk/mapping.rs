//! The bytes of immutable files: mapped, or read where there are few of them.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;

use memmap2::Advice;

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

    /// Gives the bytes of a file that stays as it is.
    pub(super) fn of_file(file: &File) -> io::Result<Mapping> {
        let bytes = file.metadata()?.len() as usize;
        if bytes > READ_BYTES_MAX {
            return map_immutable(file, bytes);
        }
        let mut content = vec![0; bytes];
        file.read_exact_at(&mut content, 0)?;
        Ok(Mapping::new(content))
    }

    /// Says that a part will be looked at: what of it is not in memory is read at once, and no
    /// more. Where that can't be done, it is read when it is looked at; so it is in a short file,
    /// all of which the system reads then.
    pub fn will_need(&self, offset: u64, bytes: usize) {
        if let Ok(offset) = usize::try_from(offset) {
            self.advise(Advice::WillNeed, offset, bytes);
        }
    }

    /// Says that parts here and there will be looked at: of what is not in memory, nothing is read
    /// but what is looked at, or said to be needed. It makes no difference to a short file.
    pub fn will_jump(&self) {
        self.advise(Advice::Random, 0, self.len());
    }

    #[inline(never)]
    fn advise(&self, advice: Advice, offset: usize, bytes: usize) {
        if let Bytes::File(map) = &self.0
            && map.len() > READ_AROUND_BYTES
            && offset.checked_add(bytes).is_some_and(|end| end <= map.len())
        {
            let _ = map.advise_range(advice, offset, bytes);
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
