//! Repairing a store that is damaged.
//!
//! First everything is looked at, damaged or not, and every whole object noted ([`survey`]). Then
//! it is worked out what the refs are to be ([`refs`]). Then what is left is written anew and takes
//! the place of what is damaged ([`carry_out`]).
//!
//! Invariants:
//! - No file is removed: what is replaced is put aside first, under `damaged/`.
//! - What is damaged keeps its place until all that is left of it is durable elsewhere and a
//!   manifest names that. A crash at any moment leaves the store as it was or mended, and the next
//!   repair goes on.
//! - A ref leads only to objects of which nothing is missing. What hangs in the air is kept as
//!   cruft: readable, but not there to writers.
//! - A store without damage is not touched.
//! - Memory holds ids and numbers, the heads of the journal, the log of operations, and one block
//!   or one object at a time.

mod aside;
mod carry_out;
mod hearsay;
mod lists;
mod packs;
mod plan;
mod refs;
mod report;
mod survey;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::store::local::fsck::{Finding, FsckOptions, Progress, Severity, fsck};
use crate::store::local::layout::Layout;
use crate::store::local::lock::LockFile;
use crate::store::local::{Options, init};

use carry_out::CarryOut;
use plan::Plan;
use survey::Survey;

pub use report::{Action, LostObject, RefRepair, RepairReport};

/// How often what is left is repaired: what is damaged can hide what else is.
const ROUNDS_MAX: usize = 3;

/// How a store is repaired.
#[derive(Clone, Copy)]
pub struct RepairOptions<'a> {
    /// Whether only to say what would be done.
    pub dry_run: bool,
    /// The time, in milliseconds since 1970: damaged files are put aside under it.
    pub time: i64,
    /// How long to wait for other processes' locks.
    pub lock_timeout: Duration,
    /// Whether to write on a network file system all the same.
    pub allow_network: bool,
    /// Whether a file `format` that names another version is taken for damaged.
    pub ignore_format: bool,
    /// Is told how far it is, each time everything is read.
    pub progress: Option<Progress<'a>>,
}

impl fmt::Debug for RepairOptions<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RepairOptions")
            .field("dry_run", &self.dry_run)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

/// Repairs the store in `path`, whether it opens or not, and says what was done and lost.
///
/// The writer and the maintenance lock are held all the while. A crash leaves the store as it was
/// or mended; where damaged files were not put aside yet, the next call does it. A dry run takes no
/// lock and writes nothing.
pub fn repair(
    disk: Arc<dyn Disk>,
    path: &Path,
    options: &RepairOptions<'_>,
) -> Result<RepairReport> {
    let layout = Layout::new(path);
    if options.dry_run {
        let found = look(&disk, path, options)?;
        let Some((report, ..)) = prepare(&disk, &layout, options, found)? else {
            return Ok(RepairReport::default());
        };
        return Ok(report);
    }
    // Nothing is made in a directory that is no store.
    init::refuse_unknown(&*disk, &layout, options.ignore_format)?;
    let network = Options { allow_network: options.allow_network, ..Options::default() };
    init::refuse_network(&*disk, path, &network)?;
    let refused = |error| read_only(error, path);
    let maintenance = LockFile::open(&*disk, layout.maintenance_lock()).map_err(refused)?;
    let maintenance = maintenance.acquire(options.lock_timeout)?;
    let lock = LockFile::open(&*disk, layout.lock()).map_err(refused)?;
    // Who keeps the lock gives it back when it hears that somebody waits.
    let lock = lock.with_bell(disk.bells(&layout.bells()).0);
    let guard = lock.acquire(options.lock_timeout)?;

    let mut generation = guard.generation;
    let mut report = RepairReport { remaining: look(&disk, path, options)?, ..Default::default() };
    for _ in 0..ROUNDS_MAX {
        let found = std::mem::take(&mut report.remaining);
        let Some((planned, survey, plan)) = prepare(&disk, &layout, options, found)? else {
            break;
        };
        let mut work = CarryOut::new(survey, plan, options.time);
        generation = work.run(generation)?;
        report.add(planned);
        report.salvaged += work.salvaged;
        report.aside = report.aside.or(work.put_aside());
        report.remaining = look(&disk, path, options)?;
    }
    match guard.holder_died {
        // What that one left is for the next writer to look for: as if this one had died, too.
        true => drop(guard),
        false => guard.release(generation)?,
    }
    maintenance.release(0)?;
    Ok(report)
}

/// Finds what is wrong.
fn look(disk: &Arc<dyn Disk>, path: &Path, options: &RepairOptions<'_>) -> Result<Vec<Finding>> {
    let options = FsckOptions {
        full: true,
        ignore_format: options.ignore_format,
        progress: options.progress,
        ..FsckOptions::default()
    };
    let mut findings = fsck(Arc::clone(disk), path, &options)?.findings;
    findings.retain(|finding| finding.severity > Severity::Notice);
    Ok(findings)
}

/// Works out what is to be done; `None` if nothing is wrong.
fn prepare<'a>(
    disk: &Arc<dyn Disk>,
    layout: &Layout,
    options: &RepairOptions<'a>,
    findings: Vec<Finding>,
) -> Result<Option<(RepairReport, Survey<'a>, Plan)>> {
    if findings.is_empty() {
        return Ok(None);
    }
    let mut survey = Survey::take(Arc::clone(disk), layout.clone(), options.progress)?;
    let plan = Plan::make(&mut survey, &findings, options.time)?;
    let report = plan.report(&survey, findings);
    Ok(Some((report, survey, plan)))
}

/// Says of a disk that refuses to be written that the store can only be read.
fn read_only(error: Error, path: &Path) -> Error {
    match &error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::ReadOnlyFilesystem => {
            Error::ReadOnly { path: path.to_owned() }
        }
        _ => error,
    }
}
