//! A store, opened: reading objects, building transactions, resolving revisions.
//!
//! A [`Repo`] is a handle that costs nothing to clone. Every method that reads takes a fresh
//! snapshot; who asks several questions about one moment takes a [`Repo::snapshot`] and uses the
//! functions beside it ([`read`], [`resolve`], [`crate::walk`]).
//!
//! Not here: sessions, branches and memory as a model; they are built on this.

mod place;
mod read;
mod resolve;
mod revision;
mod transaction;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::Value;
use crate::disk::{Disk, OsDisk};
use crate::error::Result;
use crate::id::Id;
use crate::object::{Entry, Event, Node, Object, Session};
use crate::store::local::{LocalStore, Options, STORE_DIR_NAME};
use crate::store::memory::MemoryStore;
use crate::store::{Durability, RefName, RefValue, Snapshot, Store, Transaction};
use crate::walk;

pub use place::{Place, find_session, head_branch, named_session};
pub(crate) use read::as_kind;
pub use read::{body, read, read_entry, read_event, read_node, read_session, restored};
pub use resolve::{MESSAGE_LABELS, ResolvedRange, resolve, resolve_range};
pub use revision::{Base, Range, Revision, Step};
pub use transaction::TransactionBuilder;

/// A store, opened.
#[derive(Clone, Debug)]
pub struct Repo {
    store: Arc<dyn Store>,
}

/// Opening.
impl Repo {
    /// Works on this store.
    pub fn on(store: Arc<dyn Store>) -> Repo {
        Repo { store }
    }

    /// Works on a new store in memory.
    pub fn in_memory() -> Repo {
        Repo::on(Arc::new(MemoryStore::new()))
    }

    /// Makes a store in this directory, or opens the one that is there.
    pub fn init(path: &Path, options: Options) -> Result<Repo> {
        let (store, _) = LocalStore::init(Arc::new(OsDisk), path, options)?;
        Ok(Repo::on(Arc::new(store)))
    }

    /// Opens the store in this directory.
    pub fn open(path: &Path, options: Options) -> Result<Repo> {
        Ok(Repo::on(Arc::new(LocalStore::open(Arc::new(OsDisk), path, options)?)))
    }

    /// Finds the nearest `.sapwood` from `start` upwards.
    ///
    /// One that cannot be opened is found too: whoever works there shall learn of it, and not work
    /// on another store without knowing.
    pub fn discover(start: &Path) -> Option<PathBuf> {
        let missing = |path: &PathBuf| {
            OsDisk.len(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let mut candidates = start.ancestors().map(|above| above.join(STORE_DIR_NAME));
        candidates.find(|path| !missing(path))
    }

    /// Gives the store itself.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

/// Reading.
impl Repo {
    /// Fixes what has been committed up to now.
    pub fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        self.store.snapshot()
    }

    /// Reads an object.
    pub fn get(&self, id: &Id) -> Result<Object> {
        read(&*self.snapshot()?, id)
    }

    /// Reads an entry.
    pub fn entry(&self, id: &Id) -> Result<Entry> {
        read_entry(&*self.snapshot()?, id)
    }

    /// Reads a node of the memory tree.
    pub fn node(&self, id: &Id) -> Result<Node> {
        read_node(&*self.snapshot()?, id)
    }

    /// Reads an event.
    pub fn event(&self, id: &Id) -> Result<Event> {
        read_event(&*self.snapshot()?, id)
    }

    /// Reads a session's metadata.
    pub fn session(&self, id: &Id) -> Result<Session> {
        read_session(&*self.snapshot()?, id)
    }

    /// Reads an entry's or event's body with its long strings put back.
    pub fn body(&self, id: &Id) -> Result<Value> {
        body(&*self.snapshot()?, id)
    }

    /// Reads one ref, not following symbolic ones.
    pub fn reference(&self, name: &RefName) -> Result<Option<RefValue>> {
        self.snapshot()?.reference(name)
    }
}

/// Finding and walking.
impl Repo {
    /// Finds the object that a revision names, seen from the store's current session.
    pub fn resolve(&self, revision: &str) -> Result<Id> {
        self.resolve_at(&Place::default(), revision)
    }

    /// Finds the object that a revision names, seen from a place.
    pub fn resolve_at(&self, place: &Place, revision: &str) -> Result<Id> {
        resolve(&*self.snapshot()?, place, revision)
    }

    /// Finds both ends of `A..B`; a single revision hides nothing.
    pub fn range_at(&self, place: &Place, range: &str) -> Result<ResolvedRange> {
        resolve_range(&*self.snapshot()?, place, range)
    }

    /// Lists the path from an object back to its root, newest first.
    pub fn path(&self, from: &Id) -> Result<Vec<Id>> {
        walk::path(&*self.snapshot()?, *from).collect()
    }

    /// Finds the best common ancestors of two objects.
    pub fn merge_bases(&self, one: &Id, other: &Id) -> Result<Vec<Id>> {
        walk::merge_bases(&*self.snapshot()?, one, other)
    }
}

/// Writing.
impl Repo {
    /// Begins a transaction.
    pub fn transaction(&self) -> TransactionBuilder {
        TransactionBuilder::new(self.clone())
    }

    /// Commits what `plan` makes of the current state, whole or not at all.
    pub fn commit(
        &self,
        durability: Durability,
        plan: &mut dyn FnMut(&dyn Snapshot) -> Result<Transaction>,
    ) -> Result<()> {
        self.store.commit(durability, plan)
    }
}
