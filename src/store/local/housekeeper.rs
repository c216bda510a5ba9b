//! The thread that does what nobody should wait for: late syncs, sealing, preparing segments.
//!
//! It begins with the first request, and ends, its work done, when the store is dropped. Without
//! [`Options::background`](super::Options::background) there is no thread, and the work is left to
//! the drop and to the next maintenance.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::store::local::Inner;

/// How long a relaxed commit may stay unsynced.
const SYNC_DELAY: Duration = Duration::from_millis(500);

/// Asks for work and ends it.
#[derive(Debug)]
pub(crate) struct Housekeeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    inner: Arc<Inner>,
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Wanted {
    sync: bool,
    maintenance: bool,
    stop: bool,
}

impl Housekeeper {
    pub(crate) fn new(inner: Arc<Inner>) -> Housekeeper {
        let shared = Shared { inner, wanted: Mutex::default(), changed: Condvar::new() };
        Housekeeper { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// Asks for a sync within a second.
    pub(crate) fn sync_soon(&self) {
        self.ask(|wanted| !std::mem::replace(&mut wanted.sync, true));
    }

    /// Asks for maintenance.
    pub(crate) fn maintain_soon(&self) {
        self.ask(|wanted| !std::mem::replace(&mut wanted.maintenance, true));
    }

    fn ask(&self, note: impl FnOnce(&mut Wanted) -> bool) {
        let news = note(&mut self.shared.wanted());
        if !news || !self.shared.inner.options.background {
            return;
        }
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let named = std::thread::Builder::new().name("sapwood-housekeeper".to_owned());
            // Where no thread can be had, the work waits for the drop.
            *thread = named.spawn(move || shared.work()).ok();
        }
        self.shared.changed.notify_one();
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        self.shared.wanted().stop = true;
        self.shared.changed.notify_one();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        match thread {
            Some(thread) => drop(thread.join()),
            None => self.shared.finish(),
        }
    }
}

impl Shared {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut tried_generation = None;
        loop {
            let mut wanted = self.wanted();
            while !(wanted.sync || wanted.maintenance || wanted.stop) {
                wanted = self.changed.wait(wanted).unwrap_or_else(PoisonError::into_inner);
            }
            if wanted.stop {
                drop(wanted);
                return self.finish();
            }
            if std::mem::take(&mut wanted.maintenance) {
                drop(wanted);
                self.maintain(&mut tried_generation);
                continue;
            }
            let (mut wanted, _) = self
                .changed
                .wait_timeout_while(wanted, SYNC_DELAY, |wanted| !wanted.stop)
                .unwrap_or_else(PoisonError::into_inner);
            wanted.sync = false;
            drop(wanted);
            // A failed sync closes the handle: the next commit says so.
            let _ = self.inner.sync();
        }
    }

    /// Does the maintenance, unless it failed under the same manifest or another process was at it:
    /// then it waits for the next manifest.
    fn maintain(&self, tried_generation: &mut Option<u64>) {
        let generation = Some(self.inner.state().manifest.generation);
        if *tried_generation != generation && !matches!(self.inner.maintain(), Ok(true)) {
            *tried_generation = generation;
        }
    }

    /// Does what is still wanted.
    fn finish(&self) {
        let wanted = std::mem::take(&mut *self.wanted());
        if wanted.sync {
            let _ = self.inner.sync();
        }
        if wanted.maintenance && self.inner.options.background {
            let _ = self.inner.maintain();
        }
    }
}
