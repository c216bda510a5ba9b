//! The threads that do what nobody should wait for: one syncs late and prepares segments, one seals
//! and merges, so that neither a sync nor the next segment waits for a long merge; one looks after
//! the lock while a busy handle keeps it, so that whoever wants it waits for neither; and one gives
//! back what takes a while to drop.
//!
//! Each begins with the first request, and ends, its work done, when the store is dropped. Without
//! [`Options::background`](super::Options::background) there are none, and the work is left to the
//! drop and to the next maintenance.

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
        let before = thread.take();
        let named = std::thread::Builder::new().name("sapwood-giving-back".to_owned());
        // Where no thread can be had, it is dropped here.
        *thread = named.spawn(move || drop((before.map(JoinHandle::join), spent))).ok();
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
        join(&mut self.giving_back);
        // Before what may take long.
        self.shared.inner.stop_keeping();
        join(&mut self.maintaining);
        if join(&mut self.syncing) {
            // It panicked, perhaps before its sync was done.
            self.shared.wanted().sync = true;
        }
        self.shared.finish();
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
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use super::*;
    use crate::disk::OsDisk;
    use crate::object::NewObject;
    use crate::store::local::state::State;
    use crate::store::local::{LocalStore, Options};
    use crate::store::{Durability, Snapshot, Store as _, Transaction};

    #[test]
    fn a_thread_that_panicked_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default());
        let housekeeper = store.unwrap().0.housekeeper;
        let thread = &housekeeper.maintaining;
        let changed = &housekeeper.shared.maintaining;
        housekeeper.wake(thread, changed, "panics", |_| panic!("as the test wants it"));
        while !thread.lock().unwrap().as_ref().unwrap().is_finished() {
            std::thread::yield_now();
        }
        housekeeper.wake(thread, changed, "works", |shared| shared.wanted().sync = true);
        let finished = thread.lock().unwrap().take().unwrap().join();
        assert!(finished.is_ok() && housekeeper.shared.wanted().sync);
    }

    #[test]
    fn what_is_given_back_is_gone_when_the_handle_ends() {
        let dir = tempfile::tempdir().unwrap();
        for background in [true, false] {
            let memory = Arc::new(());
            let store = with_short_segments(dir.path(), background);
            for _ in 0..3 {
                store.housekeeper.give_back(vec![Box::new(Arc::clone(&memory))]);
            }
            assert!(background || Arc::strong_count(&memory) == 1, "nobody else drops it");
            drop(store);
            assert_eq!(Arc::strong_count(&memory), 1);
        }
    }

    /// Makes a store in which a few commits close a segment.
    fn with_short_segments(dir: &Path, background: bool) -> LocalStore {
        let options = Options { segment_bytes_min: 4096, background, ..Options::default() };
        LocalStore::init(Arc::new(OsDisk), dir, options).unwrap().0
    }

    /// Waits for something that comes by itself, however slow the machine is.
    fn wait_for(is_there: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_there() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never comes");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn put(store: &LocalStore, byte: u8, bytes: usize) {
        let object = NewObject::blob(vec![byte; bytes]).unwrap();
        let mut plan = |_: &dyn Snapshot| {
            Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
        };
        store.commit(Durability::Relaxed, &mut plan).unwrap();
    }

    fn close_some(store: &LocalStore) {
        (0..3).for_each(|byte| put(store, byte, 3000));
    }

    #[test]
    fn what_is_closed_waits_for_more() {
        let dir = tempfile::tempdir().unwrap();
        let store = with_short_segments(dir.path(), true);
        let begun = Instant::now();
        close_some(&store);
        // However slow the machine is: it is not sealed sooner, and not never.
        wait_for(|| !State::load(store.inner.access(), None).unwrap().packs.is_empty());
        assert!(begun.elapsed() >= SEAL_DELAY, "{:?}", begun.elapsed());
    }

    #[test]
    fn what_is_closed_is_sealed_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let store = with_short_segments(dir.path(), true);
        let inner = Arc::clone(&store.inner);
        close_some(&store);
        drop(store);
        let state = inner.state();
        assert_eq!((state.segments.len(), state.packs.len()), (1, 1));
    }

    #[test]
    fn what_is_closed_presses_when_it_is_as_much_as_a_segment_may_hold() {
        let dir = tempfile::tempdir().unwrap();
        let store = with_short_segments(dir.path(), false);
        close_some(&store);
        let state = store.inner.state();
        assert!(seal::is_due(&state) && !store.inner.is_pressing(&state));
        let closed: u64 = state.segments[..1].iter().map(|segment| segment.bytes()).sum();
        let options =
            Options { segment_bytes_max: closed, background: false, ..Options::default() };
        let store = LocalStore::open(Arc::new(OsDisk), dir.path(), options).unwrap();
        assert!(store.inner.is_pressing(&state));
    }

    #[test]
    fn what_is_closed_waits_as_long_as_large_groups_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let store = with_short_segments(dir.path(), true);
        let is_sealed = || !State::load(store.inner.access(), None).unwrap().packs.is_empty();
        let last_group = |at| *store.inner.last_large_group.lock().unwrap() = at;
        last_group(Some(Instant::now() + Duration::from_secs(3600)));
        close_some(&store);
        std::thread::sleep(2 * SEAL_DELAY);
        assert!(!is_sealed());
        last_group(None);
        wait_for(is_sealed);
    }

    #[test]
    fn a_relaxed_commit_is_synced_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let store = with_short_segments(dir.path(), true);
        let begun = Instant::now();
        put(&store, 1, 100);
        let end = store.inner.state().open_segment().end();
        wait_for(|| store.inner.durable_position() >= end);
        assert!(begun.elapsed() >= SYNC_DELAY, "{:?}", begun.elapsed());
    }

    #[test]
    fn much_that_is_not_synced_waits_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes_min: 4 << 20, ..Options::default() };
        let quiet = Options { background: false, ..options };
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), quiet).unwrap().0;
        let wanted = || {
            let wanted = store.housekeeper.shared.wanted();
            (wanted.sync, wanted.sync_now)
        };
        assert_eq!(wanted(), (false, false));
        put(&store, 0, 100);
        assert_eq!(wanted(), (true, false));
        (1..12).for_each(|byte| put(&store, byte, 200_000));
        assert_eq!(wanted(), (true, true));
    }

    #[test]
    fn the_next_segment_is_there_before_it_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let store = with_short_segments(dir.path(), true);
        put(&store, 1, 3000);
        wait_for(|| store.inner.layout.spare().exists());
    }
}
