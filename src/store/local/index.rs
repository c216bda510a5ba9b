//! The index of a pack: which objects it has, and where.
//!
//! A paged file. Its payload is a header, a fan-out by the first byte of an id, the ids in order,
//! the position of each, and a table of the pack's blocks. A row is an id's place in the order.
//!
//! Invariants: ids are full and strictly ascending, so "I have it already" is never said of a part
//! of an id; a lookup touches the fan-out and a few pages of ids, whatever the size of the pack.
//!
//! The table of blocks repeats the begin of each block's checksum. So an index whose pages are
//! sound says which bytes an id stands for, and a walk need not hash every object again.
//!
//! Opening one compares its length with what the manifest says. The header is read and compared
//! when something is first asked: a store has many packs, and most are asked nothing.
//!
//! Not here: the objects. A position is a claim that whoever reads the object checks.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pack::PackInfo;
use super::paged::{Magic, PAGE_BYTES, Paged, u32_at, u64_at};
use crate::disk::Disk;
use crate::error::Result;
use crate::id::{Id, Kind, Prefix};

/// The footer's magic.
pub(crate) const INDEX_MAGIC: &Magic = b"SAPWPIDX";
/// The version that is written and read.
pub(crate) const INDEX_VERSION: u32 = 1;

/// The most objects of one pack: a row fits 31 bits, the graph uses the last one.
pub(crate) const PACK_OBJECTS_MAX: usize = (1 << 31) - 2;

/// The header: the pack's id, how many objects and blocks it has, how long it is, and zeros.
const HEADER_BYTES: u64 = 64;
const FANOUT_BYTES: u64 = 256 * 4;
/// A multiple of 32, so that no id lies across two pages.
const IDS_AT: u64 = HEADER_BYTES + FANOUT_BYTES;
const POSITION_BYTES: u64 = 8;
const BLOCK_ROW_BYTES: u64 = 16 + BLOCK_CHECKSUM_BYTES as u64;
/// How many bytes of a block's checksum the index repeats.
pub(crate) const BLOCK_CHECKSUM_BYTES: usize = 8;

const OFFSET_BITS: u32 = 28;

/// How often a lookup guesses by the value of an id before it halves.
const GUESSES_MAX: u32 = 4;

/// Where an object is in its pack, and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The block's number.
    pub(crate) block: u32,
    /// The kind.
    pub(crate) kind: Kind,
    /// Where its header begins in the block's raw content.
    pub(crate) offset: u32,
}

/// Where a block is in its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    /// Where its header begins in the pack.
    pub(crate) offset: u64,
    /// How long its zstd frame is.
    pub(crate) compressed_bytes: u32,
    /// How long its raw content is.
    pub(crate) raw_bytes: u32,
    /// How its checksum begins.
    pub(crate) checksum: [u8; BLOCK_CHECKSUM_BYTES],
}

/// An open index.
#[derive(Debug)]
pub(crate) struct Index {
    paged: Paged,
    pack_id: Id,
    pack_bytes: u64,
    objects: u32,
    blocks: u32,
    /// Whether the header says the same as the fields above.
    is_header_checked: AtomicBool,
}

