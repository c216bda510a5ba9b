//! The bytes of a block: a header, then one zstd frame of objects that are read together.
//!
//! A block's raw content is `"<kind> <len>\0" + content` of its objects, back to back: an id is the
//! hash of a slice of it, and a pack can be salvaged without its index. A frame holds it as it is,
//! or folded (see `fold`).
//!
//! Invariants: nothing is decompressed before its checksum matched, and nothing is allocated by a
//! length beyond [`BLOCK_RAW_BYTES_MAX`]. The header holds a hash of the block's ids beside the
//! checksum that covers it, so that a reader checks a block without knowing all its ids.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;
use zstd::zstd_safe::DCtx;

use super::super::index::{BlockPlace, Position};
use super::super::paged::u32_at;
use super::dictionary::Reference;
use super::{fold, stored};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::{Content, Stored};

/// The most that a block's raw content may claim to be.
pub(crate) const BLOCK_RAW_BYTES_MAX: u32 = 8 << 20;

/// A thread keeps so much room for folded content, so that not every block needs new memory.
const ROOM_KEPT_BYTES_MAX: usize = 512 << 10;

/// The bit beside the raw length that says that the frame's content is folded.
const FOLDED: u32 = 1 << 31;
/// The bit beside it that says that the frame begins with the dictionary's place.
const WITH_DICTIONARY: u32 = 1 << 30;
/// The bit beside that which says that the frame goes into the checksum by its XXH3.
const SUMMED: u32 = 1 << 29;

/// Compressed length, raw length, object count, the hash of the ids.
const FIELDS_BYTES: usize = 4 + 4 + 4 + blake3::OUT_LEN;
/// The fields and the XXH3 of the frame.
const SUMMED_BYTES: usize = FIELDS_BYTES + size_of::<u128>();
/// The fields and the checksum over them and the frame.
pub(crate) const BLOCK_HEADER_BYTES: usize = FIELDS_BYTES + blake3::OUT_LEN;

type Hash = [u8; blake3::OUT_LEN];

/// What is special about a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// Its content is folded.
    pub(crate) is_folded: bool,
    /// It is compressed with a dictionary, whose place it begins with.
    pub(crate) has_dictionary: bool,
}

/// What stands before a block's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// How long the frame is.
    pub(crate) compressed_bytes: u32,
    /// How long the raw content is, unfolded.
    pub(crate) raw_bytes: u32,
    /// What form the frame has.
    pub(crate) form: Form,
    /// Whether the frame goes into the checksum by its XXH3; in blocks of before, by itself.
    pub(crate) is_summed: bool,
    /// How many objects it holds.
    pub(crate) objects: u32,
    /// BLAKE3 over the ids of the objects, in order.
    pub(crate) ids_hash: Hash,
    /// BLAKE3 over all the fields above, as written, and the frame or its XXH3.
    pub(crate) checksum: Hash,
}

impl BlockHeader {
    /// Makes the header of a frame.
    pub(crate) fn new(
        raw_bytes: u32,
        form: Form,
        objects: u32,
        ids_hash: Hash,
        frame: &[u8],
    ) -> BlockHeader {
        let mut header = BlockHeader {
            compressed_bytes: frame.len() as u32,
            raw_bytes,
            form,
            is_summed: true,
            objects,
            ids_hash,
            checksum: Hash::default(),
        };
        header.checksum = header.sum(frame);
        header
    }

    /// Reads a header.
    pub(crate) fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> BlockHeader {
        let hash = |at: usize| bytes[at..at + blake3::OUT_LEN].try_into().expect("32 bytes");
        let said = u32_at(bytes, 4);
        BlockHeader {
            compressed_bytes: u32_at(bytes, 0),
            raw_bytes: said & !(FOLDED | WITH_DICTIONARY | SUMMED),
            form: Form {
                is_folded: said & FOLDED != 0,
                has_dictionary: said & WITH_DICTIONARY != 0,
            },
            is_summed: said & SUMMED != 0,
            objects: u32_at(bytes, 8),
            ids_hash: hash(12),
            checksum: hash(FIELDS_BYTES),
        }
    }

    /// Gives the header's bytes.
    pub(crate) fn encode(&self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.compressed_bytes.to_le_bytes());
        let mut raw = self.raw_bytes;
        raw |= if self.form.is_folded { FOLDED } else { 0 };
        raw |= if self.form.has_dictionary { WITH_DICTIONARY } else { 0 };
        raw |= if self.is_summed { SUMMED } else { 0 };
        bytes[4..8].copy_from_slice(&raw.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.objects.to_le_bytes());
        bytes[12..FIELDS_BYTES].copy_from_slice(&self.ids_hash);
        bytes[FIELDS_BYTES..].copy_from_slice(&self.checksum);
        bytes
    }

    /// Gives what an index says of the block, if it begins at this offset.
    pub(crate) fn place(&self, offset: u64) -> BlockPlace {
        let begin = self.checksum.first_chunk().expect("a checksum is longer");
        BlockPlace {
            offset,
            compressed_bytes: self.compressed_bytes,
            raw_bytes: self.raw_bytes,
            checksum: *begin,
        }
    }

    pub(super) fn sum(&self, frame: &[u8]) -> Hash {
        let header = self.encode();
        let (fields, _) = header.split_at(FIELDS_BYTES);
        if self.is_summed {
            // A hasher that takes several pieces is code that a short read runs for nothing else.
            let mut summed = [0; SUMMED_BYTES];
            summed[..FIELDS_BYTES].copy_from_slice(fields);
            summed[FIELDS_BYTES..].copy_from_slice(&xxh3_128(frame).to_le_bytes());
            return *blake3::hash(&summed).as_bytes();
        }
        *blake3::Hasher::new().update(fields).update(frame).finalize().as_bytes()
    }
}

