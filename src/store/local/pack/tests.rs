//! Packs written, read back, damaged in every byte, and read again.

mod dictionaries;
mod folded;
mod tail;

use std::fs;

use super::super::graph::{GRAPH_MAGIC, GRAPH_VERSION, LABELS_MAX};
use super::super::paged::PagedWriter;
use super::block::{BLOCK_HEADER_BYTES, Block, BlockHeader, Form};
use super::load::HASHED_SHARE;
use super::topology::Depth;
use super::writer::PACKED_BYTES_MAX;
use super::*;
use crate::codec::Value;
use crate::disk::{DiskFile, OpenMode, OsDisk};
use crate::object::Entry;
use crate::store::Topology;

#[derive(Clone, Debug)]
struct Made {
    id: Id,
    kind: Kind,
    content: Vec<u8>,
    topology: Topology,
}

fn blob(content: &[u8]) -> Made {
    Made {
        id: Id::of(Kind::Blob, content),
        kind: Kind::Blob,
        content: content.to_owned(),
        topology: Topology {
            kind: Kind::Blob,
            label: Arc::from(""),
            parents: Vec::new(),
            time: 0,
            depth: 0,
        },
    }
}

fn entry(label: &str, time: i64, parents: &[Id], depth: u64, body: &str) -> Made {
    let encoded = Entry {
        label: label.to_owned(),
        time,
        parents: parents.to_vec(),
        body: Value::Map(vec![("text".into(), Value::Text(body.to_owned()))]),
        raw: None,
    }
    .encode()
    .unwrap();
    Made {
        id: encoded.id,
        kind: Kind::Entry,
        content: encoded.content.to_vec(),
        topology: Topology {
            kind: Kind::Entry,
            label: Arc::from(label),
            parents: parents.to_vec(),
            time,
            depth,
        },
    }
}

/// A path that comes from outside, where it is at depth 41, and a merge at its end.
fn family() -> Vec<Made> {
    let outside = Id::from_bytes([0xee; 32]);
    let mut family = vec![blob(b"a blob"), blob(b"")];
    let mut last = outside;
    for step in 0..6 {
        let label = ["message", "memory"][step % 2];
        let made = entry(label, step as i64 - 3, &[last], 42 + step as u64, "hello");
        last = made.id;
        family.push(made);
    }
    let root = entry("message", 7, &[], 0, "another root");
    let parents = [last, root.id, outside];
    family.push(root);
    family.push(entry("merge", i64::MIN, &parents, 48, ""));
    family
}

/// A path of so many entries that all say the same.
fn chain(count: u64, said: &str) -> Vec<Made> {
    let mut chain: Vec<Made> = Vec::new();
    for number in 0..count {
        let parents: Vec<Id> = chain.last().map(|made| made.id).into_iter().collect();
        chain.push(entry("message", number as i64 + 1, &parents, number, said));
    }
    chain
}

fn outside_depth(id: &Id) -> Result<Option<u64>> {
    Ok((*id == Id::from_bytes([0xee; 32])).then_some(41))
}

const PLAIN: PackOptions = PackOptions { level: 3, fold: false, ..PackOptions::TIDY };
const SMALL_BLOCKS: PackOptions = PackOptions { block_bytes: 200, ..PLAIN };
const FOLDED: PackOptions = PackOptions { block_bytes: 500, fold: true, ..PLAIN };

fn write(dir: &Path, objects: &[Made], options: PackOptions) -> PackInfo {
    let mut writer = PackWriter::new(Arc::new(OsDisk), dir, options).unwrap();
    for object in objects {
        writer.add(&object.id, object.kind, &object.content).unwrap();
    }
    writer.finish(&mut outside_depth).unwrap()
}

fn open(dir: &Path, info: &PackInfo) -> Result<Pack> {
    Pack::open(Arc::new(OsDisk), dir, info)
}

/// Reads all that can be read of an object, and gives the errors; what is read must be right.
fn check(pack: &Pack, object: &Made, cache: &BlockCache) -> Vec<Error> {
    let mut errors = Vec::new();
    let row = match pack.find(&object.id) {
        Ok(row) => row.expect("an index that reads is right"),
        Err(error) => return vec![error],
    };
    match pack.read(row, cache) {
        Ok(stored) => {
            assert_eq!(stored.kind, object.kind);
            assert_eq!(*stored.content, object.content[..]);
        }
        Err(error) => errors.push(error),
    }
    match pack.topology(row, &mut outside_depth) {
        Ok(topology) => assert_eq!(topology, object.topology),
        Err(error) => errors.push(error),
    }
    match pack.path(row, 3) {
        Ok((rows, _)) => {
            let path: Vec<Id> = rows.iter().map(|row| pack.id(*row).unwrap()).collect();
            assert_eq!(path[0], object.id);
            assert_eq!(path.get(1), object.topology.parents.first().filter(|_| path.len() > 1));
        }
        Err(error) => errors.push(error),
    }
    errors
}