impl Index {
    /// Opens the index of a pack that has so many objects; its header is compared on first use.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, info: &PackInfo) -> Result<Index> {
        let bytes = Some(info.index_bytes);
        let paged = Paged::open(disk, path, bytes, INDEX_MAGIC, INDEX_VERSION)?;
        Index::new(paged, &info.id, info.pack_bytes, info.objects)
    }

    /// Opens the index of a pack, and believes its header how many objects there are.
    pub(crate) fn open_alone(
        disk: &dyn Disk,
        path: &Path,
        bytes: u64,
        pack_id: &Id,
        pack_bytes: u64,
    ) -> Result<Index> {
        let paged = Paged::open(disk, path, Some(bytes), INDEX_MAGIC, INDEX_VERSION)?;
        Index::alone(paged, pack_id, pack_bytes)
    }

    /// Takes a payload that was made in memory.
    pub(crate) fn from_memory(
        path: &Path,
        payload: Vec<u8>,
        pack_id: &Id,
        pack_bytes: u64,
    ) -> Result<Index> {
        Index::alone(Paged::from_memory(path, payload), pack_id, pack_bytes)
    }

    fn alone(paged: Paged, pack_id: &Id, pack_bytes: u64) -> Result<Index> {
        let objects = u32_at(paged.bytes(0, HEADER_BYTES as usize)?, 32);
        let index = Index::new(paged, pack_id, pack_bytes, objects.into())?;
        index.check_header()?;
        Ok(index)
    }

    fn new(paged: Paged, pack_id: &Id, pack_bytes: u64, objects: u64) -> Result<Index> {
        let rows_bytes = objects.checked_mul(Id::BYTES as u64 + POSITION_BYTES);
        let blocks_at = rows_bytes.and_then(|rows| rows.checked_add(IDS_AT));
        let blocks_bytes = blocks_at.and_then(|at| paged.len().checked_sub(at));
        let blocks_bytes = blocks_bytes.filter(|bytes| bytes % BLOCK_ROW_BYTES == 0);
        let blocks = blocks_bytes.and_then(|bytes| u32::try_from(bytes / BLOCK_ROW_BYTES).ok());
        let (Some(blocks), Ok(objects)) = (blocks, u32::try_from(objects)) else {
            return Err(paged.corrupt(32, "it is not as long as its counts say"));
        };
        let is_header_checked = AtomicBool::new(false);
        Ok(Index { paged, pack_id: *pack_id, pack_bytes, objects, blocks, is_header_checked })
    }

    /// Compares the header with what is known of the pack.
    #[cold]
    pub(crate) fn check_header(&self) -> Result<()> {
        let header = self.paged.bytes(0, HEADER_BYTES as usize)?;
        let (objects, blocks) = (u32_at(header, 32), u32_at(header, 36));
        if header[..32] != self.pack_id.as_bytes()[..] || u64_at(header, 40) != self.pack_bytes {
            return Err(self.paged.corrupt(0, "it is the index of another pack"));
        }
        if objects != self.objects {
            let why = format!("it has {objects} objects, expected {}", self.objects);
            return Err(self.paged.corrupt(32, why));
        }
        if blocks != self.blocks {
            return Err(self.paged.corrupt(32, "it is not as long as its counts say"));
        }
        self.is_header_checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Gives a part of the payload, of an index that is that of its pack.
    #[inline]
    fn bytes(&self, offset: u64, len: usize) -> Result<&[u8]> {
        if !self.is_header_checked.load(Ordering::Relaxed) {
            self.check_header()?;
        }
        self.paged.bytes(offset, len)
    }

    fn u32(&self, offset: u64) -> Result<u32> {
        Ok(u32_at(self.bytes(offset, 4)?, 0))
    }

    /// Gives the number of objects.
    pub(crate) fn len(&self) -> u32 {
        self.objects
    }

    /// Gives the number of blocks.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Gives the file's path.
    pub(crate) fn path(&self) -> &Path {
        self.paged.path()
    }

    /// Finds the row of an id.
    pub(crate) fn find(&self, id: &Id) -> Result<Option<u32>> {
        let row = self.first_at_or_after(id)?;
        Ok((row < self.objects && self.id(row)? == *id).then_some(row))
    }

    /// Gives the id of a row.
    #[inline]
    pub(crate) fn id(&self, row: u32) -> Result<Id> {
        if row >= self.objects {
            return Err(self.paged.corrupt(self.id_at(row), "no such row"));
        }
        let bytes = self.bytes(self.id_at(row), Id::BYTES)?;
        Ok(Id::from_slice(bytes).expect("an id's bytes"))
    }

    /// Gives the position of a row.
    pub(crate) fn position(&self, row: u32) -> Result<Position> {
        let at = self.id_at(self.objects) + u64::from(row) * POSITION_BYTES;
        if row >= self.objects {
            return Err(self.paged.corrupt(at, "no such row"));
        }
        self.position_of(self.bytes(at, POSITION_BYTES as usize)?, at)
    }

    /// Gives the positions of all rows.
    pub(crate) fn positions(&self) -> Result<impl Iterator<Item = Result<Position>>> {
        let at = self.id_at(self.objects);
        let bytes = self.bytes(at, self.objects as usize * POSITION_BYTES as usize)?;
        let rows = bytes.chunks_exact(POSITION_BYTES as usize);
        Ok((at..)
            .step_by(POSITION_BYTES as usize)
            .zip(rows)
            .map(|(at, row)| self.position_of(row, at)))
    }

    #[inline]
    fn position_of(&self, row: &[u8], at: u64) -> Result<Position> {
        let (block, place) = (u32_at(row, 0), u32_at(row, 4));
        let kind = Kind::from_code((place >> OFFSET_BITS) as u8)
            .ok_or_else(|| self.paged.corrupt(at, "an object of no known kind"))?;
        Ok(Position { block, kind, offset: place & ((1 << OFFSET_BITS) - 1) })
    }

    /// Gives the place of a block.
    pub(crate) fn block(&self, block: u32) -> Result<BlockPlace> {
        let table_at = self.id_at(self.objects) + u64::from(self.objects) * POSITION_BYTES;
        let at = table_at + u64::from(block) * BLOCK_ROW_BYTES;
        let bytes = self.bytes(at, BLOCK_ROW_BYTES as usize)?;
        Ok(BlockPlace {
            offset: u64_at(bytes, 0),
            compressed_bytes: u32_at(bytes, 8),
            raw_bytes: u32_at(bytes, 12),
            checksum: bytes[16..].try_into().expect("the rest of a row"),
        })
    }

    /// Adds up to `limit` ids that begin with a prefix, in order.
    pub(crate) fn prefix(&self, prefix: &Prefix, limit: usize, ids: &mut Vec<Id>) -> Result<()> {
        let first = self.first_at_or_after(prefix.low())?;
        for row in (first..self.objects).take(limit) {
            let id = self.id(row)?;
            if !prefix.matches(&id) {
                break;
            }
            ids.push(id);
        }
        Ok(())
    }

    /// Gives the memory back that the file takes.
    pub(crate) fn release(&self) {
        self.paged.release();
    }

    /// Checks every page, the fan-out and the order of the ids.
    pub(crate) fn check(&self) -> Result<()> {
        self.paged.check()?;
        self.check_header()?;
        let mut first_of_byte = [0u32; 257];
        let mut last: Option<Id> = None;
        for row in 0..self.objects {
            let id = self.id(row)?;
            if last.is_some_and(|last| last >= id) {
                return Err(self.paged.corrupt(self.id_at(row), "its ids are not in order"));
            }
            first_of_byte[usize::from(id.as_bytes()[0]) + 1] = row + 1;
            last = Some(id);
        }
        for byte in 0..256 {
            first_of_byte[byte + 1] = first_of_byte[byte + 1].max(first_of_byte[byte]);
            let at = HEADER_BYTES + 4 * byte as u64;
            if self.u32(at)? != first_of_byte[byte + 1] {
                return Err(self.paged.corrupt(at, "its fan-out does not match its ids"));
            }
        }
        Ok(())
    }

    fn id_at(&self, row: u32) -> u64 {
        IDS_AT + u64::from(row) * Id::BYTES as u64
    }

    /// Finds the first row whose id is not below `id`; the number of rows if there is none.
    ///
    /// Ids are hashes, so their values say about where they are: a guess or two ends the search.
    /// Where they do not (anyone can choose ids to some degree), halving takes over.
    fn first_at_or_after(&self, id: &Id) -> Result<u32> {
        let byte = u64::from(id.as_bytes()[0]);
        let fanout_at = HEADER_BYTES + 4 * byte;
        let bounds = self.bytes(fanout_at - 4, 8)?;
        let mut low = if byte == 0 { 0 } else { u32_at(bounds, 0) };
        let mut high = u32_at(bounds, 4);
        if low > high || high > self.objects {
            return Err(self.paged.corrupt(fanout_at, "its fan-out does not ascend"));
        }
        let begin = begin_of(id.as_bytes());
        let wanted = value(begin);
        if low < high {
            match self.search_page(id, low, high)? {
                Ok(row) => return Ok(row),
                Err((above, below)) => (low, high) = (above, below),
            }
        }
        let (mut low_value, mut high_value) = (0, u64::from(u32::MAX));
        let mut guesses = 0;
        while low < high {
            let span = u64::from(high - low);
            let middle = if guesses < GUESSES_MAX && high_value > low_value {
                let share = (wanted - low_value) * span / (high_value - low_value);
                low + share.min(span - 1) as u32
            } else {
                low + (high - low) / 2
            };
            guesses += 1;
            let found = self.bytes(self.id_at(middle), Id::BYTES)?;
            let found_begin = begin_of(found);
            if is_before(found, id, begin) {
                low = middle + 1;
                low_value = value(found_begin).clamp(low_value, wanted);
            } else {
                high = middle;
                high_value = value(found_begin).clamp(wanted, high_value);
            }
        }
        Ok(low)
    }

    /// Searches the page of ids on which an id is likely to be, of those between two rows.
    ///
    /// It gives the first row whose id is not below `id`, or the rows between which that is: all of
    /// a page is checked at once, and most ids are a few steps from where their value says.
    fn search_page(&self, id: &Id, low: u32, high: u32) -> Result<PageSearch> {
        let begin = begin_of(id.as_bytes());
        let guess = low + ((value(begin) * u64::from(high - low)) >> 32) as u32;
        let page_at = self.id_at(guess) / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        let row_at = |at: u64| (at.saturating_sub(IDS_AT) / Id::BYTES as u64) as u32;
        let first = row_at(page_at).max(low);
        let last = row_at(page_at + PAGE_BYTES as u64).min(high);
        let bytes = (last - first) as usize * Id::BYTES;
        let ids = self.bytes(self.id_at(first), bytes)?;
        let comes_before = |row: u32| {
            let at = (row - first) as usize * Id::BYTES;
            is_before(&ids[at..at + Id::BYTES], id, begin)
        };
        let mut row = guess;
        if comes_before(row) {
            while row < last && comes_before(row) {
                row += 1;
            }
            Ok(if row < last || row == high { Ok(row) } else { Err((row, high)) })
        } else {
            while row > first && !comes_before(row - 1) {
                row -= 1;
            }
            Ok(if row > first || row == low { Ok(row) } else { Err((low, row)) })
        }
    }
}

