//! The simulator keeps its own promises.

mod faults;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sapwood::disk::{Disk, DiskFile, OpenMode, read_file, replace_file};

use super::*;

const LOSE: Policy = Policy::LoseUnsynced;

/// Makes a disk with a durable directory `/a`.
fn disk() -> SimDisk {
    let disk = SimDisk::new(7);
    disk.create_dir(Path::new("/a")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

/// Opens a file, made if need be, whose name is durable.
fn named(disk: &SimDisk, path: &str) -> Box<dyn DiskFile> {
    let path = Path::new(path);
    let file = disk.open(path, OpenMode::OpenOrCreate).unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
    file
}

fn open(disk: &SimDisk, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
    disk.open(Path::new(path), mode)
}

fn rename(disk: &SimDisk, from: &str, to: &str) {
    disk.rename(Path::new(from), Path::new(to)).unwrap();
}

fn paths(disk: &SimDisk) -> Vec<String> {
    let paths = disk.files().into_iter();
    paths.map(|path| path.to_str().unwrap().to_owned()).collect()
}

fn error_of<T>(result: io::Result<T>) -> io::Error {
    result.err().expect("the call fails")
}

#[test]
fn a_file_needs_both_its_bytes_and_its_name_synced() {
    let disk = disk();
    let both = named(&disk, "/a/both");
    both.write_all_at(b"bytes", 0).unwrap();
    both.sync_data().unwrap();
    named(&disk, "/a/name").write_all_at(b"bytes", 0).unwrap();
    let bytes = open(&disk, "/a/bytes", OpenMode::CreateNew).unwrap();
    bytes.write_all_at(b"bytes", 0).unwrap();
    bytes.sync_data().unwrap();

    let killed = disk.crash(Policy::KeepAll);
    assert_eq!(paths(&killed), ["/a/both", "/a/bytes", "/a/name"]);
    assert_eq!(killed.read("/a/name"), b"bytes");
    let cut = killed.crash(LOSE);
    assert_eq!(paths(&cut), ["/a/both", "/a/name"], "a kill makes nothing durable");
    assert_eq!(cut.read("/a/both"), b"bytes");
    assert_eq!(cut.read("/a/name"), b"");
}

#[test]
fn a_directory_is_lost_with_all_in_it_until_its_parent_is_synced() {
    let disk = SimDisk::new(0);
    disk.create_dir(Path::new("/x/y")).unwrap();
    named(&disk, "/x/y/file");
    assert_eq!(paths(&disk.copy().crash(LOSE)), [""; 0]);
    disk.sync_dir(Path::new("/x")).unwrap();
    assert_eq!(paths(&disk.copy().crash(LOSE)), [""; 0]);
    disk.sync_dir(Path::new("/")).unwrap();
    assert_eq!(paths(&disk.crash(LOSE)), ["/x/y/file"]);
}

#[test]
fn a_rename_is_atomic_and_either_directory_makes_it_durable() {
    for synced in ["/a", "/b"] {
        let disk = disk();
        disk.write("/b/new", *b"old");
        disk.write("/a/old", *b"new");
        rename(&disk, "/a/old", "/b/new");
        let lost = disk.copy().crash(LOSE);
        assert_eq!(paths(&lost), ["/a/old", "/b/new"]);
        assert_eq!(lost.read("/b/new"), b"old");
        disk.sync_dir(Path::new(synced)).unwrap();
        let kept = disk.crash(LOSE);
        assert_eq!(paths(&kept), ["/b/new"]);
        assert_eq!(kept.read("/b/new"), b"new");
    }
}

#[test]
fn a_rename_survives_the_loss_of_the_creation_before_it() {
    let disk = disk();
    let file = open(&disk, "/a/tmp", OpenMode::CreateNew).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    file.sync_data().unwrap();
    rename(&disk, "/a/tmp", "/a/final");
    let keep = |op: Op| disk.copy().crash_keeping(|_| true, move |name| name.op == op);
    assert_eq!(paths(&keep(Op::Rename)), ["/a/final"]);
    assert_eq!(keep(Op::Rename).read("/a/final"), b"x");
    assert_eq!(paths(&keep(Op::Create)), ["/a/tmp"]);
    assert_eq!(paths(&keep(Op::Remove)), [""; 0]);
}

#[test]
fn a_synced_rename_takes_earlier_changes_of_its_names_along() {
    let disk = disk();
    disk.write("/b/other", *b"");
    open(&disk, "/a/tmp", OpenMode::CreateNew).unwrap();
    rename(&disk, "/a/tmp", "/b/final");
    disk.sync_dir(Path::new("/b")).unwrap();
    let cut = disk.crash_keeping(|_| true, |_| true);
    assert_eq!(paths(&cut), ["/b/final", "/b/other"], "the old name does not come back");
}

#[test]
fn a_removed_file_is_back_after_a_crash_and_its_handles_go_on_before() {
    let disk = disk();
    disk.write("/a/f", *b"x");
    let file = open(&disk, "/a/f", OpenMode::Read).unwrap();
    disk.remove(Path::new("/a/f")).unwrap();
    assert_eq!(file.len().unwrap(), 1);
    assert_eq!(error_of(disk.len(Path::new("/a/f"))).kind(), ErrorKind::NotFound);
    assert_eq!(paths(&disk.copy().crash(LOSE)), ["/a/f"]);
    disk.sync_dir(Path::new("/a")).unwrap();
    assert_eq!(paths(&disk.crash(LOSE)), [""; 0]);
}

#[test]
fn a_failed_sync_forgets_the_bytes_and_tells_each_handle_once() {
    let disk = disk();
    let one = named(&disk, "/a/f");
    let two = open(&disk, "/a/f", OpenMode::Write).unwrap();
    one.write_all_at(b"lost", 0).unwrap();
    disk.fail_when(|op, path| op == Op::SyncData && path.starts_with("/a"), Fault::SyncFails);
    assert_eq!(error_of(one.sync_data()).raw_os_error(), Some(5));
    let later = open(&disk, "/a/f", OpenMode::Write).unwrap();
    later.sync_data().unwrap();
    one.sync_data().unwrap();
    assert_eq!(disk.read("/a/f"), b"lost");
    assert_eq!(disk.copy().crash(LOSE).read("/a/f"), b"");

    two.write_all_at(b"ST", 2).unwrap();
    assert_eq!(error_of(two.sync_data()).raw_os_error(), Some(5));
    two.sync_data().unwrap();
    assert_eq!(disk.read("/a/f"), b"loST");
    assert_eq!(disk.crash(LOSE).read("/a/f"), b"\0\0ST", "only what was written again");
}

#[test]
fn a_random_crash_tears_at_sectors_only() {
    let disk = disk();
    let file = named(&disk, "/a/f");
    file.write_all_at(&[1; 2000], 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(&[2; 1600], 600).unwrap();
    open(&disk, "/a/new", OpenMode::CreateNew).unwrap();
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let crash = || disk.copy().crash(Policy::Random(seed));
        let found = crash().read("/a/f");
        assert_eq!(crash().read("/a/f"), found, "the seed decides");
        assert!(found[..600].iter().all(|byte| *byte == 1));
        for sector in [600..1024, 1024..1536, 1536..2000] {
            let byte = found[sector.start];
            assert!(matches!(byte, 1 | 2) && found[sector].iter().all(|other| *other == byte));
        }
        let tail = found.get(2000..).unwrap_or_default();
        assert!(tail.iter().all(|byte| matches!(byte, 0 | 2)));
        outcomes.insert((found[600], found[1024], found[1536], found.len(), crash().files().len()));
    }
    for len in [2000, 2048, 2200] {
        assert!(outcomes.iter().any(|outcome| outcome.3 == len), "{len}");
    }
    assert!(outcomes.contains(&(2, 2, 2, 2200, 2)) && outcomes.contains(&(1, 1, 1, 2000, 1)));
    assert!(outcomes.contains(&(1, 2, 1, 2000, 2)) && outcomes.contains(&(2, 1, 2, 2200, 1)));
}

#[test]
fn a_test_chooses_what_survives_to_the_byte() {
    let disk = disk();
    let file = named(&disk, "/a/f");
    file.set_len(4).unwrap();
    file.write_all_at(b"ab", 0).unwrap();
    file.write_all_at(b"cd", 2).unwrap();
    let check = |keep: &dyn Fn(&PendingWrite) -> Keep, expected: &[u8]| {
        let left = disk.copy().crash_keeping(keep, |_: &PendingName| false);
        assert_eq!(left.read("/a/f"), expected);
    };
    check(&|write| (write.index == 2).into(), b"\0\0cd");
    check(&|write| (write.op == Op::SetLen && write.offset == 4).into(), b"\0\0\0\0");
    check(&|write| (write.offset + write.bytes == 2).into(), b"ab");
    check(&|write| (write.path == Path::new("/b")).into(), b"");
    check(&|_| Keep::Bytes(1..3), b"\0bc\0");
}

#[test]
fn listing_mapping_and_replacing_work_as_on_a_real_disk() {
    let disk = disk();
    disk.create_dir(Path::new("/a/dir")).unwrap();
    replace_file(&disk, Path::new("/a/file"), b"one").unwrap();
    replace_file(&disk, Path::new("/a/file"), b"three").unwrap();
    let entries = disk.list(Path::new("/a")).unwrap();
    let entries = entries.iter().map(|entry| (entry.name.as_str(), entry.is_dir, entry.bytes));
    assert_eq!(entries.collect::<Vec<_>>(), [("dir", true, 0), ("file", false, 5)]);
    assert_eq!(&*disk.map(Path::new("/a/file")).unwrap(), b"three");
    assert_eq!(read_file(&disk, Path::new("/a/file"), 9).unwrap(), b"three");
    assert_eq!(disk.network_filesystem(Path::new("/a")), None);
    assert_eq!(disk.crash(LOSE).read("/a/file"), b"three");
}

#[test]
fn corruption_is_durable_and_copies_go_their_own_way() {
    let disk = SimDisk::new(1);
    disk.write("/x/y/f", *b"abc");
    let copy = disk.copy();
    disk.flip("/x/y/f", 1);
    disk.truncate("/x/y/f", 2);
    assert_eq!(copy.files(), [PathBuf::from("/x/y/f")]);
    assert_eq!(copy.read("/x/y/f"), b"abc");
    assert_eq!(disk.crash(LOSE).read("/x/y/f"), b"ac");
    let random = |disk: &SimDisk| {
        let mut bytes = [0; 11];
        disk.random(&mut bytes).unwrap();
        bytes
    };
    assert_eq!(random(&SimDisk::new(1)), random(&copy));
    assert_ne!(random(&copy), random(&SimDisk::new(1)));
}
