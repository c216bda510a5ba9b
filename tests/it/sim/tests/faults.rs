//! Faults, locks, modes and limits.

use super::*;

#[test]
fn every_fault_strikes_once_at_its_call() {
    let disk = disk();
    let file = named(&disk, "/a/f");
    let next = disk.calls();
    disk.fail_at(next, Fault::Eio);
    disk.fail_at(next + 1, Fault::Enospc);
    disk.fail_at(next + 2, Fault::ShortWrite);
    disk.fail_at(next + 2, Fault::SyncFails);
    assert_eq!(error_of(file.write_at(b"bytes", 0)).raw_os_error(), Some(5));
    assert_eq!(error_of(file.set_len(9)).kind(), ErrorKind::StorageFull);
    file.set_len(0).unwrap();
    assert!((1..5).contains(&file.write_at(b"bytes", 0).unwrap()));
    assert!(disk.sync_dir(Path::new("/a")).is_err());
    file.write_all_at(b"bytes", 0).unwrap();
    file.sync_data().unwrap();
    assert_eq!(disk.calls(), next + 7);
    assert_eq!(disk.crash(LOSE).read("/a/f"), b"bytes");
}

#[test]
fn reads_count_only_when_asked() {
    let disk = disk();
    disk.write("/a/f", *b"x");
    let file = open(&disk, "/a/f", OpenMode::Read).unwrap();
    let before = disk.calls();
    file.len().unwrap();
    assert_eq!(disk.calls(), before);
    disk.count_reads(true);
    disk.fail_at(before, Fault::Eio);
    assert!(file.read_at(&mut [0], 0).is_err());
    assert_eq!(file.read_at(&mut [0; 9], 0).unwrap(), 1);
    assert_eq!(disk.calls(), before + 2);
    disk.fail_when(|op, _| op == Op::Open, Fault::Eio);
    assert!(open(&disk, "/a/f", OpenMode::Read).is_err());
}

#[test]
fn after_a_crash_every_call_fails_and_a_write_stops_anywhere() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let file = open(&disk, "/f", OpenMode::CreateNew).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        disk.fail_at(disk.calls(), Fault::Crash);
        assert!(is_crash(&error_of(file.write_at(b"abc", 0))));
        assert!(is_crash(&error_of(file.len())));
        assert!(is_crash(&error_of(file.try_lock())));
        assert!(is_crash(&error_of(disk.list(Path::new("/")))));
        let next = disk.crash(Policy::KeepAll);
        let found = next.read("/f");
        assert!(b"abc".starts_with(&found));
        lengths.insert(found.len());
        open(&next, "/f", OpenMode::Write).unwrap().write_all_at(b"abc", 0).unwrap();
        assert!(is_crash(&error_of(file.sync_data())), "old handles stay dead");
    }
    assert_eq!(lengths.len(), 4);
}

#[test]
fn a_lock_is_held_by_one_handle_until_it_goes() {
    let disk = disk();
    let one = named(&disk, "/a/lock");
    let two = open(&disk, "/a/lock", OpenMode::Read).unwrap();
    assert!(one.try_lock().unwrap() && one.try_lock().unwrap());
    assert!(!two.try_lock().unwrap());
    two.unlock().unwrap();
    assert!(!two.try_lock().unwrap(), "only the holder gives it back");
    drop(one);
    assert!(two.try_lock().unwrap());
    let next = disk.crash(Policy::KeepAll);
    assert!(named(&next, "/a/lock").try_lock().unwrap());
}

#[test]
fn modes_paths_and_a_read_only_disk_are_enforced() {
    let disk = disk();
    let kind = |path, mode| error_of(open(&disk, path, mode)).kind();
    assert_eq!(kind("/a/f", OpenMode::Read), ErrorKind::NotFound);
    assert_eq!(kind("/a/f", OpenMode::Write), ErrorKind::NotFound);
    assert_eq!(kind("/b/f", OpenMode::CreateNew), ErrorKind::NotFound);
    assert_eq!(kind("a", OpenMode::CreateNew), ErrorKind::InvalidInput);
    assert_eq!(kind("/a", OpenMode::Read), ErrorKind::IsADirectory);
    let file = named(&disk, "/a/f");
    assert_eq!(kind("/a/f", OpenMode::CreateNew), ErrorKind::AlreadyExists);
    assert_eq!(kind("/a/f/g", OpenMode::CreateNew), ErrorKind::NotADirectory);
    let reader = open(&disk, "/a/f", OpenMode::Read).unwrap();
    assert_eq!(error_of(reader.write_at(b"x", 0)).kind(), ErrorKind::PermissionDenied);
    assert_eq!(error_of(reader.set_len(0)).kind(), ErrorKind::PermissionDenied);

    disk.set_read_only(true);
    let path = Path::new("/a/f");
    let errors = [
        error_of(file.write_at(b"x", 0)),
        error_of(file.set_len(1)),
        error_of(open(&disk, "/a/f", OpenMode::Write)),
        error_of(open(&disk, "/a/g", OpenMode::OpenOrCreate)),
        error_of(disk.rename(path, Path::new("/a/g"))),
        error_of(disk.remove(path)),
        error_of(disk.create_dir(Path::new("/b"))),
    ];
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::ReadOnlyFilesystem));
    disk.create_dir(Path::new("/a")).unwrap();
    assert_eq!(reader.len().unwrap(), 0);
}

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = disk();
    let file = named(&disk, "/a/f");
    disk.set_capacity(Some(5));
    assert_eq!(file.write_at(b"seven..", 0).unwrap(), 5);
    assert_eq!(error_of(file.write_at(b"x", 5)).kind(), ErrorKind::StorageFull);
    assert_eq!(error_of(file.set_len(6)).kind(), ErrorKind::StorageFull);
    assert_eq!(file.write_at(b"SEVEN", 0).unwrap(), 5, "there is room for what is there");
    disk.set_capacity(None);
    file.write_all_at(b"more", 5).unwrap();
}
