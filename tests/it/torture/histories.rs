//! Ref updates of many processes, each one of its own, are linearizable.
//!
//! Several clients run `update-ref` and `for-each-ref` at the same time on two refs that are moved
//! alone or together, and note when each began and ended, by one clock. A history is right if all
//! its calls can be put in an order in which each lies between its begin and its end, and in which
//! one after the other gives the same answers. Some processes are killed: their calls may have
//! happened at any later time, or not at all.

mod checker;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use checker::{Action, Answer, Call, is_linearizable};

use super::kills::command;
use super::{long, tell};
use crate::sim::Random;

const CLIENTS: usize = 8;
/// The refs, which are one object: some updates move both.
const REFS: [&str; 2] = ["notes/one", "notes/other"];
/// How many values a ref can have, besides none.
const VALUES: u64 = 4;
/// The exit code of a lost race.
const RACE: i32 = 4;

struct World<'a> {
    store: &'a Path,
    /// The ids of the values.
    ids: &'a [String],
    begun: Instant,
}

impl World<'_> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn text(&self, value: Option<u8>) -> String {
        value.map_or("0".repeat(64), |value| self.ids[usize::from(value)].clone())
    }

    /// Makes one call in a process of its own.
    fn call(&self, action: Action, life: Option<Duration>) -> Call {
        let (args, input) = match &action {
            Action::Read => (vec!["for-each-ref", "notes/"], String::new()),
            Action::Swap(swaps) => {
                let line = |swap: &checker::Swap| {
                    let (old, new) = (self.text(swap.old), self.text(Some(swap.new)));
                    format!("update {} {new} {old}\n", REFS[swap.place])
                };
                (vec!["update-ref", "--stdin"], swaps.iter().map(line).collect())
            }
        };
        let invoked = self.now();
        let mut child = command(self.store, &args).stdin(Stdio::piped()).spawn().unwrap();
        // One that was refused at once does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        if let Some(life) = life {
            std::thread::sleep(life);
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let returned = self.now();
        let said = String::from_utf8_lossy(&output.stdout);
        let answer = match (output.status.code(), &action) {
            (None, _) => None,
            (Some(0), Action::Read) => Some(Answer::State(self.state(&said))),
            (Some(0), Action::Swap(_)) => Some(Answer::Done),
            (Some(RACE), Action::Swap(_)) => Some(Answer::Refused),
            (code, action) => {
                let why = String::from_utf8_lossy(&output.stderr);
                panic!("{action:?} gave {code:?}: {why}")
            }
        };
        Call { invoked, returned: answer.is_some().then_some(returned), action, answer }
    }

    fn state(&self, said: &str) -> [Option<u8>; 2] {
        let mut state = [None; 2];
        for line in said.lines() {
            let (id, name) = line.split_once('\t').unwrap();
            let id = id.split(' ').next().unwrap();
            let place = REFS.iter().position(|known| *known == name).unwrap();
            state[place] = self.ids.iter().position(|known| known == id).map(|value| value as u8);
        }
        state
    }

    /// Makes calls that follow what was last seen, so that they often succeed.
    fn client(&self, random: &mut Random, calls: usize) -> Vec<Call> {
        let mut seen = [None; 2];
        let mut history = Vec::new();
        for number in 0..calls {
            let swap = |place: usize, random: &mut Random| {
                let new = random.below(VALUES) as u8;
                checker::Swap { place, old: seen[place], new }
            };
            let action = match random.below(5) {
                0 | 1 => Action::Read,
                2 => Action::Swap(vec![swap(0, random)]),
                3 => Action::Swap(vec![swap(1, random)]),
                _ => Action::Swap(vec![swap(0, random), swap(1, random)]),
            };
            let is_last = number + 1 == calls;
            let life = is_last.then(|| Duration::from_micros(random.below(20_000)));
            let call = self.call(action, life);
            match (&call.answer, &call.action) {
                (Some(Answer::State(state)), _) => seen = *state,
                (Some(Answer::Done), Action::Swap(swaps)) => {
                    swaps.iter().for_each(|swap| seen[swap.place] = Some(swap.new));
                }
                _ => {}
            }
            history.push(call);
        }
        history
    }
}

/// Makes a store with the values, and gives their ids.
fn prepared(store: &Path) -> Vec<String> {
    assert!(command(store, &["init"]).status().unwrap().success());
    let value = |number: u64| {
        let mut child = command(store, &["hash-object", "-w", "--stdin"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&[b'v', number as u8]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    (0..VALUES).map(value).collect()
}

#[test]
fn ref_updates_of_many_processes_are_linearizable() {
    let (rounds, calls) = if long() { (60, 40) } else { (1, 14) };
    let (mut total, mut done, mut refused, mut killed) = (0, 0, 0, 0);
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let ids = prepared(&store);
        let world = World { store: &store, ids: &ids, begun: Instant::now() };
        let history = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (world, history) = (&world, &history);
                scope.spawn(move || {
                    let mut random = Random(round * 100 + client as u64);
                    let calls = world.client(&mut random, calls);
                    history.lock().unwrap().extend(calls);
                });
            }
        });
        let history = history.into_inner().unwrap();
        assert!(is_linearizable(&history), "round {round}: {history:#?}");
        let count = |answer: Option<Answer>| history.iter().filter(|c| c.answer == answer).count();
        total += history.len();
        done += count(Some(Answer::Done));
        refused += count(Some(Answer::Refused));
        killed += count(None);
    }
    tell(format_args!(
        "{rounds} histories of {CLIENTS} clients, {total} calls: {done} updates, {refused} lost \
         races, {killed} killed; all linearizable"
    ));
    assert!(done > 0);
}
