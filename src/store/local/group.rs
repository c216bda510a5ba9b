//! One transaction as it stands in the journal: a group.
//!
//! ```text
//!   0  magic      4   "SWGR"
//!   4  flags      4   1: this group closes the segment; 2: it has an operation
//!   8  offset     8   where in the segment it begins
//!  16  synced     8   how much of the segment was durable when it was written
//!  24  length     8   of the whole group, a multiple of 8
//!  32  head       4   bytes up to the objects, checksum included
//!  36  objects    4
//!  40  moves      4
//!  44  zero       4
//!  48  previous  32   the checksum of the group before
//!  80  for each object: id 32, content bytes 4, kind 1, depth and one 3 (0: not said)
//!      for each ref move: name, value before, value after
//!      the operation: time 8, actor, command
//!      checksum  32   keyed BLAKE3 with the segment's salt over all of the above
//!      the contents of the objects, then zeros up to a multiple of 8
//! ```
//!
//! Invariants:
//! - The checksum covers the ids and an id covers its content, so a group whose checksum matches
//!   and whose contents hash to their ids is whole. A reader that knows the group to be durable
//!   need not hash the contents again.
//! - The salt is random and known to no content, so content cannot forge a group; the offset and
//!   the previous checksum are inside, so a group cannot be moved or come back after another.
//! - A depth that is said is right. It saves who asks for it reading all parents in the journal.
//! - A group can be recognised alone, without the one before it: recovery looks for survivors.

mod damaged;
mod parts;
mod told;

use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::{Operation, RefMove, RefValue};

pub(crate) use damaged::{mended, rows_of_damaged};
pub(crate) use parts::{
    Input, RecentNames, read_move, read_operation, write_move, write_operation,
};
pub(crate) use told::Told;

/// Groups begin at multiples of this.
pub(crate) const ALIGNMENT: u64 = 8;
/// The bytes before the object table.
pub(crate) const PREFIX_BYTES: usize = 80;
const CHECKSUM_BYTES: usize = 32;
const OBJECT_ROW_BYTES: usize = 40;
/// Depths from this on are not said: a row has three bytes for them.
const DEPTH_END: u64 = (1 << 24) - 1;
const MAGIC: &[u8; 4] = b"SWGR";
const FLAG_CLOSE: u32 = 1;
const FLAG_OPERATION: u32 = 2;

/// The length of a group that only closes its segment.
pub(crate) const CLOSE_BYTES: u64 = (PREFIX_BYTES + CHECKSUM_BYTES) as u64;

/// The key and chain of a segment: what its groups are checked with.
pub(crate) type Salt = [u8; 32];

/// A group to be written.
#[derive(Debug)]
pub(crate) struct NewGroup<'a> {
    pub(crate) objects: &'a [NewObject],
    /// Their depths, as far as they are known.
    pub(crate) depths: &'a [Option<u64>],
    pub(crate) moves: &'a [RefMove],
    pub(crate) operation: Option<&'a Operation>,
    pub(crate) close: bool,
}

/// Where a group is written, and what it follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) salt: &'a Salt,
    pub(crate) previous: Id,
    pub(crate) offset: u64,
    pub(crate) synced: u64,
}

/// The fixed part of a group, unchecked but for its bounds.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    flags: u32,
    pub(crate) synced: u64,
    pub(crate) length: u64,
    pub(crate) head_bytes: usize,
    objects: usize,
    moves: usize,
    pub(crate) previous: Id,
}

/// The head of a group, checked against its checksum.
#[derive(Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) outline: Outline,
    pub(crate) moves: Vec<RefMove>,
    pub(crate) operation: Option<Operation>,
}

/// What a head says of all but refs and operations.
#[derive(Debug, PartialEq)]
pub(crate) struct Outline {
    pub(crate) objects: Vec<ObjectRow>,
    pub(crate) close: bool,
    pub(crate) checksum: Id,
    pub(crate) length: u64,
    pub(crate) synced: u64,
}

/// An object of a group and where its content is, counted from the group's begin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectRow {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) depth: Option<u32>,
}

