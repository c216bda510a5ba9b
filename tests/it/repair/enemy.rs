//! Two files at once, files with each other's names, files of other stores.

use sapwood::id::Kind;

use super::oracle::{Ids, Oracle};
use super::{check, delete, fix, options};
use crate::faults::{contents, file};
use crate::sim::SimDisk;
use crate::support::{append, init, open};

fn other_store() -> SimDisk {
    let disk = SimDisk::new(7);
    let store = init(&disk).unwrap();
    for number in 0..20 {
        append(&store, "main", &format!("of another store {number}")).unwrap();
    }
    store.repack().unwrap();
    drop(store);
    disk
}

fn swap(disk: &SimDisk, one: &std::path::Path, two: &std::path::Path) {
    let (first, second) = (disk.read(one), disk.read(two));
    disk.write(one, second);
    disk.write(two, first);
}

#[test]
fn the_manifest_and_any_other_file_at_once() {
    let oracle = Oracle::new();
    for (path, bytes) in contents(&oracle.disk) {
        let disk = oracle.disk.copy();
        delete(&disk, file("current"));
        if path != file("current") {
            disk.flip(&path, bytes.len() / 2);
        }
        let lost = oracle.hit(&path, bytes.len() / 2..bytes.len() / 2 + 1);
        check(&disk, &oracle, &lost, &format!("current missing, {} hit", path.display()));
    }
}

#[test]
fn all_that_is_derived_at_once() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    for path in disk.files() {
        let name = path.to_string_lossy().into_owned();
        let is_mirror = path.starts_with(file("refs")) && !name.contains("packed-");
        if name.ends_with(".idx") || name.ends_with(".graph") || is_mirror {
            disk.write(&path, Vec::new());
        }
    }
    for name in ["current", "format", "objects/journal/synced", "lock", "maintenance.lock"] {
        disk.write(file(name), Vec::new());
    }
    check(&disk, &oracle, &Ids::new(), "all that is derived is empty");
}

#[test]
fn all_that_is_derived_is_missing() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    for path in disk.files() {
        let name = path.to_string_lossy().into_owned();
        let is_mirror = path.starts_with(file("refs")) && !name.contains("packed-");
        if name.ends_with(".idx") || name.ends_with(".graph") || is_mirror {
            delete(&disk, &path);
        }
    }
    for name in ["current", "format", "objects/journal/synced"] {
        delete(&disk, file(name));
    }
    check(&disk, &oracle, &Ids::new(), "all that is derived is missing");
}

#[test]
fn files_with_each_others_names() {
    let oracle = Oracle::new();
    let packs = oracle.packs();
    let segments = oracle.segments();
    assert!(packs.len() >= 2 && segments.len() >= 2);
    for (one, two) in [(&packs[0], &packs[1]), (&segments[0], &segments[1])] {
        let disk = oracle.disk.copy();
        swap(&disk, one, two);
        check(&disk, &oracle, &Ids::new(), &format!("{} swapped", one.display()));
    }
    let (refs, log) = (find(&oracle, "refs/packed-"), find(&oracle, "logs/operations-"));
    for (one, two) in [
        (file("current"), file("format")),
        (refs, log),
        (packs[0].with_extension("idx"), packs[0].with_extension("graph")),
        (packs[0].with_extension("idx"), packs[1].with_extension("idx")),
    ] {
        let disk = oracle.disk.copy();
        swap(&disk, &one, &two);
        let context = format!("{} and {} swapped", one.display(), two.display());
        check(&disk, &oracle, &Ids::new(), &context);
    }
}

fn find(oracle: &Oracle, part: &str) -> std::path::PathBuf {
    let mut files = oracle.disk.files().into_iter();
    files.find(|path| path.to_string_lossy().contains(part)).unwrap()
}

#[test]
fn a_pack_of_another_store_in_the_place_of_one() {
    let (oracle, other) = (Oracle::new(), other_store());
    let foreign = other
        .files()
        .into_iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "pack"));
    let foreign = other.read(foreign.unwrap());
    for pack in oracle.packs() {
        let lost = oracle.hit(&pack, 0..oracle.disk.read(&pack).len());
        let disk = oracle.disk.copy();
        disk.write(&pack, foreign.clone());
        check(&disk, &oracle, &lost, &format!("{} of another store", pack.display()));
    }
}

#[test]
fn two_packs_and_a_segment_at_once() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let mut lost = Ids::new();
    for path in oracle.packs().iter().chain(&oracle.segments()) {
        let place = disk.read(path).len() / 3;
        disk.flip(path, place);
        lost.extend(oracle.hit(path, place..place + 1));
    }
    check(&disk, &oracle, &lost, "all containers hit");
}

#[test]
fn a_store_with_nothing_left_but_its_journal() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let mut lost = oracle.hit(&oracle.loose(), 0..1);
    for path in oracle.packs() {
        lost.extend(oracle.hit(&path, 0..disk.read(&path).len()));
    }
    for path in disk.files() {
        if !path.starts_with(file("objects/journal")) {
            delete(&disk, &path);
        }
    }
    check(&disk, &oracle, &lost, "only the journal is left");
    assert!(oracle.count(Kind::Entry) > 20);
}

#[test]
fn a_format_of_another_version_is_believed_unless_told_otherwise() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let text = String::from_utf8(disk.read(file("format"))).unwrap();
    disk.write(file("format"), text.replace("version 1", "version 2").into_bytes());
    let before = contents(&disk);
    assert!(fix(&disk).is_err());
    assert_eq!(contents(&disk), before);
    let told = sapwood::store::local::RepairOptions { ignore_format: true, ..options() };
    let root = std::path::Path::new(crate::support::ROOT);
    sapwood::store::local::repair(std::sync::Arc::new(disk.clone()), root, &told).unwrap();
    oracle.check(&open(&disk).unwrap(), &Ids::new(), "format");
}

#[test]
fn a_manifest_of_long_ago_comes_back() {
    let disk = SimDisk::new(9);
    let store = init(&disk).unwrap();
    let mut manifests = Vec::new();
    for number in 0..60 {
        append(&store, "main", &format!("message {number} {}", "word ".repeat(20))).unwrap();
        if number % 10 == 9 {
            manifests.push(disk.read(file("current")));
            store.maintain().unwrap();
        }
    }
    drop(store);
    let oracle = Oracle::of(disk);
    for (number, manifest) in manifests.into_iter().enumerate() {
        let disk = oracle.disk.copy();
        disk.write(file("current"), manifest);
        check(&disk, &oracle, &Ids::new(), &format!("manifest {number}"));
    }
}

#[test]
fn a_closed_segment_of_another_store_moves_no_ref() {
    let (oracle, other) = (Oracle::new(), SimDisk::new(11));
    let store = init(&other).unwrap();
    for number in 0..10 {
        append(&store, "main", &format!("of another store {number}")).unwrap();
    }
    drop(store);
    let segments = oracle.segments();
    let foreign = other.read(file("objects/journal/0000000000000001"));
    let disk = oracle.disk.copy();
    let lost = oracle.hit(&segments[0], 0..disk.read(&segments[0]).len());
    disk.write(&segments[0], foreign);
    check(&disk, &oracle, &lost, "a segment of another store");
}
