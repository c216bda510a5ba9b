//! Blocks of any bytes, their checksums made to match: for tests and fuzzers, which would not get
//! behind them.

use std::path::Path;

use super::block::{BLOCK_HEADER_BYTES, Block, BlockHeader};
use super::{PACK_HEADER_BYTES, dictionary, fold};
use crate::id::Id;

/// Reads a block of any bytes, its checksum made to match.
pub(crate) fn fuzz_block(data: &[u8], path: &Path) {
    for (raw_bytes, until) in [(data.len(), usize::MAX), (4 * data.len(), data.len() / 2)] {
        let _ = fold::unfold(
            data,
            raw_bytes,
            until,
            &mut |number, _| Ok(Id::from_bytes([number as u8; 32])),
            Vec::new(),
        );
    }
    let mut pack = data.to_vec();
    let Some((header, rest)) = pack.split_first_chunk_mut::<BLOCK_HEADER_BYTES>() else {
        return;
    };
    let mut mended = BlockHeader::decode(header);
    mended.compressed_bytes = mended.compressed_bytes.min(rest.len() as u32);
    mended.checksum = mended.sum(&rest[..mended.compressed_bytes as usize]);
    *header = mended.encode();
    if let Ok(block) = Block::at(&pack, 0, path) {
        let text = block.dictionary().and_then(|named| dictionary::load(&pack, named, path).ok());
        for text in [text.as_deref(), Some(data)] {
            let _ = block.decompress(0, path, text, None);
            let id_of = |_: usize| Ok(Id::from_bytes([3; 32]));
            let whole = block.decompress(0, path, text, Some(&id_of)).ok();
            let mut raw = Vec::new();
            let passed = block.pass(0, path, text, &mut |object, marks| {
                raw.extend_from_slice(object.header);
                object.unfold(marks, |number, _| id_of(number), &mut raw)
            });
            assert!(passed.is_err() || whole == Some(raw));
        }
    }
}

/// Makes the checksums of a pack's blocks match, for fuzzing.
pub(crate) fn sealed_pack(data: &[u8]) -> Vec<u8> {
    let mut pack = data.to_vec();
    let mut rest = pack.get_mut(PACK_HEADER_BYTES..).unwrap_or_default();
    while let Some((header, behind)) = rest.split_first_chunk_mut::<BLOCK_HEADER_BYTES>() {
        let mut mended = BlockHeader::decode(header);
        let Some((block, after)) = behind.split_at_mut_checked(mended.compressed_bytes as usize)
        else {
            break;
        };
        mended.checksum = mended.sum(block);
        *header = mended.encode();
        rest = after;
    }
    pack
}
