//! What was set aside as cruft, and what is derived, after a repair.

use std::fs;

use super::*;
use crate::disk::OsDisk;
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::local::LocalStore;
use crate::store::local::manifest::{CruftRecord, Manifest};
use crate::store::local::pack::{PackFile, PackInfo, PackOptions, PackWriter};
use crate::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Store, Transaction,
};

fn options() -> RepairOptions<'static> {
    RepairOptions {
        dry_run: false,
        time: 1_700_000_000_000,
        lock_timeout: Duration::ZERO,
        allow_network: true,
        ignore_format: false,
        progress: None,
    }
}

fn blob(text: &str) -> NewObject {
    NewObject::blob(text.as_bytes().to_vec()).unwrap()
}

struct World {
    _dir: tempfile::TempDir,
    layout: Layout,
}

impl World {
    /// Makes a store with a ref to each blob, all in one pack, and blobs in a pack of cruft.
    fn new(live: &[&str], cruft: &[&str]) -> World {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join("store"));
        let world = World { _dir: dir, layout };
        let closed = Options { background: false, ..Options::default() };
        let (store, _) = LocalStore::init(Arc::new(OsDisk), world.layout.root(), closed).unwrap();
        store
            .commit(Durability::Full, &mut |_: &dyn Snapshot| {
                let objects: Vec<NewObject> = live.iter().map(|text| blob(text)).collect();
                let refs = objects.iter().map(|object| RefUpdate {
                    name: RefName::new(format!("notes/{}", object.id.short(8))).unwrap(),
                    expected: Expected::Any,
                    new: Some(RefValue::Id(object.id)),
                });
                Ok(Transaction { refs: refs.collect(), objects, operation: None })
            })
            .unwrap();
        store.seal().unwrap();
        drop(store);
        let pack = world.pack(cruft);
        let mut manifest = world.manifest();
        manifest.cruft.push(CruftRecord { pack, since_ms: 5 });
        manifest.generation += 1;
        manifest.publish(&OsDisk, &world.layout.current()).unwrap();
        world
    }

    /// Writes a pack with a block for each blob.
    fn pack(&self, texts: &[&str]) -> PackInfo {
        let options = PackOptions { block_bytes: 1, tail_bytes: 0, ..PackOptions::default() };
        let mut writer =
            PackWriter::new(Arc::new(OsDisk), &self.layout.pack_dir(), options).unwrap();
        for object in texts.iter().map(|text| blob(text)) {
            writer.add(&object.id, Kind::Blob, &object.content).unwrap();
        }
        writer.finish(&mut |_| Ok(None)).unwrap()
    }

    fn manifest(&self) -> Manifest {
        Manifest::read(&OsDisk, &self.layout.current()).unwrap()
    }

    fn file(&self, info: &PackInfo, file: PackFile) -> std::path::PathBuf {
        file.path(&self.layout.pack_dir(), &info.id)
    }

    fn fix(&self) -> RepairReport {
        let report = repair(Arc::new(OsDisk), self.layout.root(), &options()).unwrap();
        assert_eq!(report.remaining, []);
        report
    }

    fn holds(&self, text: &str) -> bool {
        let store = LocalStore::open(Arc::new(OsDisk), self.layout.root(), Options::default());
        let found = store.unwrap().snapshot().unwrap().get(&blob(text).id).unwrap();
        found.is_some_and(|stored| *stored.content == *text.as_bytes())
    }
}

