//! Bytes that are not what was written: every read gives the right answer or an error.
//!
//! The environment variable `SAPWOOD_TORTURE` makes the runs exhaustive; without it, every so many
//! bytes are tried.

mod groups;

use std::path::{Path, PathBuf};

use sapwood::error::Error;
use sapwood::object::NewObject;
use sapwood::store::{Durability, Store, Transaction};

use crate::faults::picture::Picture;
use crate::faults::{attachment, contents, file, large, long, operation};
use crate::sim::SimDisk;
use crate::support::{
    append, branch, init, message, open, open_read_only, ref_name, target, update,
};
use crate::torture::tell;

const SECTOR_BYTES: usize = 512;

/// A store with every kind of file: a closed segment, an open one, a spare, packs, a refs snapshot,
/// operations, loose files, mirrors.
fn store_of_all_files() -> SimDisk {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    let operate = |name: &str| {
        store
            .commit(Durability::Full, &mut |snapshot| {
                let tip = target(snapshot, &branch("main"))?;
                let entry = message(name, tip.into_iter().collect());
                let link = attachment(large(1).id());
                Ok(Transaction {
                    refs: vec![
                        update(branch(name), entry.id()),
                        update(ref_name("notes/link"), link.id()),
                    ],
                    objects: vec![entry, large(1), link],
                    operation: Some(operation(name)),
                })
            })
            .unwrap();
    };
    append(&store, "main", "one").unwrap();
    operate("first");
    store.pack_refs().unwrap();
    append(&store, "main", "two").unwrap();
    operate("second");
    store.pack_refs().unwrap();
    let blob = NewObject::blob(b"small and loose".to_vec()).unwrap();
    store.put_alone(&blob).unwrap();
    while segments(&disk) < 2 {
        append(&store, "main", "the same words on another path").unwrap();
    }
    operate("third");
    disk
}

/// Counts the journal segments.
fn segments(disk: &SimDisk) -> usize {
    let journal = file("objects/journal");
    let is_segment = |path: &&PathBuf| {
        path.starts_with(&journal) && path.as_os_str().len() == journal.as_os_str().len() + 17
    };
    disk.files().iter().filter(is_segment).count()
}

/// The picture of an undamaged store, with the files it should have.
fn picture_of(disk: &SimDisk) -> Picture {
    let picture = Picture::of(&*open_read_only(disk).unwrap().snapshot().unwrap()).unwrap();
    assert!(picture.objects.len() >= 9);
    assert_eq!(picture.operations.len(), 3);
    picture
}

/// Reads all there is, and gives the errors.
fn read_all(disk: &SimDisk, picture: &Picture) -> Vec<Error> {
    match open_read_only(disk).and_then(|store| store.snapshot()) {
        Ok(snapshot) => picture.compare(&*snapshot),
        Err(error) => vec![error],
    }
}

fn check_damage_is_told(errors: &[Error], context: &str) {
    for error in errors {
        let clear = match error {
            Error::Corrupt { path, .. } | Error::UnsupportedFormat { path, .. } => {
                path.starts_with(crate::support::ROOT)
            }
            _ => false,
        };
        assert!(clear, "{context}: {error:?}");
    }
}

/// Tries to write, which must be refused or keep all that there was.
fn write_on(disk: &SimDisk, picture: &Picture, context: &str) {
    let Ok(store) = open(disk) else {
        return;
    };
    if append(&store, "new", "after the damage").is_err() {
        return;
    }
    let snapshot = store.snapshot().unwrap();
    for (name, value) in &picture.refs {
        let found = snapshot.reference(name);
        assert_eq!(found.unwrap().as_ref(), Some(value), "{context}: {name}");
    }
}

fn is_kept_truth(path: &Path) -> bool {
    let spare = path == file("objects/journal/spare");
    !spare && !path.starts_with(file("refs/sessions")) && !path.starts_with(file("refs/other"))
}

/// The files of the store, with the step from one tried byte to the next.
fn targets(disk: &SimDisk) -> Vec<(PathBuf, usize)> {
    let step = |bytes: usize| match long() {
        true => 1,
        false => (bytes / 48).max(1),
    };
    let files = contents(disk).into_iter();
    files.map(|(path, bytes)| (path, step(bytes.len()))).collect()
}

#[test]
fn the_store_of_all_files_has_them_all() {
    let disk = store_of_all_files();
    let files: Vec<String> = disk
        .files()
        .iter()
        .map(|path| path.strip_prefix(crate::support::ROOT).unwrap().display().to_string())
        .collect();
    assert_eq!(segments(&disk), 2, "a closed one and an open one");
    let wanted = [
        "format",
        "current",
        "config.toml",
        "lock",
        "maintenance.lock",
        "objects/journal/synced",
        "refs/packed-",
        "refs/sessions/s/heads/main",
        "refs/other/notes%2flink",
        "logs/operations-",
        ".pack",
        ".idx",
        ".graph",
    ];
    for part in wanted {
        assert!(files.iter().any(|file| file.contains(part)), "{part} in {files:#?}");
    }
}