impl NewGroup<'_> {
    /// Makes the group that only closes its segment.
    pub(crate) fn closing() -> NewGroup<'static> {
        NewGroup { objects: &[], depths: &[], moves: &[], operation: None, close: true }
    }

    /// Gives the group's bytes, in memory that is empty, and its outline as a reader would find it.
    pub(crate) fn encode(&self, place: &Place<'_>, mut out: Vec<u8>) -> (Vec<u8>, Outline) {
        let contents: usize = self.objects.iter().map(|object| object.content.len()).sum();
        out.reserve(512 + self.objects.len() * OBJECT_ROW_BYTES + contents);
        out.resize(PREFIX_BYTES, 0);
        let mut objects = Vec::with_capacity(self.objects.len());
        let depths = self.depths.iter().copied().chain(std::iter::repeat(None));
        for (object, depth) in self.objects.iter().zip(depths) {
            let bytes = u32::try_from(object.content.len()).expect("large objects are loose files");
            out.extend_from_slice(object.id.as_bytes());
            out.extend_from_slice(&bytes.to_le_bytes());
            let depth = depth.filter(|depth| *depth < DEPTH_END).map(|depth| depth as u32);
            let said = depth.map_or(0, |depth| depth + 1);
            out.extend_from_slice(&(said << 8 | object.kind as u32).to_le_bytes());
            objects.push(ObjectRow { id: object.id, kind: object.kind, start: 0, bytes, depth });
        }
        for ref_move in self.moves {
            write_move(&mut out, ref_move);
        }
        if let Some(operation) = self.operation {
            write_operation(&mut out, operation);
        }
        let head_bytes = out.len() + CHECKSUM_BYTES;
        let length = (head_bytes + contents).next_multiple_of(ALIGNMENT as usize);
        self.fill_prefix(&mut out, place, head_bytes, length);
        let checksum = Id::from_bytes(*blake3::keyed_hash(place.salt, &out).as_bytes());
        out.extend_from_slice(checksum.as_bytes());
        for (object, row) in self.objects.iter().zip(&mut objects) {
            row.start = out.len() as u64;
            out.extend_from_slice(&object.content);
        }
        out.resize(length, 0);
        let outline = Outline {
            objects,
            close: self.close,
            checksum,
            length: length as u64,
            synced: place.synced,
        };
        (out, outline)
    }

    /// Gives a length that the group does not exceed.
    pub(crate) fn bytes_max(&self) -> u64 {
        let objects = self.objects.iter().map(|object| OBJECT_ROW_BYTES + object.content.len());
        let value = |value: &Option<RefValue>| match value {
            None => 1,
            Some(RefValue::Id(_)) => 1 + Id::BYTES,
            Some(RefValue::Symbolic(name)) => 1 + 4 + name.as_str().len(),
        };
        let one =
            |item: &RefMove| 4 + item.name.as_str().len() + value(&item.old) + value(&item.new);
        let moves = self.moves.iter().map(one);
        let operation = self.operation.map_or(0, |item| item.actor.len() + item.command.len() + 16);
        let variable = objects.sum::<usize>() + moves.sum::<usize>() + operation;
        CLOSE_BYTES + variable as u64 + ALIGNMENT
    }

    fn fill_prefix(&self, out: &mut [u8], place: &Place<'_>, head_bytes: usize, length: usize) {
        let mut flags = 0;
        if self.close {
            flags |= FLAG_CLOSE;
        }
        if self.operation.is_some() {
            flags |= FLAG_OPERATION;
        }
        let count = |number: usize| u32::try_from(number).expect("bounded by the transaction");
        out[..4].copy_from_slice(MAGIC);
        out[4..8].copy_from_slice(&flags.to_le_bytes());
        out[8..16].copy_from_slice(&place.offset.to_le_bytes());
        out[16..24].copy_from_slice(&place.synced.to_le_bytes());
        out[24..32].copy_from_slice(&(length as u64).to_le_bytes());
        out[32..36].copy_from_slice(&count(head_bytes).to_le_bytes());
        out[36..40].copy_from_slice(&count(self.objects.len()).to_le_bytes());
        out[40..44].copy_from_slice(&count(self.moves.len()).to_le_bytes());
        out[48..80].copy_from_slice(place.previous.as_bytes());
    }
}

impl Prefix {
    /// Reads the fixed part of the group at `offset`; `None` if there can be no group.
    pub(crate) fn read(bytes: &[u8], offset: u64, segment_bytes: u64) -> Option<Prefix> {
        let bytes = bytes.get(..PREFIX_BYTES)?;
        let mut input = Input(bytes.get(4..)?);
        if &bytes[..4] != MAGIC {
            return None;
        }
        let flags = input.u32()?;
        let found_offset = input.u64()?;
        let synced = input.u64()?;
        let length = input.u64()?;
        let head_bytes = input.u32()? as usize;
        let objects = input.u32()? as usize;
        let moves = input.u32()? as usize;
        let zero = input.u32()?;
        let previous = input.id()?;
        let rows = objects.checked_mul(OBJECT_ROW_BYTES)?;
        let sound = found_offset == offset
            && zero == 0
            && flags & !(FLAG_CLOSE | FLAG_OPERATION) == 0
            && length.is_multiple_of(ALIGNMENT)
            && length <= segment_bytes.checked_sub(offset)?
            && head_bytes as u64 <= length
            && PREFIX_BYTES.checked_add(rows)?.checked_add(CHECKSUM_BYTES)? <= head_bytes;
        sound.then_some(Prefix { flags, synced, length, head_bytes, objects, moves, previous })
    }

    /// Reads the head from its bytes; `None` if they are not what was written.
    pub(crate) fn head(&self, bytes: &[u8], salt: &Salt) -> Option<Head> {
        self.outline(bytes, salt).map(Head::of)
    }

    /// Reads the head from its bytes, and leaves what it tells of refs and operations as it is;
    /// `None` if they are not what was written.
    pub(crate) fn outline(&self, bytes: &[u8], salt: &Salt) -> Option<(Outline, Told)> {
        let (covered, checksum) =
            bytes.get(..self.head_bytes)?.split_last_chunk::<CHECKSUM_BYTES>()?;
        if blake3::keyed_hash(salt, covered).as_bytes() != checksum {
            return None;
        }
        self.read_outline(bytes)
    }

