//! Checksums of pages, and that of a footer.

use xxhash_rust::xxh3::xxh3_64;

/// How many bytes the table keeps of each page's checksum.
pub(super) const PAGE_CHECKSUM_BYTES: usize = 8;

/// The flag of a file whose pages are summed with XXH3. Those without it are of before, and were
/// hashed with BLAKE3, which takes far longer and says no more of damage.
pub(super) const FLAG_XXH3: u32 = 1;
/// Up to so many bytes of fields and table are hashed in one piece, with less code.
const JOINED_BYTES_MAX: usize = 1024;

/// How the pages of a file are summed.
pub(super) type PageSum = fn(&[u8]) -> [u8; PAGE_CHECKSUM_BYTES];

/// Gives how a file with these flags sums its pages; `None` where they are not known.
pub(super) fn page_sum_of(flags: u32) -> Option<PageSum> {
    match flags {
        0 => Some(blake3_sum),
        FLAG_XXH3 => Some(xxh3_sum),
        _ => None,
    }
}

pub(super) fn blake3_sum(page: &[u8]) -> [u8; PAGE_CHECKSUM_BYTES] {
    *blake3::hash(page).as_bytes().first_chunk().expect("a hash is longer")
}

pub(super) fn xxh3_sum(page: &[u8]) -> [u8; PAGE_CHECKSUM_BYTES] {
    xxh3_64(page).to_le_bytes()
}

pub(super) fn footer_checksum(fields: &[u8], table: &[u8]) -> [u8; blake3::OUT_LEN] {
    let mut joined = [0; JOINED_BYTES_MAX];
    let Some(joined) = joined.get_mut(..fields.len() + table.len()) else {
        return *blake3::Hasher::new().update(fields).update(table).finalize().as_bytes();
    };
    joined[..fields.len()].copy_from_slice(fields);
    joined[fields.len()..].copy_from_slice(table);
    *blake3::hash(joined).as_bytes()
}
