//! Verbs in real processes: many at once on one session, and killed at any moment.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::session::View;
use sapwood::store::local::Options;
use sapwood::{Repo, walk};

const SESSION: &str = "work";
const APPENDERS: usize = 8;
/// Exit codes that a lost race may have.
const RACE: i32 = 4;

fn long() -> bool {
    std::env::var_os("SAPWOOD_TORTURE").is_some()
}

fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(args).arg("--store").arg(store);
    command.env_clear().env("HOME", store).env("SAPWOOD_ACTOR", "tester");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(store: &Path, args: &[&str]) -> Output {
    command(store, args).output().unwrap()
}

fn must(store: &Path, args: &[&str]) -> String {
    let output = run(store, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A store with a session of a few messages and the branches of the appenders.
fn prepared() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    must(&store, &["init"]);
    for text in ["one", "two", "three"] {
        must(&store, &["append", "-s", SESSION, "-m", text]);
    }
    (dir, store)
}

/// Appends numbered messages to a branch of its own, and gives the ids that were acknowledged.
fn append(store: &Path, branch: &str, count: usize) -> Vec<Id> {
    let args = ["append", "--stdin", "-s", SESSION, "-b", branch];
    let mut child = command(store, &args).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap());
    let branch = branch.to_owned();
    let writer = std::thread::spawn(move || {
        for number in 0..count {
            let line = format!("{{\"content\":\"{branch}\",\"n\":{number}}}\n");
            input.write_all(line.as_bytes()).unwrap();
        }
    });
    let ids = answers.lines().map(|line| line.unwrap().parse().unwrap()).collect();
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    ids
}

/// What the two that switch, branch and fork have done.
#[derive(Default)]
struct Moved {
    branches: Vec<String>,
    forks: usize,
    operations: usize,
    races: usize,
}

fn move_about(store: &Path, who: usize, is_over: &AtomicBool, done: &AtomicUsize) -> Moved {
    let mut moved = Moved::default();
    let mut round = 0;
    while !is_over.load(Ordering::Relaxed) {
        round += 1;
        let name = format!("idea {who} {round}");
        let to = format!("b{}", round % APPENDERS);
        let steps: [&[&str]; 4] = [
            &["branch", "-s", SESSION, &name],
            &["switch", "-s", SESSION, &name],
            &["fork", "-s", SESSION, "--no-use"],
            &["switch", "-s", SESSION, &to],
        ];
        for (step, args) in steps.into_iter().enumerate() {
            let output = run(store, args);
            let code = output.status.code().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(code == 0 || code == RACE, "{args:?} gave {code}: {said}");
            moved.operations += 1;
            done.fetch_add(1, Ordering::Relaxed);
            match (code, step) {
                (0, 0) => moved.branches.push(name.clone()),
                (0, 2) => moved.forks += 1,
                (RACE, _) => {
                    assert!(said.contains("hint: "), "{said}");
                    moved.races += 1;
                }
                _ => {}
            }
        }
    }
    moved
}

