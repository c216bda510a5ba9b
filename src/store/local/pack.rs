//! Packs: sealed, immutable containers of many objects.
//!
//! A pack is three files with one name: `pack-<id>.pack` holds the objects in blocks, `.idx` says
//! where each is, `.graph` is derived and answers what a walk asks. Its id hashes its header, the
//! header of every block (which has its checksum) and the trailer's fields.
//!
//! Invariants:
//! - the lengths of `.pack` and `.idx` are compared with the manifest's before a byte is used;
//! - an object that is read alone is hashed against its id; one that a walk passes lies in a block
//!   with the checksum that the index has, at the place that the index gives for its id;
//! - a missing, damaged or contradictory `.graph` never fails a read: it is made again in memory;
//! - damage to one block leaves the objects of all others readable.
//!
//! Not here: which packs there are, and depths of objects outside this one.

mod block;
mod dictionary;
mod fold;
mod folded;
mod held;
mod load;
#[cfg(any(test, feature = "fuzzing"))]
mod mended;
mod options;
mod press;
mod reindex;
mod rows;
mod salvage;
mod stored;
mod topology;
mod verify;
mod writer;

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use super::cache::{BlockCache, CacheKey, Cursor};
use super::graph::Graph;
use super::index::{BlockPlace, Index, Position};
use super::paged::{Magic, map_whole, u32_at, unsupported};
use crate::disk::{Disk, Mapping};
use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};
use crate::store::{Content, Stored};

use dictionary::Reference;
use rows::BlockRows;

pub(crate) use block::Span;
pub(crate) use folded::{FoldedObject, Mark};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use mended::{fuzz_block, sealed_pack};

pub(crate) use held::{HeldPack, Unchecked};
pub(crate) use options::PackOptions;
pub(crate) use reindex::reindex;
pub(crate) use salvage::salvage;
pub(crate) use topology::{Depth, PathEnd};
pub(crate) use writer::PackWriter;

/// The first bytes of a pack.
const PACK_MAGIC: &Magic = b"SAPWPACK";
/// The first bytes of a pack's trailer.
const TRAILER_MAGIC: &Magic = b"SAPWPEND";
/// The version that is written and read.
const PACK_VERSION: u32 = 1;
/// The flag of a pack whose blocks may be folded.
const FLAG_FOLDED: u32 = 1;
/// The flag of a pack that may have dictionaries.
const FLAG_DICTIONARIES: u32 = 2;
/// The flag of a pack whose blocks may go into their checksums by their XXH3.
const FLAG_SUMMED: u32 = 4;
/// What is known of packs.
const FLAGS_KNOWN: u32 = FLAG_FOLDED | FLAG_DICTIONARIES | FLAG_SUMMED;
const SUPPORTED: &str = "version 1 with flags up to 0x7";
/// Magic, version, flags.
const PACK_HEADER_BYTES: usize = 8 + 4 + 4;
/// Magic, block count, object count.
const TRAILER_FIELDS_BYTES: usize = 8 + 4 + 8;
/// The fields, and the pack's id.
const TRAILER_BYTES: usize = TRAILER_FIELDS_BYTES + Id::BYTES;

/// A pack is short that has so few pages of index, some 350 objects, and a few blocks.
const SHORT_INDEX_BYTES: u64 = 16 << 10;
const SHORT_PACK_BYTES: u64 = 128 << 10;

/// What the manifest says of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackInfo {
    /// Its id, which is in its files' names.
    pub(crate) id: Id,
    /// How long `.pack` is.
    pub(crate) pack_bytes: u64,
    /// How long `.idx` is.
    pub(crate) index_bytes: u64,
    /// How many objects it has.
    pub(crate) objects: u64,
}

/// One of a pack's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackFile {
    /// The objects.
    Pack,
    /// Where each is.
    Index,
    /// The derived graph.
    Graph,
}

impl PackFile {
    /// All of them.
    pub(crate) const ALL: [PackFile; 3] = [PackFile::Pack, PackFile::Index, PackFile::Graph];

    /// Gives the file's path in the directory of packs.
    pub(crate) fn path(self, dir: &Path, id: &Id) -> PathBuf {
        let ending = match self {
            PackFile::Pack => "pack",
            PackFile::Index => "idx",
            PackFile::Graph => "graph",
        };
        dir.join(format!("pack-{id}.{ending}"))
    }
}

/// Is shown an object: its id, its kind and its content.
pub(crate) type Visit<'v, T> = dyn FnMut(&Id, Kind, &[u8]) -> Result<T> + 'v;

