//! Eight processes that write, two that read and one that maintains, all killed again and again.
//!
//! An oracle knows every message that was acknowledged. After each round each of them is on its
//! branch, once and in order, and the check of the whole store finds nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sapwood::Repo;
use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::store::local::Options;
use sapwood::store::{RefName, RefValue};

use super::{long, tell};
use crate::sim::Random;

const SESSION: &str = "work";
const WRITERS: usize = 8;
const READERS: usize = 2;
/// What the one that maintains does, in turn.
const MAINTENANCE: [&[&str]; 5] =
    [&["gc"], &["gc", "--prune=now"], &["repack"], &["pack-refs"], &["fsck", "--quiet"]];

/// What happened in one round.
#[derive(Default)]
struct Round {
    kills: AtomicUsize,
    /// How often somebody ended before being killed.
    ended: AtomicUsize,
    reads: AtomicUsize,
    /// Of each branch the messages that were acknowledged, in order.
    acknowledged: Mutex<BTreeMap<usize, Vec<(usize, Id)>>>,
}

pub(super) fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(args).arg("--store").arg(store);
    command.env_clear().env("HOME", store).env("SAPWOOD_ACTOR", "tester");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command, kills it when its time is up, and gives how it ended and what it had printed.
///
/// `feed` makes the lines of its input, as many as it takes.
fn live_and_die(
    command: &mut Command,
    life: Duration,
    mut feed: impl FnMut() -> Option<String> + Send,
) -> (ExitStatus, Vec<String>) {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(line) = feed() {
                if input.write_all(line.as_bytes()).is_err() {
                    break;
                }
            }
        });
        let killer = scope.spawn(move || {
            while begun.elapsed() < life {
                if let Some(status) = child.try_wait().unwrap() {
                    return status;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            child.kill().unwrap();
            child.wait().unwrap()
        });
        let mut lines = Vec::new();
        let mut line = String::new();
        // A line that the kill cut short acknowledges nothing.
        while answers.read_line(&mut line).is_ok_and(|bytes| bytes > 0) && line.ends_with('\n') {
            lines.push(std::mem::take(&mut line));
        }
        (killer.join().unwrap(), lines)
    })
}

fn message(branch: usize, number: usize) -> String {
    let filler = "word ".repeat(number * 31 % 200);
    format!("{{\"role\":\"user\",\"content\":\"b{branch} {filler}\",\"n\":{number}}}\n")
}

impl Round {
    fn count(&self, status: ExitStatus) -> bool {
        let killed = status.code().is_none();
        let counter = if killed { &self.kills } else { &self.ended };
        counter.fetch_add(1, Ordering::Relaxed);
        killed
    }

    /// Appends to a branch, killed each time, with numbers that are never used twice.
    fn write(&self, store: &Path, branch: usize, random: &mut Random, next: &mut usize) {
        let name = format!("b{branch}");
        let durability = if random.below(3) == 0 { "relaxed" } else { "full" };
        let args = ["append", "--stdin", "-s", SESSION, "-b", &name, "--durability", durability];
        let first = *next;
        let sent = AtomicUsize::new(first);
        let feed = || Some(message(branch, sent.fetch_add(1, Ordering::Relaxed)));
        let (status, lines) = live_and_die(&mut command(store, &args), life(random), feed);
        self.count(status);
        assert!(status.code().is_none(), "an appender ends when it is killed: {status}");
        *next = sent.into_inner();
        let ids = lines.iter().map(|line| line.trim().parse().unwrap());
        let mut acknowledged = self.acknowledged.lock().unwrap();
        acknowledged.entry(branch).or_default().extend((first..).zip(ids));
    }

