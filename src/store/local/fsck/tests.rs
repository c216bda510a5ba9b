//! A healthy store is clean, and each kind of damage gives its finding and no other.

mod files;
mod journal;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::codec::Value;
use crate::disk::OsDisk;
use crate::object::Entry;
use crate::store::local::group::NewGroup;
use crate::store::local::lock::LockFile;
use crate::store::local::loose::Loose;
use crate::store::local::manifest::Closed;
use crate::store::local::mirror::Mirrors;
use crate::store::local::oplog::OperationLog;
use crate::store::local::pack::Pack;
use crate::store::local::packed_refs::PackedRefs;
use crate::store::local::rotate;
use crate::store::local::segment::Segment;
use crate::store::local::{LocalStore, Options};
use crate::store::{
    Durability, Expected, Operation, RefMove, RefName, RefUpdate, RefValue, Snapshot, Store,
    Transaction,
};

fn options() -> Options {
    Options {
        lock_timeout: Duration::ZERO,
        background: false,
        segment_bytes_min: 16 << 10,
        segment_bytes_max: 16 << 10,
        ..Options::default()
    }
}

fn entry(text: &str, parents: Vec<Id>, links: &[Id]) -> NewObject {
    let links = links.iter().map(|link| Value::Link(*link)).collect();
    let body = Value::map([("content", Value::from(text)), ("links", Value::List(links))]);
    let label = "message".to_owned();
    let entry = Entry { label, time: 1, parents, body, raw: None };
    entry.encode().unwrap()
}

fn branch(name: &str) -> RefName {
    RefName::of_session("s", &format!("heads/{name}")).unwrap()
}

fn tip(snapshot: &dyn Snapshot, name: &RefName) -> Option<Id> {
    match snapshot.reference(name).unwrap() {
        Some(RefValue::Id(id)) => Some(id),
        _ => None,
    }
}

fn update(name: RefName, new: RefValue) -> RefUpdate {
    RefUpdate { name, expected: Expected::Any, new: Some(new) }
}

fn append(store: &LocalStore, name: &str, text: &str, more: Vec<NewObject>) {
    let name = branch(name);
    let plan = &mut |snapshot: &dyn Snapshot| {
        let links: Vec<Id> = more.iter().map(|object| object.id).collect();
        let parents = tip(snapshot, &name).into_iter().collect();
        let entry = entry(text, parents, &links);
        let refs = vec![update(name.clone(), RefValue::Id(entry.id))];
        let operation = text.contains("operation").then(|| Operation {
            time: 1,
            actor: "test".to_owned(),
            command: text.to_owned(),
        });
        let mut objects = more.clone();
        objects.push(entry);
        Ok(Transaction { objects, refs, operation })
    };
    store.commit(Durability::Full, plan).unwrap();
}

fn large() -> NewObject {
    let bytes = (0..300_000u32).map(|place| (place.wrapping_mul(place) >> 7) as u8);
    NewObject::blob(bytes.collect()).unwrap()
}

