//! One writer appends messages, durable or relaxed: each timed by itself, and all at once.

use std::time::{Duration, Instant};

use sapwood::Durability;

use crate::Result;
use crate::measure::{Round, Section};
use crate::options::Options;
use crate::peer::pipe::Process;
use crate::peer::{Append, bare, library, sqlite};
use crate::sample;

const MESSAGE_BYTES: usize = 700;
/// How many messages a contestant takes before the next one has its turn.
const TURN: usize = 100;

const SAPWOOD: usize = 0;
const SQLITE: usize = 1;
const BARE: usize = 2;

/// One kind of durability, and what the contestants call it.
struct Level {
    name: &'static str,
    durability: Durability,
    flag: &'static str,
    synchronous: &'static str,
    bare_name: &'static str,
    bare_sync: &'static str,
}

const LEVELS: [Level; 2] = [
    Level {
        name: "Durable append",
        durability: Durability::Full,
        flag: "full",
        synchronous: "FULL",
        bare_name: "pwrite + fdatasync",
        bare_sync: "sync",
    },
    Level {
        name: "Relaxed append",
        durability: Durability::Relaxed,
        flag: "relaxed",
        synchronous: "NORMAL",
        bare_name: "pwrite",
        bare_sync: "later",
    },
];

/// Measures both levels.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let lines = sample::messages(0, options.count(2000, 300), MESSAGE_BYTES);
    let mut sections = Vec::new();
    for level in &LEVELS {
        sections.push(one_by_one(options, level, &lines)?);
        sections.push(at_once(options, level, &lines)?);
        sections.push(in_process(options, level, &lines)?);
    }
    Ok(sections)
}

/// A driver writes a line to a process, waits for its answer, and times that.
fn one_by_one(options: &Options, level: &Level, lines: &[String]) -> Result<Section> {
    let mut section = begin(level, "through a pipe, one by one");
    section.about = format!(
        "{} messages of {MESSAGE_BYTES} bytes; a driver writes a line, waits for the line that \
         says it is committed, and times that. sapwood is `append --stdin`.",
        lines.len()
    );
    for round in 0..options.rounds {
        let mut contestants: Vec<Box<dyn Append>> = Vec::new();
        for contestant in [SAPWOOD, SQLITE, BARE] {
            contestants.push(Box::new(start(options, level, lines.len(), contestant)?));
        }
        take_turns(&mut section, round, &mut contestants, lines)?;
        for contestant in contestants {
            contestant.finish()?;
        }
    }
    judge(&mut section, level);
    Ok(section)
}

/// All lines are in the pipe from the start.
fn at_once(options: &Options, level: &Level, lines: &[String]) -> Result<Section> {
    let mut section = begin(level, "through a pipe, all at once");
    section.about = "The same, with the lines written as fast as the process reads them. Each is \
                     still a transaction of its own; mean time a message."
        .to_owned();
    let (first, rest) = lines.split_at(1);
    section.interleave(options.rounds, &mut |contestant, _| {
        let mut process = start(options, level, lines.len(), contestant)?;
        process.stream(first)?;
        let elapsed = process.stream(rest)?;
        Box::new(process).finish()?;
        Ok(Round::mean(elapsed, rest.len()))
    })?;
    Ok(section)
}

/// Library calls, without a pipe.
fn in_process(options: &Options, level: &Level, lines: &[String]) -> Result<Section> {
    let mut section = begin(level, "in process");
    section.about = "The same messages through library calls. sapwood parses the JSON; the others \
                     take the text as it is."
        .to_owned();
    for round in 0..options.rounds {
        let dir = options.fresh("append")?;
        bare::prepare(&dir.join("bare"), lines.len(), MESSAGE_BYTES)?;
        let mut contestants: Vec<Box<dyn Append>> = vec![
            Box::new(library::Appender::new(&dir.join("store"), level.durability)?),
            Box::new(sqlite::Appender::open(&dir.join("sqlite"), level.synchronous, "main")?),
            Box::new(bare::Appender::open(&dir.join("bare"), level.bare_sync == "sync")?),
        ];
        take_turns(&mut section, round, &mut contestants, lines)?;
    }
    Ok(section)
}

fn begin(level: &Level, how: &str) -> Section {
    let sqlite = format!("SQLite WAL {}", level.synchronous);
    let names = ["sapwood", &sqlite, level.bare_name];
    Section::new(&format!("{}, {how}", level.name), "message", &names)
}

fn judge(section: &mut Section, level: &Level) {
    match level.durability {
        Durability::Full => {
            section.demand("not above SQLite", SQLITE, 1.0);
            section.demand("near the bare loop", BARE, 1.3);
        }
        Durability::Relaxed => section.demand("5 x faster", SQLITE, 0.2),
    }
}

/// Starts one contestant, with an empty store.
fn start(options: &Options, level: &Level, messages: usize, contestant: usize) -> Result<Process> {
    match contestant {
        SAPWOOD => {
            let store = options.fresh("append-sapwood")?.join("store");
            drop(library::init(&store)?);
            Process::sapwood(options, &store, "main", &["--durability", level.flag])
        }
        SQLITE => {
            let file = options.fresh("append-sqlite")?.join("sqlite");
            Process::peer("sqlite", &file, &[level.synchronous, "main"])
        }
        _ => {
            let file = options.fresh("append-bare")?.join("file");
            bare::prepare(&file, messages, MESSAGE_BYTES)?;
            Process::peer("bare", &file, &[level.bare_sync])
        }
    }
}

/// Gives each contestant all lines, a few at a time in turn, and notes the times of a round.
fn take_turns(
    section: &mut Section,
    round: usize,
    contestants: &mut [Box<dyn Append>],
    lines: &[String],
) -> Result<()> {
    debug_assert_eq!(contestants.len(), [SAPWOOD, SQLITE, BARE].len());
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); contestants.len()];
    let (first, rest) = lines.split_at(1);
    for contestant in contestants.iter_mut() {
        contestant.append(&first[0])?;
    }
    for (turn, lines) in rest.chunks(TURN).enumerate() {
        for place in 0..contestants.len() {
            let place = (place + turn + round) % contestants.len();
            for line in lines {
                let begun = Instant::now();
                contestants[place].append(line)?;
                times[place].push(begun.elapsed());
            }
        }
    }
    for (row, times) in section.rows.iter_mut().zip(&times) {
        row.rounds.push(Round::of(times));
    }
    Ok(())
}