#[test]
fn what_was_packed_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let family = family();
    for options in [SMALL_BLOCKS, PackOptions::default(), FOLDED] {
        let info = write(dir.path(), &family, options);
        let pack = open(dir.path(), &info).unwrap();
        assert_eq!(pack.len() as usize, family.len());
        let cache = BlockCache::default();
        for object in &family {
            assert!(check(&pack, object, &cache).is_empty());
            let mut ids = Vec::new();
            let prefix = object.id.short(10).parse().unwrap();
            pack.prefix(&prefix, 2, &mut ids).unwrap();
            assert_eq!(ids, [object.id]);
        }
        assert_eq!(pack.find(&Id::from_bytes([0xee; 32])).unwrap(), None);
        let mut seen = Vec::new();
        pack.for_each(&mut |id, _, content| {
            seen.push((*id, content.to_vec()));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        let added = family.iter().map(|made| (made.id, made.content.clone()));
        assert_eq!(seen, added.collect::<Vec<_>>(), "in the order they were added");
        let whole = pack.verify(&mut |error| panic!("{error}"));
        assert_eq!(whole, family.len() as u64);
    }
    let files = OsDisk.list(dir.path()).unwrap();
    assert_eq!(files.len(), 9, "three packs and nothing aside");
}

#[test]
fn a_path_ends_at_the_root_the_limit_or_the_edge() {
    let dir = tempfile::tempdir().unwrap();
    let family = family();
    let info = write(dir.path(), &family, SMALL_BLOCKS);
    let pack = open(dir.path(), &info).unwrap();
    let row = |at: usize| pack.find(&family[at].id).unwrap().unwrap();
    let walk = |row, limit| {
        let (rows, end) = pack.path(row, limit).unwrap();
        (rows.len(), end)
    };
    let edge = PathEnd::Outside(Id::from_bytes([0xee; 32]));
    assert_eq!(walk(row(9), 100), (7, edge));
    assert_eq!(walk(row(9), 8), (7, edge));
    assert_eq!(walk(row(9), 7), (7, PathEnd::Limit));
    assert_eq!(walk(row(9), 0), (0, PathEnd::Limit));
    assert_eq!(walk(row(8), 1), (1, PathEnd::Root));
    assert!(pack.path(10, 1).is_err(), "no such row");
}

/// A family in a pack of its own, one file of which gets damaged.
struct Victim {
    dir: tempfile::TempDir,
    family: Vec<Made>,
    info: PackInfo,
    file: PackFile,
    open_file: Box<dyn DiskFile>,
    bytes: Vec<u8>,
}

impl Victim {
    fn new(file: PackFile, options: PackOptions) -> Victim {
        let dir = tempfile::tempdir().unwrap();
        let family = family();
        let info = write(dir.path(), &family, options);
        let path = file.path(dir.path(), &info.id);
        Victim {
            family,
            info,
            file,
            open_file: OsDisk.open(&path, OpenMode::Write).unwrap(),
            bytes: fs::read(&path).unwrap(),
            dir,
        }
    }

    /// Reads everything: each answer is right or an error, and `verify` notices the damage.
    fn survive(&self, damage: &str) {
        let pack = match open(self.dir.path(), &self.info) {
            Ok(pack) => pack,
            Err(error) => return assert_ne!(self.file, PackFile::Graph, "{damage}: {error}"),
        };
        let cache = BlockCache::default();
        let read = self.family.iter().map(|made| check(&pack, made, &cache));
        let errors: Vec<Error> = read.flatten().collect();
        if self.file == PackFile::Graph {
            assert!(errors.is_empty(), "{damage}: {errors:?}");
        }
        let mut findings = 0;
        pack.verify(&mut |_| findings += 1);
        assert!(findings > 0, "{:?}, {damage}", self.file);
    }
}

#[test]
fn a_pack_with_any_byte_flipped_gives_errors_or_the_right_bytes() {
    let victims = PackFile::ALL.map(|file| Victim::new(file, SMALL_BLOCKS));
    for victim in victims.into_iter().chain([Victim::new(PackFile::Pack, FOLDED)]) {
        for (at, byte) in (0..).zip(&victim.bytes) {
            let put = |byte: u8| victim.open_file.write_all_at(&[byte], at).unwrap();
            put(byte ^ (1 << (at % 8)));
            victim.survive(&format!("flip at {at}"));
            put(*byte);
        }
    }
}

#[test]
fn a_pack_cut_at_any_length_gives_errors_or_the_right_bytes() {
    let victims = PackFile::ALL.map(|file| Victim::new(file, SMALL_BLOCKS));
    for victim in victims.into_iter().chain([Victim::new(PackFile::Pack, FOLDED)]) {
        for bytes in (0..victim.bytes.len() as u64).rev() {
            victim.open_file.set_len(bytes).unwrap();
            victim.survive(&format!("cut at {bytes}"));
        }
    }
}

#[test]
fn damage_to_one_block_leaves_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let family = family();
    let info = write(dir.path(), &family, SMALL_BLOCKS);
    let path = PackFile::Pack.path(dir.path(), &info.id);
    let mut bytes = fs::read(&path).unwrap();
    bytes[PACK_HEADER_BYTES + BLOCK_HEADER_BYTES + 1] ^= 1;
    fs::write(&path, &bytes).unwrap();
    fs::remove_file(PackFile::Graph.path(dir.path(), &info.id)).unwrap();
    let pack = open(dir.path(), &info).unwrap();
    let cache = BlockCache::default();
    let lost = pack.block_rows(0).unwrap().len();
    assert!(pack.blocks() > 1 && lost > 0);
    let bad = family.iter().filter(|made| !check(&pack, made, &cache).is_empty());
    assert!(bad.count() >= lost);
    let last = family.last().unwrap();
    let row = pack.find(&last.id).unwrap().unwrap();
    assert_eq!(*pack.read(row, &cache).unwrap().content, last.content[..]);

    let (mut salvaged, mut findings) = (0, 0);
    let count = salvage(
        &OsDisk,
        &path,
        &|_| false,
        &mut |id, kind, content| {
            assert_eq!(*id, Id::of(kind, content));
            salvaged += 1;
            Ok(())
        },
        &mut |_| findings += 1,
    );
    assert_eq!(count.unwrap().objects, salvaged);
    assert_eq!((salvaged as usize, findings), (family.len() - lost, 1));
}

