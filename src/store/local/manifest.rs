//! `current`: the manifest, which says what exists.
//!
//! Invariants: what it does not name does not exist (loose objects excepted); what it names was
//! durable before it was named. It is replaced whole, so a reader sees the old one or the new one.
//!
//! It is text, a line each, so that a person can read it:
//!
//! ```text
//! sapwood manifest 1
//! generation 7
//! segment 12 closed 1048432 <last checksum>
//! segment 13 open
//! pack <id> <pack bytes> <index bytes> <objects>
//! cruft <id> <pack bytes> <index bytes> <objects> <since, in milliseconds since 1970>
//! moved 2
//! refs 7 <bytes>
//! expired 40
//! log 3 <bytes> <operations>
//! refused 7 <bytes>
//! purge 7 <bytes>
//! end <BLAKE3 of all the lines before>
//! ```

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

use crate::disk::{self, Disk, SyncWith};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::pack::PackInfo;

/// The longest manifest that is read.
const BYTES_MAX: u64 = 64 << 20;
const TITLE: &str = "sapwood manifest ";
const VERSION: &str = "1";

/// What exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Counts the manifests of this store.
    pub(crate) generation: u64,
    /// The journal, oldest first. Only the last one is open.
    pub(crate) segments: Vec<SegmentRecord>,
    /// The packs, oldest first.
    pub(crate) packs: Vec<PackInfo>,
    /// Packs of what nothing led to when it was set aside: readable, but missing to writers.
    pub(crate) cruft: Vec<CruftRecord>,
    /// How often loose files were set aside as cruft.
    pub(crate) moved: u64,
    /// The refs as they were when the oldest segment began.
    pub(crate) refs: Option<FileRecord>,
    /// How many operations were dropped before those of the first log.
    pub(crate) expired: u64,
    /// The operations before the oldest segment, oldest first.
    pub(crate) logs: Vec<LogRecord>,
    /// The ids that may not come back.
    pub(crate) refused: Option<FileRecord>,
    /// The loose files that no longer count, while they are being removed.
    pub(crate) purge: Option<FileRecord>,
}

/// One journal segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentRecord {
    pub(crate) sequence: u64,
    pub(crate) closed: Option<Closed>,
}

/// Where a closed segment ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) bytes: u64,
    pub(crate) checksum: Id,
}

/// A pack of cruft, and since when it is that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CruftRecord {
    pub(crate) pack: PackInfo,
    /// Milliseconds since 1970.
    pub(crate) since_ms: i64,
}

/// A numbered file and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRecord {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
}

/// A file of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogRecord {
    pub(crate) file: FileRecord,
    pub(crate) operations: u64,
}

impl Manifest {
    /// Describes a store with one empty segment and nothing else.
    pub(crate) fn new(first_sequence: u64) -> Manifest {
        Manifest {
            generation: 1,
            segments: vec![SegmentRecord { sequence: first_sequence, closed: None }],
            packs: Vec::new(),
            cruft: Vec::new(),
            moved: 0,
            refs: None,
            expired: 0,
            logs: Vec::new(),
            refused: None,
            purge: None,
        }
    }

    /// Gives the manifest after this one, in which another segment follows the open one.
    pub(crate) fn followed(&self, closed: Closed, sequence: u64) -> Manifest {
        let mut next = Manifest { generation: self.generation + 1, ..self.clone() };
        next.segments.last_mut().expect("a manifest names a segment").closed = Some(closed);
        next.segments.push(SegmentRecord { sequence, closed: None });
        next
    }

    /// Gives the number of the last operation in the log files.
    pub(crate) fn operations_logged(&self) -> u64 {
        self.expired + self.logs.iter().map(|log| log.operations).sum::<u64>()
    }

    /// Puts packs in the place of others, where the first of them stood.
    pub(crate) fn replace_packs(&mut self, old: &HashSet<Id>, new: &[PackInfo]) {
        let at = self.packs.iter().position(|info| old.contains(&info.id)).unwrap_or(0);
        self.packs.retain(|info| !old.contains(&info.id));
        self.packs.splice(at..at, new.iter().copied());
    }

    /// Reads the manifest.
    pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<Manifest> {
        let bytes = disk::read_file(disk, path, BYTES_MAX).map_err(Error::io("read", path))?;
        Manifest::read_bytes(path, &bytes)
    }

