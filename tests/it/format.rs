//! `docs/FORMAT.md` against the code: a reader that knows the page alone reads what the library
//! wrote.

mod packs;
pub(crate) mod page;
mod reader;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood::disk::OsDisk;
use sapwood::object::NewObject;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, OperationRecord, Store, Transaction};

use crate::sample;
use page::Page;
use reader::{Contents, first_8};

/// The refs of a session that share a file.
const STATE: [&str; 3] = ["meta", "tip", "events"];

fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/stores/v1/store")
}

/// Reads with the library what the other reader reads by the page.
fn with_library(root: &Path) -> Contents {
    let store = LocalStore::open(Arc::new(OsDisk), root, sample::options()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut contents = Contents::default();
    snapshot
        .for_each(&mut |id, _| {
            let stored = snapshot.get(id)?.unwrap();
            let object = (stored.kind.to_string(), stored.content.to_vec());
            contents.objects.insert(id.to_string(), object);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    for (name, value) in snapshot.references("").unwrap() {
        contents.refs.insert(name.to_string(), value.to_string());
    }
    snapshot
        .operations(&mut |record| {
            contents.operations.push(plain(record));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    contents.operations.reverse();
    contents
}

fn plain(record: &OperationRecord) -> reader::Operation {
    let value = |value: &Option<_>| value.as_ref().map_or(String::new(), ToString::to_string);
    let moves = record.moves.iter();
    let moves = moves.map(|item| (item.name.to_string(), value(&item.old), value(&item.new)));
    let operation = &record.operation;
    let (actor, command) = (operation.actor.clone(), operation.command.clone());
    (operation.time, actor, command, moves.collect())
}

fn check(root: &Path) -> Contents {
    let found = reader::read(root, &Page::load());
    let expected = with_library(root);
    assert!(found.objects.len() > 10);
    assert_eq!(found.objects, expected.objects);
    assert_eq!(found.refs, expected.refs);
    assert_eq!(found.operations, expected.operations);
    found
}

#[test]
fn a_reader_that_knows_only_the_page_reads_all_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".sapwood");
    sample::write(&root).unwrap();
    check(&root);
    sample::grow(&root).unwrap();
    let current = fs::read_to_string(root.join("current")).unwrap();
    assert!(current.contains(" closed "), "a closed segment is read too");
    let contents = check(&root);
    check_sums(&root);
    check_small_files(&root, &contents);
    check_mirrors(&root, &contents);
}

/// What is written now is summed with XXH3.
fn check_sums(root: &Path) {
    let mut count = 0;
    for entry in fs::read_dir(root.join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let flags = match path.extension().unwrap() == "pack" {
            true => bytes[12] >> 2,
            false => bytes[bytes.len() - 44],
        };
        assert_eq!(flags, 1, "{path:?}");
        count += 1;
    }
    assert!(count > 0);
}

/// Enough that is alike to get a dictionary.
#[test]
fn a_reader_that_knows_only_the_page_reads_packs_with_dictionaries() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".sapwood");
    sample::write(&root).unwrap();
    let store = LocalStore::open(Arc::new(OsDisk), &root, sample::options()).unwrap();
    let line = |number: u64| format!("line {:x} of many\n", number.wrapping_mul(0x9e37_79b9_7f4a));
    let shared: String = (0..150).map(line).collect();
    for batch in 0..8u64 {
        let text = |number: u64| format!("{} {shared} {}", line(number + 999), line(number));
        let objects = (0..80).map(|number| NewObject::blob(text(batch * 80 + number).into_bytes()));
        let objects: Vec<NewObject> = objects.collect::<Result<_, _>>().unwrap();
        let plan = Transaction { objects, ..Transaction::default() };
        store.commit(Durability::Full, &mut |_| Ok(plan.clone())).unwrap();
    }
    store.repack().unwrap();
    drop(store);
    check(&root);
    let packs = fs::read_dir(root.join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let mut packs = packs.filter(|path| path.extension().is_some_and(|ending| ending == "pack"));
    assert_eq!(fs::read(packs.next().unwrap()).unwrap()[12], 7, "it has a dictionary");
}

/// `format`, `synced`, `lock`: the files without which a store is whole, and the one that names it.
fn check_small_files(root: &Path, contents: &Contents) {
    let page = Page::load();
    let format = fs::read_to_string(root.join("format")).unwrap();
    let shown = page.block("format");
    assert!(format.lines().eq(shown.iter().copied()));
    let told = format!("These {} bytes", format.len());
    assert!(page.section("format").iter().any(|line| line.starts_with(&told)));

    let synced = fs::read(root.join("objects/journal/synced")).unwrap();
    let layout = page.layout("synced");
    assert_eq!(synced.len(), layout.bytes());
    assert_eq!(layout.get(&synced, "checksum"), first_8(layout.before(&synced, "checksum")));
    assert!(layout.number(&synced, "offset") <= contents.journal_end);

    let lock = fs::read(root.join("lock")).unwrap();
    let layout = page.layout("lock and maintenance.lock");
    assert_eq!(lock.len(), layout.bytes());
    assert_eq!(layout.get(&lock, "process"), b"         0");
    let generation = str::from_utf8(layout.get(&lock, "generation")).unwrap();
    let current = fs::read_to_string(root.join("current")).unwrap();
    let line = format!("generation {}\n", generation.trim_start());
    assert!(current.contains(&line), "{current}");
    assert_eq!(layout.get(&lock, "newline"), b"\n");
}

/// Every ref has its file, named as the page says, and there are no others.
fn check_mirrors(root: &Path, contents: &Contents) {
    let mut expected = BTreeMap::new();
    for (name, value) in &contents.refs {
        let path = root.join("refs").join(mirror(name));
        let session = path.parent().unwrap().to_owned();
        let line = STATE.iter().position(|rest| name == &format!("{}/{rest}", session_of(name)));
        match line.filter(|_| session.join("state").exists()) {
            Some(line) => {
                let lines = expected.entry(session.join("state"));
                let lines =
                    lines.or_insert_with(|| STATE.map(|rest| format!("{rest:7}{:64}\n", "-")));
                lines[line] = format!("{:7}{value:64}\n", STATE[line]);
            }
            None => {
                drop(expected.insert(path, [format!("{value}\n"), String::new(), String::new()]))
            }
        }
    }
    for (path, lines) in &expected {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(text, lines.concat());
    }
    let snapshot = "refs/packed-";
    let files = walkdir::WalkDir::new(root.join("refs")).into_iter();
    let files = files.map(Result::unwrap).filter(|file| file.file_type().is_file());
    let mirrors = files.filter(|file| !file.path().to_str().unwrap().contains(snapshot));
    assert_eq!(mirrors.count(), expected.len());
}

/// Gives the begin of the names of a session's refs.
fn session_of(name: &str) -> String {
    name.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn mirror(name: &str) -> String {
    let Some((session, rest)) = name.strip_prefix("sessions/").and_then(|at| at.split_once('/'))
    else {
        return match name {
            "HEAD" => name.to_owned(),
            _ => format!("other/{}", encode(name)),
        };
    };
    let place = match rest.split_once('/') {
        None if rest == "HEAD" || STATE.contains(&rest) => rest.to_owned(),
        Some((class @ ("heads" | "memory" | "labels" | "records" | "attachments"), name)) => {
            format!("{class}/{}", encode(name))
        }
        _ => format!("other/{}", encode(rest)),
    };
    format!("sessions/{}/{place}", encode(session))
}

fn encode(name: &str) -> String {
    let last = name.len() - 1;
    let byte = |(place, byte): (usize, u8)| match byte {
        b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ if b"-_+=@,".contains(&byte) => char::from(byte).to_string(),
        b'.' | b' ' if place != 0 && place != last => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    let encoded: String = name.bytes().enumerate().map(byte).collect();
    match encoded.len() {
        0..=180 => encoded,
        _ => format!("{}~{}", &encoded[..147], &blake3::hash(name.as_bytes()).to_hex()[..32]),
    }
}

#[test]
fn the_page_and_the_frozen_store_agree() {
    let root = frozen();
    let contents = reader::read(&root, &Page::load());
    assert!(contents.objects.len() > 10);
    check_small_files(&root, &contents);
    check_mirrors(&root, &contents);
}

/// The worked example is the first bytes of a real file, and its offsets count them.
#[test]
fn the_worked_example_shows_the_bytes_of_the_frozen_journal() {
    let root = frozen();
    let current = fs::read_to_string(root.join("current")).unwrap();
    let open = current.lines().find_map(|line| line.strip_suffix(" open")).unwrap();
    let sequence: u64 = open.strip_prefix("segment ").unwrap().parse().unwrap();
    let file = fs::read(root.join(format!("objects/journal/{sequence:016x}"))).unwrap();
    let page = Page::load();
    let mut shown = Vec::new();
    for line in page.block("Worked example") {
        let (offset, rest) = line.split_once("  ").unwrap();
        if !offset.trim().is_empty() {
            assert_eq!(usize::from_str_radix(offset, 16), Ok(shown.len()), "{line}");
        }
        let digits = rest.trim_start().split("  ").next().unwrap();
        let bytes = digits.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap());
        shown.extend(bytes);
    }
    let end = reader::read(&root, &page).journal_end as usize;
    assert_eq!(reader::hex(&shown), reader::hex(&file[..end]));
}
