//! What makes a store small and quick, by how much it holds.

use crate::Result;
use crate::measure::{Figure, Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::workload::{Job, contest, employ, sizes, world};

/// Measures each size, once: afterwards there is nothing left to do.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    sizes(options)[1..].iter().map(|size| by_size(options, *size)).collect()
}

/// Does what is measured: the maintenance.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let mut peer = job.kind.open(job.dir, job.mode)?;
    Round::of_work(1, || peer.maintain().map(|()| 1))
}

fn by_size(options: &Options, size: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().filter(|kind| kind.name != "jsonl").collect();
    let title = format!("Maintenance of a store of {size} messages");
    let mut section = contest(title, Unit::Time("run"), &kinds, Mode::Durable);
    section.about = "`gc`, VACUUM, compactions, `git gc`; beside them `gc --aggressive`, after \
                     the usual one. One round: then nothing is left to do."
        .to_owned();
    let aggressive = Kind::named("sapwood-aggressive")?;
    section.beside(aggressive.label(Mode::Durable));
    section.figure = Some(Figure { name: "gc", size: size as f64 });
    section.interleave(1, &mut |contestant, _| {
        // What is beside comes last, and takes what the first has left.
        let kind = kinds.get(contestant).copied().unwrap_or(aggressive);
        let dir = world(options, kinds.get(contestant).unwrap_or(&kinds[0]), size)?;
        employ("maintain", kind, Mode::Durable, &dir, &[])
    })?;
    Ok(section)
}
