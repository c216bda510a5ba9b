//! What is left of a paged file that is damaged.
//!
//! Each page has its checksum, so damage to some leaves the others known to be sound. Where the
//! table or the footer is hit, what is left of them still vouches: the footer's checksum for a
//! table made anew, or the table for the pages.

use std::path::Path;

use super::{
    FOOTER_BYTES, FOOTER_FIELDS_BYTES, Magic, PAGE_BYTES, PAGE_CHECKSUM_BYTES, PageSum, blake3_sum,
    footer_checksum, map_whole, page_sum_of, payload_of, u32_at, unsupported, xxh3_sum,
};
use crate::disk::{Disk, Mapping};
use crate::error::Result;

/// The payload of a paged file, as far as it is there.
#[derive(Debug)]
pub(crate) struct Remains {
    mapping: Mapping,
    payload_bytes: usize,
    /// Which pages are what was written.
    sound: Vec<bool>,
}

impl Remains {
    /// Reads what is left. Fails where the file can't be read, or is sound and of another version.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        magic: &Magic,
        version: u32,
    ) -> Result<Remains> {
        let mapping = map_whole(disk, path, None)?;
        let cut = |mapping: Mapping| {
            let payload_bytes = mapping.len();
            Remains { mapping, payload_bytes, sound: Vec::new() }
        };
        let Some(payload_bytes) = payload_of(mapping.len()) else {
            return Ok(cut(mapping));
        };
        let (payload, rest) = mapping.split_at(payload_bytes);
        let (table, footer) = rest.split_at(rest.len() - FOOTER_BYTES);
        let (fields, checksum) = footer.split_at(FOOTER_FIELDS_BYTES);
        if footer_checksum(fields, table) == checksum {
            let (found, flags) = (u32_at(fields, 8), u32_at(fields, 12));
            if fields[..8] != magic[..] {
                // A file of another type stands here.
                return Ok(Remains { mapping, payload_bytes: 0, sound: Vec::new() });
            }
            if found != version || page_sum_of(flags).is_none() {
                return Err(unsupported(path, found, flags));
            }
        }
        // The flag that says how pages were summed may be what is damaged.
        let sums: [PageSum; 2] = [xxh3_sum, blake3_sum];
        let mut sound = vec![false; table.len() / PAGE_CHECKSUM_BYTES];
        for page_sum in sums {
            let right: Vec<u8> = payload.chunks(PAGE_BYTES).flat_map(page_sum).collect();
            let all = footer_checksum(fields, &right) == checksum;
            let pages = table.chunks(PAGE_CHECKSUM_BYTES).zip(right.chunks(PAGE_CHECKSUM_BYTES));
            for (sound, (said, right)) in sound.iter_mut().zip(pages) {
                *sound |= all || said == right;
            }
        }
        Ok(Remains { mapping, payload_bytes, sound })
    }

    /// Gives the payload, sound or not.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.mapping[..self.payload_bytes]
    }

    /// Says whether a part of the payload is what was written.
    pub(crate) fn is_sound(&self, part: std::ops::Range<usize>) -> bool {
        let pages = part.start / PAGE_BYTES..part.end.div_ceil(PAGE_BYTES);
        self.sound.get(pages).is_some_and(|pages| pages.iter().all(|sound| *sound))
    }
}