/// A store with two packs, a loose file, refs in a snapshot and in the journal, and operations.
struct World {
    dir: tempfile::TempDir,
    layout: Layout,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".sapwood"));
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        let (store, _) = LocalStore::init(disk, layout.root(), options()).unwrap();
        for round in 0..2 {
            for number in 0..6 {
                let small = NewObject::blob(format!("blob {round} {number}").into()).unwrap();
                append(&store, "main", &format!("message {round} {number}"), vec![small]);
            }
            append(&store, "side", &format!("operation {round}"), vec![]);
            store.pack_refs().unwrap();
        }
        append(&store, "large", "operation large", vec![large()]);
        append(&store, "odd name.tmp", "hello", vec![]);
        for number in 0..3 {
            append(&store, "main", &format!("last {number}"), vec![]);
        }
        let head = |_: &dyn Snapshot| {
            let label = RefName::of_session("s", "labels/first")?;
            let entry = entry("hello", vec![], &[]);
            let refs = vec![
                update(RefName::head(), RefValue::Symbolic(branch("main"))),
                update(label, RefValue::Id(entry.id)),
            ];
            Ok(Transaction { objects: vec![entry], refs, operation: None })
        };
        store.commit(Durability::Full, &mut { head }).unwrap();
        World { dir, layout }
    }

    fn check_with(&self, options: &FsckOptions<'_>) -> FsckReport {
        let before = self.everything();
        let report = fsck(Arc::new(OsDisk), self.layout.root(), options).unwrap();
        assert_eq!(self.everything(), before, "a check writes nothing");
        report
    }

    fn check(&self) -> FsckReport {
        self.check_with(&FsckOptions::default())
    }

    fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = walkdir::WalkDir::new(self.dir.path()).sort_by_file_name();
        let files = files.into_iter().map(|found| found.unwrap().into_path());
        let files = files.filter(|path| path.is_file());
        files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    fn manifest(&self) -> Manifest {
        Manifest::read(&OsDisk, &self.layout.current()).unwrap()
    }

    fn publish(&self, edit: impl FnOnce(&mut Manifest)) {
        let mut manifest = self.manifest();
        edit(&mut manifest);
        manifest.publish(&OsDisk, &self.layout.current()).unwrap();
    }

    fn open_segment(&self) -> PathBuf {
        self.layout.segment(self.manifest().segments.last().unwrap().sequence)
    }

    fn pack_file(&self, ending: &str) -> PathBuf {
        let info = self.manifest().packs[0];
        self.layout.pack_dir().join(format!("pack-{}.{ending}", info.id))
    }

    /// Appends a group to the journal that no store would have let in.
    fn force(&self, objects: &[NewObject], refs: &[(&str, RefValue)]) {
        self.force_at(&[], objects, refs);
    }

    /// The same, with depths.
    fn force_at(&self, depths: &[Option<u64>], objects: &[NewObject], refs: &[(&str, RefValue)]) {
        let record = self.manifest().segments.last().unwrap().clone();
        let path = self.layout.segment(record.sequence);
        let segment = Segment::open(&OsDisk, &path, record.sequence, false).unwrap();
        segment.read_on(0, u64::MAX).unwrap();
        let moves: Vec<RefMove> = refs
            .iter()
            .map(|(name, value)| RefMove {
                name: RefName::new(*name).unwrap(),
                old: None,
                new: Some(value.clone()),
            })
            .collect();
        let group = NewGroup { objects, depths, moves: &moves, operation: None, close: false };
        segment.append(&group, 0).unwrap();
        let mut mirrors = Mirrors::new(Arc::new(OsDisk), self.layout.clone());
        for item in &moves {
            mirrors.write(&item.name, item.new.as_ref()).unwrap();
        }
    }
}

fn flip(path: &Path, place: impl Fn(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let place = place(bytes.len());
    bytes[place] ^= 0x40;
    fs::write(path, bytes).unwrap();
}

fn position_of(path: &Path, text: &str) -> usize {
    let bytes = fs::read(path).unwrap();
    let mut windows = bytes.windows(text.len());
    windows.position(|window| window == text.as_bytes()).unwrap()
}

#[test]
fn a_healthy_store_is_clean() {
    let world = World::new();
    let seen = std::cell::Cell::new((0, 0));
    let tell = |done, total| seen.set((done, total));
    for connectivity_only in [false, true] {
        let report = world.check_with(&FsckOptions {
            connectivity_only,
            progress: Some(&tell),
            ..FsckOptions::default()
        });
        assert_eq!(report.findings, []);
        // Messages and blobs of two rounds, operations, the large one, and what came last.
        assert_eq!(report.objects, 24 + 2 + 2 + 1 + 3);
        assert_eq!(report.refs, 6);
        assert_eq!(seen.get(), (report.objects, report.objects));
    }
    assert_eq!(world.check().files, world.everything().len() as u64);
}

#[test]
fn what_is_no_store_is_an_error_and_not_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let run = |path: &Path| fsck(Arc::new(OsDisk), path, &FsckOptions::default());
    assert!(matches!(run(dir.path()), Err(Error::NotAStore { .. })));
    let world = World::new();
    let format = fs::read_to_string(world.layout.format()).unwrap();
    let newer = format.replace("version 1", "version 2");
    fs::write(world.layout.format(), newer).unwrap();
    let found = run(world.layout.root());
    assert!(matches!(found, Err(Error::UnsupportedFormat { .. })), "{found:?}");
}

