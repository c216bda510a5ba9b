//! Packs that are held in memory: what is packed once more at once needs no files.
//!
//! Such a pack has rows and blocks like any other, and is read by the same functions. No manifest
//! names it, and it has neither graph nor checksums: its objects are hashed when it is made.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use super::super::halves;
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
    blocks: Vec<Vec<u8>>,
    rows: Vec<(Id, Position)>,
}

impl HeldPack {
    /// Adds an object. Of one that comes twice, one counts.
    pub(crate) fn add(&mut self, id: &Id, kind: Kind, content: &[u8]) {
        let header = id::Header::new(kind, content.len() as u64);
        let object_bytes = header.bytes().len() + content.len();
        let has_room = |block: &Vec<u8>| block.len() + object_bytes <= BLOCK_BYTES;
        if !self.blocks.last().is_some_and(has_room) {
            self.blocks.push(Vec::with_capacity(object_bytes.max(BLOCK_BYTES)));
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let position = Position { block: number as u32, kind, offset: block.len() as u32 };
        self.rows.push((*id, position));
        block.extend_from_slice(header.bytes());
        block.extend_from_slice(content);
    }

    /// Says whether it has no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Says whether every object is what its id says; with `threads`, two look.
    pub(crate) fn is_sound(&self, threads: usize) -> bool {
        let of_block: Vec<&[(Id, Position)]> =
            self.rows.chunk_by(|one, two| one.1.block == two.1.block).collect();
        let sound = halves::map(&of_block, threads, |rows| {
            rows.iter().all(|(id, position)| {
                let raw = &self.blocks[position.block as usize];
                Span::at(raw, position.offset as usize).is_some_and(|span| span.id(raw) == *id)
            })
        });
        sound.into_iter().all(|is_sound| is_sound)
    }

    /// Makes the pack of what comes from a file.
    pub(crate) fn finish(mut self, disk: Arc<dyn Disk>, path: &Path) -> Result<Pack> {
        self.rows.sort_unstable_by_key(|(id, _)| *id);
        self.rows.dedup_by_key(|(id, _)| *id);
        let mut hasher = blake3::Hasher::new();
        for (id, _) in &self.rows {
            hasher.update(id.as_bytes());
        }
        let id = Id::from_bytes(*hasher.finalize().as_bytes());
        let raw_bytes: u64 = self.blocks.iter().map(|block| block.len() as u64).sum();
        let pack_bytes = raw_bytes / PACKED_SHARE;
        let place = |block: &Vec<u8>| BlockPlace {
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
            held: Some(self.blocks.into_iter().map(Arc::new).collect()),
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
