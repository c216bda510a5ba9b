//! Reading messages by their keys, here and there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::measure::{Round, Section, Unit, timed_each};
use crate::options::Options;
use crate::peer::{KINDS, Kind, Mode};
use crate::sample::Dice;
use crate::workload::{BRANCH, Job, contest, employ, sizes, world};

/// Measures warm and cold reads.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    Ok(vec![by_heat(options, true)?, by_heat(options, false)?])
}

/// Does what is measured: reads messages by their keys.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let count = job.number(1)?;
    let is_warm = job.word(0) == "warm";
    let mut peer = job.kind.open(job.dir, job.mode)?;
    let keys = peer.path(BRANCH)?;
    let mut dice = Dice::new(job.number(2)? as u64);
    let picked: Vec<_> = (0..count).map(|_| keys[dice.below(keys.len())]).collect();
    drop(keys);
    if is_warm {
        picked.iter().try_for_each(|key| peer.get(BRANCH, key).map(drop))?;
    } else {
        // What the keys took to find is not to be in memory any more.
        drop(peer);
        drop_from_cache(job.dir)?;
        peer = job.kind.open(job.dir, job.mode)?;
    }
    let times = timed_each(count, |number| peer.get(BRANCH, &picked[number]).map(drop))?;
    Ok(if is_warm { Round::of(&times) } else { Round::of_uneven(&times) })
}

fn by_heat(options: &Options, is_warm: bool) -> Result<Section> {
    let size = sizes(options)[3];
    let kinds: Vec<&Kind> = KINDS
        .iter()
        .filter(|kind| !["sqlite-zstd", "sapwood-aggressive"].contains(&kind.name))
        .collect();
    let (word, count) =
        if is_warm { ("warm", options.count(20_000, 2_000)) } else { ("cold", 100) };
    let title = format!("Random get, {word}, of {size} messages");
    let mut section = contest(title, Unit::Time("message"), &kinds, Mode::Relaxed);
    section.about = match is_warm {
        true => format!(
            "{count} messages, each read once before the clock starts. sapwood has checked each \
             against its hash and is asked by that hash, as is the SQLite that is marked; the \
             others are asked by number, by a key that grows with time, or (JSONL) by the place in \
             the file, kept in memory."
        ),
        false => format!(
            "The mean of {count} messages after the files were dropped from the page cache where \
             `dd` can. The mean, because the system reads ahead where it thinks fit: a few reads \
             pay for those that then find their page in memory."
        ),
    };
    section.interleave(options.rounds, &mut |contestant, round| {
        let dir = world(options, kinds[contestant], size)?;
        let words = [word, &count.to_string(), &round.to_string()];
        employ("get", kinds[contestant], Mode::Relaxed, &dir, &words)
    })?;
    section.demand("within 2 x of SQLite by key", "SQLite WAL NORMAL, by hash", 2.0, Some(1.0));
    Ok(section)
}

/// Asks the system to forget what it keeps of the files below a directory.
pub fn drop_from_cache(path: &Path) -> Result<()> {
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            drop_from_cache(&path)?;
        } else {
            // What is not written out can't be dropped.
            std::fs::File::open(&path)?.sync_all()?;
            // Best effort: without dd the reads are warm.
            let file = format!("if={}", path.display());
            let _ = Command::new("dd")
                .args([&file, "iflag=nocache", "count=0"])
                .stderr(Stdio::null())
                .status();
        }
    }
    Ok(())
}