/// A row that was found, or the rows between which it is.
type PageSearch = std::result::Result<u32, (u32, u32)>;

/// Says whether the bytes of an id come before an id, of which the first bytes are known.
fn is_before(found: &[u8], id: &Id, begin: u64) -> bool {
    // Ids that differ do so in their first bytes, but for those that somebody chose.
    match begin_of(found) {
        found_begin if found_begin == begin => *found < id.as_bytes()[..],
        found_begin => found_begin < begin,
    }
}

/// Takes the first bytes of an id as a number.
fn begin_of(id: &[u8]) -> u64 {
    u64::from_be_bytes(*id.first_chunk().expect("an id has more bytes"))
}

/// Takes the four bytes after an id's first as a number: its place among those of its first byte.
fn value(begin: u64) -> u64 {
    begin >> 24 & u64::from(u32::MAX)
}

/// Writes the payload of an index: rows in the order of their ids, blocks in the order of the pack.
pub(crate) fn write_index<'r>(
    out: &mut dyn FnMut(&[u8]) -> Result<()>,
    pack_id: &Id,
    pack_bytes: u64,
    rows: impl Iterator<Item = (&'r Id, Position)> + Clone,
    blocks: &[BlockPlace],
) -> Result<()> {
    let mut fanout = [0u32; 256];
    let mut objects = 0u32;
    for (id, _) in rows.clone() {
        fanout[usize::from(id.as_bytes()[0])] += 1;
        objects += 1;
    }
    let mut header = Vec::with_capacity(IDS_AT as usize);
    header.extend_from_slice(pack_id.as_bytes());
    header.extend_from_slice(&objects.to_le_bytes());
    header.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
    header.extend_from_slice(&pack_bytes.to_le_bytes());
    header.resize(HEADER_BYTES as usize, 0);
    let mut sum = 0;
    for count in fanout {
        sum += count;
        header.extend_from_slice(&sum.to_le_bytes());
    }
    out(&header)?;
    for (id, _) in rows.clone() {
        out(id.as_bytes())?;
    }
    for (_, position) in rows {
        debug_assert!(position.offset < 1 << OFFSET_BITS);
        out(&position.block.to_le_bytes())?;
        let place = (position.kind as u32) << OFFSET_BITS | position.offset;
        out(&place.to_le_bytes())?;
    }
    for block in blocks {
        out(&block.offset.to_le_bytes())?;
        out(&block.compressed_bytes.to_le_bytes())?;
        out(&block.raw_bytes.to_le_bytes())?;
        out(&block.checksum)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
