//! Reading single objects by their ids, in random order.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sapwood::Id;
use sapwood::store::local::Options as StoreOptions;
use sapwood::store::{Snapshot, Store};

use crate::Result;
use crate::measure::{Round, Section};
use crate::options::Options;
use crate::peer::{library, sqlite};
use crate::sample::Dice;
use crate::workload::walk;

const SELECT: &str = "SELECT body FROM messages WHERE id = ?1";
/// Enough for all blocks of the store.
const CACHE_BYTES: usize = 256 << 20;

/// Measures gets when everything is warm.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let world = walk::build(options, "get", options.count(100_000, 10_000))?;
    let mut dice = Dice::new(7);
    let count = options.count(10_000, 2_000);
    let wanted: Vec<Id> = (0..count).map(|_| world.ids[dice.below(world.ids.len())]).collect();
    let names = [
        "sapwood, as sealed",
        "sapwood, repacked",
        "sapwood, as sealed, cache for all",
        "SQLite, rowid table",
        "SQLite, WITHOUT ROWID",
    ];
    let mut section = Section::new("Random get by id, warm", "object", &names);
    section.about = format!(
        "{count} of {} messages, each read once before the clock starts. sapwood checks each \
         against its hash. Its block cache is the default of 64 MiB, or large enough for \
         the whole store.",
        world.ids.len()
    );
    section.interleave(options.rounds, &mut |contestant, _| {
        let path = &world.paths[[0, 1, 0, 2, 3][contestant]];
        let mut times = Vec::with_capacity(count);
        if contestant < 3 {
            let mut store_options = StoreOptions::default();
            if contestant == 2 {
                store_options.cache_bytes = CACHE_BYTES;
            }
            let store = library::open(path, store_options)?;
            let snapshot = store.snapshot()?;
            get_all(&*snapshot, &wanted, &mut times)?;
            times.clear();
            get_all(&*snapshot, &wanted, &mut times)?;
        } else {
            let connection = sqlite::open(path)?;
            select_all(&connection, &wanted, &mut times)?;
            times.clear();
            select_all(&connection, &wanted, &mut times)?;
        }
        Ok(Round::of(&times))
    })?;
    let best = section.best(3..5);
    section.demand("within 2 x of SQLite", best, 2.0);
    Ok(vec![section])
}

fn get_all(snapshot: &dyn Snapshot, wanted: &[Id], times: &mut Vec<Duration>) -> Result<()> {
    for id in wanted {
        let begun = Instant::now();
        black_box(snapshot.get(id)?.ok_or("an object is missing")?);
        times.push(begun.elapsed());
    }
    Ok(())
}

fn select_all(connection: &Connection, wanted: &[Id], times: &mut Vec<Duration>) -> Result<()> {
    let mut statement = connection.prepare_cached(SELECT)?;
    for id in wanted {
        let begun = Instant::now();
        let mut rows = statement.query([id.as_bytes()])?;
        let row = rows.next()?.ok_or("a row is missing")?;
        black_box(row.get_ref(0)?.as_bytes()?.to_vec());
        times.push(begun.elapsed());
    }
    Ok(())
}