/// A block in a pack, its checksum verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'p> {
    /// Its header.
    pub(crate) header: BlockHeader,
    /// Its frame: the place of its dictionary, if it has one, and the zstd frame.
    pub(crate) frame: &'p [u8],
}

impl<'p> Block<'p> {
    /// Finds the block at an offset of a pack and checks it.
    pub(crate) fn at(pack: &'p [u8], offset: u64, path: &Path) -> Result<Block<'p>> {
        let corrupt = |why: &str| Error::corrupt(path, offset, why);
        let (header, rest) = usize::try_from(offset)
            .ok()
            .and_then(|offset| pack.get(offset..))
            .and_then(|bytes| bytes.split_first_chunk::<BLOCK_HEADER_BYTES>())
            .ok_or_else(|| corrupt("a block is cut off"))?;
        let header = BlockHeader::decode(header);
        if header.raw_bytes > BLOCK_RAW_BYTES_MAX {
            return Err(corrupt("a block claims to be larger than blocks are"));
        }
        let frame = rest
            .get(..header.compressed_bytes as usize)
            .ok_or_else(|| corrupt("a block is cut off"))?;
        if header.sum(frame) != header.checksum {
            return Err(corrupt("the checksum of this block does not match"));
        }
        if header.form.has_dictionary && frame.len() < Reference::BYTES {
            return Err(corrupt("a block is too short to name its dictionary"));
        }
        Ok(Block { header, frame })
    }

    /// Gives the length of header and frame.
    pub(crate) fn bytes(&self) -> usize {
        BLOCK_HEADER_BYTES + self.frame.len()
    }

    /// Says which dictionary it needs.
    pub(crate) fn dictionary(&self) -> Option<Reference> {
        self.header.form.has_dictionary.then(|| Reference::decode(self.frame))
    }

    /// Gives what its frame holds, if it is not compressed.
    pub(crate) fn stored(&self) -> Option<&'p [u8]> {
        (!self.header.form.has_dictionary).then(|| stored::content(self.frame)).flatten()
    }

    /// Checks that this is the block that the index was written for.
    pub(crate) fn agree(&self, place: &BlockPlace, path: &Path) -> Result<()> {
        match *place == self.header.place(place.offset) {
            true => Ok(()),
            false => {
                Err(Error::corrupt(path, place.offset, "a block that the index does not know"))
            }
        }
    }

    /// Decompresses the objects, and unfolds them.
    ///
    /// `dictionary` is the text of the one that it needs. `id_of` gives the id of the object with a
    /// number in this block; without it they are hashed.
    pub(crate) fn decompress(
        &self,
        offset: u64,
        path: &Path,
        dictionary: Option<&[u8]>,
        id_of: Option<&dyn Fn(usize) -> Result<Id>>,
    ) -> Result<Vec<u8>> {
        self.decompress_to(usize::MAX, offset, path, dictionary, id_of, Vec::new())
    }

    /// Decompresses the objects, and unfolds them as far as the one at `until`, if there is one;
    /// `raw`, which is empty, is the room that they take.
    pub(crate) fn decompress_to(
        &self,
        until: usize,
        offset: u64,
        path: &Path,
        dictionary: Option<&[u8]>,
        id_of: Option<&dyn Fn(usize) -> Result<Id>>,
        mut raw: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let corrupt = |why: String| Error::corrupt(path, offset, why);
        let raw_bytes = self.header.raw_bytes as usize;
        if self.header.form.is_folded {
            let unfolded = with_zstd(|zstd, folded| {
                self.decompress_frame(zstd, offset, path, dictionary, folded)?;
                let mut id_of = |number: usize, object: &[u8]| match id_of {
                    Some(id_of) => id_of(number),
                    None => Ok(Id::from_bytes(*blake3::hash(object).as_bytes())),
                };
                fold::unfold(folded, raw_bytes, until, &mut id_of, raw)
            })?;
            return unfolded.ok_or_else(|| corrupt("a block does not unfold".to_owned()));
        }
        match self.stored() {
            Some(content) => raw.extend_from_slice(content),
            None => with_zstd(|zstd, _| {
                self.decompress_frame(zstd, offset, path, dictionary, &mut raw)
            })?,
        };
        let written = raw.len();
        if written != raw_bytes {
            return Err(corrupt(format!("a block has {written} bytes, expected {raw_bytes}")));
        }
        Ok(raw)
    }

