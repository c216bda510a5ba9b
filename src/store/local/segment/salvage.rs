//! Reading what is left of a segment that is damaged.
//!
//! Groups are followed from one to the next. Behind damage, the next one is looked for at every
//! multiple of the alignment: its checksum is keyed with the segment's salt, so what matches it was
//! written as a group of this segment. A head with one wrong bit is mended. Of a group whose head
//! is damaged more, those objects are left whose contents hash to their ids.
//!
//! What was never durable is no damage: at a torn tail the segment ends, as it does for a reader.
//!
//! Nothing is changed here.

use std::path::Path;

use super::{HEADER_BYTES, MAGIC, VERSION, header, header_checksum};
use crate::disk::{Disk, Mapping};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::group::{
    ALIGNMENT, Head, PREFIX_BYTES, Prefix, Salt, mended, rows_of_damaged,
};
use crate::store::local::manifest::Closed;
use crate::store::local::paged::map_whole;
use crate::store::{Operation, RefMove};

/// What is left of a segment.
#[derive(Debug)]
pub(crate) struct Remains {
    pub(crate) sequence: u64,
    pub(crate) groups: Vec<FoundGroup>,
    /// What is wrong with it; nothing, if it is whole.
    pub(crate) damage: Vec<Error>,
    bytes: Mapping,
}

/// A group, or what is left of one.
#[derive(Debug)]
pub(crate) struct FoundGroup {
    pub(crate) objects: Vec<FoundObject>,
    pub(crate) moves: Vec<RefMove>,
    pub(crate) operation: Option<Operation>,
    /// Whether its head is what was written.
    pub(crate) is_sound: bool,
}

/// An object of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundObject {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    /// Whether its content is what was written.
    pub(crate) is_whole: bool,
    start: u64,
    bytes: u32,
}

/// What is known of a segment from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// Where the manifest says that it ends.
    pub(crate) closed: Option<&'a Closed>,
    /// How much of it the mark vouches for.
    pub(crate) marked: u64,
}

impl Remains {
    /// Gives an object's content.
    pub(crate) fn content(&self, object: &FoundObject) -> &[u8] {
        &self.bytes[object.start as usize..][..object.bytes as usize]
    }
}

/// Reads what is left of the segment in a file, which by its name has this sequence.
pub(crate) fn salvage(
    disk: &dyn Disk,
    path: &Path,
    sequence: u64,
    known: Known<'_>,
) -> Result<Remains> {
    let bytes = map_whole(disk, path, None)?;
    let mut remains = Remains { sequence, groups: Vec::new(), damage: Vec::new(), bytes };
    let bytes = &remains.bytes;
    let Some(begin) = bytes.first_chunk::<{ HEADER_BYTES as usize }>() else {
        let why = "it ends within its header";
        remains.damage.push(Error::corrupt(path, bytes.len() as u64, why));
        return Ok(remains);
    };
    let salt: Salt = begin[24..56].try_into().expect("32 bytes");
    if header_checksum(begin) == begin[56..] && begin.starts_with(MAGIC) {
        let version = u32::from_le_bytes(begin[8..12].try_into().expect("4 bytes"));
        if version != VERSION {
            return Err(Error::UnsupportedFormat {
                path: path.to_owned(),
                found: format!("journal version {version}"),
                supported: "version 1",
            });
        }
        remains.sequence = u64::from_le_bytes(begin[16..24].try_into().expect("8 bytes"));
    }
    if *begin != header(sequence, &salt) {
        let why = "its header is not that of this segment";
        remains.damage.push(Error::corrupt(path, 0, why));
    }
    // What is known is not of this one, if it says that it is another.
    let known = if remains.sequence == sequence { known } else { Known::default() };
    let mut walk = Walk {
        path,
        bytes,
        limit: known.closed.map_or(u64::MAX, |closed| closed.bytes).min(bytes.len() as u64),
        salt: &salt,
        is_salted: true,
        groups: Vec::new(),
        damage: Vec::new(),
    };
    walk.is_salted = walk.next_head(HEADER_BYTES).is_some() || remains.damage.is_empty();
    let first = blake3::keyed_hash(&salt, &header(remains.sequence, &salt));
    walk.run(known, Id::from_bytes(*first.as_bytes()));
    let Walk { groups, damage, .. } = walk;
    remains.groups = groups;
    remains.damage.extend(damage);
    Ok(remains)
}

/// A segment that is read from its begin to its end.
struct Walk<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    limit: u64,
    salt: &'a Salt,
    /// Whether the salt is what was drawn.
    is_salted: bool,
    groups: Vec<FoundGroup>,
    damage: Vec<Error>,
}

