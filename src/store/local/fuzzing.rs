//! The decoders of the store's files, given any bytes.
//!
//! Checksums keep nearly all damage from the decoders behind them. Here they are made to match, so
//! that what is behind is reached. Each function is the body of one fuzz target: it must return,
//! whatever the bytes.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use crate::disk::{DirEntry, Disk, DiskFile, Mapping, OpenMode};
use crate::id::Id;
use crate::store::RefName;
use crate::store::local::graph::Graph;
use crate::store::local::group::{Input, Prefix, RecentNames, Salt, read_move, read_operation};
use crate::store::local::index::Index;
use crate::store::local::loose;
use crate::store::local::manifest::Manifest;
use crate::store::local::oplog::OperationLog;
use crate::store::local::pack::{self, fuzz_block, sealed_pack};
use crate::store::local::packed_refs::PackedRefs;
use crate::store::local::segment::salvage::{self, Known};
use crate::store::local::segment::{Segment, header};

const PATH: &str = "fuzzed";
const SALT: Salt = [7; 32];
const SEQUENCE: u64 = 6;
/// Where in a group the checksum of the one before stands.
const PREVIOUS_AT: usize = 48;

/// A group of the journal.
pub(crate) fn group(data: &[u8]) {
    let mut bytes = data.to_vec();
    let Some(prefix) = Prefix::read(&bytes, 0, bytes.len() as u64) else {
        return;
    };
    let Some(covered) = prefix.head_bytes.checked_sub(32).filter(|_| prefix.length > 0) else {
        return;
    };
    if let Some(head) = bytes.get(..covered) {
        let sum = blake3::keyed_hash(&SALT, head);
        bytes[covered..covered + 32].copy_from_slice(sum.as_bytes());
    }
    if let Some(head) = prefix.head(&bytes, &SALT) {
        head.outline.contents_match(&bytes);
    }
}

/// The parts of a group that are in the files of operations too.
pub(crate) fn operation(data: &[u8]) {
    let mut input = Input(data);
    if read_operation(&mut input).is_some() {
        let mut names = RecentNames::default();
        while read_move(&mut input, &mut names).is_some() {}
    }
}

/// A manifest.
pub(crate) fn manifest(data: &[u8]) {
    let _ = Manifest::read_bytes(Path::new(PATH), data);
    let mut ended = data.to_vec();
    let end = blake3::hash(data);
    ended.extend_from_slice(format!("end {end}\n").as_bytes());
    let _ = Manifest::read_bytes(Path::new(PATH), &ended);
}

/// A refs snapshot.
pub(crate) fn packed_refs(data: &[u8]) {
    let refs = PackedRefs::from_memory(Path::new(PATH), data.to_vec());
    let mut names = vec![RefName::head()];
    let _ = refs.for_each("", &mut |name, _| names.push(name));
    for name in names.iter().take(16) {
        let _ = refs.get(name);
    }
    let _ = refs.for_each("sessions/", &mut |_, _| {});
}

/// A file of operations.
pub(crate) fn operation_log(data: &[u8]) {
    let log = OperationLog::from_memory(Path::new(PATH), data.to_vec());
    let _ = log.for_each(&mut |_| Ok(ControlFlow::Continue(())));
}

/// An index, of the pack that it says it is of.
pub(crate) fn index(data: &[u8]) {
    let (Some(id), Some(bytes)) = (data.get(..32).and_then(Id::from_slice), word(data, 40)) else {
        return;
    };
    let Ok(index) = Index::from_memory(Path::new(PATH), data.to_vec(), &id, bytes) else {
        return;
    };
    for row in 0..index.len().min(64) {
        if let Ok(id) = index.id(row) {
            let _ = index.find(&id);
            let _ = index.prefix(&id.short(8).parse().expect("digits of an id"), 9, &mut vec![]);
        }
        let _ = index.position(row);
    }
    for block in 0..index.blocks().min(64) {
        let _ = index.block(block);
    }
    let _ = index.check();
}

