//! Every error that the library has, made through its public face.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sapwood::codec::json;
use sapwood::disk::{Disk, OpenMode};
use sapwood::error::{Error, Result};
use sapwood::id::Id;
use sapwood::object::NewObject;
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{
    Durability, Expected, OBJECT_BYTES_MAX, RefName, RefUpdate, RefValue, Store, Transaction,
    resolve,
};
use sapwood::{Kind, Repo};

use crate::faults::odd_disk::OddDisk;
use crate::faults::{commit, file, segment};
use crate::sim::{Fault, Op, SimDisk};
use crate::support::{
    ROOT, append, branch, init, message, open, open_read_only, options, ref_name, target, texts,
    update,
};

/// Gives an error's variant by name.
fn variant(error: &Error) -> String {
    let text = format!("{error:?}");
    let end = text.find(|letter: char| !letter.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// Makes an error of one variant.
type Make = fn() -> Error;

/// Every variant, what makes it, and what its message must say.
const ERRORS: [(&str, Make, &[&str]); 26] = [
    ("Io", io_error, &["cannot append to", "0000000000000001", "No space"]),
    ("NotAStore", not_a_store, &["no sapwood store at /s/.sapwood"]),
    ("UnsupportedFormat", unsupported_format, &["format has 'version 2'", "version 1"]),
    ("Corrupt", corrupt, &["0000000000000001 is damaged at byte 64", "byte"]),
    ("InvalidObject", invalid_object, &["not a valid entry: "]),
    ("ObjectMissing", object_missing, &["is not in the store", "object "]),
    ("WrongKind", wrong_kind, &["is of kind blob, not entry"]),
    ("RevisionUnknown", revision_unknown, &["unknown revision 'nothing'"]),
    ("RevisionMalformed", revision_malformed, &["'main@{x}' is not a revision", "a number"]),
    ("Ambiguous", ambiguous, &["is ambiguous: 2 objects or more"]),
    ("AmbiguousSession", ambiguous_session, &["'s' is ambiguous: 2 sessions begin with it"]),
    ("InvalidName", invalid_name, &["'a\\nb' is not a valid ref name", "control"]),
    ("Dangling", dangling, &["would point to", "which is not in the store"]),
    ("RefConflict", ref_conflict, &["ref 'sessions/s/heads/main' is at", "expected nothing"]),
    ("Exists", exists, &["branch 'main' exists already, at "]),
    ("Unanswered", unanswered, &["the tool call ls (c1) at entry", "has no result yet"]),
    ("MovedOn", moved_on, &["operation 2 (branch a): branch 'a' has moved on since, to "]),
    ("Refused", refused, &["there is no current session"]),
    ("SymbolicDepth", symbolic_depth, &["ref 'HEAD' leads through more than 5"]),
    ("TooLarge", too_large, &["an object is", "more than the 2147483648 allowed"]),
    ("LockTimeout", lock_timeout, &["lock is locked by process", "gave up after"]),
    ("OutcomeUnknown", outcome_unknown, &["syncing", "unknown whether"]),
    ("HandleDead", handle_dead, &["this handle on /s/.sapwood is closed"]),
    ("Removed", removed, &["entry ", " was removed from this store for good"]),
    ("ReadOnly", read_only, &["/s/.sapwood was opened for reading only"]),
    ("NetworkFilesystem", network_filesystem, &["is on a network file system (nfs)"]),
];

#[test]
fn every_error_can_be_made_and_says_what_it_is_about() {
    for (name, make, parts) in ERRORS {
        let error = make();
        assert_eq!(variant(&error), name);
        let message = error.to_string();
        for part in parts {
            assert!(message.contains(part), "{name}: {message:?} lacks {part:?}");
        }
        assert!(!message.ends_with('.') && !message.contains('\n'), "{message:?}");
    }
}

#[test]
fn no_error_is_without_a_test() {
    let source = include_str!("../../src/error.rs");
    let body = source.split_once("pub enum Error {").unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    let is_variant = |line: &&str| {
        line.strip_prefix("    ")
            .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
    };
    let mut variants: Vec<&str> = body
        .lines()
        .filter(is_variant)
        .map(|line| line.trim().split([' ', '(', ',']).next().unwrap())
        .collect();
    let mut tested: Vec<&str> = ERRORS.iter().map(|(name, ..)| *name).collect();
    variants.sort_unstable();
    tested.sort_unstable();
    assert_eq!(variants, tested);
}

fn store() -> (SimDisk, LocalStore) {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "one").unwrap();
    (disk, store)
}

fn io_error() -> Error {
    let (disk, store) = store();
    disk.fail_when(|op, path| op == Op::Write && path == segment(1), Fault::Enospc);
    append(&store, "main", "two").unwrap_err()
}

fn removed() -> Error {
    let (_, store) = store();
    append(&store, "main", "the secret").unwrap();
    crate::redact::redact_literal(&store, "the secret").unwrap();
    let first = texts(&store, "main").unwrap();
    assert_eq!(first, ["one", "the [gone]"].map(|text| text.replace("the [gone]", "[gone]")));
    let snapshot = store.snapshot().unwrap();
    let tip = target(&*snapshot, &branch("main")).unwrap().unwrap();
    let parent = snapshot.path(&tip, 2).unwrap()[1];
    let objects = vec![message("the secret", vec![parent])];
    let again = store.commit(Durability::Full, &mut |_| {
        Ok(Transaction { objects: objects.clone(), ..Transaction::default() })
    });
    assert!(matches!(store.put_alone(&objects[0]), Err(Error::Removed { .. })));
    again.unwrap_err()
}

fn not_a_store() -> Error {
    open(&SimDisk::new(1)).unwrap_err()
}

fn unsupported_format() -> Error {
    let (disk, store) = store();
    drop(store);
    let text = String::from_utf8(disk.read(file("format"))).unwrap();
    disk.write(file("format"), text.replace("version 1", "version 2"));
    open(&disk).unwrap_err()
}

fn corrupt() -> Error {
    let (disk, _) = store();
    disk.flip(segment(1), 64);
    open(&disk).unwrap_err()
}

fn invalid_object() -> Error {
    NewObject::parse(Kind::Entry, b"not CBOR".to_vec()).unwrap_err()
}

fn object_missing() -> Error {
    Repo::in_memory().get(&Id::of(Kind::Blob, b"nowhere")).unwrap_err()
}

fn wrong_kind() -> Error {
    let (_, store) = store();
    let blob = NewObject::blob(b"no entry".to_vec()).unwrap();
    let refs = [update(branch("main"), blob.id())];
    commit(&store, Durability::Full, &[blob], &refs).unwrap_err()
}

fn revision_unknown() -> Error {
    Repo::in_memory().resolve("nothing").unwrap_err()
}

fn revision_malformed() -> Error {
    Repo::in_memory().resolve("main@{x}").unwrap_err()
}

/// Finds two blobs whose ids share their first four digits.
fn ambiguous() -> Error {
    let mut seen = std::collections::HashMap::new();
    for number in 0u32.. {
        let blob = NewObject::blob(number.to_le_bytes().to_vec()).unwrap();
        if let Some(other) = seen.insert(blob.id().short(4), blob.clone()) {
            let repo = Repo::in_memory();
            let prefix = blob.id().short(4);
            commit(&**repo.store(), Durability::Full, &[blob, other], &[]).unwrap();
            return repo.resolve(&prefix).unwrap_err();
        }
    }
    unreachable!("some two ids share four digits")
}

fn invalid_name() -> Error {
    RefName::new("a\nb").unwrap_err()
}

fn dangling() -> Error {
    let (_, store) = store();
    let child = message("child", vec![message("never stored", vec![]).id()]);
    commit(&store, Durability::Full, &[child], &[]).unwrap_err()
}

fn ref_conflict() -> Error {
    let (_, store) = store();
    let refs = [RefUpdate { name: branch("main"), expected: Expected::Missing, new: None }];
    commit(&store, Durability::Full, &[], &refs).unwrap_err()
}

fn symbolic_depth() -> Error {
    let (_, store) = store();
    let circle = |name: &str, other: &str| RefUpdate {
        name: ref_name(name),
        expected: Expected::Any,
        new: Some(RefValue::Symbolic(ref_name(other))),
    };
    let refs = [circle("HEAD", "other"), circle("other", "HEAD")];
    commit(&store, Durability::Full, &[], &refs).unwrap();
    resolve(&*store.snapshot().unwrap(), &RefName::head()).unwrap_err()
}

fn too_large() -> Error {
    let (_, store) = store();
    let found = store.put_blob(&mut io::empty(), OBJECT_BYTES_MAX + 1);
    found.unwrap_err()
}

fn lock_timeout() -> Error {
    let (disk, store) = store();
    let lock = disk.open(&file("lock"), OpenMode::Write).unwrap();
    assert!(lock.try_lock().unwrap());
    lock.write_all_at(format!("{:>10} {:>20}\n", 123, 1).as_bytes(), 0).unwrap();
    append(&store, "main", "two").unwrap_err()
}

fn outcome_unknown() -> Error {
    let (disk, store) = store();
    fail_sync(&disk);
    append(&store, "main", "two").unwrap_err()
}

fn fail_sync(disk: &SimDisk) {
    disk.fail_when(|op, path| op == Op::SyncData && path == segment(1), Fault::SyncFails);
}

fn handle_dead() -> Error {
    let (disk, store) = store();
    fail_sync(&disk);
    append(&store, "main", "two").unwrap_err();
    append(&store, "main", "three").unwrap_err()
}

fn read_only() -> Error {
    let (disk, _) = store();
    let store = open_read_only(&disk).unwrap();
    append(&store, "main", "two").unwrap_err()
}

fn network_filesystem() -> Error {
    let (disk, store) = store();
    drop(store);
    let mut disk = OddDisk::new(&disk);
    disk.network = Some("nfs".to_owned());
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let path = Path::new(ROOT);
    let made = LocalStore::init(Arc::clone(&disk), path, options());
    assert_eq!(variant(&made.unwrap_err()), "NetworkFilesystem");
    let forced = Options { allow_network: true, ..options() };
    let forced = LocalStore::open(Arc::clone(&disk), path, forced).unwrap();
    append(&forced, "main", "two").unwrap();
    let reading = Options { read_only: true, ..options() };
    LocalStore::open(Arc::clone(&disk), path, reading).unwrap();
    LocalStore::open(disk, path, options()).unwrap_err()
}

#[test]
fn unknown_versions_are_refused_and_never_guessed() {
    let refuse = |change: &dyn Fn(&SimDisk)| -> Result<LocalStore> {
        let (disk, store) = store();
        store.pack_refs().unwrap();
        drop(store);
        change(&disk);
        open(&disk)
    };
    for line in ["version 10", "hash sha1", "codec json", "a line more"] {
        let found = refuse(&|disk| {
            let text = format!("sapwood store\n{line}\n");
            disk.write(file("format"), text);
        });
        let error = found.unwrap_err();
        assert_eq!(variant(&error), "UnsupportedFormat");
        assert!(error.to_string().contains(line), "{error}");
    }
    let found = refuse(&|disk| disk.write(file("current"), "sapwood manifest 2\nend\n"));
    assert_eq!(variant(&found.unwrap_err()), "UnsupportedFormat");
    let found = refuse(&|disk| disk.write(file("format"), "something else"));
    assert_eq!(variant(&found.unwrap_err()), "Corrupt");
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_named() {
    let (disk, store) = store();
    drop(store);
    let lock = disk.open(&file("lock"), OpenMode::Write).unwrap();
    assert!(lock.try_lock().unwrap());
    let patient = Options { lock_timeout: Duration::from_millis(30), ..options() };
    let shared = Arc::new(disk.clone());
    let store = LocalStore::open(shared, Path::new(ROOT), patient).unwrap();
    let Error::LockTimeout { waited, path, .. } = append(&store, "main", "two").unwrap_err() else {
        panic!("the lock is held");
    };
    assert!(waited >= Duration::from_millis(30));
    assert_eq!(path, file("lock"));
    lock.unlock().unwrap();
    append(&store, "main", "two").unwrap();
}

#[test]
fn json_that_is_not_json_is_an_error_with_its_place() {
    let error = json::parse(b"{\"a\": }").unwrap_err();
    assert_eq!(variant(&error), "InvalidObject");
}

/// A session with one entry.
fn session(text: &[u8]) -> (Repo, Id) {
    let repo = Repo::in_memory();
    let pin = sapwood::session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let bodies = vec![json::parse(text).unwrap()];
    let ids = sapwood::session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
    (repo, ids[0])
}

fn exists() -> Error {
    let (repo, id) = session(b"{}");
    let snapshot = repo.snapshot().unwrap();
    let mut change = sapwood::session::Change::on(&*snapshot, "s", 0).unwrap();
    let record = sapwood::session::BranchRecord::at(Some(id), None);
    change.create_branch("main", &record).unwrap_err()
}

fn unanswered() -> Error {
    let call = br#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls"}]}"#;
    let (repo, id) = session(call);
    sapwood::session::check_answered(&*repo.snapshot().unwrap(), id).unwrap_err()
}

fn moved_on() -> Error {
    use sapwood::ops::{BranchOptions, Direction, Target, branch, undo};
    let (repo, _) = session(b"{}");
    let operation = sapwood::store::Operation {
        time: 1,
        actor: "tester".to_owned(),
        command: "branch a".to_owned(),
    };
    let options = BranchOptions { name: "a".to_owned(), ..BranchOptions::default() };
    branch(&repo, &options, &operation).unwrap();
    let pin = sapwood::session::pin(&repo, Some("s"), Some("a"), 0, "tester").unwrap();
    let bodies = vec![json::parse(b"{}").unwrap()];
    sapwood::session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
    undo(&repo, &Target::default(), "tester", Direction::Undo, &operation).unwrap_err()
}

fn refused() -> Error {
    let repo = Repo::in_memory();
    sapwood::ops::Target::default().find(&*repo.snapshot().unwrap()).unwrap_err()
}

fn ambiguous_session() -> Error {
    let repo = Repo::in_memory();
    for session in ["s1", "s2"] {
        sapwood::session::pin(&repo, Some(session), None, 0, "tester").unwrap();
    }
    sapwood::repo::find_session(&*repo.snapshot().unwrap(), "s").unwrap_err()
}
