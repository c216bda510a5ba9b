//! The threads that do what nobody should wait for: one syncs late and prepares segments, one seals
//! and merges, so that neither a sync nor the next segment waits for a long merge; one looks after
//! the lock while a busy handle keeps it, so that whoever wants it waits for neither; and one gives
//! back what takes a while to drop.
//!
//! Each begins with the first request, and ends, its work done, when the store is dropped; the last
//! one with its request. Without [`Options::background`](super::Options::background) there are
//! none, and the work is left to the drop and to the next maintenance.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::store::local::{Inner, seal};

/// How long a relaxed commit may stay unsynced.
const SYNC_DELAY: Duration = Duration::from_millis(500);

/// How long closed segments may wait for more of them, unless they are much.
const SEAL_DELAY: Duration = Duration::from_secs(1);

/// How often a lock that is kept is looked after: each time takes a processor from who commits.
const TEND_PAUSE: Duration = Duration::from_millis(5);

/// What takes a while to drop: memory, and files that have lost their names.
pub(crate) type Spent = Vec<Box<dyn Send>>;

/// Asks for work and ends it.
#[derive(Debug)]
pub(crate) struct Housekeeper {
    shared: Arc<Shared>,
    syncing: Mutex<Option<JoinHandle<()>>>,
    maintaining: Mutex<Option<JoinHandle<()>>>,
    tending: Mutex<Option<JoinHandle<()>>>,
    giving_back: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    inner: Arc<Inner>,
    wanted: Mutex<Wanted>,
    /// What each thread waits for: to wake one for nothing costs as much as a short commit.
    syncing: Condvar,
    maintaining: Condvar,
    tending: Condvar,
}

#[derive(Debug, Default)]
struct Wanted {
    sync: bool,
    /// There is so much to sync that it should not wait for more.
    sync_now: bool,
    /// The next segment is to be prepared.
    spare: bool,
    maintenance: bool,
    /// There is so much to seal that it should not wait for more.
    maintenance_now: bool,
    /// The lock is kept, and has to be looked after.
    tending: bool,
    stop: bool,
}

impl Housekeeper {
    pub(crate) fn new(inner: Arc<Inner>) -> Housekeeper {
        let [syncing, maintaining, tending] = std::array::from_fn(|_| Condvar::new());
        let shared = Shared { inner, wanted: Mutex::default(), syncing, maintaining, tending };
        Housekeeper {
            shared: Arc::new(shared),
            syncing: Mutex::default(),
            maintaining: Mutex::default(),
            tending: Mutex::default(),
            giving_back: Mutex::default(),
        }
    }

    /// Drops what nobody needs any more, beside who goes on.
    pub(crate) fn give_back(&self, spent: Spent) {
        if spent.is_empty() || !self.shared.inner.options.background {
            return;
        }
        let mut thread = self.giving_back.lock().unwrap_or_else(PoisonError::into_inner);
        // What the last call gave is gone before this one takes as much again.
        let _ = thread.take().map(JoinHandle::join);
        let named = std::thread::Builder::new().name("sapwood-giving-back".to_owned());
        // Where no thread can be had, it is dropped here.
        *thread = named.spawn(move || drop(spent)).ok();
    }

    #[cfg(test)]
    pub(crate) fn end_soon(&self) {
        self.shared.wanted().stop = true;
    }

    /// Asks for a sync within a second; at once, if there is much to sync: who rotates next would
    /// wait for all of it.
    pub(crate) fn sync_soon(&self, is_much: bool) {
        let mut wanted = self.shared.wanted();
        let is_asked = wanted.sync && (wanted.sync_now || !is_much);
        wanted.sync = true;
        wanted.sync_now |= is_much;
        drop(wanted);
        if !is_asked {
            self.wake_syncing();
        }
    }

    /// Asks for what is due after a commit.
    pub(crate) fn look_after(&self) {
        let state = self.shared.inner.state();
        let is_asked = self.shared.wanted().spare;
        if !is_asked && self.shared.inner.spare_due(&state) {
            self.prepare_soon();
        }
        if seal::is_due(&state) {
            self.maintain_soon(self.shared.inner.is_pressing(&state));
        }
    }

    fn wake_syncing(&self) {
        self.wake(&self.syncing, &self.shared.syncing, "sapwood-syncing", Shared::sync_late);
    }

    /// Asks for the next segment.
    fn prepare_soon(&self) {
        if !std::mem::replace(&mut self.shared.wanted().spare, true) {
            self.wake_syncing();
        }
    }

    /// Asks for maintenance, at once if there is much to seal.
    fn maintain_soon(&self, is_much: bool) {
        let mut wanted = self.shared.wanted();
        let is_asked = wanted.maintenance && (wanted.maintenance_now || !is_much);
        wanted.maintenance = true;
        wanted.maintenance_now |= is_much;
        drop(wanted);
        if !is_asked {
            let (thread, changed) = (&self.maintaining, &self.shared.maintaining);
            self.wake(thread, changed, "sapwood-maintaining", Shared::maintain);
        }
    }