    /// Reads the head from bytes that nothing vouches for, where the salt is lost.
    pub(crate) fn head_unchecked(&self, bytes: &[u8]) -> Option<Head> {
        self.read_outline(bytes).map(Head::of)
    }

    fn read_outline(&self, bytes: &[u8]) -> Option<(Outline, Told)> {
        let (covered, checksum) =
            bytes.get(..self.head_bytes)?.split_last_chunk::<CHECKSUM_BYTES>()?;
        let mut input = Input(covered.get(PREFIX_BYTES..)?);
        let mut objects = Vec::with_capacity(self.objects.min(covered.len() / OBJECT_ROW_BYTES));
        let mut start = self.head_bytes as u64;
        for _ in 0..self.objects {
            let row = ObjectRow { start, ..read_row(&mut input)? };
            start = start.checked_add(u64::from(row.bytes))?;
            objects.push(row);
        }
        if start > self.length {
            return None;
        }
        let told = Told::read(input, self.moves, self.flags & FLAG_OPERATION != 0)?;
        let close = self.flags & FLAG_CLOSE != 0;
        let checksum = Id::from_slice(checksum)?;
        let (length, synced) = (self.length, self.synced);
        Some((Outline { objects, close, checksum, length, synced }, told))
    }
}

fn read_row(input: &mut Input<'_>) -> Option<ObjectRow> {
    let id = input.id()?;
    let bytes = input.u32()?;
    let kind_and_depth = input.u32()?;
    let kind = Kind::from_code(kind_and_depth as u8)?;
    Some(ObjectRow { id, kind, start: 0, bytes, depth: (kind_and_depth >> 8).checked_sub(1) })
}

impl Head {
    fn of((outline, told): (Outline, Told)) -> Head {
        let (moves, operation) = told.parse(&mut RecentNames::default());
        Head { outline, moves, operation }
    }
}

impl Outline {
    /// Says whether every object's content hashes to its id, given the whole group.
    pub(crate) fn contents_match(&self, group: &[u8]) -> bool {
        self.objects.iter().all(|row| {
            let start = row.start as usize;
            group
                .get(start..start + row.bytes as usize)
                .is_some_and(|content| Id::of(row.kind, content) == row.id)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RefName;

    pub(super) const SALT: Salt = [7; 32];

    pub(super) fn example() -> (Vec<u8>, Head) {
        let content = std::sync::Arc::new(b"hello".to_vec());
        let id = Id::of(Kind::Blob, &content);
        let objects = [NewObject { id, kind: Kind::Blob, content, parent: None, links: vec![] }];
        let moves = [RefMove {
            name: RefName::head(),
            old: None,
            new: Some(RefValue::Symbolic(RefName::new("sessions/s/HEAD").unwrap())),
        }];
        let operation = Operation { time: -5, actor: "ann".to_owned(), command: "new".to_owned() };
        let group = NewGroup {
            objects: &objects,
            depths: &[Some(4)],
            moves: &moves,
            operation: Some(&operation),
            close: false,
        };
        let previous = Id::from_bytes([1; 32]);
        let place = Place { salt: &SALT, previous, offset: 64, synced: 64 };
        let (bytes, outline) = group.encode(&place, Vec::new());
        (bytes, Head { outline, moves: moves.to_vec(), operation: Some(operation) })
    }

    fn whole(bytes: &[u8], offset: u64) -> Option<Head> {
        let prefix = Prefix::read(bytes, offset, offset + bytes.len() as u64)?;
        let head = prefix.head(bytes, &SALT)?;
        head.outline.contents_match(bytes).then_some(head)
    }

    #[test]
    fn a_group_reads_back() {
        let (bytes, head) = example();
        assert_eq!(whole(&bytes, 64).unwrap(), head);
        assert_eq!(head.moves[0].name, RefName::head());
        assert_eq!(head.operation.unwrap().actor, "ann");
        assert_eq!(head.outline.objects[0].depth, Some(4));
    }

    #[test]
    fn every_flipped_byte_but_the_padding_is_noticed() {
        let (bytes, _) = example();
        let used = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count();
        for place in 0..used {
            let mut bad = bytes.clone();
            bad[place] ^= 0x40;
            assert!(whole(&bad, 64).is_none(), "{place}");
        }
    }

    #[test]
    fn a_group_elsewhere_or_cut_short_is_none() {
        let (bytes, _) = example();
        assert!(whole(&bytes, 72).is_none());
        for length in 0..bytes.len() - 8 {
            assert!(whole(&bytes[..length], 64).is_none(), "{length}");
        }
    }

    #[test]
    fn a_closing_group_has_the_length_that_is_kept_free_for_it() {
        let group = NewGroup::closing();
        let place = Place { salt: &SALT, previous: Id::from_bytes([1; 32]), offset: 64, synced: 0 };
        assert_eq!(group.encode(&place, Vec::new()).0.len() as u64, CLOSE_BYTES);
    }
}
