//! Reading a long conversation from its end to its beginning: its ids, and its messages.

use std::hint::black_box;

use serde_json::Value;

use crate::Result;
use crate::measure::{Figure, Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::workload::{BRANCH, JUDGED, Job, MESSAGE_BYTES, contest, employ, sizes, world};

/// The recursive query, with nothing made of the text.
const TEXT_ONLY: &str = "SQLite WAL NORMAL, text only";

/// Up to this length a walk takes milliseconds.
const SHORT: usize = 10_000;

/// Measures walks of each length.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for bodies in [false, true] {
        for size in &sizes(options)[1..] {
            sections.push(by_size(options, bodies, *size)?);
        }
    }
    Ok(sections)
}

/// Does what is measured: walks a branch.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let mut peer = job.kind.open(job.dir, job.mode)?;
    let mut all = 0;
    let round = Round::of_work(job.number(1)?, || {
        all = match job.word(0) {
            "ids" => black_box(peer.path(BRANCH)?).len(),
            form => {
                let mut count = 0;
                // sapwood gives what it has decoded.
                let parses = form == "decoded" && job.kind.name != "sapwood";
                peer.walk(BRANCH, &mut |body| {
                    match parses {
                        true => drop(black_box(serde_json::from_slice::<Value>(body)?)),
                        false => drop(black_box(body)),
                    }
                    count += 1;
                    Ok(true)
                })?;
                count
            }
        };
        // What other workloads appended is there too.
        Ok(all.min(job.number(1)?))
    })?;
    let share = job.number(1)? as f64 / all as f64;
    Ok(Round { middle: round.middle * share, cpu: round.cpu.map(|cpu| cpu * share), ..round })
}

fn by_size(options: &Options, bodies: bool, size: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().collect();
    let (what, item, word) =
        if bodies { ("messages", "message", "decoded") } else { ("ids", "id", "ids") };
    let title = format!("Walk {size} {what}");
    let mut section = contest(title, Unit::Time(item), &kinds, Mode::Relaxed);
    if bodies {
        section.beside(TEXT_ONLY);
    }
    section.about = match bodies {
        true => format!(
            "Messages of {MESSAGE_BYTES} bytes along first parents, newest first, decoded: \
             sapwood finds, decompresses, checks and decodes each, the others find its text and \
             parse it (serde_json); the last row only finds the text. A new process each time, \
             files in the page cache."
        ),
        false => "The keys of the same messages, newest first.".to_owned(),
    };
    if bodies {
        section.figure = Some(Figure { name: "walk", size: size as f64 });
    }
    let sqlite = Kind::named("sqlite")?;
    let rounds = if size <= SHORT { options.short_rounds() } else { options.rounds };
    section.interleave(rounds, &mut |contestant, _| {
        let beside = (sqlite, "text");
        let (kind, word) = kinds.get(contestant).map_or(beside, |kind| (*kind, word));
        let dir = world(options, kind, size)?;
        employ("walk", kind, Mode::Relaxed, &dir, &[word, &size.to_string()])
    })?;
    match (size == JUDGED, bodies) {
        (true, true) => {
            section.demand("faster than its query alone", TEXT_ONLY, 1.0, Some(1.0 / 3.0));
        }
        (true, false) => {
            section.demand_at_most(0, "1 M ids a second: µs an id", 1e3, 1.0, Some(0.2));
        }
        _ => {}
    }
    Ok(section)
}
