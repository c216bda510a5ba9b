//! Real processes: killed at any moment, and many at once.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapwood::codec::Value;
use sapwood::disk::OsDisk;
use sapwood::id::Id;
use sapwood::store::local::{FsckOptions, LocalStore, Options, Severity, fsck};
use sapwood::store::{Durability, RefName, RefValue, Store as _, Transaction};
use sapwood::{Repo, walk};

const SESSION: &str = "work";

fn long() -> bool {
    std::env::var_os("SAPWOOD_TORTURE").is_some()
}

/// Starts `append --stdin` on a branch.
fn appender(store: &Path, branch: &str, durability: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sapwood"))
        .args(["append", "--stdin", "-s", SESSION, "-b", branch, "--durability", durability])
        .arg("--store")
        .arg(store)
        .env_clear()
        .env("HOME", store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn line(branch: &str, number: usize) -> String {
    let filler = "word ".repeat(number % 200);
    format!("{{\"role\":\"user\",\"content\":\"{branch} {number} {filler}\",\"n\":{number}}}\n")
}

fn read_id(answers: &mut BufReader<ChildStdout>) -> Option<Id> {
    let mut answer = String::new();
    let bytes = answers.read_line(&mut answer).ok()?;
    // A line that the kill cut short acknowledges nothing.
    (bytes > 0 && answer.ends_with('\n')).then(|| answer.trim().parse().unwrap())
}

fn open(store: &Path) -> Repo {
    Repo::open(store, Options::default()).unwrap()
}

/// Gives the numbers that a branch says, oldest first, and checks every entry on the way.
fn numbers(repo: &Repo, branch: &str) -> Vec<(usize, Id)> {
    let snapshot = repo.snapshot().unwrap();
    let name = RefName::of_session(SESSION, &format!("heads/{branch}")).unwrap();
    let Some(RefValue::Id(tip)) = snapshot.reference(&name).unwrap() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for id in walk::path(&*snapshot, tip) {
        let id = id.unwrap();
        let entry = repo.entry(&id).unwrap();
        found.push((entry.body.get("n").and_then(Value::as_i64).unwrap() as usize, id));
    }
    found.reverse();
    found
}

/// Takes the lock, and makes sure that nothing is left of a process that died with it.
fn next_writer_mends(path: &Path) {
    let store = LocalStore::open(Arc::new(OsDisk), path, Options::default()).unwrap();
    store.commit(Durability::Full, &mut |_| Ok(Transaction::default())).unwrap();
    drop(store);
    let report = fsck(Arc::new(OsDisk), path, &FsckOptions::default()).unwrap();
    let found = report.findings.into_iter().filter(|found| found.severity > Severity::Notice);
    assert_eq!(found.collect::<Vec<_>>(), []);
}

/// A small generator, so that a failing run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_killed_appender_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    LocalStore::init(Arc::new(OsDisk), &store, Options::default()).unwrap();
    let kills = if long() { 200 } else { 30 };
    let mut random = Random(0x5eed);
    let mut acknowledged: Vec<Id> = Vec::new();
    let mut next = 0;
    for kill in 0..kills {
        let durability = if kill % 3 == 0 { "relaxed" } else { "full" };
        let mut child = appender(&store, "main", durability);
        let mut input = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let writer = std::thread::spawn(move || {
            let mut number = next;
            while input.write_all(line("main", number).as_bytes()).is_ok() {
                number += 1;
            }
        });
        let life = Duration::from_micros(random.below(60_000));
        let killer = std::thread::spawn(move || {
            let begun = Instant::now();
            std::thread::sleep(life.saturating_sub(begun.elapsed()));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        while let Some(id) = read_id(&mut answers) {
            acknowledged.push(id);
        }
        killer.join().unwrap();
        writer.join().unwrap();

        let repo = open(&store);
        let found = numbers(&repo, "main");
        let in_order: Vec<usize> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(in_order, (0..found.len()).collect::<Vec<_>>(), "kill {kill}");
        assert!(found.len() >= acknowledged.len(), "kill {kill}");
        for (place, id) in acknowledged.iter().enumerate() {
            assert_eq!(found[place].1, *id, "kill {kill}: message {place}");
        }
        drop(repo);
        next_writer_mends(&store);
        // What was written and not acknowledged counts from now on.
        acknowledged = found.into_iter().map(|(_, id)| id).collect();
        next = acknowledged.len();
    }
    assert!(next > 0, "no run lived long enough to append anything");
}

#[test]
fn eight_processes_append_to_eight_branches() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    LocalStore::init(Arc::new(OsDisk), &store, Options::default()).unwrap();
    let each = if long() { 2_000 } else { 100 };
    let workers: Vec<_> = (0..8)
        .map(|number| {
            let store = store.clone();
            std::thread::spawn(move || {
                let branch = format!("branch {number}");
                let mut child = appender(&store, &branch, "full");
                let mut input = child.stdin.take().unwrap();
                let mut answers = BufReader::new(child.stdout.take().unwrap());
                let mut ids = Vec::new();
                for number in 0..each {
                    input.write_all(line(&branch, number).as_bytes()).unwrap();
                    ids.push(read_id(&mut answers).expect("an acknowledgement"));
                }
                drop(input);
                assert!(child.wait().unwrap().success());
                (branch, ids)
            })
        })
        .collect();
    let acknowledged: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    let repo = open(&store);
    for (branch, ids) in &acknowledged {
        let found: Vec<Id> = numbers(&repo, branch).into_iter().map(|(_, id)| id).collect();
        // A branch begins where the session's HEAD was, so others' messages may come first.
        let own = &found[found.len() - each..];
        assert_eq!(own, &ids[..], "{branch}");
    }
    let snapshot = repo.snapshot().unwrap();
    let transcript = walk::transcript(&*snapshot, SESSION).unwrap();
    assert_eq!(transcript.len(), 8 * each, "every message is in the transcript");
}
