//! A journal segment: a file of groups, and what they say.
//!
//! ```text
//!  0  magic     8   "SAPWJRNL"
//!  8  version   4   1
//! 12  zero      4
//! 16  sequence  8
//! 24  salt     32   random
//! 56  checksum  8   of the above, truncated BLAKE3
//! 64  groups, back to back; then zeros up to the length that was allocated
//! ```
//!
//! Invariants:
//! - The file has its full length before its first group. One of usual length is filled with zeros,
//!   so that a sync writes data and no metadata; a long one, for who writes much at a time, is not.
//! - Bytes are written once, at the end, by who holds the writer lock. (Writing the same bytes
//!   again is allowed, see [`Segment::write_again`].)
//! - The table holds whole groups only, in order: reading on never takes anything back.

mod again;
mod ledger;
mod read_on;
mod versions;
mod window;

pub(crate) mod salvage;
mod survivors;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::disk::{Disk, DiskFile, Locked, OpenMode};
use crate::error::{Error, Result};
use crate::id::{Id, IdMap, Kind};
use crate::store::local::durable::Position;
use crate::store::local::group::{CLOSE_BYTES, NewGroup, Outline, Place, Salt, Told};
use crate::store::local::manifest::Closed;
use ledger::Ledger;
use window::Window;

pub(crate) const HEADER_BYTES: u64 = 64;
const MAGIC: &[u8; 8] = b"SAPWJRNL";
const VERSION: u32 = 1;

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A journal segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    pub(crate) path: PathBuf,
    file: Box<dyn DiskFile>,
    salt: Salt,
    /// The length of the file.
    bytes: u64,
    table: RwLock<Table>,
    /// What was last read on or written: who commits reads the newest objects.
    recent: Mutex<Window>,
    /// Whether this handle has written again what it did not see synced.
    vouched: AtomicBool,
}

/// What the groups of a segment say, up to `end`.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) objects: IdMap<Location>,
    /// Where the next group begins.
    pub(crate) end: u64,
    /// The checksum of the last group.
    pub(crate) checksum: Id,
    /// Whether the last group closes the segment.
    pub(crate) closed: bool,
    /// The largest `synced` of any group.
    pub(crate) synced: u64,
    /// The head of the group behind `end`, if it was read and nothing vouches for its contents yet.
    ahead: Option<(Outline, Told)>,
    /// What they tell of refs and operations.
    ledger: Ledger,
}

/// Where an object's content is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) kind: Kind,
    /// How many first parents it has, where its group says it.
    pub(crate) depth: Option<u32>,
    /// The end of its group: a snapshot that ends before does not see it.
    pub(crate) group_end: u64,
}

/// How the zeros of a new segment come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zeros {
    /// They are written, and durable with the first sync of the segment.
    Written,
    /// They are written, and durable at once: it may wait for a while.
    Durable,
    /// The file system is told how many there are.
    Said,
}

/// What stands behind the last whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Zeros.
    Clean,
    /// Nothing that counts: the segment is closed.
    Closed,
    /// Bytes that are not a group.
    Torn,
}

/// What is done with each object of a segment.
pub(crate) type Show<'a> = &'a mut dyn FnMut(&Id, &Location, &[u8]) -> Result<()>;

impl Segment {
    /// Makes a file of zeros, as a segment to be.
    pub(crate) fn allocate(disk: &dyn Disk, path: &Path, bytes: u64, zeros: Zeros) -> Result<()> {
        let file = disk.open(path, OpenMode::CreateNew).map_err(Error::io("create", path))?;
        let mut offset = 0;
        if zeros == Zeros::Said {
            file.set_len(bytes).map_err(Error::io("allocate", path))?;
            offset = bytes;
        }
        while offset < bytes {
            let count = (bytes - offset).min(ZEROS.len() as u64);
            file.write_all_at(&ZEROS[..count as usize], offset)
                .map_err(Error::io("allocate", path))?;
            offset += count;
        }
        match zeros {
            Zeros::Durable => file.sync_data().map_err(Error::io("sync", path)),
            Zeros::Written | Zeros::Said => Ok(()),
        }
    }

    /// Makes an allocated file the segment with this number. Its name is durable after the caller
    /// has synced the directory.
    pub(crate) fn begin(disk: &dyn Disk, path: &Path, sequence: u64) -> Result<Segment> {
        let segment = Segment::begin_unsynced(disk, path, sequence)?;
        segment.sync().map_err(Error::io("sync", path))?;
        Ok(segment)
    }

