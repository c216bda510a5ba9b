//! Immutable files that are mapped and checked page by page.
//!
//! A paged file is a payload, a table with one checksum for each page of the payload, and a footer.
//! Opening one looks at nothing: its length says where all is. The footer and the table are checked
//! when the first page is touched, each page when it is. So a huge file opens in microseconds, one
//! that nobody asks costs no read unless it is tiny, and still no byte is used unchecked.
//!
//! Invariants: a paged file never changes once it has its name; [`Paged::bytes`] gives bytes whose
//! pages match the table, or an error.
//!
//! Not here: what the payload means. Numbers in it are little-endian, as everywhere on disk.

mod remains;
mod sum;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::disk::{Disk, Mapping};
use crate::error::{Error, Result};

use sum::{FLAG_XXH3, PAGE_CHECKSUM_BYTES, PageSum, footer_checksum, page_sum_of};

pub(crate) use remains::Remains;
pub(crate) use writer::{AsideFile, Named, PagedWriter, Ready};

/// How many bytes of the payload one checksum covers.
pub(crate) const PAGE_BYTES: usize = 4096;
/// Who looked at so many of 64 pages needs the others, too.
const LOOKS_FEW: u32 = 4;

/// Not the flags of any file that is read.
const FLAGS_UNKNOWN: u32 = u32::MAX;
/// What is read.
const SUPPORTED: &str = "version 1 with flags 0x0 or 0x1";

/// The footer's fields: magic, version, flags, payload length.
const FOOTER_FIELDS_BYTES: usize = 8 + 4 + 4 + 8;
/// The footer: its fields and the checksum over them and the table.
const FOOTER_BYTES: usize = FOOTER_FIELDS_BYTES + blake3::OUT_LEN;

/// What kind of file it is: the first eight bytes of the footer.
pub(crate) type Magic = [u8; 8];

/// An open paged file.
#[derive(Debug)]
pub(crate) struct Paged {
    path: PathBuf,
    mapping: Mapping,
    payload_bytes: u64,
    magic: Magic,
    version: u32,
    /// The flags, once footer and table were found as they were written: how pages are summed.
    page_sum: AtomicU32,
    checked: Vec<AtomicU64>,
}