    /// Reads a manifest from its bytes; the path is for messages.
    pub(crate) fn read_bytes(path: &Path, bytes: &[u8]) -> Result<Manifest> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Error::corrupt(path, error.valid_up_to() as u64, "not UTF-8"))?;
        if let Some(version) = text.lines().next().and_then(|line| line.strip_prefix(TITLE))
            && version != VERSION
        {
            return Err(Error::UnsupportedFormat {
                path: path.to_owned(),
                found: format!("manifest version '{}'", version.escape_debug()),
                supported: "version 1",
            });
        }
        parse(text).map_err(|why| Error::corrupt(path, None, why))
    }

    /// Says of a manifest whose title names another version that it is damaged: another version's
    /// would match its own checksum.
    pub(crate) fn is_damaged(disk: &dyn Disk, path: &Path) -> bool {
        let bytes = disk::read_file(disk, path, BYTES_MAX).unwrap_or_default();
        std::str::from_utf8(&bytes).map_or(true, |text| checked_body(text).is_err())
    }

    /// Puts this manifest in the place of the one before: from now on, this is what exists.
    pub(crate) fn publish(&self, disk: &dyn Disk, path: &Path) -> Result<()> {
        self.publish_after(disk, path, &mut |file| file.sync_data())
    }

    /// Writes it; the caller makes it durable, together with what it names.
    pub(crate) fn publish_after(
        &self,
        disk: &dyn Disk,
        path: &Path,
        sync: &mut SyncWith<'_>,
    ) -> Result<()> {
        let text = self.to_text();
        let written = disk::replace_file_after(disk, path, text.as_bytes(), sync);
        written.map_err(Error::io("write", path))
    }

    /// Gives it as it stands in its file.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{TITLE}{VERSION}\ngeneration {}\n", self.generation);
        for segment in &self.segments {
            let _ = match &segment.closed {
                None => writeln!(text, "segment {} open", segment.sequence),
                Some(Closed { bytes, checksum }) => {
                    writeln!(text, "segment {} closed {bytes} {checksum}", segment.sequence)
                }
            };
        }
        for pack in &self.packs {
            let _ = writeln!(text, "pack {}", words(pack));
        }
        for CruftRecord { pack, since_ms } in &self.cruft {
            let _ = writeln!(text, "cruft {} {since_ms}", words(pack));
        }
        if self.moved > 0 {
            let _ = writeln!(text, "moved {}", self.moved);
        }
        if let Some(FileRecord { number, bytes }) = &self.refs {
            let _ = writeln!(text, "refs {number} {bytes}");
        }
        if self.expired > 0 {
            let _ = writeln!(text, "expired {}", self.expired);
        }
        for LogRecord { file: FileRecord { number, bytes }, operations } in &self.logs {
            let _ = writeln!(text, "log {number} {bytes} {operations}");
        }
        for (word, record) in [("refused", &self.refused), ("purge", &self.purge)] {
            if let Some(FileRecord { number, bytes }) = record {
                let _ = writeln!(text, "{word} {number} {bytes}");
            }
        }
        let end = blake3::hash(text.as_bytes());
        let _ = writeln!(text, "end {end}");
        text
    }
}

/// Gives all lines but the last, which has their checksum.
fn checked_body(text: &str) -> Result<&str, String> {
    let body_bytes = text.trim_end_matches('\n').rfind('\n').ok_or("it has no last line")? + 1;
    let (body, end) = text.split_at(body_bytes);
    let sum = Id::from_bytes(*blake3::hash(body.as_bytes()).as_bytes());
    match end == format!("end {sum}\n") {
        true => Ok(body),
        false => Err("its checksum does not match".to_owned()),
    }
}

fn parse(text: &str) -> Result<Manifest, String> {
    let body = checked_body(text)?;
    let mut lines = body.lines();
    if lines.next().and_then(|line| line.strip_prefix(TITLE)) != Some(VERSION) {
        return Err("it does not begin with its title".to_owned());
    }
    let mut manifest = Manifest { generation: 0, segments: vec![], ..Manifest::new(0) };
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        parse_line(&mut manifest, &words).ok_or_else(|| format!("it has the line '{line}'"))?;
    }
    let open_places = manifest.segments.iter().map(|segment| segment.closed.is_none());
    let last_only = (0..manifest.segments.len()).map(|at| at + 1 == manifest.segments.len());
    if manifest.segments.is_empty() || !open_places.eq(last_only) {
        return Err("its last segment, and no other, must be open".to_owned());
    }
    Ok(manifest)
}

