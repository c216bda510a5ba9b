//! What is left of a paged file that is damaged.
//!
//! Each page has its checksum, so damage to some leaves the others known to be sound. Where the
//! table or the footer is hit, what is left of them still vouches: the footer's checksum for a
//! table made anew, or the table for the pages.

use std::path::Path;

use super::sum::{
    PAGE_CHECKSUM_BYTES, PageSum, blake3_sum, footer_checksum, page_sum_of, xxh3_sum,
};
use super::{
    FOOTER_BYTES, FOOTER_FIELDS_BYTES, Magic, PAGE_BYTES, SUPPORTED, map_whole, payload_of, u32_at,
    unsupported,
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
        // The flag that says how pages were summed may be what is damaged.
        let mut sums: Vec<PageSum> = vec![xxh3_sum, blake3_sum];
        if footer_checksum(fields, table) == checksum {
            let (found, flags) = (u32_at(fields, 8), u32_at(fields, 12));
            if fields[..8] != magic[..] {
                // A file of another type stands here.
                return Ok(Remains { mapping, payload_bytes: 0, sound: Vec::new() });
            }
            let page_sum = page_sum_of(flags).filter(|_| found == version);
            sums = vec![page_sum.ok_or_else(|| unsupported(path, found, flags, SUPPORTED))?];
        }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::{MAGIC, of_before, write};
    use super::*;
    use crate::disk::OsDisk;

    const PAGES: usize = 70;

    /// Of each kind of file, damage to the footer or to the table costs no page, and damage to a
    /// page that page alone.
    #[test]
    fn what_was_not_hit_is_sound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let payload: Vec<u8> = (0..PAGES * PAGE_BYTES - 9).map(|at| (at % 251) as u8).collect();
        write(&path, &payload, PAGE_BYTES);
        let new = fs::read(&path).unwrap();
        for whole in [of_before(new.clone()), new] {
            let (footer, table) = (whole.len() - FOOTER_BYTES, payload.len());
            let flags = footer + 12;
            for (at, page) in [(flags, None), (footer + 30, None), (table + 8 * 40, None)]
                .into_iter()
                .chain([0, 1, 65, PAGES - 1].map(|page| (page * PAGE_BYTES + 7, Some(page))))
            {
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                fs::write(&path, &bytes).unwrap();
                let remains = Remains::open(&OsDisk, &path, MAGIC, 1).unwrap();
                assert_eq!(remains.payload(), &bytes[..payload.len()]);
                for each in 0..PAGES {
                    let part = each * PAGE_BYTES..(each * PAGE_BYTES + 8).min(payload.len());
                    assert_eq!(remains.is_sound(part), page != Some(each), "{at}, page {each}");
                }
            }
        }
    }
}
