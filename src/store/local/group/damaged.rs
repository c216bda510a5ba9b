//! What is left of a group whose head does not match its checksum.

use super::{
    ALIGNMENT, Head, Input, OBJECT_ROW_BYTES, ObjectRow, PREFIX_BYTES, Prefix, Salt, read_row,
};
use crate::id::Id;

/// A longer head is not mended: each bit of it costs a hash of all of it.
const MENDED_BYTES_MAX: usize = 8 << 10;
/// How many rows are looked for, and how many numbers of them are tried.
const ROWS_MAX: usize = 1 << 16;
const TRIES_MAX: usize = 64;

/// Reads the head of a group at `offset` in which one bit is wrong, or the end of which is cut off:
/// the checksum says when the right bit is turned. Gives the checksum of the group before, too.
pub(crate) fn mended(bytes: &[u8], offset: u64, salt: &Salt) -> Option<(Head, Id)> {
    let read = |bytes: &[u8]| {
        let prefix = Prefix::read(bytes, offset, u64::MAX)?;
        Some((prefix.head(bytes, salt)?, prefix.previous))
    };
    let said = Prefix::read(bytes, offset, u64::MAX).map(|prefix| prefix.head_bytes);
    let mut head = bytes[..bytes.len().min(MENDED_BYTES_MAX)].to_vec();
    let bits = 8 * said.unwrap_or(PREFIX_BYTES).min(head.len());
    read(bytes).or_else(|| {
        (0..bits).find_map(|bit| {
            head[bit / 8] ^= 1 << (bit % 8);
            let found = read(&head);
            head[bit / 8] ^= 1 << (bit % 8);
            found
        })
    })
}

/// Reads the rows of the objects of a group whose head is damaged, as far as their contents prove
/// them right: the group is all the bytes, or begins them.
///
/// Where the number of objects or the place of the first content is hit, others are tried.
pub(crate) fn rows_of_damaged(group: &[u8]) -> Vec<ObjectRow> {
    let mut rows = Vec::new();
    let mut input = Input(group.get(PREFIX_BYTES..).unwrap_or_default());
    while rows.len() < ROWS_MAX
        && let Some(row) = read_row(&mut input)
    {
        rows.push(row);
    }
    let mut fields = Input(group.get(32..40).unwrap_or_default());
    let (head, said) = (fields.u32().unwrap_or(0), fields.u32().unwrap_or(0));
    let likely = std::iter::once(said as usize).chain(1..=rows.len().min(TRIES_MAX));
    for count in likely.filter(|count| (1..=rows.len()).contains(count)) {
        let contents: u64 = rows[..count].iter().map(|row| u64::from(row.bytes)).sum();
        let ends =
            (0..ALIGNMENT).filter_map(|pad| (group.len() as u64).checked_sub(contents + pad));
        for start in std::iter::once(u64::from(head)).chain(ends) {
            let found = rows_from(group, &rows[..count], start);
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// Gives the rows whose contents are whole if the first one begins at `start`.
fn rows_from(group: &[u8], rows: &[ObjectRow], mut start: u64) -> Vec<ObjectRow> {
    let mut found = Vec::new();
    if start < (PREFIX_BYTES + rows.len() * OBJECT_ROW_BYTES) as u64 {
        return found;
    }
    for row in rows {
        let end = start + u64::from(row.bytes);
        let content = group.get(start as usize..end as usize);
        if content.is_some_and(|content| Id::of(row.kind, content) == row.id) {
            found.push(ObjectRow { start, ..row.clone() });
        }
        start = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SALT, example};
    use super::*;

    #[test]
    fn a_head_with_one_wrong_bit_is_mended() {
        let (bytes, head) = example();
        let head_bytes = Prefix::read(&bytes, 64, u64::MAX).unwrap().head_bytes;
        for bit in 0..8 * head_bytes {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(mended(&bad, 64, &SALT).unwrap().0, head, "{bit}");
            if bit % 64 == 5 {
                bad[bit / 8] ^= 1;
                assert!(mended(&bad, 64, &SALT).is_none(), "{bit}");
            }
        }
    }

    #[test]
    fn a_head_without_the_end_of_its_group_is_read() {
        let (bytes, head) = example();
        let head_bytes = Prefix::read(&bytes, 64, u64::MAX).unwrap().head_bytes;
        for length in 0..bytes.len() {
            let found = mended(&bytes[..length], 64, &SALT);
            assert_eq!(found.is_some(), length >= head_bytes, "{length}");
            assert!(found.is_none_or(|(found, _)| found == head), "{length}");
        }
    }
}
