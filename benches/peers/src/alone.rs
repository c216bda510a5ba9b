//! sapwood alone, again and again, for a profiler to look at.
//!
//! ```text
//!   perf record -g peers alone walk DIR 20
//! ```
//!
//! The store in `DIR` is made where there is none.

use std::path::Path;

use sapwood::store::local::Options as StoreOptions;
use sapwood::store::{RefName, RefValue, Store as _};
use sapwood::{Durability, Id};

use crate::Result;
use crate::measure::timed;
use crate::peer::{Append as _, library};
use crate::sample;
use crate::workload::walk;

const MESSAGES: usize = 100_000;

/// Runs one workload so many times and prints what each took.
pub fn run(arguments: &[String]) -> Result<()> {
    let [workload, dir, times] = arguments else {
        return Err("usage: peers alone (walk | ids | full | relaxed) DIR TIMES".into());
    };
    let (dir, times) = (Path::new(dir), times.parse::<usize>()?);
    let durability = match workload.as_str() {
        "full" => Durability::Full,
        "relaxed" => Durability::Relaxed,
        _ => return read(workload, dir, times),
    };
    let mut appender = library::Appender::new(dir, durability)?;
    let lines = sample::messages(0, times, walk::MESSAGE_BYTES);
    let (elapsed, ()) = timed(|| lines.iter().try_for_each(|line| appender.append(line)))?;
    println!("{:?} a message", elapsed / times as u32);
    Ok(())
}

fn read(workload: &str, dir: &Path, times: usize) -> Result<()> {
    if !dir.exists() {
        let mut lines = (0..MESSAGES).map(|number| sample::message(0, number, walk::MESSAGE_BYTES));
        library::build(dir, &mut lines)?;
    }
    for _ in 0..times {
        let store = library::open(dir, StoreOptions::default())?;
        let snapshot = store.snapshot()?;
        let name = RefName::of_session("s", "heads/main")?;
        let Some(RefValue::Id(tip)) = snapshot.reference(&name)? else {
            return Err("the store in this directory is another one".into());
        };
        let (elapsed, walked) = timed(|| match workload {
            "walk" => walk::walk(&*snapshot, tip, true),
            _ => Ok(snapshot.path(&tip, usize::MAX).map(|ids: Vec<Id>| ids.len())?),
        })?;
        println!("{:?} for {walked}", elapsed);
    }
    Ok(())
}
