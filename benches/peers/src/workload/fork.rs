//! Forking a conversation, and going from one branch to another, by depth.

use crate::Result;
use crate::measure::{Bar, Figure, Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::workload::{BRANCH, JUDGED, Job, contest, employ, sizes, world};

/// Measures both at each depth.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for verb in ["fork", "switch"] {
        let mut by_depth = Vec::new();
        for size in sizes(options) {
            by_depth.push(at_depth(options, verb, size)?);
        }
        let judged = sizes(options).iter().position(|size| *size == JUDGED).unwrap_or(0);
        let [flat, deep] = [0, judged].map(|place| by_depth[place].rows[0].median());
        let text = format!("{verb} takes the same time: {JUDGED} deep / 10 deep");
        let (found, limit, goal) = (deep / flat, 1.25, Some(1.1));
        by_depth[judged].bars.push(Bar { text, found, limit, goal });
        sections.append(&mut by_depth);
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
                   notes the operation; the others a pointer; JSONL copies the file."
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
    let count = options.count(50, 8).min(300_000 / size).max(3).to_string();
    section.interleave(options.rounds, &mut |contestant, round| {
        let dir = world(options, kinds[contestant], size)?;
        let words = [verb, &count, &round.to_string()];
        employ("fork", kinds[contestant], Mode::Durable, &dir, &words)
    })?;
    Ok(section)
}
