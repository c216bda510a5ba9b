//! Collecting what is known at the end of a long chain of memory.

use crate::Result;
use crate::measure::{Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::sample;
use crate::workload::{Job, contest, employ};

const BRANCH: &str = "memory";

/// Measures each length.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let sizes = [10, options.count(1_000, 100), options.count(100_000, 2_000)];
    sizes.into_iter().map(|size| by_size(options, size)).collect()
}

/// Does what is measured: collects facts.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let size = job.number(1)?;
    let mut peer = job.kind.open(job.dir, job.mode)?;
    if job.word(0) == "build" {
        peer.remember(BRANCH, &mut (0..size).map(sample::fact))?;
        peer.settle()?;
        return Ok(Round::default());
    }
    let latest: std::collections::HashSet<usize> =
        (0..size).map(|number| number - number / 3).collect();
    Round::of_work(latest.len(), || peer.resolve(BRANCH))
}

fn by_size(options: &Options, size: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().collect();
    let title = format!("Resolve memory of {size} nodes");
    let mut section = contest(title, Unit::Time("fact"), &kinds, Mode::Relaxed);
    section.about =
        "A fact in each node, every third of which supersedes another. The others walk \
                     a chain of messages and parse each."
            .to_owned();
    let count = size.to_string();
    for kind in &kinds {
        let dir = options.fresh(&format!("memory-{size}-{}", kind.name))?;
        employ("memory", kind, Mode::Relaxed, &dir, &["build", &count])?;
    }
    section.interleave(options.short_rounds(), &mut |contestant, _| {
        let kind = kinds[contestant];
        let dir = options.dir.join(format!("memory-{size}-{}", kind.name));
        employ("memory", kind, Mode::Relaxed, &dir, &["read", &count])
    })?;
    Ok(section)
}
