//! What is left of a group whose head does not match its checksum.

use super::{ALIGNMENT, Input, OBJECT_ROW_BYTES, ObjectRow, PREFIX_BYTES, read_row};
use crate::id::Id;

/// How many rows are looked for, and how many numbers of them are tried.
const ROWS_MAX: usize = 1 << 16;
const TRIES_MAX: usize = 64;

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
