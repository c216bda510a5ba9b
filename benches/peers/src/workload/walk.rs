//! Reading a long conversation from its end to its beginning.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;
use sapwood::Id;
use sapwood::codec::json;
use sapwood::object::Entry;
use sapwood::store::local::Options as StoreOptions;
use sapwood::store::{Snapshot, Store};

use crate::Result;
use crate::measure::{Bar, Round, Section};
use crate::options::Options;
use crate::peer::sqlite::Layout;
use crate::peer::{library, sqlite};
use crate::sample;

/// How long a message is.
pub const MESSAGE_BYTES: usize = 700;
/// What ids alone must reach.
const IDS_PER_SECOND_MIN: f64 = 1e6;

const BODIES: &str = "
    WITH RECURSIVE path (parent, body) AS (
        SELECT parent, body FROM messages WHERE id = ?1
        UNION ALL
        SELECT messages.parent, messages.body
        FROM path JOIN messages ON messages.id = path.parent)
    SELECT body FROM path";
const IDS: &str = "
    WITH RECURSIVE path (id, parent) AS (
        SELECT id, parent FROM messages WHERE id = ?1
        UNION ALL
        SELECT messages.id, messages.parent
        FROM path JOIN messages ON messages.id = path.parent)
    SELECT id FROM path";

/// The same conversation, in every form.
pub struct World {
    /// Where each form is: as sealed, as repacked, with row ids, without.
    pub paths: [std::path::PathBuf; 4],
    /// The ids, oldest first.
    pub ids: Vec<Id>,
}

/// Makes a conversation of so many messages in every form.
pub fn build(options: &Options, name: &str, count: usize) -> Result<World> {
    let dir = options.fresh(name)?;
    let paths = ["sealed", "repacked", "rowid", "without"].map(|name| dir.join(name));
    let lines = || (0..count).map(|number| sample::message(0, number, MESSAGE_BYTES));
    let ids = library::build(&paths[0], &mut lines())?;
    let again = library::build(&paths[1], &mut lines())?;
    assert_eq!(ids, again, "the same messages have the same ids");
    library::open(&paths[1], StoreOptions::default())?.repack()?;
    sqlite::build(&paths[2], Layout::RowId, &ids, &mut lines())?;
    sqlite::build(&paths[3], Layout::WithoutRowId, &ids, &mut lines())?;
    Ok(World { paths, ids })
}

/// Measures walks with bodies and of ids alone.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let world = build(options, "walk", options.count(100_000, 10_000))?;
    Ok(vec![bodies(options, &world)?, ids(options, &world)?])
}

fn bodies(options: &Options, world: &World) -> Result<Section> {
    let count = world.ids.len();
    let names = [
        "sapwood, as sealed",
        "sapwood, repacked",
        "SQLite, rowid table",
        "SQLite, WITHOUT ROWID",
        "SQLite, rowid table, bodies parsed",
        "sapwood, as sealed, not decoded",
    ];
    let mut section = Section::new("Walk with bodies", "message", &names);
    section.about = format!(
        "{count} messages of {MESSAGE_BYTES} bytes along first parents, newest first. sapwood \
         finds, decompresses, checks and decodes each; SQLite's recursive query returns the \
         text. A new handle each time (its own caches empty), files in the page cache."
    );
    section.interleave(options.rounds, &mut |contestant, _| {
        let form = [0, 1, 2, 3, 2, 0][contestant];
        let path = &world.paths[form];
        match contestant {
            0 | 1 | 5 => {
                let store = library::open(path, StoreOptions::default())?;
                let snapshot = store.snapshot()?;
                Round::of_work(count, || walk(&*snapshot, world.tip(), contestant != 5))
            }
            _ => {
                let connection = sqlite::open(path)?;
                Round::of_work(count, || query(&connection, world.tip(), contestant == 4))
            }
        }
    })?;
    let best = section.best(2..4);
    section.demand("faster than SQLite", best, 1.0);
    section.notes.push(sizes(world)?);
    Ok(section)
}

fn ids(options: &Options, world: &World) -> Result<Section> {
    let count = world.ids.len();
    let names =
        ["sapwood, as sealed", "sapwood, repacked", "SQLite, rowid table", "SQLite, WITHOUT ROWID"];
    let mut section = Section::new("Walk, ids only", "id", &names);
    section.about = format!("The ids of the same {count} messages, newest first.");
    section.interleave(options.rounds, &mut |contestant, _| {
        let path = &world.paths[contestant];
        if contestant < 2 {
            let store = library::open(path, StoreOptions::default())?;
            let snapshot = store.snapshot()?;
            Round::of_work(count, || Ok(black_box(snapshot.path(&world.tip(), usize::MAX)?).len()))
        } else {
            let connection = sqlite::open(path)?;
            Round::of_work(count, || query_ids(&connection, world.tip()))
        }
    })?;
    section.bars.push(Bar {
        text: "1 M ids a second: microseconds an id".to_owned(),
        found: section.rows[0].median() / 1e3,
        limit: 1e6 / IDS_PER_SECOND_MIN,
    });
    let best = section.best(2..4);
    section.demand("faster than SQLite", best, 1.0);
    Ok(section)
}

impl World {
    fn tip(&self) -> Id {
        *self.ids.last().expect("a conversation is not empty")
    }
}

/// Reads every entry from `tip` to the root and gives their number.
pub fn walk(snapshot: &dyn Snapshot, tip: Id, decode: bool) -> Result<usize> {
    let mut count = 0;
    snapshot.read_path(&tip, &mut |_, stored| {
        if decode {
            black_box(Entry::decode(&stored.content)?);
        }
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

fn query(connection: &Connection, tip: Id, parse: bool) -> Result<usize> {
    let mut statement = connection.prepare_cached(BODIES)?;
    let mut rows = statement.query([tip.as_bytes()])?;
    let mut walked = 0;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_bytes()?;
        if parse {
            black_box(json::parse(body)?);
        } else {
            black_box(body);
        }
        walked += 1;
    }
    Ok(walked)
}

fn query_ids(connection: &Connection, tip: Id) -> Result<usize> {
    let mut statement = connection.prepare_cached(IDS)?;
    let mut rows = statement.query([tip.as_bytes()])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.extend(Id::from_slice(row.get_ref(0)?.as_blob()?));
    }
    Ok(black_box(ids).len())
}

/// Says how much room each form takes.
fn sizes(world: &World) -> Result<String> {
    let [sealed, repacked, rowid, without] = world.paths.each_ref().map(|path| bytes_of(path));
    let mb = |bytes: Result<u64>| -> Result<f64> { Ok(bytes? as f64 / 1e6) };
    Ok(format!(
        "On disk: sealed {:.1} MB, repacked {:.1} MB, SQLite {:.1} MB with row ids, \
         {:.1} MB without.",
        mb(sealed)?,
        mb(repacked)?,
        mb(rowid)?,
        mb(without)?
    ))
}

fn bytes_of(path: &Path) -> Result<u64> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_file() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        bytes += bytes_of(&entry?.path())?;
    }
    Ok(bytes)
}