/// An open pack.
pub(crate) struct Pack {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    path: PathBuf,
    info: PackInfo,
    index: Index,
    mapping: Mapping,
    /// The blocks of a pack that has no files.
    held: Option<Vec<Arc<Vec<u8>>>>,
    stored_graph: OnceLock<Option<Graph>>,
    rebuilt_graph: OnceLock<Graph>,
    block_rows: OnceLock<BlockRows>,
    /// The dictionaries that were used last.
    dictionaries: Mutex<Vec<(Reference, Arc<Vec<u8>>)>>,
    /// The block that was unpacked last as far as an object that was wanted.
    begun: Mutex<Option<(u32, Arc<Vec<u8>>)>>,
    /// How many folded blocks were read without the index.
    hashed_blocks: AtomicU32,
    /// How many bytes of the mapping were looked at since it was last released.
    touched: AtomicU64,
}

impl Pack {
    /// Opens a pack: maps it and its index, so that it stays readable when it is removed.
    ///
    /// The graph, which can be done without, is mapped when it is first needed.
    ///
    /// A function of its own, beside those that read a pack: whoever opens one reads it next.
    #[inline(never)]
    pub(crate) fn open(disk: Arc<dyn Disk>, dir: &Path, info: &PackInfo) -> Result<Pack> {
        let index_path = PackFile::Index.path(dir, &info.id);
        let index = Index::open(disk.as_ref(), &index_path, info)?;
        let path = PackFile::Pack.path(dir, &info.id);
        let mapping = map_whole(disk.as_ref(), &path, Some(info.pack_bytes))?;
        Ok(Pack {
            disk,
            dir: dir.to_owned(),
            path,
            info: *info,
            index,
            mapping,
            held: None,
            stored_graph: OnceLock::new(),
            rebuilt_graph: OnceLock::new(),
            block_rows: OnceLock::new(),
            dictionaries: Mutex::default(),
            begun: Mutex::default(),
            hashed_blocks: AtomicU32::new(0),
            touched: AtomicU64::new(0),
        })
    }

    /// Opens a pack whose index is known to be its own.
    pub(crate) fn open_checked(disk: Arc<dyn Disk>, dir: &Path, info: &PackInfo) -> Result<Pack> {
        let pack = Pack::open(disk, dir, info)?;
        pack.index.check_header()?;
        Ok(pack)
    }

    /// Gives what the manifest says of it.
    pub(crate) fn info(&self) -> &PackInfo {
        &self.info
    }

    /// Gives the path of its file; of one that is held in memory, where it comes from.
    pub(crate) fn file(&self) -> &Path {
        &self.path
    }

    /// Gives the number of objects.
    pub(crate) fn len(&self) -> u32 {
        self.index.len()
    }

    /// Says whether all of its index is checked in no time, and all of it is soon read.
    pub(crate) fn is_short(&self) -> bool {
        self.info.index_bytes <= SHORT_INDEX_BYTES && self.info.pack_bytes <= SHORT_PACK_BYTES
    }

    /// Says whether somebody asked for its graph.
    #[cfg(test)]
    pub(crate) fn has_open_graph(&self) -> bool {
        self.stored_graph.get().is_some()
    }

    /// Finds the row of an id.
    pub(crate) fn find(&self, id: &Id) -> Result<Option<u32>> {
        self.index.find(id)
    }

    /// Gives the id of a row.
    pub(crate) fn id(&self, row: u32) -> Result<Id> {
        self.index.id(row)
    }

    /// Gives the kind of a row.
    pub(crate) fn kind(&self, row: u32) -> Result<Kind> {
        Ok(self.index.position(row)?.kind)
    }

    /// Gives where a row's object is.
    pub(crate) fn position(&self, row: u32) -> Result<Position> {
        self.index.position(row)
    }

    /// Adds up to `limit` ids that begin with a prefix, in order.
    pub(crate) fn prefix(&self, prefix: &Prefix, limit: usize, ids: &mut Vec<Id>) -> Result<()> {
        self.index.prefix(prefix, limit, ids)
    }
}

/// Reading objects.
impl Pack {
    /// Reads an object and checks it against its id, unless it was when it was kept.
    pub(crate) fn read(&self, row: u32, cache: &BlockCache) -> Result<Stored> {
        let key = CacheKey { pack: self.info.id, number: row };
        if let Some(object) = cache.object(&key)
            && let Some(span) = Span::at(&object, 0)
        {
            return Ok(Stored { kind: span.kind, content: Content::part(object, span.content) });
        }
        let position = self.index.position(row)?;
        let block = self.block_to(&position, cache)?;
        let span = self.span(&block, row, &position)?;
        cache.put_object(key, &block[span.start..span.content.end]);
        Ok(Stored { kind: span.kind, content: Content::part(block, span.content) })
    }

