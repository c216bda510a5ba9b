//! Sessions after a repair: metadata, memory, transcript, and what is told of them.

use std::path::Path;
use std::sync::Arc;

use sapwood::codec::json;
use sapwood::id::{Id, Kind};
use sapwood::repo::Repo;
use sapwood::session;
use sapwood::store::local::RepairReport;
use sapwood::store::{Durability, RefName, RefValue, Snapshot, Store};
use sapwood::walk;

use super::fix;
use crate::faults::contents;
use crate::sim::SimDisk;
use crate::support::{ROOT, init, open};

const TIME: i64 = 1_700_000_000_000;

/// A store with one session: two branches and a way back to the first.
fn talk() -> SimDisk {
    let disk = SimDisk::new(3);
    let store = Arc::new(init(&disk).unwrap());
    let repo = Repo::on(store.clone());
    for (branch, texts) in [("main", ["one", "two"]), ("side", ["three", "four"])] {
        for text in texts {
            say(&repo, branch, text);
        }
    }
    say(&repo, "main", "five");
    drop(repo);
    drop(store);
    disk
}

fn say(repo: &Repo, branch: &str, text: &str) {
    let pin = session::pin(repo, Some("s1"), Some(branch), TIME, "ada").unwrap();
    let body = json::parse(format!(r#"{{"role":"user","content":"{text}"}}"#).as_bytes()).unwrap();
    session::append(repo, &pin, vec![body], Durability::Full, TIME).unwrap();
}

fn value(snapshot: &dyn Snapshot, rest: &str) -> Option<Id> {
    match snapshot.reference(&RefName::of_session("s1", rest).unwrap()).unwrap() {
        Some(RefValue::Id(id)) => Some(id),
        _ => None,
    }
}

/// Hits the content of an object in the journal, and repairs the store.
fn lose(disk: &SimDisk, id: &Id) -> RepairReport {
    let store = open(disk).unwrap();
    let content = store.snapshot().unwrap().get(id).unwrap().unwrap().content.to_vec();
    drop(store);
    for (path, bytes) in contents(disk) {
        let places = bytes.windows(content.len()).position(|part| part == content);
        if let Some(place) = places.filter(|_| path.starts_with(Path::new(ROOT).join("objects"))) {
            disk.flip(&path, place + content.len() / 2);
        }
    }
    fix(disk).unwrap()
}

fn current(disk: &SimDisk, rest: &str) -> Id {
    let store = open(disk).unwrap();
    let snapshot = store.snapshot().unwrap();
    value(&*snapshot, rest).unwrap()
}

/// Says what the session has to say, which must be readable.
fn transcript(disk: &SimDisk) -> Vec<Id> {
    let store = open(disk).unwrap();
    walk::transcript(&*store.snapshot().unwrap(), "s1").unwrap()
}

#[test]
fn a_session_without_metadata_gets_new_metadata() {
    let disk = talk();
    let before = transcript(&disk);
    let report = lose(&disk, &current(&disk, "meta"));
    assert_eq!(report.remaining, []);
    let store = open(&disk).unwrap();
    let snapshot = store.snapshot().unwrap();
    let meta = value(&*snapshot, "meta").unwrap();
    let stored = snapshot.get(&meta).unwrap().unwrap();
    assert_eq!(stored.kind, Kind::Session);
    let session = sapwood::object::Session::decode(&stored.content).unwrap();
    assert_eq!(session.sid, "s1");
    drop((store, snapshot));
    assert_eq!(transcript(&disk), before);
}

#[test]
fn a_transcript_that_lost_its_latest_event_goes_on_from_the_one_before() {
    let disk = talk();
    let report = lose(&disk, &current(&disk, "events"));
    assert_eq!(report.remaining, []);
    let moved: Vec<&str> = report.refs.iter().map(|item| item.name.as_str()).collect();
    assert!(moved.contains(&"sessions/s1/events"), "{moved:?}");
    assert!(!transcript(&disk).is_empty());
    let store = Arc::new(open(&disk).unwrap());
    let repo = Repo::on(store);
    say(&repo, "main", "six");
    say(&repo, "side", "seven");
    drop(repo);
    let said = transcript(&disk);
    assert_eq!(said.last(), Some(&current(&disk, "heads/side")));
}

#[test]
fn a_lost_message_moves_its_branch_and_is_told_by_session() {
    let disk = talk();
    let tip = current(&disk, "heads/side");
    let report = lose(&disk, &tip);
    assert_eq!(report.remaining, []);
    let side = report.refs.iter().find(|item| item.name.as_str() == "sessions/s1/heads/side");
    let side = side.unwrap();
    assert_eq!(side.name.session().unwrap().0, "s1");
    assert_eq!(side.old, Some(RefValue::Id(tip)));
    assert_eq!(side.passed.iter().map(|lost| lost.id).collect::<Vec<_>>(), [tip]);
    assert!(!side.passed[0].is_held && side.passed[0].kind == Some(Kind::Entry));
    assert!(report.lost.iter().any(|lost| lost.id == tip));
    assert!(!transcript(&disk).is_empty());
}

#[test]
fn whatever_object_is_lost_the_session_reads_and_goes_on() {
    let disk = talk();
    let mut ids = Vec::new();
    let store = open(&disk).unwrap();
    let visit = &mut |id: &Id, _: &sapwood::store::Topology| {
        ids.push(*id);
        Ok(std::ops::ControlFlow::Continue(()))
    };
    store.snapshot().unwrap().for_each(visit).unwrap();
    drop(store);
    assert!(ids.len() >= 7, "{}", ids.len());
    for id in ids {
        let damaged = disk.copy();
        let report = lose(&damaged, &id);
        assert_eq!(report.remaining, [], "{id}");
        transcript(&damaged);
        let repo = Repo::on(Arc::new(open(&damaged).unwrap()));
        say(&repo, "main", "and on");
        say(&repo, "side", "and on");
        drop(repo);
        assert!(transcript(&damaged).len() >= 2, "{id}");
    }
}