impl Paged {
    /// Maps a file and checks its length.
    ///
    /// The length is compared with what is expected before a byte is looked at.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        expected_bytes: Option<u64>,
        magic: &Magic,
        version: u32,
    ) -> Result<Paged> {
        let mapping = map_whole(disk, path, expected_bytes)?;
        let payload_bytes = payload_of(mapping.len())
            .ok_or_else(|| Error::corrupt(path, None, "no payload makes it as long as it is"))?;
        let paged = Paged {
            path: path.to_owned(),
            payload_bytes: payload_bytes as u64,
            mapping,
            magic: *magic,
            version,
            page_sum: AtomicU32::new(FLAGS_UNKNOWN),
            checked: words_of(payload_bytes, 0),
        };
        if payload_bytes == 0 {
            // No page will ever be touched.
            paged.check_table()?;
        }
        Ok(paged)
    }

    /// Wraps a payload that was made in memory and needs no checks; the path is for messages.
    pub(crate) fn from_memory(path: &Path, payload: Vec<u8>) -> Paged {
        Paged {
            path: path.to_owned(),
            payload_bytes: payload.len() as u64,
            checked: words_of(payload.len(), u64::MAX),
            mapping: Mapping::new(payload),
            magic: Magic::default(),
            version: 0,
            page_sum: AtomicU32::new(FLAG_XXH3),
        }
    }

    /// Gives the file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the payload's length.
    pub(crate) fn len(&self) -> u64 {
        self.payload_bytes
    }

    /// Gives a part of the payload, its pages checked.
    #[inline]
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Result<&[u8]> {
        let Some(end) = offset.checked_add(len as u64).filter(|end| *end <= self.payload_bytes)
        else {
            return Err(self.corrupt(offset, "something in it points beyond its end"));
        };
        let (start, end) = (offset as usize, end as usize);
        let payload: &[u8] = &self.mapping;
        for page in start / PAGE_BYTES..end.div_ceil(PAGE_BYTES) {
            if !self.is_checked(page) {
                self.check_page(payload, page)?;
            }
        }
        Ok(&payload[start..end])
    }

    #[inline]
    fn is_checked(&self, page: usize) -> bool {
        self.checked[page / 64].load(Ordering::Relaxed) & (1 << (page % 64)) != 0
    }

    /// Gives the memory back that the file takes.
    pub(crate) fn release(&self) {
        self.mapping.release();
    }

    /// Reads a `u32`.
    pub(crate) fn u32(&self, offset: u64) -> Result<u32> {
        Ok(u32_at(self.bytes(offset, 4)?, 0))
    }

    /// Checks the footer, the table and all the pages.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_table()?;
        self.bytes(0, self.payload_bytes as usize).map(|_| ())
    }

    /// Reports damage in this file.
    #[cold]
    pub(crate) fn corrupt(&self, offset: u64, why: impl Into<String>) -> Error {
        Error::corrupt(&self.path, offset, why)
    }

    #[cold]
    fn check_page(&self, payload: &[u8], page: usize) -> Result<()> {
        let page_sum = self.check_table()?;
        let start = page * PAGE_BYTES;
        let payload_bytes = self.payload_bytes as usize;
        let content = &payload[start..payload_bytes.min(start + PAGE_BYTES)];
        let sum_at = payload_bytes + page * PAGE_CHECKSUM_BYTES;
        if page_sum(content) != payload[sum_at..sum_at + PAGE_CHECKSUM_BYTES] {
            return Err(self.corrupt(start as u64, "the checksum of this page does not match"));
        }
        let before = self.checked[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        if before.count_ones() + 1 == LOOKS_FEW {
            let from = page / 64 * 64 * PAGE_BYTES;
            self.mapping.will_need(from as u64, (64 * PAGE_BYTES).min(payload_bytes - from));
        }
        Ok(())
    }

    /// Checks the footer and the table, unless that was done, and says how pages are summed.
    fn check_table(&self) -> Result<PageSum> {
        if let Some(page_sum) = page_sum_of(self.page_sum.load(Ordering::Relaxed)) {
            return Ok(page_sum);
        }
        self.mapping.will_jump();
        let (_, rest) = self.mapping.split_at(self.payload_bytes as usize);
        if rest.len() > PAGE_BYTES {
            self.mapping.will_need(self.payload_bytes, rest.len());
        }
        let (table, footer) = rest.split_at(rest.len() - FOOTER_BYTES);
        let (fields, sum) = footer.split_at(FOOTER_FIELDS_BYTES);
        let at = (self.mapping.len() - FOOTER_BYTES) as u64;
        if fields[..8] != self.magic[..] {
            return Err(self.corrupt(at, "its footer does not begin as it should"));
        }
        let (found, flags) = (u32_at(fields, 8), u32_at(fields, 12));
        let page_sum = page_sum_of(flags).filter(|_| found == self.version);
        let page_sum = page_sum.ok_or_else(|| unsupported(&self.path, found, flags, SUPPORTED))?;
        if u64_at(fields, 16) != self.payload_bytes {
            return Err(self.corrupt(at, "its payload is not as long as its footer says"));
        }
        if footer_checksum(fields, table)[..] != *sum {
            return Err(self.corrupt(at, "the checksum of its footer does not match"));
        }
        self.page_sum.store(flags, Ordering::Relaxed);
        Ok(page_sum)
    }
}

/// Works out how long the payload of a whole paged file of this length is.
fn payload_of(file_bytes: usize) -> Option<usize> {
    let rest = file_bytes.checked_sub(FOOTER_BYTES)?;
    let pages = rest.div_ceil(PAGE_BYTES + PAGE_CHECKSUM_BYTES);
    let payload_bytes = rest.checked_sub(pages * PAGE_CHECKSUM_BYTES)?;
    (payload_bytes.div_ceil(PAGE_BYTES) == pages).then_some(payload_bytes)
}