    /// Reads an object, from the block that the cursor used last if it is there.
    pub(crate) fn read_with(&self, row: u32, cursor: &mut Cursor<'_>) -> Result<Stored> {
        let position = self.index.position(row)?;
        let key = CacheKey { pack: self.info.id, number: position.block };
        let block = cursor.block(key, || self.load(position.block))?;
        Ok(self.span(block, row, &position)?.stored(block))
    }

    /// Visits every object, block by block, until told to stop.
    pub(crate) fn for_each(&self, visit: &mut Visit<'_, ControlFlow<()>>) -> Result<()> {
        for block in 0..self.blocks() {
            let raw = self.load(block)?;
            for row in self.block_rows(block)? {
                let span = self.span(&raw, *row, &self.index.position(*row)?)?;
                let stop = visit(&self.id(*row)?, span.kind, &raw[span.content])?;
                if stop.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Gives the number of blocks.
    pub(crate) fn blocks(&self) -> u32 {
        self.index.blocks()
    }

    /// Gives what the index says of a block.
    pub(crate) fn block_place(&self, block: u32) -> Result<BlockPlace> {
        self.index.block(block)
    }

    /// Gives the rows of a block's objects, in their order in the block.
    pub(crate) fn block_rows(&self, block: u32) -> Result<&[u32]> {
        let rows = match self.block_rows.get() {
            Some(rows) => rows,
            None => {
                let rows = BlockRows::of(&self.index)?;
                self.block_rows.get_or_init(|| rows)
            }
        };
        Ok(rows.of_block(block))
    }

    /// Finds an object in its block's raw content and checks it against index and id.
    fn span(&self, raw: &[u8], row: u32, position: &Position) -> Result<Span> {
        let span = self.span_at(raw, row, position)?;
        match span.id(raw) == self.index.id(row)? {
            true => Ok(span),
            false => Err(self.not_held(row, position)),
        }
    }

    /// Finds an object in its block's raw content, where the index says it is.
    ///
    /// It is not hashed: index and block are as they were written, and it was when it first came
    /// into a pack.
    pub(crate) fn span_at(&self, raw: &[u8], row: u32, position: &Position) -> Result<Span> {
        Span::of(raw, position).ok_or_else(|| self.not_held(row, position))
    }

    /// Reports that an object is not where the index says.
    #[cold]
    pub(crate) fn not_held(&self, row: u32, position: &Position) -> Error {
        let name = self.index.id(row).map_or(format!("of row {row}"), |id| id.to_string());
        let why = format!("block {} does not hold object {name}", position.block);
        Error::corrupt(&self.path, None, why)
    }

    /// Reports that a block holds more objects than the index says.
    #[cold]
    pub(crate) fn not_listed(&self, block: u32) -> Error {
        let why = format!("block {block} holds more objects than the index knows");
        Error::corrupt(&self.path, None, why)
    }

    /// Says whether its blocks may be folded.
    pub(crate) fn may_be_folded(&self) -> Result<bool> {
        Ok(!self.is_held() && u32_at(self.mapping()?, 12) & FLAG_FOLDED != 0)
    }

    /// Says whether it may have dictionaries.
    pub(crate) fn may_have_dictionaries(&self) -> Result<bool> {
        Ok(u32_at(self.mapping()?, 12) & FLAG_DICTIONARIES != 0)
    }

    /// Gives the memory back that its files take: who has read all of it need not hold it.
    pub(crate) fn release(&self) {
        self.mapping.release();
        self.index.release();
        if let Some(Some(graph)) = self.stored_graph.get() {
            graph.release();
        }
    }

    /// Gives the bytes of the pack, which begin as they should.
    fn mapping(&self) -> Result<&Mapping> {
        check_header(&self.mapping, &self.path)?;
        Ok(&self.mapping)
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pack({}, {} objects)", self.info.id.short(12), self.len())
    }
}

/// Checks that a pack begins as one of a version that we know.
fn check_header(pack: &[u8], path: &Path) -> Result<()> {
    if pack.len() < PACK_HEADER_BYTES + TRAILER_BYTES || !pack.starts_with(PACK_MAGIC) {
        return Err(Error::corrupt(path, 0, "it does not begin as a pack does"));
    }
    let (version, flags) = (u32_at(pack, 8), u32_at(pack, 12));
    if version != PACK_VERSION || flags & !FLAGS_KNOWN != 0 {
        return Err(unsupported(path, version, flags, SUPPORTED));
    }
    Ok(())
}

/// Says whether any of these packs has an object.
pub(crate) fn held_by_any(packs: &[Arc<Pack>], id: &Id) -> Result<bool> {
    for pack in packs {
        if pack.find(id)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
