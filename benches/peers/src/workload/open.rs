//! Opening stores, listing what is in them, and finding an id by its first digits.

use std::path::Path;

use rusqlite::Connection;
use sapwood::id::{Id, Prefix};
use sapwood::store::Store as _;
use sapwood::store::local::Options as StoreOptions;

use crate::Result;
use crate::measure::{Figure, Round, Section, Unit, timed};
use crate::options::Options;
use crate::peer::sapwood::open_store;
use crate::peer::{self, Kind, Mode};
use crate::sample;
use crate::workload::{BRANCH, Job, MESSAGE_BYTES, build, contest, employ, sizes, world};

const PREFIX_DIGITS: usize = 12;
/// As many in a quick look, too: the first ones find no page in memory, so fewer are another test.
const PREFIXES: usize = 500;
const SELECT: &str = "SELECT id FROM messages WHERE id BETWEEN ?1 AND ?2 LIMIT 2";

/// Measures opening at each size, finding by a prefix in the largest, and listing many sessions.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for size in sizes(options) {
        sections.push(opening(options, size)?);
    }
    sections.push(finding(options)?);
    sections.push(listing(options)?);
    Ok(sections)
}

/// Does what is measured: opens, finds, lists, or builds what the workloads share.
pub fn work(job: &Job<'_>) -> Result<Round> {
    match job.word(0) {
        "build" => build(job, job.number(1)?).map(|()| Round::default()),
        "many" => many(job).map(|()| Round::default()),
        "list" => {
            let mut peer = job.kind.open(job.dir, job.mode)?;
            Round::of_work(1, || Ok(usize::from(peer.branches()? >= job.number(1)?)))
        }
        "find" => find(job),
        _ => open_again(job),
    }
}

/// Opens a store so many times, and reads one message each time; closing it is not counted.
fn open_again(job: &Job<'_>) -> Result<Round> {
    let mut times = Vec::new();
    for _ in 0..job.number(1)? {
        let (elapsed, _peer) = timed(|| {
            let mut peer = job.kind.open(job.dir, job.mode)?;
            peer.walk(BRANCH, &mut |_| Ok(false))?;
            Ok(peer)
        })?;
        times.push(elapsed);
    }
    Ok(Round::of(&times))
}

/// Makes many small branches.
fn many(job: &Job<'_>) -> Result<()> {
    let mut peer = job.kind.open(job.dir, job.mode)?;
    for number in 0..job.number(1)? {
        let mut bodies = (0..2).map(|line| sample::message(number, line, MESSAGE_BYTES));
        match job.kind.name {
            // A process for each branch would take an hour.
            "git" => bodies.try_for_each(|body| peer.append(&format!("s{number}"), &body))?,
            _ => peer.fill(&format!("s{number}"), &mut bodies)?,
        }
    }
    peer.settle()
}

fn opening(options: &Options, size: usize) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().filter(|kind| kind.name != "sqlite-zstd").collect();
    let title = format!("Open a store of {size} messages and read the newest");
    let mut section = contest(title, Unit::Time("open"), &kinds, Mode::Relaxed);
    section.about =
        "For reading and writing, in a process that has opened it before; files in the \
                     page cache. JSONL reads the whole file, as agents do."
            .to_owned();
    section.figure = Some(Figure { name: "open", size: size as f64 });
    let count = options.count(20, 5).to_string();
    section.interleave(options.short_rounds(), &mut |contestant, _| {
        let dir = world(options, kinds[contestant], size)?;
        employ("open", kinds[contestant], Mode::Relaxed, &dir, &["open", &count])
    })?;
    if size == sizes(options)[3] {
        section.demand_at_most(0, "opens in 10 ms: milliseconds", 1e6, 10.0, Some(1.0));
    }
    Ok(section)
}

fn finding(options: &Options) -> Result<Section> {
    let size = sizes(options)[3];
    let kinds = [Kind::named("sapwood")?, Kind::named("sqlite-id")?, Kind::named("git")?];
    let title = format!("Resolve a prefix among {size} messages");
    let mut section = contest(title, Unit::Time("prefix"), &kinds, Mode::Relaxed);
    section.about =
        format!("The id for its first {PREFIX_DIGITS} digits, where messages have ids of hashes.");
    let count = PREFIXES.to_string();
    section.interleave(options.rounds, &mut |contestant, _| {
        let dir = world(options, kinds[contestant], size)?;
        employ("open", kinds[contestant], Mode::Relaxed, &dir, &["find", &count])
    })?;
    Ok(section)
}

/// Finds ids by their first digits.
fn find(job: &Job<'_>) -> Result<Round> {
    let keys = job.kind.open(job.dir, job.mode)?.path(BRANCH)?;
    let count = job.number(1)?;
    let key = |number: usize| &keys[number * 7919 % keys.len()];
    match job.kind.name {
        "sapwood" => {
            let store = open_store(job.dir, StoreOptions::default())?;
            let snapshot = store.snapshot()?;
            Round::of_many(count, |number| {
                let id = Id::from_bytes(*key(number));
                let prefix: Prefix = id.short(PREFIX_DIGITS).parse()?;
                same(snapshot.with_prefix(&prefix, 2)? == [id])
            })
        }
        "git" => {
            let repository = git2::Repository::open_bare(job.dir)?;
            let odb = repository.odb()?;
            Round::of_many(count, |number| {
                let id = git2::Oid::from_bytes(&key(number)[..20])?;
                let short = git2::Oid::from_str(&id.to_string()[..PREFIX_DIGITS])?;
                same(odb.exists_prefix(short, PREFIX_DIGITS)? == id)
            })
        }
        _ => find_rows(&job.dir.join("messages.sqlite"), count, key),
    }
}

fn find_rows<'a>(file: &Path, count: usize, key: impl Fn(usize) -> &'a [u8; 32]) -> Result<Round> {
    let connection = Connection::open(file)?;
    let mut statement = connection.prepare(SELECT)?;
    Round::of_many(count, |number| {
        let id = Id::from_bytes(*key(number));
        let prefix: Prefix = id.short(PREFIX_DIGITS).parse()?;
        let mut rows = statement.query([prefix.low().as_bytes(), prefix.high().as_bytes()])?;
        let row = rows.next()?.ok_or("a row is missing")?;
        same(row.get_ref(0)?.as_blob()? == id.as_bytes())
    })
}

fn same(is_same: bool) -> Result<()> {
    match is_same {
        true => Ok(()),
        false => Err("a prefix found something else".into()),
    }
}

fn listing(options: &Options) -> Result<Section> {
    let kinds: Vec<&Kind> = peer::usual().filter(|kind| kind.name != "sqlite-zstd").collect();
    let count = options.count(10_000, 500).to_string();
    let title = format!("List {count} sessions");
    let mut section = contest(title, Unit::Time("list"), &kinds, Mode::Relaxed);
    section.about =
        "The names of all branches, in a new process. Those that keep a name and where \
                     it ends in one place give both; sapwood and JSONL give the names."
            .to_owned();
    for kind in &kinds {
        let dir = options.fresh(&format!("many-{}", kind.name))?;
        employ("open", kind, Mode::Relaxed, &dir, &["many", &count])?;
    }
    section.interleave(options.short_rounds(), &mut |contestant, _| {
        let kind = kinds[contestant];
        let dir = options.dir.join(format!("many-{}", kind.name));
        employ("open", kind, Mode::Relaxed, &dir, &["list", &count])
    })?;
    Ok(section)
}
