//! Stores of every format version that there ever was, frozen under `fixtures/stores/`, and read
//! forever.
//!
//! `v1/store` is a good store, with the checksums of the first days; `v1/store-xxh3` is the same
//! with those that came then. `v1/contents.txt` says what is in them. `v1/corrupt.txt` lists
//! damages, each to a copy of them, with the error that reading everything must end with.
//! `SAPWOOD_BLESS=1` writes the last store where there is none: a new format gets one of its own.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::disk::OsDisk;
use sapwood::error::{Error, Result};
use sapwood::id::Id;
use sapwood::store::Store;
use sapwood::store::local::{LocalStore, Options};

use crate::sample;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/stores/v1")
}

fn blessing() -> bool {
    std::env::var_os("SAPWOOD_BLESS").is_some_and(|value| value == "1")
}

/// Copies a directory.
fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let place = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(&place).unwrap();
        } else {
            fs::copy(entry.path(), &place).unwrap();
        }
    }
}

/// What the stores are called, the oldest first.
const STORES: [&str; 2] = ["store", "store-xxh3"];

fn thawed(store: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    copy(&folder().join(store), &root);
    (dir, root)
}

fn options(read_only: bool) -> Options {
    Options { read_only, ..sample::options() }
}

/// Reads everything there is, the objects by the ids that are expected, and says it line by line.
fn read_all(root: &Path, ids: &[Id]) -> Result<String> {
    let store = LocalStore::open(Arc::new(OsDisk), root, options(true))?;
    let snapshot = store.snapshot()?;
    let mut lines = Vec::new();
    for id in ids {
        let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
        let topology = snapshot.topology(id)?.ok_or(Error::ObjectMissing { id: *id })?;
        let (kind, bytes, depth) = (stored.kind, stored.content.len(), topology.depth);
        lines.push(format!("object {id} {kind} {bytes} {depth}"));
    }
    for (name, value) in snapshot.references("")? {
        lines.push(format!("ref {name} = {value}"));
    }
    snapshot.operations(&mut |record| {
        let operation = &record.operation;
        let (time, actor, command) = (operation.time, &operation.actor, &operation.command);
        let moves = record.moves.len();
        let number = record.number;
        lines.push(format!("operation {number} {time} {actor} {moves} {command}"));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(lines.join("\n") + "\n")
}

fn ids_of(contents: &str) -> Vec<Id> {
    let ids = contents.lines().filter_map(|line| line.strip_prefix("object "));
    ids.map(|line| line[..64].parse().unwrap()).collect()
}

fn all_ids(root: &Path) -> Vec<Id> {
    let store = LocalStore::open(Arc::new(OsDisk), root, options(true)).unwrap();
    let mut ids = Vec::new();
    store
        .snapshot()
        .unwrap()
        .for_each(&mut |id, _| {
            ids.push(*id);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    ids.sort_unstable();
    ids
}

fn expected() -> String {
    fs::read_to_string(folder().join("contents.txt")).unwrap()
}

#[test]
fn the_frozen_store_reads_as_ever() {
    let last = folder().join(STORES[STORES.len() - 1]);
    if blessing() && !last.exists() {
        sample::write(&last).unwrap();
    }
    let expected = expected();
    let ids = ids_of(&expected);
    for store in STORES {
        let (_dir, root) = thawed(store);
        assert_eq!(read_all(&root, &ids).unwrap(), expected, "{store}");
        assert_eq!(all_ids(&root), ids, "{store}");
    }
}

#[test]
fn the_frozen_store_takes_the_next_transactions() {
    for store in STORES {
        let (_dir, root) = thawed(store);
        sample::grow(&root).unwrap();
        let store = LocalStore::open(Arc::new(OsDisk), &root, options(false)).unwrap();
        store.repack().unwrap();
        let snapshot = store.snapshot().unwrap();
        for id in ids_of(&expected()) {
            assert!(snapshot.get(&id).unwrap().is_some(), "{id}");
        }
    }
}

/// Where packs become one, blocks are copied as they lie, with the checksums that they have.
#[test]
fn blocks_of_the_frozen_store_lie_beside_new_ones() {
    const BLOCK_BYTES: usize = 76;
    const TRAILER_BYTES: usize = 52;
    let (_dir, root) = thawed(STORES[0]);
    for _ in 0..7 {
        sample::grow(&root).unwrap();
        let store = LocalStore::open(Arc::new(OsDisk), &root, options(false)).unwrap();
        store.pack_refs().unwrap();
        store.maintain().unwrap();
    }
    let pack = fs::read(find(&root, "objects/pack/*.pack")).unwrap();
    let number = |at: usize| u32::from_le_bytes(pack[at..at + 4].try_into().unwrap());
    let (mut at, mut summed) = (16, Vec::new());
    while at < pack.len() - TRAILER_BYTES {
        summed.push(number(at + 4) & 1 << 29 != 0);
        at += BLOCK_BYTES + number(at) as usize;
    }
    assert!(summed.contains(&true) && summed.contains(&false), "{summed:?}");
    let expected = expected();
    let found = read_all(&root, &ids_of(&expected)).unwrap();
    let objects = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("object"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(objects(&found), objects(&expected));
}

/// The ids are those of the values, on any machine: writing the same again gives the same.
#[test]
fn the_same_input_gives_the_frozen_ids() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    sample::write(&root).unwrap();
    assert_eq!(all_ids(&root), ids_of(&expected()));
}

#[test]
fn every_listed_damage_gives_its_error() {
    let text = fs::read_to_string(folder().join("corrupt.txt")).unwrap();
    let expected = expected();
    let ids = ids_of(&expected);
    let cases = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for case in cases {
        let fields: Vec<&str> = case.split('|').map(str::trim).collect();
        let [name, file, change, error] = fields[..] else {
            panic!("not a damage: {case}");
        };
        for store in STORES {
            let (_dir, root) = thawed(store);
            damage(&find(&root, file), change);
            match (read_all(&root, &ids), error) {
                (Ok(found), "none") => assert_eq!(found, expected, "{store}, {name}"),
                (Ok(_), _) => panic!("{store}, {name}: the damage went unnoticed"),
                (Err(found), _) => {
                    let found = found.to_string();
                    let wrong = format!("{store}, {name}: expected '{error}', found '{found}'");
                    assert!(found.contains(error), "{wrong}");
                }
            }
        }
        count += 1;
    }
    assert!(count > 20, "the list is read whole");
}

/// Finds the one file that a path names; a `*` stands for any characters of its last part.
fn find(root: &Path, name: &str) -> PathBuf {
    let Some((before, after)) = name.split_once('*') else {
        return root.join(name);
    };
    let files = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    let matching = files.filter(|entry| {
        let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap();
        entry.file_type().is_file() && path.starts_with(before) && path.ends_with(after)
    });
    let found: Vec<PathBuf> = matching.map(walkdir::DirEntry::into_path).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0].clone()
}

/// Does what a line says to a file: `xor OFFSET HEX`, `cut LENGTH` or `remove`.
fn damage(path: &Path, change: &str) {
    let mut bytes = fs::read(path).unwrap();
    let place = |number: &str| match number.strip_prefix('-') {
        Some(back) => bytes.len() - back.parse::<usize>().unwrap(),
        None => number.parse().unwrap(),
    };
    match change.split(' ').collect::<Vec<_>>()[..] {
        ["xor", offset, mask] => {
            let at = place(offset);
            bytes[at] ^= u8::from_str_radix(mask, 16).unwrap();
        }
        ["cut", length] => {
            let length = place(length);
            bytes.truncate(length);
        }
        ["remove"] => return fs::remove_file(path).unwrap(),
        _ => panic!("unknown change '{change}'"),
    }
    fs::write(path, bytes).unwrap();
}