fn parse_line(manifest: &mut Manifest, words: &[&str]) -> Option<()> {
    match *words {
        ["generation", number] => manifest.generation = number.parse().ok()?,
        ["segment", sequence, "open"] => {
            manifest.segments.push(SegmentRecord { sequence: sequence.parse().ok()?, closed: None })
        }
        ["segment", sequence, "closed", bytes, checksum] => manifest.segments.push(SegmentRecord {
            sequence: sequence.parse().ok()?,
            closed: Some(Closed {
                bytes: bytes.parse().ok()?,
                checksum: Id::from_str(checksum).ok()?,
            }),
        }),
        ["pack", ref info @ ..] => manifest.packs.push(pack_info(info)?),
        ["cruft", ref info @ .., since] => manifest
            .cruft
            .push(CruftRecord { pack: pack_info(info)?, since_ms: since.parse().ok()? }),
        ["moved", count] => manifest.moved = count.parse().ok()?,
        ["expired", count] => manifest.expired = count.parse().ok()?,
        ["refs", number, bytes] => manifest.refs = Some(file_record(number, bytes)?),
        ["log", number, bytes, operations] => manifest.logs.push(LogRecord {
            file: file_record(number, bytes)?,
            operations: operations.parse().ok()?,
        }),
        ["refused", number, bytes] => manifest.refused = Some(file_record(number, bytes)?),
        ["purge", number, bytes] => manifest.purge = Some(file_record(number, bytes)?),
        _ => return None,
    }
    Some(())
}

fn words(PackInfo { id, pack_bytes, index_bytes, objects }: &PackInfo) -> String {
    format!("{id} {pack_bytes} {index_bytes} {objects}")
}

fn pack_info(words: &[&str]) -> Option<PackInfo> {
    let [id, pack_bytes, index_bytes, objects] = words else {
        return None;
    };
    Some(PackInfo {
        id: Id::from_str(id).ok()?,
        pack_bytes: pack_bytes.parse().ok()?,
        index_bytes: index_bytes.parse().ok()?,
        objects: objects.parse().ok()?,
    })
}

fn file_record(number: &str, bytes: &str) -> Option<FileRecord> {
    Some(FileRecord { number: number.parse().ok()?, bytes: bytes.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        let id = |byte| Id::from_bytes([byte; 32]);
        Manifest {
            generation: 7,
            segments: vec![
                SegmentRecord {
                    sequence: 12,
                    closed: Some(Closed { bytes: 1_048_432, checksum: id(1) }),
                },
                SegmentRecord { sequence: 13, closed: None },
            ],
            packs: vec![PackInfo { id: id(2), pack_bytes: 10, index_bytes: 20, objects: 3 }],
            cruft: vec![CruftRecord {
                pack: PackInfo { id: id(3), pack_bytes: 11, index_bytes: 21, objects: 4 },
                since_ms: 1_700_000_000_000,
            }],
            moved: 2,
            refs: Some(FileRecord { number: 7, bytes: 99 }),
            expired: 40,
            logs: vec![LogRecord { file: FileRecord { number: 3, bytes: 55 }, operations: 2 }],
            refused: Some(FileRecord { number: 7, bytes: 120 }),
            purge: Some(FileRecord { number: 7, bytes: 88 }),
        }
    }

    #[test]
    fn a_manifest_reads_back() {
        assert_eq!(parse(&example().to_text()).unwrap(), example());
    }

    #[test]
    fn packs_take_the_place_of_others() {
        let info = |byte| PackInfo { id: Id::from_bytes([byte; 32]), ..example().packs[0] };
        let mut manifest = Manifest { packs: vec![info(1), info(2), info(3)], ..example() };
        manifest.replace_packs(&[info(2).id, info(3).id].into(), &[info(4), info(5)]);
        assert_eq!(manifest.packs, [info(1), info(4), info(5)]);
        manifest.replace_packs(&HashSet::new(), &[info(6)]);
        assert_eq!(manifest.packs[0], info(6), "the oldest");
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let text = example().to_text().into_bytes();
        for place in 0..text.len() {
            let mut bad = text.clone();
            bad[place] ^= 1;
            assert!(std::str::from_utf8(&bad).map_or(true, |bad| parse(bad).is_err()), "{place}");
            assert!(parse(std::str::from_utf8(&text[..place]).unwrap()).is_err(), "cut {place}");
        }
    }

    #[test]
    fn an_open_segment_in_the_middle_is_refused() {
        let mut manifest = example();
        manifest.segments.swap(0, 1);
        assert!(parse(&manifest.to_text()).is_err());
    }
}