fn flip(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_is_whole_in_damaged_cruft_stays_cruft() {
    let world = World::new(&["live"], &["aside one", "aside two"]);
    let record = world.manifest().cruft[0];
    flip(&world.file(&record.pack, PackFile::Pack), 16 + 76 + 5);
    world.fix();
    assert!(world.holds("live") && world.holds("aside two") && !world.holds("aside one"));
    let manifest = world.manifest();
    assert_eq!((manifest.packs.len(), manifest.cruft.len()), (1, 1));
    assert_ne!(manifest.cruft[0].pack.id, record.pack.id);
    let store = LocalStore::open(Arc::new(OsDisk), world.layout.root(), Options::default());
    let refs = store.unwrap().snapshot().unwrap().references("").unwrap();
    assert_eq!(refs.len(), 1, "cruft gets no refs: {refs:?}");
}

#[test]
fn what_is_lost_elsewhere_is_found_in_cruft() {
    let world = World::new(&["live"], &["live", "aside"]);
    let pack = world.manifest().packs[0];
    flip(&world.file(&pack, PackFile::Pack), 16 + 76 + 5);
    let report = world.fix();
    assert_eq!((report.refs.len(), report.lost.len()), (0, 0), "{report:?}");
    assert!(world.holds("live") && world.holds("aside"));
}

#[test]
fn an_index_and_a_graph_are_made_again_byte_for_byte() {
    let world = World::new(&["one", "two", "three"], &["aside"]);
    let manifest = world.manifest();
    let files: Vec<_> = [PackFile::Index, PackFile::Graph]
        .iter()
        .map(|file| world.file(&manifest.packs[0], *file))
        .collect();
    let before: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    flip(&files[0], 40);
    fs::remove_file(&files[1]).unwrap();
    world.fix();
    let after: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(after, before);
    assert_eq!(world.manifest(), manifest, "nothing else is touched");
}

#[test]
fn objects_that_hash_right_and_say_nothing_valid_are_not_kept() {
    let world = World::new(&["live"], &["aside"]);
    let content = b"no entry at all";
    let id = Id::of(Kind::Entry, content);
    let loose = crate::store::local::loose::Loose::new(Arc::new(OsDisk), world.layout.clone());
    loose.put(&id, Kind::Entry, content).unwrap();
    let report = world.fix();
    assert!(report.findings.iter().any(|finding| finding.what == "object-invalid"));
    assert!(!world.layout.loose(&id).exists());
    let below = world.layout.loose(&id);
    let below = below.strip_prefix(world.layout.root()).unwrap();
    assert!(report.aside.unwrap().join(below).exists());
}

/// Commits a blob of so many bytes.
fn put(store: &LocalStore, byte: u8, bytes: usize) -> NewObject {
    let object = NewObject::blob(vec![byte; bytes]).unwrap();
    let mut plan = |_: &dyn Snapshot| {
        Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
    };
    store.commit(Durability::Relaxed, &mut plan).unwrap();
    object
}

#[test]
fn what_a_killed_writer_left_is_looked_for_by_the_next_one() {
    for is_damaged in [false, true] {
        let world = World::new(&["live"], &["aside"]);
        let layout = &world.layout;
        let open = || {
            let options = Options { background: false, ..Options::default() };
            LocalStore::open(Arc::new(OsDisk), layout.root(), options).unwrap()
        };
        let (before, killed) = (open(), open());
        put(&before, 1, 100);
        let torn = put(&killed, 2, 5000);
        // The head was written when the process was killed, the last page was not.
        let state = killed.inner.state();
        let segment = state.open_segment();
        let end = segment.end().offset as usize;
        let mut bytes = fs::read(&segment.path).unwrap();
        bytes[end - 1000..end].fill(0);
        fs::write(&segment.path, bytes).unwrap();
        std::mem::forget(killed);
        drop(LockFile::open(&OsDisk, layout.lock()).unwrap().acquire(Duration::ZERO).unwrap());
        if is_damaged {
            flip(&world.file(&world.manifest().packs[0], PackFile::Index), 40);
        }

        assert_eq!(world.fix().findings.is_empty(), !is_damaged);
        let late = put(&before, 3, 100);
        let snapshot = open().snapshot().unwrap();
        assert!(snapshot.get(&torn.id).unwrap().is_none(), "nobody vouched for it");
        assert!(snapshot.get(&late.id).unwrap().is_some());
        assert_eq!(world.fix().findings, []);
    }
}

#[test]
fn refs_that_a_crash_left_torn_do_not_count_before_whole_ones() {
    for torn in [Vec::new(), vec![0; 4096], b"x".to_vec()] {
        let world = World::new(&["live", "other"], &["aside"]);
        let number = world.manifest().refs.unwrap().number;
        fs::write(world.layout.packed_refs(number + 1), &torn).unwrap();
        fs::write(world.layout.current(), b"damaged").unwrap();
        for entry in fs::read_dir(world.layout.refs_dir()).unwrap() {
            let mirror = entry.unwrap().path();
            if mirror.is_dir() {
                fs::remove_dir_all(mirror).unwrap();
            }
        }
        world.fix();
        let root = world.layout.root();
        let store = LocalStore::open(Arc::new(OsDisk), root, Options::default()).unwrap();
        assert_eq!(store.snapshot().unwrap().references("notes/").unwrap().len(), 2);
    }
}
