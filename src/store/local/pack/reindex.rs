//! Making the index of a pack anew from its blocks.

use std::path::Path;
use std::sync::Arc;

use super::super::index::{BlockPlace, INDEX_MAGIC, INDEX_VERSION, Position, write_index};
use super::super::paged::{PagedWriter, map_whole};
use super::block::{BLOCK_HEADER_BYTES, Block, Span};
use super::dictionary::Texts;
use super::{PACK_HEADER_BYTES, PackFile, PackInfo, TRAILER_MAGIC, check_header};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::Id;

/// Writes the index of a pack whose blocks are all whole, durably, in the place of the old one.
///
/// A crash leaves the old file or the new one.
pub(crate) fn reindex(disk: &Arc<dyn Disk>, dir: &Path, id: &Id) -> Result<PackInfo> {
    let path = PackFile::Pack.path(dir, id);
    let pack = map_whole(disk.as_ref(), &path, None)?;
    check_header(&pack, &path)?;
    let mut rows: Vec<(Id, Position)> = Vec::new();
    let mut blocks: Vec<BlockPlace> = Vec::new();
    let mut texts = Texts::default();
    let mut at = PACK_HEADER_BYTES;
    while let Some(rest) = pack.get(at..)
        && !rest.starts_with(TRAILER_MAGIC)
    {
        let offset = at as u64;
        let block = Block::at(&pack, offset, &path)?;
        let raw = texts.decompress(&pack, &block, offset, &path)?;
        let mut start = 0;
        while block.header.objects > 0
            && let Some(span) = Span::at(&raw, start)
        {
            start = span.content.end;
            let place =
                Position { block: blocks.len() as u32, kind: span.kind, offset: span.start as u32 };
            rows.push((span.id(&raw), place));
        }
        blocks.push(block.header.place(offset));
        at += BLOCK_HEADER_BYTES + block.header.compressed_bytes as usize;
        pack.release();
    }
    rows.sort_unstable_by_key(|(id, _)| *id);
    if rows.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::corrupt(path, None, "it holds an object twice"));
    }
    let index_path = PackFile::Index.path(dir, id);
    let mut writer = PagedWriter::create(Arc::clone(disk), &index_path)?;
    let places = rows.iter().map(|(id, place)| (id, *place));
    write_index(&mut |bytes| writer.write(bytes), id, pack.len() as u64, places, &blocks)?;
    let index_bytes = writer.finish_durably(INDEX_MAGIC, INDEX_VERSION, &index_path)?;
    Ok(PackInfo { id: *id, pack_bytes: pack.len() as u64, index_bytes, objects: rows.len() as u64 })
}