#[test]
fn each_byte_of_a_store_flipped_gives_the_right_answer_or_an_error() {
    let whole = store_of_all_files();
    let picture = picture_of(&whole);
    let mut tried = 0;
    for (path, step) in targets(&whole) {
        let bytes = whole.read(&path).len();
        let first = path.as_os_str().len() % step;
        for (number, offset) in (first..bytes).step_by(step).enumerate() {
            let disk = whole.copy();
            disk.flip(&path, offset);
            let context = format!("{} flipped at {offset}", path.display());
            let errors = read_all(&disk, &picture);
            check_damage_is_told(&errors, &context);
            assert!(errors.is_empty() || is_kept_truth(&path), "{context}: {errors:?}");
            if number % 8 == 0 {
                write_on(&disk, &picture, &context);
            }
            tried += 1;
        }
    }
    tell(format_args!("{tried} bytes flipped: each was told or did no harm"));
}

/// Exchanges the sectors with these numbers, the last of which may be shorter.
fn swap_sectors(bytes: &[u8], one: usize, other: usize) -> Vec<u8> {
    let mut sectors: Vec<&[u8]> = bytes.chunks(SECTOR_BYTES).collect();
    sectors.swap(one, other);
    sectors.concat()
}

#[test]
fn sectors_of_a_store_swapped_give_the_right_answer_or_an_error() {
    let whole = store_of_all_files();
    let picture = picture_of(&whole);
    let mut tried = 0;
    for (path, bytes) in contents(&whole) {
        let count = bytes.len().div_ceil(SECTOR_BYTES);
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let step = if long() { 1 } else { (count * count / 24).max(1) };
        for (one, other) in pairs.step_by(step) {
            let swapped = swap_sectors(&bytes, one, other);
            if swapped == bytes {
                continue;
            }
            let disk = whole.copy();
            disk.write(&path, swapped);
            let context = format!("{}: sectors {one} and {other} swapped", path.display());
            let errors = read_all(&disk, &picture);
            check_damage_is_told(&errors, &context);
            assert!(errors.is_empty() || is_kept_truth(&path), "{context}: {errors:?}");
            write_on(&disk, &picture, &context);
            tried += 1;
        }
    }
    tell(format_args!("{tried} pairs of sectors swapped: each was told or did no harm"));
    assert!(tried > 20, "{tried}");
}

#[test]
fn each_file_of_a_store_cut_anywhere_gives_the_right_answer_or_an_error() {
    let whole = store_of_all_files();
    let picture = picture_of(&whole);
    let mut tried = 0;
    for (path, step) in targets(&whole) {
        let bytes = whole.read(&path).len();
        for (number, length) in (0..bytes).step_by(step).enumerate() {
            let disk = whole.copy();
            disk.truncate(&path, length);
            let context = format!("{} cut to {length} of {bytes}", path.display());
            let errors = read_all(&disk, &picture);
            check_damage_is_told(&errors, &context);
            assert!(errors.is_empty() || is_kept_truth(&path), "{context}: {errors:?}");
            if number % 8 == 0 {
                write_on(&disk, &picture, &context);
            }
            tried += 1;
        }
    }
    tell(format_args!("{tried} lengths cut: each was told or did no harm"));
}

#[test]
fn each_file_of_a_store_missing_gives_the_right_answer_or_an_error() {
    let whole = store_of_all_files();
    let picture = picture_of(&whole);
    for path in whole.files() {
        // A loose file that is gone is an object that is not there: nothing else names it.
        if path.to_string_lossy().len() > 64 && path.extension().is_none() {
            continue;
        }
        let disk = whole.copy();
        sapwood::disk::Disk::remove(&disk, &path).unwrap();
        let context = format!("{} missing", path.display());
        let errors = read_all(&disk, &picture);
        assert!(
            errors.iter().all(|error| matches!(
                error,
                Error::Corrupt { .. } | Error::NotAStore { .. } | Error::Io { .. }
            )),
            "{context}: {errors:?}"
        );
        write_on(&disk, &picture, &context);
    }
}

#[test]
fn maintenance_mends_a_graph_that_is_missing_or_was_found_damaged() {
    let whole = store_of_all_files();
    let picture = picture_of(&whole);
    let graphs = contents(&whole)
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|ending| ending == "graph"));
    for (path, bytes) in graphs {
        for offset in [Some(70), Some(bytes.len() - 1), None] {
            let disk = whole.copy();
            match offset {
                Some(offset) => disk.flip(&path, offset),
                None => sapwood::disk::Disk::remove(&disk, &path).unwrap(),
            }
            let store = open(&disk).unwrap();
            assert!(picture.compare(&*store.snapshot().unwrap()).is_empty());
            store.maintain().unwrap();
            let named = disk.files().contains(&path);
            assert!(!named || disk.read(&path) == bytes, "{} at {offset:?}", path.display());
        }
    }
}