#[test]
fn ten_processes_share_a_session_and_nothing_is_lost() {
    let (_dir, store) = prepared();
    let each = if long() { 1_200 } else { 60 };
    for number in 0..APPENDERS {
        must(&store, &["branch", "-s", SESSION, &format!("b{number}")]);
    }
    let is_over = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let (appended, moved) = std::thread::scope(|scope| {
        let movers: Vec<_> = (0..2)
            .map(|who| {
                let (store, is_over, done) = (&store, &is_over, &done);
                scope.spawn(move || move_about(store, who, is_over, done))
            })
            .collect();
        let appenders: Vec<_> = (0..APPENDERS)
            .map(|number| {
                let store = &store;
                scope.spawn(move || append(store, &format!("b{number}"), each))
            })
            .collect();
        let appended: Vec<Vec<Id>> =
            appenders.into_iter().map(|appender| appender.join().unwrap()).collect();
        let enough = if long() { 10_000 - APPENDERS * each } else { 16 };
        while done.load(Ordering::Relaxed) < enough {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
        let moved: Vec<Moved> = movers.into_iter().map(|mover| mover.join().unwrap()).collect();
        (appended, moved)
    });

    let repo = Repo::open(&store, Options::default()).unwrap();
    let snapshot = repo.snapshot().unwrap();
    let view = View::of(&*snapshot, SESSION).unwrap();
    let transcript = walk::transcript(&*snapshot, SESSION).unwrap();
    let mut said: BTreeMap<Id, usize> = BTreeMap::new();
    for id in &transcript {
        *said.entry(*id).or_default() += 1;
    }
    for (number, ids) in appended.iter().enumerate() {
        assert_eq!(ids.len(), each, "every message was acknowledged");
        let end = view.branch(&format!("b{number}")).unwrap().unwrap();
        let mut path: Vec<Id> = walk::path(&*snapshot, end).map(Result::unwrap).collect();
        path.reverse();
        assert_eq!(path[path.len() - each..], ids[..], "b{number} is in order");
        for id in ids {
            assert_eq!(said.get(id), Some(&1), "the transcript holds each once");
        }
    }
    assert_eq!(transcript.len(), 3 + APPENDERS * each);
    let sessions = snapshot.references("sessions/").unwrap().into_iter();
    let sessions = sessions.filter(|(name, _)| name.as_str().ends_with("/meta")).count();
    assert_eq!(sessions, 1 + moved.iter().map(|moved| moved.forks).sum::<usize>());
    for name in moved.iter().flat_map(|moved| &moved.branches) {
        assert!(view.branch(name).unwrap().is_some(), "{name}");
        assert!(view.record(name).unwrap().is_some(), "{name}");
    }
    must(&store, &["fsck", "--quiet"]);
}

/// Everything that a command could have changed.
fn state(store: &Path) -> (Vec<String>, usize) {
    let repo = Repo::open(store, Options::default()).unwrap();
    let snapshot = repo.snapshot().unwrap();
    let refs = snapshot.references("").unwrap().into_iter();
    let refs = refs.map(|(name, value)| format!("{name} {value}")).collect();
    let mut operations = 0;
    snapshot
        .operations(&mut |_| {
            operations += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    (refs, operations)
}

#[test]
fn a_killed_verb_happened_or_did_not() {
    let (_dir, store) = prepared();
    must(&store, &["branch", "side", "msg:2"]);
    let verbs: [&[&str]; 10] = [
        &["switch", "side"],
        &["append", "-m", "more"],
        &["memory", "commit", "--fact", "colour=green"],
        &["label", "here"],
        &["switch", "main", "--fact", "left=side"],
        &["edit", "msg:1", "-m", "another"],
        &["compact", "--keep", "1", "--summary", "so far"],
        &["pop", "--summary", "gone"],
        &["fork", "--no-use"],
        &["undo"],
    ];
    let kills = if long() { 300 } else { 40 };
    let begun = Instant::now();
    must(&store, &["label", "begin"]);
    // As long as a verb takes here and now, and half as long again.
    let life = begun.elapsed() * 3 / 2;
    let mut happened = 0;
    for kill in 0..kills {
        let args = verbs[kill % verbs.len()];
        let before = state(&store);
        let mut child = command(&store, args).spawn().unwrap();
        std::thread::sleep(life * (kill as u32 * 7 % 40) / 40);
        child.kill().unwrap();
        child.wait().unwrap();
        let after = state(&store);
        if before.0 == after.0 {
            assert_eq!(before.1, after.1, "{args:?} left an operation and moved nothing");
        } else {
            happened += 1;
            let is_append = usize::from(args[0] != "append");
            assert_eq!(before.1 + is_append, after.1, "{args:?} is one operation");
        }
        let repo = Repo::open(&store, Options::default()).unwrap();
        let snapshot = repo.snapshot().unwrap();
        let session = walk::transcript(&*snapshot, SESSION).unwrap();
        assert!(session.len() >= 3, "{args:?}");
        let body = repo.body(&session[0]).unwrap();
        assert_eq!(body.get("content").and_then(Value::as_text), Some("one"));
    }
    assert!(happened > 0, "no verb lived long enough");
    must(&store, &["fsck", "--quiet"]);
}
