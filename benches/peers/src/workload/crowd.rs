//! Eight writers at once, each with its own branch and process, against one.

use std::path::Path;
use std::time::{Duration, Instant};

use sapwood::store::local::Options as StoreOptions;
use sapwood::store::{RefName, RefValue, Snapshot, Store};

use crate::Result;
use crate::measure::{Bar, Round, Section};
use crate::options::Options;
use crate::peer::pipe::Process;
use crate::peer::{Append as _, library, sqlite};
use crate::sample;

const WRITERS: usize = 8;
const MESSAGE_BYTES: usize = 700;

const EIGHT: usize = 0;
const ONE: usize = 2;
const EIGHT_SQLITE: usize = 3;
const NAMES: [&str; 5] = [
    "sapwood, 8 branches of one session",
    "sapwood, 8 branches of 8 sessions",
    "sapwood, 1 process",
    "SQLite WAL FULL, 8 processes",
    "SQLite WAL FULL, 1 process",
];

/// Measures eight processes and one, and checks that nothing is lost and the order is kept.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let total = options.count(4000, 800);
    let mut section = Section::new("Eight processes append at once, durably", "message", &NAMES);
    section.about = format!(
        "{total} messages of {MESSAGE_BYTES} bytes in all, to `append --stdin`, lines written as \
         fast as they are read; from the moment when all processes have answered once until the \
         last answer. After each round every branch is read back: all there, in order."
    );
    section.interleave(options.rounds, &mut |contestant, _| {
        let writers = if matches!(contestant, ONE | 4) { 1 } else { WRITERS };
        let dir = options.fresh("crowd")?;
        let path = dir.join("store");
        if contestant < EIGHT_SQLITE {
            drop(library::init(&path)?);
        } else {
            drop(sqlite::Appender::open(&path, "FULL", "main")?);
        }
        let each = total / writers;
        let mut processes = Vec::new();
        for writer in 0..writers {
            let branch = format!("b{writer}");
            let session = if contestant == 1 { branch.as_str() } else { "s" };
            processes.push(match contestant < EIGHT_SQLITE {
                true => Process::sapwood(options, &path, &branch, &["-s", session])?,
                false => Process::peer("sqlite", &path, &["FULL", &branch])?,
            });
        }
        let elapsed = drive(processes, each)?;
        if contestant < EIGHT_SQLITE {
            check(&path, writers, each, contestant == 1)?;
        }
        Ok(Round::mean(elapsed, each * writers))
    })?;
    section.bars.push(Bar {
        text: "twice the throughput: time a message, 8 processes / 1 process".to_owned(),
        found: section.ratio(EIGHT, ONE),
        limit: 0.5,
    });
    section.demand("not above SQLite with 8", EIGHT_SQLITE, 1.0);
    Ok(vec![section])
}

/// Sends each process its messages at once, and gives the time until the last answer.
fn drive(mut processes: Vec<Process>, each: usize) -> Result<Duration> {
    let lines: Vec<Vec<String>> = (0..processes.len())
        .map(|writer| sample::messages(writer, each + 1, MESSAGE_BYTES))
        .collect();
    for (process, lines) in processes.iter_mut().zip(&lines) {
        process.append(&lines[0])?;
    }
    let begun = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let driving: Vec<_> = processes
            .iter_mut()
            .zip(&lines)
            .map(|(process, lines)| scope.spawn(move || process.stream(&lines[1..])))
            .collect();
        for driver in driving {
            driver.join().expect("a driver does not panic")?;
        }
        Ok(())
    })?;
    let elapsed = begun.elapsed();
    for process in processes {
        Box::new(process).finish()?;
    }
    Ok(elapsed)
}

/// Checks that each branch has its writer's messages, all and in order.
fn check(store: &Path, writers: usize, each: usize, own_sessions: bool) -> Result<()> {
    let store = library::open(store, StoreOptions::default())?;
    let snapshot = store.snapshot()?;
    for writer in 0..writers {
        let session = if own_sessions { format!("b{writer}") } else { "s".to_owned() };
        let numbers = numbers(&*snapshot, &session, writer)?;
        if numbers != (0..=each as i64).rev().collect::<Vec<_>>() {
            return Err(format!(
                "writer {writer}: {} of {} messages came back in order",
                numbers.len(),
                each + 1
            )
            .into());
        }
    }
    Ok(())
}

/// Lists the numbers of a writer's messages on its branch, newest first.
fn numbers(snapshot: &dyn Snapshot, session: &str, writer: usize) -> Result<Vec<i64>> {
    let name = RefName::of_session(session, &format!("heads/b{writer}"))?;
    let Some(RefValue::Id(tip)) = snapshot.reference(&name)? else {
        return Err(format!("{name} is missing").into());
    };
    let mut numbers = Vec::new();
    for id in snapshot.path(&tip, usize::MAX)? {
        let entry = sapwood::repo::read_entry(snapshot, &id)?;
        let field = |key: &str| entry.body.get(key).and_then(|value| value.as_i64());
        // A branch may begin where another writer was at the time.
        if field("writer") == Some(writer as i64) {
            numbers.extend(field("number"));
        }
    }
    Ok(numbers)
}
