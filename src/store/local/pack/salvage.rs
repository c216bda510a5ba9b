//! Reading what is left of a pack, without its index.
//!
//! A block tells its own length and checksum, so blocks are followed from one to the next; behind
//! damage, the next one is looked for by the bytes that begin a zstd frame. What is left of a
//! damaged block is unpacked as far as that goes: an object is taken from it only if its id is one
//! that the caller expects, because nothing else vouches for it.
//!
//! Nothing is changed here.

use std::io::Read;
use std::path::Path;

use super::super::paged::{map_whole, u32_at, u64_at};
use super::block::{BLOCK_HEADER_BYTES, BLOCK_RAW_BYTES_MAX, Block, BlockHeader, Span};
use super::dictionary::{Reference, Texts};
use super::fold;
use super::{
    PACK_HEADER_BYTES, TRAILER_BYTES, TRAILER_FIELDS_BYTES, TRAILER_MAGIC, Visit, check_header,
};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::Id;

/// How a zstd frame begins.
const FRAME_MAGIC: &[u8; 4] = b"\x28\xb5\x2f\xfd";

/// What was left of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Salvaged {
    /// How many objects were read.
    pub(crate) objects: u64,
    /// The pack's id, if no byte of it is damaged.
    pub(crate) whole: Option<Id>,
}

/// Reads the objects of a pack without its index; what is damaged is reported and passed over.
///
/// `expects` says whether an object with this id is looked for in what is left of damaged blocks.
pub(crate) fn salvage(
    disk: &dyn Disk,
    path: &Path,
    expects: &dyn Fn(&Id) -> bool,
    visit: &mut Visit<'_, ()>,
    found: &mut dyn FnMut(Error),
) -> Result<Salvaged> {
    let pack = map_whole(disk, path, None)?;
    let header = check_header(&pack, path);
    let (sound, texts) = (header.is_ok(), Texts::default());
    let mut walk = Walk { pack: &pack, path, expects, visit, objects: 0, sound, texts };
    let mut id = blake3::Hasher::new();
    id.update(pack.get(..PACK_HEADER_BYTES).unwrap_or_default());
    let mut blocks = 0u32;
    let mut at = PACK_HEADER_BYTES;
    while let Some(rest) = pack.get(at..)
        && !rest.is_empty()
        && !rest.starts_with(TRAILER_MAGIC)
    {
        match walk.block(at, found) {
            Ok(header) => {
                id.update(&header.encode());
                blocks += 1;
                at += BLOCK_HEADER_BYTES + header.compressed_bytes as usize;
            }
            Err(error @ Error::Corrupt { .. }) => {
                found(error);
                walk.sound = false;
                let next = next_block(&pack, at + 1, path).unwrap_or(pack.len());
                walk.fragments(&pack[at..next])?;
                at = next;
            }
            Err(error) => return Err(error),
        }
    }
    let Walk { objects, sound, .. } = walk;
    if let Err(error) = header {
        if matches!(error, Error::UnsupportedFormat { .. }) && blocks == 0 {
            return Err(error);
        }
        found(error);
    }
    let trailer = pack.get(at..).unwrap_or_default();
    id.update(trailer.get(..TRAILER_FIELDS_BYTES).unwrap_or_default());
    let computed = Id::from_bytes(*id.finalize().as_bytes());
    let ends = trailer.len() == TRAILER_BYTES
        && (u32_at(trailer, 8), u64_at(trailer, 12)) == (blocks, objects)
        && trailer[TRAILER_FIELDS_BYTES..] == *computed.as_bytes();
    if sound && !ends {
        found(Error::corrupt(path, at as u64, "its trailer does not match"));
    }
    Ok(Salvaged { objects, whole: (sound && ends).then_some(computed) })
}

/// A pack that is read from its begin to its end.
struct Walk<'a, 'v> {
    pack: &'a [u8],
    path: &'a Path,
    expects: &'a dyn Fn(&Id) -> bool,
    visit: &'a mut Visit<'v, ()>,
    objects: u64,
    sound: bool,
    texts: Texts,
}

impl Walk<'_, '_> {
    /// Reads the block at an offset, and gives its header.
    fn block(&mut self, at: usize, found: &mut dyn FnMut(Error)) -> Result<BlockHeader> {
        let offset = at as u64;
        let block = Block::at(self.pack, offset, self.path)?;
        let raw = self.texts.decompress(self.pack, &block, offset, self.path)?;
        let (mut start, mut count) = (0, 0);
        let mut ids = blake3::Hasher::new();
        while block.header.objects > 0
            && let Some(span) = Span::at(&raw, start)
        {
            let id = span.id(&raw);
            ids.update(id.as_bytes());
            start = span.content.end;
            count += 1;
            (self.visit)(&id, span.kind, &raw[span.content])?;
        }
        self.objects += u64::from(count);
        if count != block.header.objects || *ids.finalize().as_bytes() != block.header.ids_hash {
            self.sound = false;
            let why = "a block holds other objects than its header says";
            found(Error::corrupt(self.path, offset, why));
        }
        Ok(block.header)
    }

    /// Reads the objects that are expected from what is left of damaged blocks.
    fn fragments(&mut self, region: &[u8]) -> Result<()> {
        let texts = std::mem::take(&mut self.texts);
        let mut from = 0;
        while let Some(found) = memchr::memmem::find(&region[from..], FRAME_MAGIC) {
            from += found;
            for text in texts.all() {
                let mut raw = begin_of_frame(&region[from..], text);
                if Span::at(&raw, 0).is_none() {
                    raw = fold::unfold_begin(&raw, BLOCK_RAW_BYTES_MAX as usize);
                }
                self.expected(&raw)?;
            }
            from += FRAME_MAGIC.len();
        }
        self.texts = texts;
        Ok(())
    }

    /// Shows the objects that are expected in some raw content.
    fn expected(&mut self, raw: &[u8]) -> Result<()> {
        let mut start = 0;
        while let Some(span) = Span::at(raw, start) {
            let id = span.id(raw);
            start = span.content.end;
            if (self.expects)(&id) {
                self.objects += 1;
                (self.visit)(&id, span.kind, &raw[span.content])?;
            }
        }
        Ok(())
    }
}

/// Finds the next sound block.
fn next_block(pack: &[u8], first: usize, path: &Path) -> Option<usize> {
    let mut from = first;
    loop {
        let frames = pack.get(from + BLOCK_HEADER_BYTES..)?;
        from += memchr::memmem::find(frames, FRAME_MAGIC)?;
        // The place of a dictionary may stand between header and frame.
        let named = from.checked_sub(Reference::BYTES);
        for begin in [named, Some(from)].into_iter().flatten().filter(|begin| *begin >= first) {
            if Block::at(pack, begin as u64, path).is_ok() {
                return Some(begin);
            }
        }
        from += 1;
    }
}

/// Unpacks a frame as far as that goes.
fn begin_of_frame(bytes: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let mut raw = Vec::new();
    let Ok(decoder) = zstd::stream::read::Decoder::with_dictionary(bytes, dictionary) else {
        return raw;
    };
    let mut decoder = decoder.single_frame();
    let mut buffer = vec![0; 1 << 16];
    while raw.len() <= BLOCK_RAW_BYTES_MAX as usize
        && let Ok(count @ 1..) = decoder.read(&mut buffer)
    {
        raw.extend_from_slice(&buffer[..count]);
    }
    raw
}
