//! What is known to be on disk, shared by all processes.
//!
//! A [`Position`] counts through all segments, so one number says how much is durable. The file
//! `objects/journal/synced` holds it: whoever synced raises it afterwards, so it never claims more
//! than is true, also not after a power cut. It is written in place and never synced itself; when
//! it is lost, the groups' own `synced` fields still say enough.
//!
//! The same file's lock makes one process sync for all: the others wait until the mark has passed
//! them, or take their turn.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::disk::{Disk, DiskFile, Locked, OpenMode, SharedBytes};
use crate::error::{Error, Result};

/// A place in the journal: segment, then byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) sequence: u64,
    pub(crate) offset: u64,
}

/// Sequence, offset, and their checksum.
pub(crate) const MARK_BYTES: usize = 24;
/// How often a mark is read that does not match its checksum.
const READS_MAX: usize = 4;
/// How often the mark is read before it is mapped: who reads a little of a store asks it twice, and
/// mapping takes longer than that.
const UNMAPPED_READS: u32 = 4;

/// The shared mark.
#[derive(Debug)]
pub(crate) struct DurableMark {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// Whether it may be mapped.
    may_share: bool,
    /// The mark, once it is mapped, if it can be.
    shared: OnceLock<Option<SharedBytes>>,
    /// How often it was read.
    reads: AtomicU32,
}

impl DurableMark {
    /// Opens the mark for raising it, and makes it where there is none.
    pub(crate) fn open(disk: &dyn Disk, path: PathBuf) -> Result<DurableMark> {
        let file = disk.open(&path, OpenMode::OpenOrCreate).map_err(Error::io("open", &path))?;
        Ok(DurableMark::new(path, file))
    }

    fn new(path: PathBuf, file: Box<dyn DiskFile>) -> DurableMark {
        let (shared, reads) = Default::default();
        DurableMark { path, file, may_share: false, shared, reads }
    }

    /// Reads and sets the mark without system calls, where that is possible and pays.
    pub(crate) fn with_shared_mark(self) -> DurableMark {
        DurableMark { may_share: true, ..self }
    }

    /// Maps the mark, where it may be.
    fn shared(&self) -> Option<&SharedBytes> {
        let map = || self.file.shared(MARK_BYTES);
        self.may_share.then(|| self.shared.get_or_init(map).as_ref()).flatten()
    }

    /// Opens the mark for reading; `None` where there is none.
    pub(crate) fn open_read_only(disk: &dyn Disk, path: PathBuf) -> Result<Option<DurableMark>> {
        match disk.open(&path, OpenMode::Read) {
            Ok(file) => Ok(Some(DurableMark::new(path, file))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("open", &path)(error)),
        }
    }

    /// Reads the mark. One that is torn or lost claims nothing.
    pub(crate) fn get(&self) -> Result<Position> {
        let shared = match self.reads.fetch_add(1, Ordering::Relaxed) < UNMAPPED_READS {
            true => self.shared.get().and_then(Option::as_ref),
            false => self.shared(),
        };
        for _ in 0..READS_MAX {
            let mut record = [0u8; MARK_BYTES];
            if let Some(shared) = shared {
                shared.read(&mut record);
            } else {
                self.file.read_full_at(&mut record, 0).map_err(Error::io("read", &self.path))?;
            }
            if let Some(position) = decode(&record) {
                return Ok(position);
            }
            // Another process is setting it.
            std::hint::spin_loop();
        }
        Ok(Position::default())
    }

    /// Sets the mark, after a sync that covered `position`.
    ///
    /// Two who set it at once may leave the lower one: it then claims less than is true, which
    /// costs a sync and nothing else.
    pub(crate) fn set(&self, position: Position) -> Result<()> {
        if let Some(shared) = self.shared() {
            shared.write(&encode(position));
            return Ok(());
        }
        self.file.write_all_at(&encode(position), 0).map_err(Error::io("write", &self.path))
    }

    /// Takes the turn to sync for all, unless another process has it.
    pub(crate) fn try_turn(&self) -> Result<Option<Locked<'_>>> {
        Locked::try_new(&*self.file).map_err(Error::io("lock", &self.path))
    }
}

/// Says whether these bytes are a mark.
pub(crate) fn is_mark(bytes: &[u8]) -> bool {
    bytes.try_into().is_ok_and(|record| decode(record).is_some())
}

/// Reads a record; `None` if it is none.
fn decode(record: &[u8; MARK_BYTES]) -> Option<Position> {
    let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
    let position = Position { sequence: word(0), offset: word(8) };
    (encode(position) == *record).then_some(position)
}

fn encode(position: Position) -> [u8; MARK_BYTES] {
    let mut record = [0u8; MARK_BYTES];
    record[..8].copy_from_slice(&position.sequence.to_le_bytes());
    record[8..16].copy_from_slice(&position.offset.to_le_bytes());
    let checksum = blake3::hash(&record[..16]);
    record[16..].copy_from_slice(&checksum.as_bytes()[..8]);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn the_mark_reads_back_and_a_torn_one_claims_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mark = DurableMark::open(&OsDisk, dir.path().join("synced")).unwrap();
        assert_eq!(mark.get().unwrap(), Position::default());
        let late = Position { sequence: 2, offset: 64 };
        mark.set(late).unwrap();
        assert_eq!(mark.get().unwrap(), late);
        let mapped = DurableMark::open(&OsDisk, dir.path().join("synced")).unwrap();
        let mapped = mapped.with_shared_mark();
        for _ in 0..=UNMAPPED_READS {
            assert_eq!(mapped.get().unwrap(), late);
        }
        assert_eq!(mapped.shared.get().is_some_and(Option::is_some), cfg!(target_os = "linux"));
        let later = Position { sequence: 2, offset: 128 };
        mapped.set(later).unwrap();
        assert_eq!(mark.get().unwrap(), later);
        mark.file.write_all_at(&[9], 3).unwrap();
        assert_eq!(mark.get().unwrap(), Position::default());
        assert_eq!(mapped.get().unwrap(), Position::default());
    }
}
