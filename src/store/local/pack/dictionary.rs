//! Dictionaries: text that many blocks of a pack share, kept once.
//!
//! A dictionary is a block without objects. The frame of a block that uses one is compressed as if
//! the dictionary's text stood before it, and names it: so blocks can be short, which makes reading
//! one object quick, and still find what they share with all others.
//!
//! ```text
//! frame of a block with a dictionary = offset (8) bytes (4) zstd frame
//! guard = parity (up to 16 KiB) checksum (8) of each cell of 512 bytes
//! ```
//!
//! Invariants:
//! - the text of a dictionary is text of objects in its pack: who leaves an object out of a pack
//!   leaves out the dictionaries too;
//! - damage to a dictionary costs nothing, up to 16 KiB in one place. Behind each stands its guard,
//!   another block without objects: of every cell of the dictionary a checksum says whether it is
//!   damaged, and the parity of all cells in its column gives it back.

use std::collections::VecDeque;
use std::path::Path;

use super::super::paged::{u32_at, u64_at};
use super::block::Block;
use crate::error::{Error, Result};

/// The longest text of a dictionary.
pub(super) const DICTIONARY_BYTES_MAX: u32 = 4 << 20;
/// How zstd's own dictionaries begin: no text may, it would be taken for one.
const ZSTD_DICTIONARY_MAGIC: &[u8; 4] = b"\x37\xa4\x30\xec";

/// What one checksum of a guard covers.
const CELL_BYTES: usize = 512;
/// The most that the parity has: so much damage in one place is mended.
const PARITY_BYTES_MAX: usize = 16 << 10;
const CHECKSUM_BYTES: usize = 8;

/// How many texts are known at once; a pack that we write has one.
const KNOWN_MAX: usize = 8;

/// Which dictionary a block uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    /// Where the dictionary's header begins in the pack.
    pub(super) offset: u64,
    /// How long its header and its frame are together; its guard follows.
    pub(super) bytes: u32,
}

impl Reference {
    /// How many bytes stand before a block's zstd frame.
    pub(super) const BYTES: usize = 8 + 4;

    /// Reads what a block's frame begins with, which is known to be long enough.
    pub(super) fn decode(frame: &[u8]) -> Reference {
        Reference { offset: u64_at(frame, 0), bytes: u32_at(frame, 8) }
    }

    /// Gives its bytes.
    pub(super) fn encode(&self) -> [u8; Reference::BYTES] {
        let mut bytes = [0; Reference::BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }
}

/// Says whether a text can be a dictionary.
pub(super) fn is_usable(text: &[u8]) -> bool {
    !text.starts_with(ZSTD_DICTIONARY_MAGIC)
        && (CELL_BYTES..=DICTIONARY_BYTES_MAX as usize).contains(&text.len())
}

/// Reads the text of a dictionary; mends it, if it is damaged and its guard says how.
pub(super) fn load(pack: &[u8], reference: Reference, path: &Path) -> Result<Vec<u8>> {
    let Reference { offset, bytes } = reference;
    let damaged = match Block::at(pack, offset, path) {
        Ok(block) if block.bytes() == bytes as usize => return text(&block, offset, path),
        Ok(_) => Error::corrupt(path, offset, "a dictionary of another length than was said"),
        Err(error) => error,
    };
    let mended = usize::try_from(offset).ok().and_then(|from| {
        let to = from.checked_add(bytes as usize)?;
        let guard = Block::at(pack, to as u64, path).ok().filter(|guard| guard.header.objects == 0);
        let guard = guard?.decompress(to as u64, path, None, None).ok()?;
        mend(pack.get(from..to)?, &guard)
    });
    let mended = mended.ok_or(damaged)?;
    text(&Block::at(&mended, 0, path)?, offset, path)
}

/// The dictionaries that someone met last who reads a pack from its begin to its end.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// The one that was met last stands last.
    known: VecDeque<(Reference, Vec<u8>)>,
}

impl Texts {
    /// Decompresses a block, and knows its dictionary from then on.
    pub(super) fn decompress(
        &mut self,
        pack: &[u8],
        block: &Block<'_>,
        offset: u64,
        path: &Path,
    ) -> Result<Vec<u8>> {
        let Some(named) = block.dictionary() else {
            return block.decompress(offset, path, None, None);
        };
        let known = self.known.iter().position(|(reference, _)| *reference == named);
        let at = match known {
            Some(at) => at,
            None => {
                let text = load(pack, named, path)?;
                if self.known.len() == KNOWN_MAX {
                    self.known.pop_front();
                }
                self.known.push_back((named, text));
                self.known.len() - 1
            }
        };
        block.decompress(offset, path, Some(&self.known[at].1), None)
    }

    /// Gives all that it knows, and none.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&[][..]).chain(self.known.iter().map(|(_, text)| text.as_slice()))
    }
}

fn text(block: &Block<'_>, offset: u64, path: &Path) -> Result<Vec<u8>> {
    if block.header.objects != 0 || block.header.raw_bytes > DICTIONARY_BYTES_MAX {
        return Err(Error::corrupt(path, offset, "a block names a dictionary that is none"));
    }
    let text = block.decompress(offset, path, None, None)?;
    match is_usable(&text) {
        true => Ok(text),
        false => Err(Error::corrupt(path, offset, "a text that can't be a dictionary")),
    }
}

