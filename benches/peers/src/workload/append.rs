//! One process appends messages, durable or relaxed, each timed by itself.

use crate::Result;
use crate::measure::{Figure, Round, Section, Unit};
use crate::options::Options;
use crate::peer::bare::{self, Appender};
use crate::peer::{self, Kind, Mode};
use crate::sample;
use crate::workload::{BRANCH, Job, MESSAGE_BYTES, contest, employ, sizes, world};

const SQLITE_RELAXED: &str = "SQLite WAL NORMAL";

/// How long messages are, and how many are appended: all, and for a quick look.
const LENGTHS: [(usize, usize, usize); 3] = [(700, 1000, 100), (5_000, 500, 50), (50_000, 200, 20)];

/// The least that is to be done for a message: what stands beside the relaxed appends, and how that
/// is told to the process which does it.
const LEAST: [(&str, &str); 2] =
    [("bare: pwrite", "write"), ("bare: parse, hash, pwrite", "parse-hash-write")];

/// Measures both modes with messages of each length, and appends to branches of each length.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for mode in [Mode::Durable, Mode::Relaxed] {
        for (bytes, full, quick) in LENGTHS {
            sections.push(by_length(options, mode, bytes, options.count(full, quick))?);
        }
    }
    for size in sizes(options) {
        sections.push(by_depth(options, size)?);
    }
    Ok(sections)
}

/// Does what is measured: appends to a branch.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let (bytes, count) = (job.number(0)?, job.number(1)?);
    if !job.word(3).is_empty() {
        return do_the_least(job, bytes, count);
    }
    let mut peer = job.kind.open(job.dir, job.mode)?;
    peer.append(BRANCH, &sample::message(1, 0, bytes))?;
    let lines = sample::messages(2 + job.number(2)?, count, bytes);
    Round::of_many(count, |number| peer.append(BRANCH, &lines[number]))
}

fn do_the_least(job: &Job<'_>, bytes: usize, count: usize) -> Result<Round> {
    let path = job.dir.join("bare");
    bare::prepare(&path, count + 1, bytes)?;
    let mut appender = Appender::open(&path, job.mode)?;
    appender.append(&sample::message(1, 0, bytes))?;
    let lines = sample::messages(2, count, bytes);
    let parses = job.word(3) != LEAST[0].1;
    Round::of_many(count, |number| {
        if parses {
            bare::parse_and_hash(&lines[number])?;
        }
        appender.append(&lines[number])
    })
}

fn by_length(options: &Options, mode: Mode, bytes: usize, count: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().collect();
    let name = if mode == Mode::Durable { "Durable" } else { "Relaxed" };
    let title = format!("{name} append, {bytes} bytes");
    let mut section = contest(title, Unit::Time("message"), &kinds, mode);
    section.about = format!(
        "{count} messages of {bytes} bytes, one after the other, each with its branch's pointer in \
         one transaction, through library calls in a process of its own. sapwood parses the JSON \
         and hashes it; the others take the text as it is."
    );
    let words = [bytes.to_string(), count.to_string(), "0".to_owned()];
    let rounds = match mode {
        Mode::Durable => options.rounds,
        Mode::Relaxed => options.short_rounds(),
    };
    if mode == Mode::Relaxed {
        LEAST.iter().for_each(|(name, _)| section.beside(name));
    }
    section.interleave(rounds, &mut |contestant, _| {
        let dir = options.fresh("append")?;
        let words = words.iter().map(String::as_str);
        let least = contestant.checked_sub(kinds.len()).map(|place| LEAST[place].1);
        let words: Vec<&str> = words.chain(least).collect();
        employ("append", kinds.get(contestant).unwrap_or(&kinds[0]), mode, &dir, &words)
    })?;
    match mode {
        Mode::Durable => section.demand("not slower than SQLite", "SQLite WAL FULL", 1.0, None),
        Mode::Relaxed => {
            section.demand("5 x faster than SQLite", SQLITE_RELAXED, 0.2, Some(0.05));
            section.notes.extend(told_of_the_least(&section));
        }
    }
    Ok(section)
}

/// Says how much of SQLite's time the least takes: nobody who parses and hashes gets below that.
fn told_of_the_least(section: &Section) -> Option<String> {
    let sqlite = section.row(SQLITE_RELAXED)?;
    let shares = LEAST.map(|(name, _)| Some(section.ratio(section.row(name)?, sqlite)));
    let [write, all] = shares;
    Some(format!(
        "Of the time of {SQLITE_RELAXED}, to write as many bytes with one call takes {:.2}; to \
         parse the message (serde_json), to hash it once (BLAKE3), and to write it, {:.2}.",
        write?, all?
    ))
}

fn by_depth(options: &Options, size: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().collect();
    let title = format!("Durable append to a branch of {size} messages");
    let mut section = contest(title, Unit::Time("message"), &kinds, Mode::Durable);
    let count = options.count(100, 10);
    section.about = format!("{count} messages of {MESSAGE_BYTES} bytes, after opening the store.");
    section.figure = Some(Figure { name: "append", size: size as f64 });
    section.interleave(options.rounds, &mut |contestant, round| {
        let dir = world(options, kinds[contestant], size)?;
        let words = [MESSAGE_BYTES, count, 1 + round].map(|word| word.to_string());
        let words = words.each_ref().map(String::as_str);
        employ("append", kinds[contestant], Mode::Durable, &dir, &words)
    })?;
    Ok(section)
}