impl Walk<'_> {
    fn run(&mut self, known: Known<'_>, mut previous: Id) {
        let mut offset = HEADER_BYTES;
        let mut claim = None;
        loop {
            let intact = self.head_at(offset);
            let is_intact = intact.is_some();
            let head = intact.or_else(|| self.mended_at(offset));
            let follows = head.as_ref().is_some_and(|head| head.previous == previous);
            let whole = head.as_ref().is_some_and(|found| self.is_whole(offset, &found.head));
            if !(whole && is_intact && (follows || !self.is_salted)) {
                if self.is_blank(offset) && known.closed.is_none() && known.marked <= offset {
                    break;
                }
                let claim = *claim.get_or_insert_with(|| self.claim(offset, known));
                if claim <= offset {
                    break;
                }
                let why = "no whole group, but there was one once";
                self.damage.push(Error::corrupt(self.path, offset, why));
            }
            match head {
                Some(Found { head, .. }) => {
                    (offset, previous) = (offset + head.outline.length, head.outline.checksum);
                    let close = head.outline.close;
                    self.keep(offset - head.outline.length, head);
                    if close {
                        break;
                    }
                }
                None => {
                    let next = self.next_head(offset + ALIGNMENT);
                    let end = next.as_ref().map_or(self.limit, |(at, _)| *at);
                    self.keep_fragments(offset, end);
                    match next {
                        Some((at, before)) => (offset, previous) = (at, before),
                        None => break,
                    }
                }
            }
        }
        if let Some(closed) = known.closed
            && (offset, previous) != (closed.bytes, closed.checksum)
            && self.damage.is_empty()
        {
            let why = "it was closed elsewhere, or with another checksum";
            self.damage.push(Error::corrupt(self.path, offset, why));
            // It is whole and not the one that was closed: perhaps another store's.
            self.groups.iter_mut().for_each(|group| group.is_sound = false);
        }
    }

    /// Reads the head of the group at an offset; where the salt is lost, as it is.
    fn head_at(&self, offset: u64) -> Option<Found> {
        let bytes = self.bytes.get(offset as usize..self.limit as usize)?;
        let prefix = Prefix::read(bytes, offset, self.limit)?;
        let head = match self.is_salted {
            true => prefix.head(bytes, self.salt),
            false => prefix.head_unchecked(bytes),
        };
        Some(Found { head: head?, previous: prefix.previous })
    }

    /// Reads the head of the group at an offset with one wrong bit, or that is cut off behind.
    fn mended_at(&self, offset: u64) -> Option<Found> {
        let bytes = self.bytes.get(offset as usize..self.limit as usize)?;
        let (head, previous) = mended(bytes, offset, self.salt).filter(|_| self.is_salted)?;
        Some(Found { head, previous })
    }

    /// Finds the next group, and gives where it is and the checksum that it follows.
    fn next_head(&self, from: u64) -> Option<(u64, Id)> {
        let offsets = (from..self.limit).step_by(ALIGNMENT as usize);
        let mut heads = offsets.filter_map(|at| Some((at, self.head_at(at)?.previous)));
        heads.next()
    }

    /// Gives how much of the segment was durable once, as far as can be told.
    fn claim(&self, end: u64, known: Known<'_>) -> u64 {
        if let Some(closed) = known.closed {
            return closed.bytes;
        }
        let offsets = (end..self.limit).step_by(ALIGNMENT as usize);
        let synced = offsets.filter_map(|at| Some(self.head_at(at)?.head.outline.synced));
        synced.max().unwrap_or(0).max(known.marked)
    }

    fn is_blank(&self, offset: u64) -> bool {
        let rest = self.bytes.get(offset as usize..self.limit as usize).unwrap_or_default();
        rest[..rest.len().min(PREFIX_BYTES)].iter().all(|byte| *byte == 0)
            && self.claim(offset, Known::default()) <= offset
    }

    fn is_whole(&self, offset: u64, head: &Head) -> bool {
        let end = (offset + head.outline.length).min(self.bytes.len() as u64);
        head.outline.contents_match(&self.bytes[offset as usize..end as usize])
    }

    fn keep(&mut self, offset: u64, head: Head) {
        let objects = head.outline.objects.iter().map(|row| {
            let start = offset + row.start;
            let content = self.bytes.get(start as usize..(start + u64::from(row.bytes)) as usize);
            let right = content.is_some_and(|content| Id::of(row.kind, content) == row.id);
            let (id, kind, bytes) = (row.id, row.kind, row.bytes);
            FoundObject { id, kind, is_whole: right, start, bytes }
        });
        self.groups.push(FoundGroup {
            objects: objects.collect(),
            moves: head.moves,
            operation: head.operation,
            is_sound: self.is_salted,
        });
    }

    /// Keeps the objects that are left of damaged groups.
    fn keep_fragments(&mut self, mut from: u64, end: u64) {
        while from < end {
            let bytes = &self.bytes[from as usize..end as usize];
            // A length that is still there parts one damaged group from the next.
            let said = Prefix::read(bytes, from, self.limit).map(|prefix| prefix.length);
            let length = said.filter(|length| (1..end - from).contains(length));
            let length = length.unwrap_or(end - from);
            let rows = rows_of_damaged(&bytes[..length as usize]).into_iter();
            let objects = rows.map(|row| FoundObject {
                id: row.id,
                kind: row.kind,
                is_whole: true,
                start: from + row.start,
                bytes: row.bytes,
            });
            let prefix = Prefix::read(bytes, from, self.limit);
            let head = prefix.and_then(|prefix| prefix.head_unchecked(bytes));
            let (moves, operation) =
                head.map_or((Vec::new(), None), |head| (head.moves, head.operation));
            self.groups.push(FoundGroup {
                objects: objects.collect(),
                moves,
                operation,
                is_sound: false,
            });
            from += length;
        }
    }
}

/// The head of a group, and the checksum that it follows.
struct Found {
    head: Head,
    previous: Id,
}