#[test]
fn without_a_graph_the_objects_answer_and_maintenance_writes_it_anew() {
    let dir = tempfile::tempdir().unwrap();
    let family = family();
    let info = write(dir.path(), &family, SMALL_BLOCKS);
    let path = PackFile::Graph.path(dir.path(), &info.id);
    let right = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let pack = open(dir.path(), &info).unwrap();
    let cache = BlockCache::default();
    for object in &family {
        assert!(check(&pack, object, &cache).is_empty());
    }
    let row = pack.find(&family[9].id).unwrap().unwrap();
    let parent = Id::from_bytes([0xee; 32]);
    assert_eq!(pack.depth(row).unwrap(), Depth::Beyond { steps: 7, parent });
    let lost = pack.topology(row, &mut |_| Ok(None));
    assert!(matches!(lost, Err(Error::ObjectMissing { id }) if id == parent));
    let mut missing = false;
    pack.verify(&mut |error| missing |= error.is_not_found());
    assert!(missing);
    pack.heal_graph(&mut outside_depth).unwrap();
    assert_eq!(fs::read(&path).unwrap(), right);
}

#[test]
fn a_graph_that_runs_in_circles_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let root = entry("message", 1, &[], 0, "root");
    let child = entry("message", 2, &[root.id], 1, "child");
    let info = write(dir.path(), &[root.clone(), child.clone()], SMALL_BLOCKS);
    let mut builder = super::super::graph::GraphBuilder::default();
    builder.add(Kind::Entry, "x", 1, &[child.id], &|_| None).unwrap();
    builder.add(Kind::Entry, "x", 2, &[root.id], &|_| None).unwrap();
    let pack = open(dir.path(), &info).unwrap();
    let path = PackFile::Graph.path(dir.path(), &info.id);
    let mut writer = PagedWriter::create(Arc::new(OsDisk), &path).unwrap();
    let order = super::super::graph::Order { numbers: &[0, 1], rows: &[] };
    let mut find = |id: &Id| pack.find(id);
    let mut write_on = |bytes: &[u8]| writer.write(bytes);
    builder.build(&info.id, &order, &mut find, &mut outside_depth, &mut write_on).unwrap();
    writer.finish(GRAPH_MAGIC, GRAPH_VERSION, &path).unwrap();
    let row = |id| pack.find(id).unwrap().unwrap();
    let path = vec![row(&child.id), row(&root.id)];
    assert_eq!(pack.path(row(&child.id), 100).unwrap(), (path, PathEnd::Root));
    assert!(check(&pack, &child, &BlockCache::default()).is_empty());
}