/// Damages a store, and gives the names of all that must be found, errors and warnings and notices.
struct Case {
    name: &'static str,
    damage: fn(&World),
    expected: &'static [(&'static str, Severity)],
}

#[test]
fn each_damage_gives_its_finding_and_no_other() {
    let mut wrong = Vec::new();
    for case in files::CASES.iter().chain(journal::CASES) {
        let world = World::new();
        (case.damage)(&world);
        let findings = world.check().findings;
        let found = findings.iter();
        let found: BTreeSet<_> = found.map(|found| (found.what, found.severity)).collect();
        let expected: BTreeSet<_> = case.expected.iter().copied().collect();
        if found != expected {
            wrong.push((case.name, findings));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn who_has_the_lock_is_waited_for_before_a_mirror_is_stale() {
    let world = World::new();
    let mirror = world.layout.refs_dir().join("HEAD");
    let good = fs::read(&mirror).unwrap();
    fs::write(&mirror, "ref: x\n").unwrap();
    let lock = LockFile::open(&OsDisk, world.layout.lock()).unwrap();
    let guard = lock.acquire(Duration::ZERO).unwrap();
    std::thread::scope(|scope| {
        let check = scope.spawn(|| {
            fsck(Arc::new(OsDisk), world.layout.root(), &FsckOptions::default()).unwrap()
        });
        std::thread::sleep(Duration::from_millis(60));
        fs::write(&mirror, &good).unwrap();
        assert_eq!(check.join().unwrap().findings, []);
    });
    fs::write(&mirror, "ref: x\n").unwrap();
    assert_eq!(world.check().findings.len(), 1, "who is stopped is not waited for for ever");
    drop(guard);
    assert_eq!(world.check().findings.len(), 1, "who died is not waited for");
}

#[test]
fn lost_objects_are_named() {
    let world = World::new();
    flip(&world.layout.loose(&large().id), |bytes| bytes / 2);
    let report = world.check();
    assert_eq!(report.findings[0].object, Some(large().id));
    assert_eq!(report.findings[0].file, Some(world.layout.loose(&large().id)));
    fs::remove_file(world.layout.loose(&large().id)).unwrap();
    let why = &world.check().findings[0].why;
    assert!(why.contains(&large().id.to_string()), "{why}");
}

#[test]
fn every_flipped_byte_of_a_pack_is_found() {
    let world = World::new();
    for ending in ["pack", "idx", "graph"] {
        let path = world.pack_file(ending);
        let good = fs::read(&path).unwrap();
        for place in (0..good.len()).step_by(31) {
            let mut bad = good.clone();
            bad[place] ^= 1;
            fs::write(&path, bad).unwrap();
            let report = fsck(Arc::new(OsDisk), world.layout.root(), &FsckOptions::default());
            assert!(report.unwrap().has_faults(), "{ending} {place}");
        }
        fs::write(&path, good).unwrap();
    }
}

#[test]
fn objects_are_missing_in_a_store_that_changes_only_if_no_file_was_in_one_check_alone() {
    let finding = |what, object, file: Option<&str>| Finding {
        severity: Severity::Error,
        what,
        object,
        file: file.map(PathBuf::from),
        why: String::new(),
    };
    let report = |findings: &[Finding]| FsckReport {
        findings: findings.to_vec(),
        objects: 0,
        refs: 0,
        files: 0,
    };
    let dangling = finding("dangling-ref", Some(Id::from_bytes([7; 32])), None);
    let gone = |pack| finding("file-missing", None, Some(pack));
    let cases = [
        // Two packs that went, one in each check: the object was in either.
        (vec![gone("one"), dangling.clone()], vec![gone("two"), dangling.clone()], 0),
        (vec![dangling.clone()], vec![gone("two"), dangling.clone()], 0),
        (vec![gone("one"), dangling.clone()], vec![dangling.clone()], 0),
        // One that is lost, or none: so is the object.
        (vec![gone("one"), dangling.clone()], vec![gone("one"), dangling.clone()], 2),
        (vec![dangling.clone()], vec![dangling.clone()], 1),
        (vec![dangling.clone()], vec![], 0),
    ];
    for (before, after, kept) in cases {
        let mut last = report(&after);
        last.keep_common(&report(&before));
        assert_eq!(last.findings.len(), kept, "{before:?} {after:?}");
    }
}