/// Makes the guard of some bytes.
pub(super) fn guard(bytes: &[u8]) -> Vec<u8> {
    let mut guard = vec![0; parity_bytes(bytes.len())];
    for stripe in bytes.chunks(guard.len().max(1)) {
        xor(&mut guard, stripe);
    }
    for cell in bytes.chunks(CELL_BYTES) {
        guard.extend_from_slice(&checksum(cell));
    }
    guard
}

/// Gives bytes as they were when their guard was made; `None` if too many are damaged.
fn mend(bytes: &[u8], guard: &[u8]) -> Option<Vec<u8>> {
    let stripe_bytes = parity_bytes(bytes.len());
    let (parity, checksums) = guard.split_at_checked(stripe_bytes)?;
    let is_sound = |(cell, sum): (&[u8], &[u8])| checksum(cell)[..] == *sum;
    let cells = || bytes.chunks(CELL_BYTES).zip(checksums.chunks(CHECKSUM_BYTES));
    if checksums.len() != bytes.len().div_ceil(CELL_BYTES) * CHECKSUM_BYTES {
        return None;
    }
    let mut mended = bytes.to_vec();
    for bad in cells().enumerate().filter(|(_, cell)| !is_sound(*cell)).map(|(number, _)| number) {
        let from = bad * CELL_BYTES;
        let column = from % stripe_bytes;
        let mut cell = parity[column..column + CELL_BYTES].to_vec();
        for other in (column..bytes.len()).step_by(stripe_bytes).filter(|at| *at != from) {
            xor(&mut cell, &bytes[other..bytes.len().min(other + CELL_BYTES)]);
        }
        let to = bytes.len().min(from + CELL_BYTES);
        mended[from..to].copy_from_slice(&cell[..to - from]);
    }
    let mut sums = mended.chunks(CELL_BYTES).zip(checksums.chunks(CHECKSUM_BYTES));
    sums.all(is_sound).then_some(mended)
}

/// Gives the length of the parity: whole cells, and no more than there is to guard.
fn parity_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(CELL_BYTES).min(PARITY_BYTES_MAX)
}

fn xor(sum: &mut [u8], bytes: &[u8]) {
    for (sum, byte) in sum.iter_mut().zip(bytes) {
        *sum ^= byte;
    }
}

fn checksum(cell: &[u8]) -> [u8; CHECKSUM_BYTES] {
    *blake3::hash(cell).as_bytes().first_chunk().expect("a hash is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_in_one_place_is_mended_and_more_is_not() {
        for bytes in [1, 511, 512, 5000, 16 << 10, 100_003] {
            let whole: Vec<u8> = (0..bytes).map(|at: usize| ((at * at) >> 5) as u8).collect();
            let guard = guard(&whole);
            let damaged = |from: usize, count: usize| {
                let mut damaged = whole.clone();
                let to = bytes.min(from + count);
                damaged[from..to].iter_mut().for_each(|byte| *byte ^= 0x55);
                damaged
            };
            for (from, count) in [(0, 1), (bytes / 2, 1), (bytes - 1, 1), (bytes / 3, 15 << 10)] {
                assert_eq!(mend(&damaged(from, count), &guard).as_ref(), Some(&whole));
            }
            assert_eq!(mend(&whole, &guard[..guard.len() - 1]), None);
            if bytes > 64 << 10 {
                assert_eq!(mend(&damaged(1000, 20 << 10), &guard), None);
            }
        }
    }

    #[test]
    fn no_pack_makes_its_reader_know_more_than_a_few_texts() {
        let path = Path::new("pack");
        let (mut pack, mut named) = (Vec::new(), Vec::new());
        for seed in 0..3 * KNOWN_MAX {
            let text: Vec<u8> = (0..1000).map(|at: usize| ((at * (seed + 3)) >> 2) as u8).collect();
            let pressed = super::super::press::press_text(&text, 1).unwrap();
            let block = [&pressed.header.encode()[..], &pressed.frame].concat();
            let (offset, bytes) = (pack.len() as u64, block.len() as u32);
            named.push((Reference { offset, bytes }, text));
            pack.extend_from_slice(&block);
        }
        let mut texts = Texts::default();
        for (reference, text) in &named {
            let mut zstd = zstd::bulk::Compressor::with_dictionary(1, text).unwrap();
            let packed = zstd.compress(&text[..600]).unwrap();
            let frame = [&reference.encode()[..], &packed].concat();
            let form = super::super::block::Form { is_folded: false, has_dictionary: true };
            let header = super::super::block::BlockHeader::new(600, form, 1, [0; 32], &frame);
            let block = Block { header, frame: &frame };
            assert_eq!(texts.decompress(&pack, &block, 0, path).unwrap(), text[..600]);
            assert!(texts.all().count() <= 1 + KNOWN_MAX);
        }
        assert_eq!(texts.all().count(), 1 + KNOWN_MAX);
    }

    #[test]
    fn a_reference_comes_back() {
        let reference = Reference { offset: 0x0102_0304_0506, bytes: 77 };
        assert_eq!(Reference::decode(&reference.encode()), reference);
    }
}