/// Makes a bit for each page of a payload.
fn words_of(payload_bytes: usize, word: u64) -> Vec<AtomicU64> {
    let words = payload_bytes.div_ceil(PAGE_BYTES).div_ceil(u64::BITS as usize);
    (0..words).map(|_| AtomicU64::new(word)).collect()
}

/// Maps a file whose length must be what is expected.
pub(crate) fn map_whole(
    disk: &dyn Disk,
    path: &Path,
    expected_bytes: Option<u64>,
) -> Result<Mapping> {
    let mapping = disk.map(path).map_err(Error::io("read", path))?;
    let found = mapping.len() as u64;
    match expected_bytes {
        Some(expected) if expected != found => {
            let why = format!("it is {found} bytes long, expected {expected}");
            Err(Error::corrupt(path, None, why))
        }
        _ => Ok(mapping),
    }
}

/// Reports a file of another version, or with flags that mean something we do not know.
pub(crate) fn unsupported(path: &Path, version: u32, flags: u32, supported: &'static str) -> Error {
    Error::UnsupportedFormat {
        path: path.to_owned(),
        found: format!("format version {version} with flags {flags:#x}"),
        supported,
    }
}

/// Reads a `u32` from bytes that are known to hold one there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Reads a `u64` from bytes that are known to hold one there.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::sum::blake3_sum;
    use super::*;
    use crate::disk::{OpenMode, OsDisk};

    pub(super) const MAGIC: &Magic = b"SAPWTEST";

    pub(super) fn write(path: &Path, payload: &[u8], piece_bytes: usize) -> u64 {
        let mut writer = PagedWriter::create(Arc::new(OsDisk), path).unwrap();
        for piece in payload.chunks(piece_bytes) {
            writer.write(piece).unwrap();
        }
        writer.finish(MAGIC, 1, path).unwrap()
    }

    #[test]
    fn a_payload_comes_back_however_it_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for bytes in [0, 1, 4095, 4096, 4097, 3 * 4096, 700_001] {
            let payload: Vec<u8> = (0..bytes).map(|at: usize| ((at * at) >> 3) as u8).collect();
            for piece_bytes in [1000, 4096, 1 << 20] {
                let file_bytes = write(&path, &payload, piece_bytes);
                let paged = Paged::open(&OsDisk, &path, Some(file_bytes), MAGIC, 1).unwrap();
                assert_eq!(paged.bytes(0, bytes).unwrap(), payload);
                assert!(paged.bytes(0, bytes + 1).is_err());
                assert!(paged.bytes(u64::MAX, 2).is_err());
            }
        }
        assert_eq!(OsDisk.list(dir.path()).unwrap().len(), 1, "nothing left aside");
    }

    #[test]
    fn files_get_their_names_together_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["one/a", "one/b", "two/c"].map(|name| dir.path().join(name));
        let prepare = || {
            let mut ready = Ready::default();
            for path in &paths {
                OsDisk.create_dir(path.parent().unwrap()).unwrap();
                let mut writer = PagedWriter::create(Arc::new(OsDisk), path).unwrap();
                writer.write(path.as_os_str().as_encoded_bytes()).unwrap();
                writer.finish_into(MAGIC, 1, path, &mut ready).unwrap();
            }
            assert!(paths.iter().all(|path| !path.exists()));
            ready
        };
        let listed = |name: &str| OsDisk.list(&dir.path().join(name)).unwrap().len();
        drop(prepare());
        assert_eq!((listed("one"), listed("two")), (0, 0));
        prepare().publish(&OsDisk).unwrap();
        assert_eq!((listed("one"), listed("two")), (2, 1));
        for path in &paths {
            let paged = Paged::open(&OsDisk, path, None, MAGIC, 1).unwrap();
            assert_eq!(paged.bytes(0, 3).unwrap(), &path.as_os_str().as_encoded_bytes()[..3]);
        }
        Ready::default().publish(&OsDisk).unwrap();
    }

    #[test]
    fn every_flip_and_every_cut_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let payload: Vec<u8> = (0..5000u32).map(|at| (at % 251) as u8).collect();
        write(&path, &payload, 5000);
        let whole = fs::read(&path).unwrap();
        let read = || -> Result<Vec<u8>> {
            let paged = Paged::open(&OsDisk, &path, None, MAGIC, 1)?;
            Ok(paged.bytes(0, paged.len() as usize)?.to_vec())
        };
        let file = OsDisk.open(&path, OpenMode::Write).unwrap();
        for (at, byte) in whole.iter().enumerate() {
            file.write_all_at(&[byte ^ (1 << (at % 8))], at as u64).unwrap();
            assert!(read().is_err(), "flip at {at}");
            file.write_all_at(&[*byte], at as u64).unwrap();
        }
        assert_eq!(read().unwrap(), payload);
        for bytes in (0..whole.len() as u64).rev() {
            file.set_len(bytes).unwrap();
            assert!(read().is_err(), "cut at {bytes}");
        }
    }

    #[test]
    fn a_page_is_checked_only_when_it_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, &[7; 3 * PAGE_BYTES], PAGE_BYTES);
        let mut bytes = fs::read(&path).unwrap();
        bytes[PAGE_BYTES] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let paged = Paged::open(&OsDisk, &path, None, MAGIC, 1).unwrap();
        assert!(paged.bytes(0, PAGE_BYTES).is_ok());
        assert!(paged.bytes(PAGE_BYTES as u64 - 1, 2).is_err());
        assert!(paged.bytes(2 * PAGE_BYTES as u64, PAGE_BYTES).is_ok());
        assert!(paged.check().is_err());
    }

    /// Gives a file's bytes as they were when pages were hashed with BLAKE3.
    pub(super) fn of_before(mut bytes: Vec<u8>) -> Vec<u8> {
        let footer = bytes.split_off(bytes.len() - FOOTER_BYTES);
        let mut fields = footer[..FOOTER_FIELDS_BYTES].to_vec();
        fields[12..16].fill(0);
        bytes.truncate(u64_at(&fields, 16) as usize);
        let table: Vec<u8> = bytes.chunks(PAGE_BYTES).flat_map(blake3_sum).collect();
        bytes.extend([&table[..], &fields, &footer_checksum(&fields, &table)].concat());
        bytes
    }

    #[test]
    fn pages_that_were_hashed_with_blake3_are_read_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let payload: Vec<u8> = (0..3 * PAGE_BYTES + 5).map(|at| (at % 251) as u8).collect();
        write(&path, &payload, PAGE_BYTES);
        let bytes = of_before(fs::read(&path).unwrap());
        let check = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            Paged::open(&OsDisk, &path, None, MAGIC, 1).and_then(|paged| paged.check())
        };
        check(&bytes).unwrap();
        let flags_at = bytes.len() - FOOTER_BYTES + 12;
        for (at, is_unsupported) in [(0, false), (flags_at, false), (flags_at, true)] {
            let mut damaged = bytes.clone();
            damaged[at] ^= if is_unsupported { 2 } else { 1 };
            let error = check(&damaged).unwrap_err();
            let found = matches!(error, Error::UnsupportedFormat { .. });
            assert_eq!(found, is_unsupported, "{error}");
        }
    }

    #[test]
    fn another_version_kind_or_length_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes = write(&path, b"payload", 10);
        let open = |expected, magic, version| {
            let opened = Paged::open(&OsDisk, &path, expected, magic, version);
            opened.and_then(|paged| paged.bytes(0, 1).map(|_| ())).unwrap_err()
        };
        let unsupported = open(Some(bytes), MAGIC, 2);
        assert!(matches!(unsupported, Error::UnsupportedFormat { .. }));
        let other = open(Some(bytes), b"SAPWELSE", 1);
        assert!(matches!(other, Error::Corrupt { .. }));
        let length = open(Some(bytes + 1), MAGIC, 1);
        assert!(matches!(length, Error::Corrupt { .. }));
    }

    #[test]
    fn an_unfinished_file_vanishes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut writer = PagedWriter::create(Arc::new(OsDisk), &path).unwrap();
        writer.write(&[1; 1 << 20]).unwrap();
        assert_eq!(OsDisk.list(dir.path()).unwrap().len(), 1);
        drop(writer);
        assert!(OsDisk.list(dir.path()).unwrap().is_empty());
    }
}