    /// Asks for somebody to look after the lock that is kept. Where there is no thread for it, it
    /// is given back.
    pub(crate) fn tend_soon(&self) {
        self.shared.inner.untended.store(false, Ordering::Relaxed);
        let (thread, changed) = (&self.tending, &self.shared.tending);
        if !std::mem::replace(&mut self.shared.wanted().tending, true)
            && !self.wake(thread, changed, "sapwood-tending", Shared::tend)
        {
            self.shared.wanted().tending = false;
            self.shared.inner.stop_keeping();
        }
    }

    /// Wakes a thread, or makes it, and says whether there is one.
    fn wake(
        &self,
        thread: &Mutex<Option<JoinHandle<()>>>,
        changed: &Condvar,
        name: &str,
        work: fn(&Shared),
    ) -> bool {
        if !self.shared.inner.options.background {
            return false;
        }
        let mut thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has panicked is replaced; the next request is its work too.
        if thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let shared = Arc::clone(&self.shared);
            let named = std::thread::Builder::new().name(name.to_owned());
            // Where no thread can be had, the work waits for the drop.
            *thread = named.spawn(move || work(&shared)).ok();
        }
        changed.notify_one();
        thread.is_some()
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        self.shared.wanted().stop = true;
        let Shared { syncing, maintaining, tending, .. } = &*self.shared;
        [syncing, maintaining, tending].into_iter().for_each(Condvar::notify_one);
        let join = |thread: &mut Mutex<Option<JoinHandle<()>>>| {
            let thread = thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            thread.is_some_and(|thread| thread.join().is_err())
        };
        join(&mut self.tending);
        // Before what may take long.
        self.shared.inner.stop_keeping();
        join(&mut self.maintaining);
        if join(&mut self.syncing) {
            // It panicked, perhaps before its sync was done.
            self.shared.wanted().sync = true;
        }
        self.shared.finish();
        join(&mut self.giving_back);
    }
}

impl Shared {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is wanted; `None` when it is time to end.
    fn next(
        &self,
        changed: &Condvar,
        is_wanted: fn(&Wanted) -> bool,
    ) -> Option<MutexGuard<'_, Wanted>> {
        let idle = |wanted: &mut Wanted| !wanted.stop && !is_wanted(wanted);
        let wanted = changed.wait_while(self.wanted(), idle);
        Some(wanted.unwrap_or_else(PoisonError::into_inner)).filter(|wanted| !wanted.stop)
    }

    fn sync_late(&self) {
        while let Some(wanted) = self.next(&self.syncing, |wanted| wanted.sync || wanted.spare) {
            let idle = |wanted: &mut Wanted| !wanted.stop && !wanted.sync_now && !wanted.spare;
            let (mut wanted, _) = self
                .syncing
                .wait_timeout_while(wanted, SYNC_DELAY, idle)
                .unwrap_or_else(PoisonError::into_inner);
            let (is_sync, is_spare) = (wanted.sync, wanted.spare);
            (wanted.sync, wanted.sync_now) = (false, false);
            drop(wanted);
            if is_spare {
                // Where it can't be prepared, the next commit asks again.
                let _ = self.inner.prepare_spare();
                self.wanted().spare = false;
            }
            if is_sync {
                // A failed sync closes the handle: the next commit says so.
                let _ = self.inner.sync();
            }
        }
    }

    /// Does the maintenance, unless it failed under the same manifest or another process was at it:
    /// then it waits for the next manifest.
    fn maintain(&self) {
        let mut tried_generation = None;
        while let Some(wanted) = self.next(&self.maintaining, |wanted| wanted.maintenance) {
            let idle = |wanted: &mut Wanted| !wanted.stop && !wanted.maintenance_now;
            let (mut wanted, _) = self
                .maintaining
                .wait_timeout_while(wanted, SEAL_DELAY, idle)
                .unwrap_or_else(PoisonError::into_inner);
            if wanted.stop {
                // What is wanted is done at the end.
                return;
            }
            if !wanted.maintenance_now && self.inner.is_in_bulk() {
                // Who writes so much needs all processors for itself.
                continue;
            }
            (wanted.maintenance, wanted.maintenance_now) = (false, false);
            drop(wanted);
            let generation = Some(self.inner.state().manifest.generation);
            if tried_generation != generation && !matches!(self.inner.maintain(), Ok(true)) {
                tried_generation = generation;
            }
        }
    }

    /// Looks after the lock as long as it is kept.
    fn tend(&self) {
        while let Some(wanted) = self.next(&self.tending, |wanted| wanted.tending) {
            let (mut wanted, _) = self
                .tending
                .wait_timeout_while(wanted, TEND_PAUSE, |wanted| !wanted.stop)
                .unwrap_or_else(PoisonError::into_inner);
            // Before it is looked at: one that is kept from then on asks again.
            wanted.tending = false;
            drop(wanted);
            if self.inner.tend() {
                self.wanted().tending = true;
            }
        }
    }

    /// Does what is still wanted.
    fn finish(&self) {
        let wanted = std::mem::take(&mut *self.wanted());
        if wanted.sync {
            let _ = self.inner.sync();
        }
        if wanted.spare && self.inner.options.background {
            let _ = self.inner.prepare_spare();
        }
        if wanted.maintenance && self.inner.options.background {
            let _ = self.inner.maintain();
        }
    }
}

#[cfg(test)]
mod tests;
