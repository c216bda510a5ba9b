//! Garbage collection: what nothing leads to is set aside, and dropped after a time of grace.
//!
//! Two passes, and no marking under the lock.
//!
//! 1. Mark from a snapshot: what refs and operations lead to, and what is young. What was not
//!    reached becomes *cruft*: a manifest is published that names it so. Readers find it still;
//!    to writers it is missing, so that whoever wants it supplies it again.
//! 2. Mark on, from a snapshot that was taken after that: what was written or pointed to since.
//!    What is reached is brought back. The rest of the cruft is dropped when it is old enough.
//!
//! Why nothing is lost: at the end of pass 2 every object outside the cruft was looked into. A
//! writer that commits later has seen the new manifest, or plans again because of it; so its links
//! lead to objects outside the cruft, and from these no link leads into what is dropped. So nothing
//! is dropped while garbage is still outside the cruft, unless it was looked into, too.
//!
//! Each step ends with one manifest. What it no longer names has no name when the run ends, and
//! gives its space back beside. Stopped or killed between any two calls, the store is whole, and
//! the next run goes on.
//!
//! Not here: what the objects mean, and when to run; see [`LocalStore::gc_due`] for a guess.

mod beside;
mod bits;
mod clean;
mod cut;
mod due;
mod expire;
mod leftovers;
mod mark;
mod pack;
mod passing;
mod report;
mod roots;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::disk::OpenMode;
use crate::error::Result;
use crate::id::Id;
use crate::store::local::anew;
use crate::store::local::cache::BlockCache;
use crate::store::local::housekeeper::Spent;
use crate::store::local::pack::PackOptions;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::{Inner, LocalStore, Progress};
use mark::Marker;
use passing::Passing;
use roots::Roots;

pub use due::{GcDue, GcThresholds};
pub(crate) use report::bytes_below;
pub use report::{GcReport, KindCounts, Waiting};

/// What was written within this time is not looked at as garbage, unless all is to be dropped now:
/// whoever wrote it may be about to point to it.
const YOUNG_MS: i64 = 3_600_000;

/// How many manifests that were replaced are held open at the most.
const MANIFESTS_HELD_MAX: usize = 8;

/// How hard zstd tries on what is sealed, and packed once more at once: hardly.
const PASSING_LEVEL: i32 = -4;

/// What a collection does.
#[derive(Clone, Copy)]
pub struct GcOptions<'a> {
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// What was set aside up to this time is dropped. From `now_ms` on, all garbage is, at once.
    pub prune_ms: i64,
    /// Operations before this time are dropped; `i64::MIN` keeps them all.
    pub operations_ms: i64,
    /// Whether all packs are written anew, as small as can be.
    pub aggressive: bool,
    /// Whether it takes no more than one thread, to leave the others to those who wait for them.
    pub one_thread: bool,
    /// After about this time it stops, at the next point where it can.
    pub max_time: Option<Duration>,
    /// Is told how many objects were looked at and written, and of how many.
    pub progress: Option<Progress<'a>>,
}

impl std::fmt::Debug for GcOptions<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("GcOptions")
            .field("now_ms", &self.now_ms)
            .field("prune_ms", &self.prune_ms)
            .field("operations_ms", &self.operations_ms)
            .field("aggressive", &self.aggressive)
            .field("max_time", &self.max_time)
            .finish_non_exhaustive()
    }
}

impl GcOptions<'_> {
    /// Drops nothing that was set aside, and no operations.
    pub fn at(now_ms: i64) -> GcOptions<'static> {
        GcOptions {
            now_ms,
            prune_ms: i64::MIN,
            operations_ms: i64::MIN,
            aggressive: false,
            one_thread: false,
            max_time: None,
            progress: None,
        }
    }

    /// Says whether garbage is dropped in the run that finds it.
    fn drops_now(&self) -> bool {
        self.prune_ms >= self.now_ms
    }

    /// Gives the time after which what was written is young; `None` if nothing is.
    fn young_after_ms(&self) -> Option<i64> {
        (!self.drops_now()).then(|| self.prune_ms.max(self.now_ms.saturating_sub(YOUNG_MS)))
    }
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// All that is reached is marked.
    Marked,
    /// A group of packs without garbage is published, and another one follows.
    GroupWritten,
    /// Packs without garbage are published; it is cruft now.
    PacksWritten,
    /// So are loose files.
    SetAside,
    /// What was reached since is back, and what is old is dropped, if there was time for all.
    Settled,
}

