//! Opening a large store, and finding an object by the first digits of its id.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sapwood::Id;
use sapwood::id::Prefix;
use sapwood::store::Store;
use sapwood::store::local::Options as StoreOptions;

use crate::Result;
use crate::measure::{Bar, Round, Section, timed};
use crate::options::Options;
use crate::peer::sqlite::Layout;
use crate::peer::{library, sqlite};
use crate::sample;

/// Short messages: what counts is their number.
const MESSAGE_BYTES: usize = 160;
const PREFIX_DIGITS: usize = 12;
const LIMIT_MS: f64 = 10.0;

const SELECT: &str = "SELECT id FROM messages WHERE id BETWEEN ?1 AND ?2 LIMIT 2";

/// Measures opening and finding, within this process and through the command line.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let count = options.count(1_000_000, 50_000);
    let dir = options.fresh("open")?;
    let (store, database) = (dir.join("store"), dir.join("sqlite"));
    let lines = || (0..count).map(|number| sample::message(0, number, MESSAGE_BYTES));
    let (built, ids) = timed(|| library::build(&store, &mut lines()))?;
    sqlite::build(&database, Layout::RowId, &ids, &mut lines())?;
    let counts = library::open(&store, StoreOptions::default())?.count_objects()?;
    let mut section = in_process(options, &store, &database, &ids)?;
    section.notes.push(format!(
        "Built through the library in {:.1} s, 1000 entries a transaction, relaxed: {} packed \
         objects in {} packs of {:.1} MB, {} in the journal.",
        built.as_secs_f64(),
        counts.packed_objects,
        counts.packs,
        counts.pack_bytes as f64 / 1e6,
        counts.journal_objects,
    ));
    Ok(vec![section, command_line(options, &store, &ids)?])
}

fn in_process(options: &Options, store: &Path, database: &Path, ids: &[Id]) -> Result<Section> {
    let names = [
        "sapwood, open",
        "sapwood, open read-only",
        "sapwood, open read-only and find",
        "SQLite, open and find",
    ];
    let mut section = Section::new("Open a large store", "open", &names);
    section.about = format!(
        "A store of {} objects. \"Find\" is the id for its first {PREFIX_DIGITS} digits.",
        ids.len()
    );
    let times = options.count(40, 10);
    section.interleave(options.rounds, &mut |contestant, round| {
        let mut found = Vec::new();
        for number in 0..times {
            let id = ids[(number * 7919 + round * 104_729) % ids.len()];
            found.push(match contestant {
                3 => timed(|| find_row(database, &id))?.0,
                _ => open_once(store, contestant, &id)?,
            });
        }
        Ok(Round::of(&found))
    })?;
    limit(&mut section, 0, "opens in 10 ms: milliseconds");
    Ok(section)
}

/// Opens the store once and gives the time it took; closing it is not counted.
fn open_once(path: &Path, contestant: usize, id: &Id) -> Result<Duration> {
    let store_options = StoreOptions { read_only: contestant > 0, ..StoreOptions::default() };
    let prefix: Prefix = id.short(PREFIX_DIGITS).parse()?;
    let (elapsed, _store) = timed(|| {
        let store = library::open(path, store_options)?;
        if contestant == 2 && store.snapshot()?.with_prefix(&prefix, 2)? != [*id] {
            return Err("a prefix found something else".into());
        }
        Ok(store)
    })?;
    Ok(elapsed)
}

fn find_row(path: &Path, id: &Id) -> Result<()> {
    let prefix: Prefix = id.short(PREFIX_DIGITS).parse()?;
    let connection = sqlite::open(path)?;
    let mut statement = connection.prepare(SELECT)?;
    let mut rows = statement.query([prefix.low().as_bytes(), prefix.high().as_bytes()])?;
    let row = rows.next()?.ok_or("a row is missing")?;
    if row.get_ref(0)?.as_blob()? != id.as_bytes() {
        return Err("a prefix found something else".into());
    }
    Ok(())
}

fn command_line(options: &Options, store: &Path, ids: &[Id]) -> Result<Section> {
    let names = ["rev-parse, warm", "rev-parse, store not in the page cache", "sapwood --version"];
    let mut section = Section::new("rev-parse of a prefix in a large store", "run", &names);
    section.about = "From starting the process to its end. The last row is what starting any \
                     process takes; the second drops the store's files from the page cache first, \
                     where `dd` can."
        .to_owned();
    let times = options.count(20, 5);
    section.interleave(options.rounds, &mut |contestant, round| {
        let mut found = Vec::new();
        for number in 0..times {
            let id = ids[(number * 7919 + round * 104_729) % ids.len()];
            if contestant == 1 {
                drop_from_cache(store)?;
            }
            found.push(rev_parse(options, store, &id, contestant == 2)?);
        }
        Ok(Round::of(&found))
    })?;
    limit(&mut section, 0, "answers in 10 ms: milliseconds");
    Ok(section)
}

fn rev_parse(options: &Options, store: &Path, id: &Id, only_start: bool) -> Result<Duration> {
    let mut command = Command::new(&options.sapwood);
    match only_start {
        true => command.arg("--version"),
        false => {
            let prefix = id.short(PREFIX_DIGITS);
            command.arg("--store").arg(store).args(["rev-parse", &prefix])
        }
    };
    let (elapsed, output) = timed(|| Ok(command.output()?))?;
    let answer = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || (!only_start && answer.trim() != id.to_string()) {
        return Err(format!("rev-parse said {answer}").into());
    }
    Ok(elapsed)
}

/// Asks the system to forget what it keeps of the files below a directory.
fn drop_from_cache(path: &Path) -> Result<()> {
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            drop_from_cache(&path)?;
        } else {
            // Best effort: without dd the row is as warm as the first.
            let file = format!("if={}", path.display());
            let _ = Command::new("dd")
                .args([&file, "iflag=nocache", "count=0"])
                .stderr(Stdio::null())
                .status();
        }
    }
    Ok(())
}

fn limit(section: &mut Section, row: usize, text: &str) {
    section.bars.push(Bar {
        text: text.to_owned(),
        found: section.rows[row].median() / 1e6,
        limit: LIMIT_MS,
    });
}
