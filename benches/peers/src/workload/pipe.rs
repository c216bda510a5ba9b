//! One process that is driven through a pipe, as programs drive `sapwood append --stdin`.

use std::time::{Duration, Instant};

use crate::Result;
use crate::measure::{Round, Section, Unit, timed};
use crate::options::Options;
use crate::peer::pipe::Process;
use crate::peer::{Mode, bare, sapwood};
use crate::sample;
use crate::workload::{BRANCH, Job, MESSAGE_BYTES};

/// How many messages a contestant takes before the next one has its turn.
const TURN: usize = 50;

/// How many messages are sent, also for a quick look: with fewer the log of SQLite still grows.
const MESSAGES: usize = 2000;
const SAPWOOD: usize = 0;
const SQLITE: usize = 1;
const BARE: usize = 2;

/// Measures both modes.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let lines = sample::messages(0, MESSAGES, MESSAGE_BYTES);
    [Mode::Durable, Mode::Relaxed]
        .into_iter()
        .map(|mode| one_by_one(options, mode, &lines))
        .collect()
}

/// Does nothing: the contestants serve on standard input.
pub fn work(_: &Job<'_>) -> Result<Round> {
    Err("nothing is to be done here".into())
}

/// A driver writes a line to a process, waits for its answer, and times that.
fn one_by_one(options: &Options, mode: Mode, lines: &[String]) -> Result<Section> {
    let (title, names) = match mode {
        Mode::Durable => {
            ("Durable append, through a pipe", ["sapwood", "SQLite WAL FULL", "pwrite + fdatasync"])
        }
        Mode::Relaxed => {
            ("Relaxed append, through a pipe", ["sapwood", "SQLite WAL NORMAL", "pwrite"])
        }
    };
    let mut section = Section::new(title, Unit::Time("message"), &names);
    section.about = format!(
        "{} messages of {MESSAGE_BYTES} bytes; a driver writes a line, waits for the line that \
         says it is committed, and times that. sapwood is `append --stdin`.",
        lines.len()
    );
    for round in 0..options.rounds {
        let mut contestants = Vec::new();
        for contestant in [SAPWOOD, SQLITE, BARE] {
            contestants.push(start(options, mode, lines.len(), contestant)?);
        }
        let times = take_turns(round, &mut contestants, lines)?;
        for ((row, process), times) in section.rows.iter_mut().zip(contestants).zip(times) {
            let peak = process.finish()?;
            row.rounds.push(Round { peak, ..Round::of(&times) });
        }
    }
    if mode == Mode::Durable {
        section.demand("not above SQLite", names[SQLITE], 1.0, None);
        section.demand("near one fdatasync", names[BARE], 1.3, Some(1.2));
    }
    Ok(section)
}

/// Starts one contestant, with an empty store.
fn start(options: &Options, mode: Mode, messages: usize, contestant: usize) -> Result<Process> {
    match contestant {
        SAPWOOD => {
            let store = options.fresh("pipe-sapwood")?.join("store");
            drop(sapwood::open_store(&store, Default::default())?);
            Process::sapwood(options, &store, BRANCH, &["--durability", mode.name()])
        }
        SQLITE => {
            let dir = options.fresh("pipe-sqlite")?;
            Process::peer("sqlite", &dir, &[mode.name(), BRANCH])
        }
        _ => {
            let file = options.fresh("pipe-bare")?.join("bare");
            bare::prepare(&file, messages, MESSAGE_BYTES)?;
            Process::peer("bare", &file, &[mode.name()])
        }
    }
}

/// Lets each take some messages in turn, so that what disturbs one disturbs all. The first message
/// of each is not timed.
fn take_turns(
    round: usize,
    contestants: &mut [Process],
    lines: &[String],
) -> Result<Vec<Vec<Duration>>> {
    let (first, rest) = lines.split_at(1);
    for contestant in contestants.iter_mut() {
        contestant.append(&first[0])?;
    }
    let mut times = vec![Vec::with_capacity(rest.len()); contestants.len()];
    for (turn, lines) in rest.chunks(TURN).enumerate() {
        for place in 0..contestants.len() {
            let place = (place + turn + round) % contestants.len();
            for line in lines {
                let (elapsed, ()) = timed(|| contestants[place].append(line))?;
                times[place].push(elapsed);
            }
        }
    }
    Ok(times)
}

/// Gives each process its lines at once, and gives the time until the last answer.
pub fn drive(processes: &mut [Process], lines: &[Vec<String>]) -> Result<Duration> {
    let begun = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let driving: Vec<_> = processes
            .iter_mut()
            .zip(lines)
            .map(|(process, lines)| scope.spawn(move || process.stream(lines)))
            .collect();
        for driver in driving {
            driver.join().expect("a driver does not panic")?;
        }
        Ok(())
    })?;
    Ok(begun.elapsed())
}