/// A collection under way.
struct Collection<'a> {
    inner: &'a Arc<Inner>,
    options: &'a GcOptions<'a>,
    begun: Instant,
    report: GcReport,
    /// How much garbage is in packs that became cruft as they were.
    garbage: HashMap<Id, u64>,
    /// Since when there was too little time.
    cut_since: Option<i64>,
    /// What was in the journal, until it is packed.
    passing: Option<Passing>,
    /// Whether somebody wrote to a journal that was read while it was open.
    is_outrun: bool,
    /// What was unpacked of the packs.
    unpacked: Arc<BlockCache>,
    /// What takes a while to give back.
    spent: Spent,
}

impl LocalStore {
    /// Collects garbage, packs what is left, and says what it did.
    pub fn gc(&self, options: &GcOptions<'_>) -> Result<GcReport> {
        let inner = &self.inner;
        inner.check_writable()?;
        let done = inner.alone_or_wait(|inner| Collection::new(inner, options).run())?;
        Ok(self.give_back(done))
    }

    /// Does as [`LocalStore::gc`], unless another process does maintenance; `None` then.
    pub fn gc_unless_busy(&self, options: &GcOptions<'_>) -> Result<Option<GcReport>> {
        let inner = &self.inner;
        inner.check_writable()?;
        let done = inner.alone(|inner| Collection::new(inner, options).run())?;
        Ok(done.map(|done| self.give_back(done)))
    }

    fn give_back(&self, (report, spent): (GcReport, Spent)) -> GcReport {
        self.housekeeper.give_back(spent);
        report
    }

    /// Says what a collection would set aside and drop if the refs below `gone` had gone before,
    /// each a part of names up to a slash. Nothing is written.
    pub fn gc_dry_run(&self, options: &GcOptions<'_>, gone: &[String]) -> Result<GcReport> {
        Collection::new(&self.inner, options).look(gone)
    }
}

