//! Forking a conversation, and going from one branch to another, by depth.

use crate::Result;
use crate::measure::{Bar, Figure, Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::workload::{BRANCH, JUDGED, Job, contest, employ, sizes, world};

/// The depth that the judged one is compared with: a world of its own, so that nobody else's store
/// has what this leaves.
const FLAT: usize = 11;

/// Measures both at each depth.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for verb in ["fork", "switch"] {
        for size in sizes(options) {
            sections.push(at_depth(options, verb, size)?);
        }
    }
    Ok(sections)
}

/// Does what is measured: forks, or switches.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let (count, round) = (job.number(1)?, job.word(2));
    let mut peer = job.kind.open(job.dir, job.mode)?;
    match job.word(0) {
        // Copies take room: JSONL makes the same one again.
        "fork" => Round::of_many(count, |number| match job.kind.name {
            "jsonl" => peer.fork(BRANCH, "fork"),
            _ => peer.fork(BRANCH, &format!("fork-{round}-{number}")),
        }),
        _ => {
            if round == "0" && job.kind.name == "git" {
                peer.fork(BRANCH, &format!("{BRANCH}-other"))?;
            }
            peer.switch(BRANCH, true)?;
            Round::of_many(count, |number| peer.switch(BRANCH, number % 2 == 1))
        }
    }
}

fn at_depth(options: &Options, verb: &'static str, size: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().filter(|kind| kind.name != "sqlite-zstd").collect();
    let title = match verb {
        "fork" => format!("Fork at the end of {size} messages"),
        _ => format!("Switch between branches of {size} messages"),
    };
    let mut section = contest(title, Unit::Time(verb), &kinds, Mode::Durable);
    section.about = match verb {
        "fork" => "Durably, through library calls. sapwood makes a session with its metadata and \
                   notes the operation; the others a pointer; JSONL copies the file. The files in \
                   which people can read sapwood's refs follow within some milliseconds, \
                   beside this."
            .to_owned(),
        _ => {
            "Durably. sapwood also writes an event to the transcript and an operation that can be \
              undone; the others move a pointer."
                .to_owned()
        }
    };
    if verb == "fork" {
        section.figure = Some(Figure { name: "fork", size: size as f64 });
    }
    if size == JUDGED {
        section.beside(&format!("sapwood, {FLAT} deep"));
    }
    section.interleave(options.rounds, &mut |contestant, round| {
        let flat = contestant == kinds.len();
        let (place, depth) = if flat { (0, FLAT) } else { (contestant, size) };
        let kind = kinds[place];
        // A copy takes as long as the file is, and many take as long as all the rest.
        let most = if kind.name == "jsonl" { (300_000 / depth).max(3) } else { usize::MAX };
        let count = options.count(50, 8).min(most).to_string();
        let words = [verb, &count, &round.to_string()];
        employ("fork", kind, Mode::Durable, &world(options, kind, depth)?, &words)
    })?;
    if size == JUDGED {
        let text = format!("{verb} takes the same time: {size} deep / {FLAT} deep");
        let found = section.ratio(0, kinds.len());
        section.bars.push(Bar { text, found, limit: 1.25, goal: Some(1.1) });
    }
    Ok(section)
}
