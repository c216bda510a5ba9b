//! Large strings, written ahead of the import by a thread of their own.
//!
//! The store keeps a large object in a file of its own, durable before anything links it; to wait
//! for that takes longer than to read the megabytes around it. So a thread that reads hands large
//! strings on as soon as it has them, and the import waits only for those it is about to commit.
//!
//! Invariant: what fails here is not told: the commit stores the object again, and tells.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::id::Id;
use crate::object::NewObject;
use crate::repo::Repo;

/// Strings that are written ahead. Longer ones are too rare to be held twice.
const BYTES: std::ops::Range<usize> = 256 << 10..8 << 20;

/// How many may wait to be written.
pub(super) const WAITING_MAX: usize = 2;

/// What is known of the strings that were handed on.
#[derive(Default)]
pub(super) struct Large {
    known: Mutex<Known>,
    settled: Condvar,
}

#[derive(Default)]
struct Known {
    /// They are not stored yet.
    waiting: HashSet<Id>,
    /// They are stored, and were not before.
    new: HashSet<Id>,
}

impl Large {
    /// Hands the large ones of some blobs on to be written.
    pub(super) fn hand_on(&self, blobs: &[NewObject], sink: &SyncSender<NewObject>) {
        for blob in blobs.iter().filter(|blob| BYTES.contains(&blob.content().len())) {
            self.known().waiting.insert(blob.id());
            if sink.send(blob.clone()).is_err() {
                self.known().waiting.remove(&blob.id());
            }
        }
    }

    /// Writes what is handed on until nothing more comes.
    pub(super) fn write(&self, repo: &Repo, source: &Receiver<NewObject>) {
        for blob in source {
            let id = blob.id();
            let is_there = || Ok(repo.snapshot()?.kinds(&[id])?[0].is_some());
            let is_new = match is_there() {
                Ok(false) => repo.store().put_alone(&blob).is_ok(),
                Ok(true) | Err::<bool, crate::error::Error>(_) => false,
            };
            let mut known = self.known();
            known.waiting.remove(&id);
            if is_new {
                known.new.insert(id);
            }
            drop(known);
            self.settled.notify_all();
        }
    }

    /// Waits until an object that was handed on is stored, and says whether it was new.
    pub(super) fn is_new(&self, object: &NewObject) -> bool {
        if !BYTES.contains(&object.content().len()) {
            return false;
        }
        let known = self.settled.wait_while(self.known(), |it| it.waiting.contains(&object.id()));
        known.unwrap_or_else(PoisonError::into_inner).new.remove(&object.id())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