#[test]
fn blocks_are_copied_as_they_are_unless_an_object_is_there_already() {
    let dir = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let family = family();
    let info = write(dir.path(), &family, SMALL_BLOCKS);
    let pack = open(dir.path(), &info).unwrap();
    let mut writer = PackWriter::new(Arc::new(OsDisk), other.path(), SMALL_BLOCKS).unwrap();
    for block in 0..pack.blocks() {
        writer.add_block(&pack, block, &mut |_| true).unwrap();
    }
    assert_eq!(writer.finish(&mut outside_depth).unwrap(), info);
    for file in PackFile::ALL {
        let copy = fs::read(file.path(other.path(), &info.id)).unwrap();
        assert_eq!(copy, fs::read(file.path(dir.path(), &info.id)).unwrap());
    }

    let mut writer = PackWriter::new(Arc::new(OsDisk), other.path(), SMALL_BLOCKS).unwrap();
    let known = &family[3];
    for _ in 0..2 {
        writer.add(&known.id, known.kind, &known.content).unwrap();
    }
    for block in (0..pack.blocks()).rev() {
        writer.add_block(&pack, block, &mut |_| true).unwrap();
    }
    let info = writer.finish(&mut outside_depth).unwrap();
    assert_eq!(info.objects, family.len() as u64);
    let pack = open(other.path(), &info).unwrap();
    pack.verify(&mut |error| panic!("{error}"));
    for object in &family {
        assert!(check(&pack, object, &BlockCache::default()).is_empty());
    }
}

#[test]
fn a_writer_refuses_what_it_can_not_keep_and_leaves_nothing_when_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = PackWriter::new(Arc::new(OsDisk), dir.path(), PackOptions::default()).unwrap();
    let wrong = writer.add(&Id::from_bytes([1; 32]), Kind::Blob, b"x");
    assert!(matches!(wrong, Err(Error::InvalidObject { .. })));
    let large = vec![7; PACKED_BYTES_MAX + 1];
    let refused = writer.add(&Id::of(Kind::Blob, &large), Kind::Blob, &large);
    assert!(matches!(refused, Err(Error::TooLarge { .. })));
    let largest = blob(&large[1..]);
    writer.add(&largest.id, largest.kind, &largest.content).unwrap();
    assert_eq!(writer.len(), 1);
    assert_eq!(OsDisk.list(dir.path()).unwrap().len(), 1);
    drop(writer);
    assert!(OsDisk.list(dir.path()).unwrap().is_empty());

    let info = write(dir.path(), std::slice::from_ref(&largest), PackOptions::default());
    let pack = open(dir.path(), &info).unwrap();
    assert!(check(&pack, &largest, &BlockCache::new(0)).is_empty());
    let empty = write(dir.path(), &[], PackOptions::default());
    let pack = open(dir.path(), &empty).unwrap();
    assert_eq!(pack.verify(&mut |error| panic!("{error}")), 0);
    assert_eq!(pack.find(&largest.id).unwrap(), None);
}

#[test]
fn labels_beyond_the_table_are_asked_of_the_object() {
    let dir = tempfile::tempdir().unwrap();
    let labels = (0..LABELS_MAX as i64 + 2).map(|number| format!("type {number}"));
    let odd: Vec<Made> = labels.map(|label| entry(&label, 5, &[], 0, "")).collect();
    let info = write(dir.path(), &odd, PackOptions::default());
    let pack = open(dir.path(), &info).unwrap();
    for made in [&odd[0], &odd[LABELS_MAX - 1], &odd[LABELS_MAX + 1]] {
        assert!(check(&pack, made, &BlockCache::default()).is_empty());
    }
}

#[test]
fn an_absurd_length_is_refused_before_anything_is_allocated() {
    let header = BlockHeader::new(u32::MAX >> 2, Form::default(), 1, [0; 32], b"frame");
    let mut bytes = header.encode().to_vec();
    bytes.extend_from_slice(b"frame");
    let refused = Block::at(&bytes, 0, Path::new("x")).unwrap_err();
    assert!(refused.to_string().contains("larger than blocks are"));
    assert!(Block::at(&bytes, u64::MAX, Path::new("x")).is_err());
}

#[test]
fn an_object_that_was_read_is_kept_without_its_block() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(40, "hello");
    let info = write(dir.path(), &chain, PLAIN);
    let pack = open(dir.path(), &info).unwrap();
    let cache = BlockCache::default();
    for made in &chain {
        let row = pack.find(&made.id).unwrap().unwrap();
        for held_max in [usize::MAX, made.content.len() + 16] {
            let stored = pack.read(row, &cache).unwrap();
            assert_eq!((stored.kind, &*stored.content), (Kind::Entry, &*made.content));
            assert!(stored.content.held_bytes() <= held_max);
        }
    }
}