/// A graph, of the pack and with the rows that it says it has.
pub(crate) fn graph(data: &[u8]) {
    let (Some(id), Some(rows)) = (data.get(..32).and_then(Id::from_slice), data.get(32..36)) else {
        return;
    };
    let rows = u32::from_le_bytes(rows.try_into().expect("4 bytes"));
    let Ok(graph) = Graph::from_memory(Path::new(PATH), data.to_vec(), &id, rows) else {
        return;
    };
    for row in 0..rows.min(64) {
        if let Ok(said) = graph.row(row) {
            let _ = graph.further(row, &said);
        }
        let _ = graph.step(row);
        let _ = graph.outside(row);
        let _ = graph.label(row as u16);
    }
}

/// A block of a pack.
pub(crate) fn block(data: &[u8]) {
    fuzz_block(data, Path::new(PATH));
}

/// A whole segment of the journal: one that counts, and what is left of one that is damaged.
pub(crate) fn segment(data: &[u8]) {
    let path = Path::new(PATH);
    for bytes in [data.to_vec(), sealed_segment(data)] {
        let disk = OneFile(bytes);
        if let Ok(remains) = salvage::salvage(&disk, path, SEQUENCE, Known::default()) {
            for object in remains.groups.iter().flat_map(|group| &group.objects) {
                let is_it = Id::of(object.kind, remains.content(object)) == object.id;
                assert!(is_it || !object.is_whole, "it is what its id says, or not whole");
            }
        }
        // What is durable is believed to have the contents that its heads tell of.
        for durable in [0, u64::MAX] {
            let Ok(segment) = Segment::open(&disk, path, SEQUENCE, true) else {
                continue;
            };
            let _ = segment.read_on(durable, u64::MAX);
            for (id, place) in segment.in_order() {
                let read = segment.read(&id, &place);
                assert!(read.is_ok() || durable > 0, "{read:?}");
            }
            let _ = segment.check_contents();
        }
    }
}

/// Makes the checksums of a segment match: that of its header, and those of its groups.
fn sealed_segment(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let begin = header(SEQUENCE, &SALT);
    let Some(found) = bytes.first_chunk_mut() else {
        return bytes;
    };
    *found = begin;
    let mut before = *blake3::keyed_hash(&SALT, &begin).as_bytes();
    let mut at = begin.len();
    let whole = bytes.len() as u64;
    while let Some(prefix) = Prefix::read(&bytes[at..], at as u64, whole) {
        let Some(covered) = prefix.head_bytes.checked_sub(32).filter(|_| prefix.length > 0) else {
            break;
        };
        bytes[at + PREVIOUS_AT..][..32].copy_from_slice(&before);
        before = *blake3::keyed_hash(&SALT, &bytes[at..][..covered]).as_bytes();
        bytes[at + covered..][..32].copy_from_slice(&before);
        at += prefix.length as usize;
    }
    bytes
}

/// A whole pack, without its index.
pub(crate) fn pack(data: &[u8]) {
    for bytes in [data.to_vec(), sealed_pack(data)] {
        let _ = pack::salvage(
            &OneFile(bytes),
            Path::new(PATH),
            &|_| true,
            &mut |id, kind, content| {
                assert!(Id::of(kind, content) == *id, "it is what its id says");
                Ok(())
            },
            &mut |_| {},
        );
    }
}

/// A loose file, and one whose frame holds these bytes.
pub(crate) fn loose(data: &[u8]) {
    let _ = loose::read_whole(&Bytes(data.to_vec()));
    if let Ok(frame) = zstd::bulk::compress(data, 1)
        && let Ok((kind, content)) = loose::read_whole(&Bytes(frame))
    {
        let header = format!("{} {}\0", kind.name(), content.len());
        assert!(data.starts_with(header.as_bytes()) && data.ends_with(&content));
    }
}

fn word(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

/// A disk with one file, whatever its name.
#[derive(Debug)]
struct OneFile(Vec<u8>);

impl Disk for OneFile {
    fn open(&self, _: &Path, _: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Bytes(self.0.clone())))
    }

    fn map(&self, _: &Path) -> io::Result<Mapping> {
        Ok(Mapping::new(self.0.clone()))
    }

    fn len(&self, _: &Path) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn list(&self, _: &Path) -> io::Result<Vec<DirEntry>> {
        Ok(Vec::new())
    }

    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn network_filesystem(&self, _: &Path) -> Option<String> {
        None
    }

    fn random(&self, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A file that is only read.
#[derive(Debug)]
struct Bytes(Vec<u8>);

impl DiskFile for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }
}