impl<'a> Collection<'a> {
    fn new(inner: &'a Arc<Inner>, options: &'a GcOptions<'a>) -> Collection<'a> {
        let report = GcReport::default();
        Collection {
            inner,
            options,
            begun: Instant::now(),
            report,
            garbage: HashMap::new(),
            cut_since: None,
            passing: None,
            is_outrun: false,
            unpacked: mark::new_cache(),
            spent: Spent::new(),
        }
    }

    /// Says how many threads may help.
    fn threads(&self) -> usize {
        if self.options.one_thread { 0 } else { anew::THREADS }
    }

    /// Says how the journal is sealed, where all of it is packed once more.
    fn seal_options(&self) -> PackOptions {
        let threads = self.threads();
        PackOptions { level: PASSING_LEVEL, threads, ..PackOptions::default() }
    }

    fn is_out_of_time(&mut self) -> bool {
        let is_over = self.options.max_time.is_some_and(|most| self.begun.elapsed() >= most);
        self.report.is_finished &= !is_over;
        is_over
    }

    fn snapshot(&self) -> Result<LocalSnapshot> {
        self.inner.snapshot()
    }

    /// Runs, and says what it did, and what is to be given back then.
    fn run(mut self) -> Result<(GcReport, Spent)> {
        self.run_watched(&mut |_| {})?;
        Ok((self.report, self.spent))
    }

    /// Runs, and tells when a step is done: others may do anything then.
    fn run_watched(&mut self, watch: &mut dyn FnMut(Step)) -> Result<()> {
        // A manifest can change while the journal does not: another process's `gc` does that.
        self.inner.reload()?;
        self.report.before(self.inner)?;
        if !self.is_out_of_time() {
            self.collect(watch)?;
        }
        if self.options.one_thread {
            self.spent.clear();
        }
        self.report.after(self.inner)
    }

    fn collect(&mut self, watch: &mut dyn FnMut(Step)) -> Result<()> {
        self.take_journal(false)?;
        self.expire_operations()?;
        match !self.options.aggressive && self.is_noted()? {
            true => self.tidy_up(),
            false => {
                self.collect_all(watch)?;
                if !std::mem::take(&mut self.is_outrun) {
                    return Ok(());
                }
                self.inner.sweep()?;
                self.take_journal(true)?;
                self.collect_all(watch)
            }
        }
    }

    /// Marks, packs, and drops; where it is outrun, what is not packed by then stays as it is.
    fn collect_all(&mut self, watch: &mut dyn FnMut(Step)) -> Result<()> {
        self.cut_since = self.cut_since();
        let snapshot = self.snapshot()?;
        let total = self.report.objects_before;
        let tell =
            |done: u64| self.options.progress.map_or((), |tell| tell(done.min(total), total));
        let (state, is_alone) = (&snapshot.state, self.options.one_thread);
        let mut marker = Marker::new(self.inner, state, &self.unpacked, &tell, is_alone)?;
        if let Some(passing) = &self.passing {
            marker.take(passing);
        }
        marker.mark_journal(&snapshot)?;
        marker.mark_named(&snapshot)?;
        let named = marker.reached();
        if let Some(young_after_ms) = self.options.young_after_ms() {
            marker.mark_young(young_after_ms)?;
        }
        let is_all_named = marker.reached() == named;
        watch(Step::Marked);
        let mut kept = self.write_packs(&mut marker, &snapshot.state, watch)?;
        if self.is_outrun {
            return Ok(());
        }
        if let Some(passing) = self.passing.take() {
            // There was no time for it.
            self.seal_all(passing.is_open)?;
        }
        watch(Step::PacksWritten);
        self.set_aside_loose(&mut marker)?;
        watch(Step::SetAside);
        self.settle(&mut marker, &mut kept)?;
        if self.report.is_finished {
            // All garbage is set aside.
            self.drop_old(&marker)?;
        }
        watch(Step::Settled);
        if self.report.has_dropped() {
            self.inner.forget_cache()?;
        }
        self.note_cut();
        let unpacked = std::mem::replace(&mut self.unpacked, mark::new_cache());
        self.spent.push(Box::new((snapshot, marker.into_memory(), unpacked)));
        self.tidy_up()?;
        match is_all_named && self.report.is_finished {
            true => self.note(),
            false => Ok(()),
        }
    }

    /// Mends graphs, and removes what nobody names.
    fn tidy_up(&mut self) -> Result<()> {
        self.inner.heal_graphs()?;
        let swept = self.inner.sweep_held()?;
        self.spent.push(Box::new(swept));
        self.sweep_leftovers(true)
    }

    /// Holds the manifest that is about to be replaced: its room is free when all is given back.
    /// Of many, only the first few are held.
    fn hold_manifest(&mut self) {
        if self.spent.len() >= MANIFESTS_HELD_MAX {
            return;
        }
        let held = self.inner.disk.open(&self.inner.layout.current(), OpenMode::Read);
        self.spent.extend(held.ok().map(|file| Box::new(file) as Box<dyn Send>));
    }

    /// Marks, and counts what a run would do.
    fn look(mut self, gone: &[String]) -> Result<GcReport> {
        self.report.before(self.inner)?;
        let snapshot = self.snapshot()?;
        let tell = |_: u64| {};
        let (state, is_alone) = (&snapshot.state, self.options.one_thread);
        let mut marker = Marker::new(self.inner, state, &self.unpacked, &tell, is_alone)?;
        let young_after_ms = self.options.young_after_ms();
        match young_after_ms {
            Some(_) => marker.mark_journal(&snapshot)?,
            None => marker.list_journal(&snapshot.state),
        }
        let first_operation = self.first_kept(&snapshot)?;
        self.report.operations = first_operation - 1 - snapshot.state.manifest.expired;
        marker.mark_roots(&snapshot, &Roots { gone, first_operation })?;
        if let Some(young_after_ms) = young_after_ms {
            marker.mark_young(young_after_ms)?;
        }
        self.count(&marker)?;
        self.sweep_leftovers(false)?;
        let report = &mut self.report;
        report.objects_after =
            (report.objects_before + report.brought_back).saturating_sub(report.set_aside.count());
        // How they would be packed is not known before it is done.
        self.report.packs_after = self.report.packs_before;
        self.report.bytes_after = self.report.bytes_before;
        Ok(self.report)
    }
}