    /// Makes an allocated file the segment with this number. Neither it nor its name is durable.
    pub(crate) fn begin_unsynced(disk: &dyn Disk, path: &Path, sequence: u64) -> Result<Segment> {
        let file = disk.open(path, OpenMode::Write).map_err(Error::io("open", path))?;
        let mut salt = Salt::default();
        disk.random(&mut salt).map_err(Error::io("draw a salt for", path))?;
        let header = header(sequence, &salt);
        file.write_all_at(&header, 0).map_err(Error::io("write", path))?;
        let bytes = file.len().map_err(Error::io("read", path))?;
        let segment = Segment::assemble(path, file, sequence, salt, bytes);
        segment.vouched.store(true, Ordering::Release);
        Ok(segment)
    }

    /// Opens a segment and checks its header. No group is read yet.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        sequence: u64,
        read_only: bool,
    ) -> Result<Segment> {
        let mode = if read_only { OpenMode::Read } else { OpenMode::Write };
        let file = disk.open(path, mode).map_err(Error::io("open", path))?;
        let mut found = [0; HEADER_BYTES as usize];
        let count = file.read_full_at(&mut found, 0).map_err(Error::io("read", path))?;
        if count < found.len() {
            return Err(Error::corrupt(path, count as u64, "it ends within its header"));
        }
        let salt: Salt = found[24..56].try_into().expect("32 bytes");
        if found != header(sequence, &salt) {
            let version = u32::from_le_bytes(found[8..12].try_into().expect("4 bytes"));
            if found[..8] == *MAGIC && version != VERSION && header_checksum(&found) == found[56..]
            {
                return Err(Error::UnsupportedFormat {
                    path: path.to_owned(),
                    found: format!("journal version {version}"),
                    supported: "version 1",
                });
            }
            return Err(Error::corrupt(path, 0, "its header is not that of this segment"));
        }
        let bytes = file.len().map_err(Error::io("read", path))?;
        Ok(Segment::assemble(path, file, sequence, salt, bytes))
    }

    fn assemble(
        path: &Path,
        file: Box<dyn DiskFile>,
        sequence: u64,
        salt: Salt,
        bytes: u64,
    ) -> Segment {
        let begin = blake3::keyed_hash(&salt, &header(sequence, &salt));
        let table = Table {
            objects: IdMap::default(),
            end: HEADER_BYTES,
            checksum: Id::from_bytes(*begin.as_bytes()),
            closed: false,
            synced: 0,
            ahead: None,
            ledger: Ledger::default(),
        };
        Segment {
            sequence,
            path: path.to_owned(),
            file,
            salt,
            bytes,
            table: RwLock::new(table),
            recent: Mutex::default(),
            vouched: AtomicBool::new(false),
        }
    }

    /// Gives what the groups say, but for refs and operations.
    pub(crate) fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Window> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the objects of all groups that were read, in the order in which they were written.
    pub(crate) fn in_order(&self) -> Vec<(Id, Location)> {
        let mut rows: Vec<_> =
            self.table().objects.iter().map(|(id, place)| (*id, *place)).collect();
        rows.sort_unstable_by_key(|(_, place)| place.offset);
        rows
    }

    /// Gives the place behind the last whole group that was read.
    pub(crate) fn end(&self) -> Position {
        Position { sequence: self.sequence, offset: self.table().end }
    }

    /// Gives the record of this segment as it would be closed where it ends now.
    pub(crate) fn closed_here(&self) -> Closed {
        let table = self.table();
        Closed { bytes: table.end, checksum: table.checksum }
    }

    /// Says whether no group has been read.
    pub(crate) fn is_new(&self) -> bool {
        self.table().end == HEADER_BYTES
    }

    /// Gives the length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives how many bytes of it there are for each object in it.
    pub(crate) fn bytes_each(&self) -> u64 {
        let table = self.table();
        table.end.saturating_sub(HEADER_BYTES) / (table.objects.len() as u64).max(1)
    }

    /// Says whether this handle has written again what it did not see synced.
    pub(crate) fn is_vouched(&self) -> bool {
        self.vouched.load(Ordering::Acquire)
    }

    /// Says whether a group of this length fits, and a closing one behind it.
    pub(crate) fn has_room(&self, group_bytes: u64) -> bool {
        self.bytes.saturating_sub(self.table().end) >= group_bytes.saturating_add(CLOSE_BYTES)
    }

    /// Appends a group with one write. The caller holds the writer lock and has read on to the end.
    pub(crate) fn append(&self, group: &NewGroup<'_>, durable: u64) -> Result<()> {
        let mut table = self.table_mut();
        let place = Place {
            salt: &self.salt,
            previous: table.checksum,
            offset: table.end,
            synced: durable.min(table.end),
        };
        let mut recent = self.recent();
        let (bytes, outline) = group.encode(&place, recent.take_spare());
        self.file.write_all_at(&bytes, place.offset).map_err(Error::io("append to", &self.path))?;
        recent.add(place.offset, &bytes);
        recent.put_spare(bytes);
        // What could not be written whole may have been read ahead.
        table.ahead = None;
        table.add(&outline);
        let end = table.end;
        table.ledger.enter(end, group.moves, group.operation);
        Ok(())
    }

    /// Lets what was written since the journal ended at a place go to the disk ahead of a sync.
    pub(crate) fn begin_sync(&self, before: Position) {
        let from = if before.sequence == self.sequence { before.offset } else { 0 };
        self.file.begin_sync(from, self.table().end.saturating_sub(from));
    }

    /// Makes all that was written durable.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    /// Gives the file, to be made durable with others.
    pub(crate) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Takes the task to prepare the segment after this one, unless another process has it.
    pub(crate) fn claim_successor(&self) -> std::io::Result<Option<Locked<'_>>> {
        Locked::try_new(&*self.file)
    }

    /// Hashes the content of every object, and refuses the first that does not match its id.
    pub(crate) fn check_contents(&self) -> Result<()> {
        self.for_each(&mut |id, location, content| self.check(id, location, content))
    }

    /// Shows every object in the order in which they were written. The contents are unchecked.
    pub(crate) fn for_each(&self, show: Show<'_>) -> Result<()> {
        self.for_each_of(&|_| true, show)
    }

    /// Shows every object of some kinds, as [`Segment::for_each`] does.
    pub(crate) fn for_each_of(
        &self,
        is_wanted: &dyn Fn(Kind) -> bool,
        show: Show<'_>,
    ) -> Result<()> {
        let (mut objects, end) = (self.in_order(), self.table().end);
        objects.retain(|(_, location)| is_wanted(location.kind));
        let mut window = Window::wide();
        for (id, location) in objects {
            let content = window.get(self, location.offset, location.bytes as usize, end)?;
            show(&id, &location, content)?;
        }
        Ok(())
    }

    /// Reads an object's content, checked against its id.
    pub(crate) fn read(&self, id: &Id, location: &Location) -> Result<Vec<u8>> {
        let bytes = location.bytes as usize;
        let held = self.recent().held(location.offset, bytes).map(<[u8]>::to_vec);
        // What was read on while its writer was at it may have come too early.
        if let Some(content) = held.filter(|held| self.check(id, location, held).is_ok()) {
            return Ok(content);
        }
        let mut content = vec![0; bytes];
        let count = self.file.read_full_at(&mut content, location.offset);
        content.truncate(count.map_err(Error::io("read", &self.path))?);
        self.check(id, location, &content)?;
        Ok(content)
    }

    /// Compares an object's content with its id.
    pub(crate) fn check(&self, id: &Id, location: &Location, content: &[u8]) -> Result<()> {
        if content.len() < location.bytes as usize || Id::of(location.kind, content) != *id {
            let why = format!("object {id} does not match its id");
            return Err(Error::corrupt(&self.path, location.offset, why));
        }
        Ok(())
    }
}

impl Table {
    fn add(&mut self, head: &Outline) {
        let begin = self.end;
        self.end += head.length;
        for row in &head.objects {
            self.objects.entry(row.id).or_insert(Location {
                offset: begin + row.start,
                bytes: row.bytes,
                kind: row.kind,
                depth: row.depth,
                group_end: self.end,
            });
        }
        self.checksum = head.checksum;
        self.closed = head.close;
        self.synced = self.synced.max(head.synced);
    }

    fn note(&mut self, (head, told): (Outline, Told)) {
        self.add(&head);
        self.ledger.note(self.end, told);
    }
}

pub(crate) fn header(sequence: u64, salt: &Salt) -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&sequence.to_le_bytes());
    header[24..56].copy_from_slice(salt);
    let checksum = header_checksum(&header);
    header[56..].copy_from_slice(&checksum);
    header
}

fn header_checksum(header: &[u8; HEADER_BYTES as usize]) -> [u8; 8] {
    blake3::hash(&header[..56]).as_bytes()[..8].try_into().expect("8 of 32 bytes")
}