    /// Reads a branch; who is not killed has seen all that was acknowledged before.
    fn read(&self, store: &Path, random: &mut Random) {
        let branch = random.below(WRITERS as u64) as usize;
        let before = self.acknowledged.lock().unwrap().get(&branch).map_or(0, Vec::len);
        let name = format!("b{branch}");
        let args = ["log", "-s", SESSION, "--format", "%H", &name];
        let (status, lines) = live_and_die(&mut command(store, &args), life(random) * 4, || None);
        if !self.count(status) && before > 0 {
            assert!(status.success(), "{args:?}: {status}");
            assert!(lines.len() >= before, "{} of {before} messages", lines.len());
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn maintain(&self, store: &Path, random: &mut Random, turn: usize) {
        let args = MAINTENANCE[turn % MAINTENANCE.len()];
        let (status, _) = live_and_die(&mut command(store, args), life(random) * 6, || None);
        if !self.count(status) {
            assert!(status.success(), "{args:?}: {status}");
        }
    }

    /// Checks that all that was acknowledged is on its branch, once and in order.
    fn check(&self, store: &Path) -> usize {
        let repo = Repo::open(store, Options::default()).unwrap();
        let snapshot = repo.snapshot().unwrap();
        let mut total = 0;
        for (branch, acknowledged) in &*self.acknowledged.lock().unwrap() {
            if acknowledged.is_empty() {
                continue;
            }
            let name = RefName::of_session(SESSION, &format!("heads/b{branch}")).unwrap();
            let Some(RefValue::Id(tip)) = snapshot.reference(&name).unwrap() else {
                panic!("b{branch} is gone");
            };
            let mut found = Vec::new();
            for id in snapshot.path(&tip, usize::MAX).unwrap() {
                let body = repo.entry(&id).unwrap().body;
                let number = body.get("n").and_then(Value::as_i64).unwrap() as usize;
                found.push((number, id));
            }
            found.reverse();
            // A branch begins where the session's HEAD was, so others' messages may come first.
            let mut rest = found.iter();
            for wanted in acknowledged {
                assert!(rest.any(|found| found == wanted), "b{branch}: message {wanted:?} is lost");
            }
            total += acknowledged.len();
        }
        let checked = command(store, &["fsck", "--quiet"]).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        total
    }
}

/// As long as a command may take, or much shorter.
fn life(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(if cfg!(debug_assertions) { 60_000 } else { 25_000 }))
}

fn torment(store: &Path, kills: usize, seed: u64) -> Round {
    let round = Round::default();
    let is_over = || round.kills.load(Ordering::Relaxed) >= kills;
    let random = |who: usize| Random(seed * 100 + who as u64);
    std::thread::scope(|scope| {
        for branch in 0..WRITERS {
            let (round, is_over) = (&round, &is_over);
            scope.spawn(move || {
                let (mut random, mut next) = (random(branch), 0);
                while !is_over() {
                    round.write(store, branch, &mut random, &mut next);
                }
            });
        }
        for reader in 0..READERS {
            let (round, is_over) = (&round, &is_over);
            scope.spawn(move || {
                let mut random = random(WRITERS + reader);
                while !is_over() {
                    round.read(store, &mut random);
                }
            });
        }
        let mut random = random(WRITERS + READERS);
        for turn in 0.. {
            if is_over() {
                break;
            }
            round.maintain(store, &mut random, turn);
        }
    });
    round
}

fn new_store() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    assert!(command(&store, &["init"]).status().unwrap().success());
    (dir, store)
}

#[test]
fn processes_killed_at_any_moment_lose_nothing_acknowledged() {
    let (rounds, each) = if long() { (25, 410) } else { (1, 60) };
    let (mut kills, mut ended, mut reads, mut messages) = (0, 0, 0, 0);
    for number in 0..rounds {
        let (_dir, store) = new_store();
        let round = torment(&store, each, number);
        messages += round.check(&store);
        kills += round.kills.into_inner();
        ended += round.ended.into_inner();
        reads += round.reads.into_inner();
        if number % 5 == 4 {
            tell(format_args!("{kills} kills, {messages} messages acknowledged so far"));
        }
    }
    tell(format_args!(
        "{kills} kills of {WRITERS} writers, {READERS} readers and one that maintains, {ended} ended \
         by themselves; {messages} messages acknowledged, none lost; {reads} whole reads"
    ));
    assert!(messages > 0, "no process lived long enough to write anything");
    assert!(!long() || kills >= 10_000);
}
