//! How far it is: objects that were looked at.

use std::cell::Cell;

use crate::error::Result;
use crate::store::local::LocalStore;

/// After how many objects progress is told.
const STEP: u64 = 1024;

/// How many objects were looked at.
pub(super) struct Seen<'a> {
    tell: &'a dyn Fn(u64, u64),
    done: Cell<u64>,
    total: u64,
}

impl<'a> Seen<'a> {
    /// Begins to count the objects of a store, each of which is looked at so often.
    pub(super) fn of(
        store: &LocalStore,
        times: u64,
        tell: &'a dyn Fn(u64, u64),
    ) -> Result<Seen<'a>> {
        let counts = store.count_objects()?;
        let objects = counts.journal_objects
            + counts.loose_objects
            + counts.packed_objects
            + counts.cruft_objects;
        Ok(Seen { tell, done: Cell::new(0), total: times * objects })
    }

    /// Counts one more.
    pub(super) fn one(&self) {
        let done = self.done.get() + 1;
        self.done.set(done);
        if done.is_multiple_of(STEP) {
            (self.tell)(done, self.total.max(done));
        }
    }
}