    /// Decompresses the frame into room that is empty.
    pub(super) fn decompress_frame(
        &self,
        zstd: &mut DCtx<'static>,
        offset: u64,
        path: &Path,
        dictionary: Option<&[u8]>,
        room: &mut Vec<u8>,
    ) -> Result<()> {
        let corrupt = |why: String| Error::corrupt(path, offset, why);
        // What is folded is shorter.
        room.reserve_exact(self.header.raw_bytes as usize);
        let (frame, text) = match (self.header.form.has_dictionary, dictionary) {
            (false, _) => (self.frame, &[][..]),
            (true, Some(text)) => (&self.frame[Reference::BYTES..], text),
            (true, None) => return Err(corrupt("its dictionary is not known".to_owned())),
        };
        zstd.decompress_using_dict(room, frame, text).map(drop).map_err(|code| {
            let why = zstd::zstd_safe::get_error_name(code);
            corrupt(format!("a block does not decompress: {why}"))
        })
    }
}

/// Does something with this thread's decompressor, and with room for what it gives, empty.
pub(super) fn with_zstd<T>(
    work: impl FnOnce(&mut DCtx<'static>, &mut Vec<u8>) -> Result<T>,
) -> Result<T> {
    thread_local! {
        static ZSTD: RefCell<(DCtx<'static>, Vec<u8>)> =
            RefCell::new((DCtx::create(), Vec::new()));
    }
    ZSTD.with_borrow_mut(|(zstd, room)| {
        let done = work(zstd, room);
        room.clear();
        room.shrink_to(ROOM_KEPT_BYTES_MAX);
        done
    })
}

/// One object within a block's raw content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Where its header begins.
    pub(crate) start: usize,
    /// Its content, without the header.
    pub(crate) content: Range<usize>,
}

impl Span {
    /// Reads the header at an offset; `None` if there is none or the object is cut off.
    pub(crate) fn at(raw: &[u8], start: usize) -> Option<Span> {
        let (kind, header_bytes, content_bytes) = Span::header(raw.get(start..)?)?;
        let from = start + header_bytes;
        let to = from.checked_add(content_bytes).filter(|to| *to <= raw.len())?;
        Some(Span { kind, start, content: from..to })
    }

    /// Finds an object where an index says it is; `None` if there is none, or one of another kind.
    pub(crate) fn of(raw: &[u8], position: &Position) -> Option<Span> {
        Span::at(raw, position.offset as usize).filter(|span| span.kind == position.kind)
    }

    /// Reads the header that some bytes begin with: the kind, its own length, the content's.
    pub(crate) fn header(bytes: &[u8]) -> Option<(Kind, usize, usize)> {
        let kind = Kind::ALL.into_iter().find(|kind| bytes.starts_with(kind.name().as_bytes()))?;
        let mut at = kind.name().len();
        if *bytes.get(at)? != b' ' {
            return None;
        }
        let mut length = 0usize;
        let digits_at = at + 1;
        loop {
            at += 1;
            match *bytes.get(at)? {
                digit @ b'0'..=b'9' => {
                    length = length.checked_mul(10)?.checked_add(usize::from(digit - b'0'))?;
                }
                0 if at > digits_at => break,
                _ => return None,
            }
        }
        if bytes[digits_at] == b'0' && at > digits_at + 1 {
            return None;
        }
        Some((kind, at + 1, length))
    }

    /// Gives the object as part of its block.
    pub(crate) fn stored(&self, block: &Arc<Vec<u8>>) -> Stored {
        Stored { kind: self.kind, content: Content::part(Arc::clone(block), self.content.clone()) }
    }

    /// Hashes header and content.
    pub(crate) fn id(&self, raw: &[u8]) -> Id {
        Id::from_bytes(*blake3::hash(&raw[self.start..self.content.end]).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_found_only_where_a_header_stands() {
        let raw = b"blob 2\0hientry 10\0aaaaabbbbb";
        let first = Span::at(raw, 0).unwrap();
        assert_eq!((first.kind, first.content.clone()), (Kind::Blob, 7..9));
        assert_eq!(first.id(raw), Id::of(Kind::Blob, b"hi"));
        let second = Span::at(raw, 9).unwrap();
        assert_eq!((second.kind, second.content), (Kind::Entry, 18..28));
        for start in (1..40).filter(|start| *start != 9) {
            assert_eq!(Span::at(raw, start), None);
        }
        for bad in [
            &b"blob 02\0hi"[..],
            b"blob \0",
            b"blob 3\0hi",
            b"blob -1\0",
            b"blob 99999999999999999999999\0",
            b"blob 2",
            b"tree 2\0hi",
        ] {
            assert_eq!(Span::at(bad, 0), None);
        }
    }
}
