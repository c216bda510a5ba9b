//! Eight writers at once, each with its own branch and process, against one.

use std::path::Path;

use sapwood::store::local::Options as StoreOptions;
use sapwood::store::{RefName, RefValue, Snapshot, Store as _};

use crate::Result;
use crate::measure::{Bar, Round, Section, Unit};
use crate::options::Options;
use crate::peer::pipe::Process;
use crate::peer::sapwood::open_store;
use crate::peer::{self, Kind, Mode};
use crate::sample;
use crate::workload::{Job, pipe};

const WRITERS: usize = 8;
/// How long messages are, and how many are appended by all: all, and for a quick look.
const LENGTHS: [(usize, usize, usize); 3] =
    [(700, 4000, 800), (5_000, 2000, 400), (50_000, 800, 160)];

/// Who writes, and how.
struct Contestant {
    label: String,
    kind: &'static Kind,
    writers: usize,
    own_sessions: bool,
}

/// Measures eight processes and one, and checks that nothing is lost and the order is kept.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    LENGTHS
        .into_iter()
        .map(|(bytes, full, quick)| by_length(options, bytes, options.count(full, quick)))
        .collect()
}

/// Does nothing: the contestants serve on standard input.
pub fn work(_: &Job<'_>) -> Result<Round> {
    Err("nothing is to be done here".into())
}

fn contestants() -> Vec<Contestant> {
    let mut all = Vec::new();
    for kind in peer::usual().filter(|kind| kind.is_shared) {
        let label = kind.label(Mode::Durable).to_owned();
        all.push(Contestant { label, kind, writers: WRITERS, own_sessions: false });
    }
    for (label, writers, own_sessions) in
        [("1 process, sapwood", 1, false), ("8 sessions, sapwood", WRITERS, true)]
    {
        let label = label.to_owned();
        all.push(Contestant { label, kind: &peer::KINDS[0], writers, own_sessions });
    }
    all
}

fn by_length(options: &Options, bytes: usize, total: usize) -> Result<Section> {
    let contestants = contestants();
    let names: Vec<&str> = contestants.iter().map(|one| one.label.as_str()).collect();
    let title = format!("Eight processes append at once, durably, {bytes} bytes");
    let mut section =
        Section { is_contest: true, ..Section::new(title, Unit::Time("message"), &names) };
    for (row, one) in section.rows.iter_mut().zip(&contestants) {
        row.is_beside = one.kind.name == "sapwood";
    }
    section.about = format!(
        "{total} messages of {bytes} bytes in all, to eight branches, lines written to each \
         process as fast as it reads them; from the moment when all have answered once until the \
         last answer. sapwood is `append --stdin` to branches of one session. After each round \
         every branch of it is read back: all there, in order. redb and fjall are left out: one \
         process only may write."
    );
    section.interleave(options.rounds, &mut |contestant, _| {
        round(options, &contestants[contestant], bytes, total)
    })?;
    let alone = section.row("1 process").expect("it is among them");
    section.bars.push(Bar {
        text: "twice the throughput: time a message, 8 processes / 1 process".to_owned(),
        found: section.ratio(0, alone),
        limit: 0.5,
        goal: None,
    });
    section.demand("not above SQLite with 8", "SQLite WAL FULL", 1.0, None);
    Ok(section)
}

fn round(options: &Options, one: &Contestant, bytes: usize, total: usize) -> Result<Round> {
    let dir = options.fresh("crowd")?;
    let is_sapwood = one.kind.name == "sapwood";
    drop(one.kind.open(&dir, Mode::Durable)?);
    let mut processes = Vec::new();
    for writer in 0..one.writers {
        let branch = format!("b{writer}");
        let session = if one.own_sessions { branch.as_str() } else { "s" };
        processes.push(match is_sapwood {
            true => Process::sapwood(options, &dir, &branch, &["-s", session])?,
            false => Process::peer(one.kind.name, &dir, &[Mode::Durable.name(), &branch])?,
        });
    }
    let each = total / one.writers;
    let mut lines: Vec<Vec<String>> =
        (0..one.writers).map(|writer| sample::messages(writer, each + 1, bytes)).collect();
    for (process, lines) in processes.iter_mut().zip(&mut lines) {
        process.append(&lines.remove(0))?;
    }
    let elapsed = pipe::drive(&mut processes, &lines)?;
    let mut peak: Option<f64> = None;
    for process in processes {
        peak = process.finish()?.into_iter().chain(peak).reduce(f64::max);
    }
    if is_sapwood {
        check(&dir, one, each)?;
    }
    Ok(Round { peak, ..Round::mean(elapsed, (each * one.writers) as f64) })
}

/// Checks that each branch has its writer's messages, all and in order.
fn check(store: &Path, one: &Contestant, each: usize) -> Result<()> {
    let store = open_store(store, StoreOptions::default())?;
    let snapshot = store.snapshot()?;
    for writer in 0..one.writers {
        let session = if one.own_sessions { format!("b{writer}") } else { "s".to_owned() };
        let numbers = numbers(&*snapshot, &session, writer)?;
        if numbers != (0..=each as i64).rev().collect::<Vec<_>>() {
            let (found, all) = (numbers.len(), each + 1);
            return Err(format!("writer {writer}: {found} of {all} came back in order").into());
        }
    }
    Ok(())
}

/// Lists the numbers of a writer's messages on its branch, newest first.
fn numbers(snapshot: &dyn Snapshot, session: &str, writer: usize) -> Result<Vec<i64>> {
    let name = RefName::of_session(session, &format!("heads/b{writer}"))?;
    let Some(RefValue::Id(tip)) = snapshot.reference(&name)? else {
        return Err(format!("{name} is missing").into());
    };
    let mut numbers = Vec::new();
    for id in snapshot.path(&tip, usize::MAX)? {
        let entry = sapwood::repo::read_entry(snapshot, &id)?;
        let field = |key: &str| entry.body.get(key).and_then(|value| value.as_i64());
        // A branch may begin where another writer was at the time.
        if field("writer") == Some(writer as i64) {
            numbers.extend(field("number"));
        }
    }
    Ok(numbers)
}
