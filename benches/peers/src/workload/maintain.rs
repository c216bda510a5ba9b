//! What makes a store small and quick, by how much it holds.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::measure::{Figure, Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::workload::{Job, contest, employ, sizes, world};

/// Up to this size it takes milliseconds.
const SHORT: usize = 1_000;
/// Up to this size it is measured in as many rounds as anything else; beyond, in one.
const REPEATED: usize = 10_000;

/// Measures each size.
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
                     the usual one, in one round, unless that takes too long for a quick look. \
                     Each round on a copy, or one round: afterwards nothing is left to do. What \
                     sapwood removes has no name when it returns; the room is given back to the \
                     disk beside, and at the latest when its process ends."
        .to_owned();
    let aggressive = Kind::named("sapwood-aggressive")?;
    if size <= REPEATED || !options.quick {
        section.beside(aggressive.label(Mode::Durable));
    }
    section.figure = Some(Figure { name: "gc", size: size as f64 });
    let rounds = match size {
        _ if size <= SHORT => options.more_rounds(),
        _ if size <= REPEATED => options.rounds,
        _ => 1,
    };
    let mut tidied = PathBuf::new();
    for round in 0..rounds {
        for turn in 0..kinds.len() {
            let contestant = (turn + round) % kinds.len();
            let kind = kinds[contestant];
            let dir = match rounds {
                1 => world(options, kind, size)?,
                _ => copy_of_world(options, kind, size, round)?,
            };
            let found = employ("maintain", kind, Mode::Durable, &dir, &[])?;
            section.rows[contestant].rounds.push(found);
            if contestant == 0 {
                tidied = dir;
            }
        }
    }
    // Who is beside takes what the first has left.
    if let Some(row) = section.rows.get_mut(kinds.len()) {
        row.rounds.push(employ("maintain", aggressive, Mode::Durable, &tidied, &[])?);
    }
    Ok(section)
}

/// Copies where a kind keeps a branch of so many messages, and waits until the copy is on disk.
fn copy_of_world(options: &Options, kind: &Kind, size: usize, round: usize) -> Result<PathBuf> {
    let copy = options.fresh(&format!("maintain-{size}-{round}-{}", kind.name))?;
    copy_below(&world(options, kind, size)?, &copy)?;
    Ok(copy)
}

fn copy_below(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_below(&from, &to)?,
            false => {
                std::fs::copy(&from, &to)?;
                File::open(&to)?.sync_all()?;
            }
        }
    }
    Ok(())
}
