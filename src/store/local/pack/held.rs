//! Packs that are held in memory: what is packed once more at once needs no files.
//!
//! Such a pack has rows and blocks like any other, and is read by the same functions. No manifest
//! names it, and it has neither graph nor checksums: its objects are hashed while it is made, by
//! whoever makes it.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use super::super::index::{BLOCK_CHECKSUM_BYTES, BlockPlace, Index, Position, write_index};
use super::block::Span;
use super::{Pack, PackInfo};
use crate::disk::{Disk, Mapping};
use crate::error::Result;
use crate::id::{self, Id, Kind};

/// How much a block has, unless one object alone has more.
const BLOCK_BYTES: usize = 256 << 10;
/// What is held would take one part in so many of a file, as a guess.
const PACKED_SHARE: u64 = 4;

/// A pack being made in memory.
#[derive(Debug, Default)]
pub(crate) struct HeldPack {
    blocks: Vec<Arc<Vec<u8>>>,
    rows: Vec<(Id, Position)>,
    /// The block being filled, and its first row.
    filling: Vec<u8>,
    filling_row: usize,
}

/// A block whose objects were not hashed yet.
#[derive(Debug)]
pub(crate) struct Unchecked {
    raw: Arc<Vec<u8>>,
    rows: Vec<(Id, Position)>,
}

impl Unchecked {
    /// Says whether every object is what its id says.
    pub(crate) fn is_sound(&self) -> bool {
        self.rows.iter().all(|(id, position)| {
            let span = Span::at(&self.raw, position.offset as usize);
            span.is_some_and(|span| span.id(&self.raw) == *id)
        })
    }
}

impl HeldPack {
    /// Adds an object, and gives the block before it if that is full. Of an object that comes
    /// twice, one counts.
    pub(crate) fn add(&mut self, id: &Id, kind: Kind, content: &[u8]) -> Option<Unchecked> {
        let header = id::Header::new(kind, content.len() as u64);
        let object_bytes = header.bytes().len() + content.len();
        let is_full = self.filling.len() + object_bytes > BLOCK_BYTES;
        let full = if is_full { self.end_block() } else { None };
        if self.filling.is_empty() {
            self.filling.reserve_exact(object_bytes.max(BLOCK_BYTES));
        }
        let (block, offset) = (self.blocks.len() as u32, self.filling.len() as u32);
        self.rows.push((*id, Position { block, kind, offset }));
        self.filling.extend_from_slice(header.bytes());
        self.filling.extend_from_slice(content);
        full
    }

    /// Gives the block being filled, if there is one; the next object begins another.
    pub(crate) fn end_block(&mut self) -> Option<Unchecked> {
        if self.filling.is_empty() {
            return None;
        }
        let raw = Arc::new(std::mem::take(&mut self.filling));
        let rows = self.rows[self.filling_row..].to_vec();
        self.filling_row = self.rows.len();
        self.blocks.push(Arc::clone(&raw));
        Some(Unchecked { raw, rows })
    }

    /// Says whether it has no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes the pack of what comes from a file. All blocks were given, and are sound.
    pub(crate) fn finish(mut self, disk: Arc<dyn Disk>, path: &Path) -> Result<Pack> {
        assert!(self.filling.is_empty(), "a block that was not given was not checked");
        self.rows.sort_unstable_by_key(|(id, _)| *id);
        self.rows.dedup_by_key(|(id, _)| *id);
        let mut hasher = blake3::Hasher::new();
        for (id, _) in &self.rows {
            hasher.update(id.as_bytes());
        }
        let id = Id::from_bytes(*hasher.finalize().as_bytes());
        let raw_bytes: u64 = self.blocks.iter().map(|block| block.len() as u64).sum();
        let pack_bytes = raw_bytes / PACKED_SHARE;
        let place = |block: &Arc<Vec<u8>>| BlockPlace {
            offset: 0,
            compressed_bytes: 0,
            raw_bytes: block.len() as u32,
            checksum: [0; BLOCK_CHECKSUM_BYTES],
        };
        let places: Vec<BlockPlace> = self.blocks.iter().map(place).collect();
        let mut payload = Vec::new();
        let mut out = |bytes: &[u8]| {
            payload.extend_from_slice(bytes);
            Ok(())
        };
        let rows = self.rows.iter().map(|(id, position)| (id, *position));
        write_index(&mut out, &id, pack_bytes, rows, &places)?;
        let index_bytes = payload.len() as u64;
        Ok(Pack {
            index: Index::from_memory(path, payload, &id, pack_bytes)?,
            disk,
            dir: path.parent().unwrap_or(path).to_owned(),
            path: path.to_owned(),
            info: PackInfo { id, pack_bytes, index_bytes, objects: self.rows.len() as u64 },
            mapping: Mapping::new(Vec::new()),
            held: Some(self.blocks),
            stored_graph: OnceLock::new(),
            rebuilt_graph: OnceLock::new(),
            block_rows: OnceLock::new(),
            dictionaries: Mutex::default(),
            begun: Mutex::default(),
            hashed_blocks: 0.into(),
            touched: 0.into(),
        })
    }
}

impl Pack {
    /// Says whether it is held in memory, and has no files.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }
}
