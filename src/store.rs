//! What everything above depends on: a place that keeps objects and refs.
//!
//! A [`Store`] gives [`Snapshot`]s, which never change, and takes [`Transaction`]s, which happen
//! whole or not at all. Local disk ([`local`]) and memory ([`memory`]) are behind the same traits.
//!
//! Invariants, kept by every store:
//! - a ref or an object never points to an object that the store does not have;
//! - the content that `get` returns hashes to the id that was asked for;
//! - a snapshot is a prefix of what was committed, of all refs and objects alike.

pub mod local;
pub mod memory;
mod reference;
mod transaction;

use std::fmt;
use std::io::Read;
use std::ops::{ControlFlow, Deref, Range};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};

pub use crate::object::NewObject;
use crate::object::Session;
pub use reference::{NAMED_CLASSES, RefName, RefValue, SYMBOLIC_DEPTH_MAX, resolve};
pub use transaction::{Expected, Operation, OperationRecord, RefMove, RefUpdate, Transaction};

/// The largest object, in bytes of content.
pub const OBJECT_BYTES_MAX: u64 = 2 << 30;

/// When a transaction is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After it, and all that it observed, is on disk.
    #[default]
    Full,
    /// Before that; the sync follows within a second and at close. A killed process loses nothing;
    /// a power cut may lose the last moments, never the consistency.
    Relaxed,
}

/// Keeps objects and refs.
pub trait Store: fmt::Debug + Send + Sync {
    /// Fixes what has been committed up to now.
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>>;

    /// Commits what `plan` makes of the current state, whole or not at all.
    ///
    /// The plan sees the state that its transaction will follow, and may be called again when
    /// somebody else was faster. It must not call the store.
    fn commit(
        &self,
        durability: Durability,
        plan: &mut dyn FnMut(&dyn Snapshot) -> Result<Transaction>,
    ) -> Result<()>;

    /// Stores a blob of known length without holding it in memory, durably, and gives its id.
    fn put_blob(&self, source: &mut dyn Read, bytes: u64) -> Result<Id>;

    /// Stores an object alone, durably, outside any transaction: for plumbing.
    fn put_alone(&self, object: &NewObject) -> Result<()>;

    /// Makes everything durable that was committed through this handle.
    fn sync(&self) -> Result<()>;
}

/// What is done with each object of a walk.
pub type Visit<'a> = &'a mut dyn FnMut(&Id, &Stored) -> Result<ControlFlow<()>>;

/// Says whether bytes hold what is looked for.
pub type Finds<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// What was committed up to some moment.
pub trait Snapshot: Send + Sync {
    /// Reads an object, checked against its id.
    fn get(&self, id: &Id) -> Result<Option<Stored>>;

    /// Reads one of many objects, checked as those of a walk are: against its id, or with the block
    /// it lies in.
    fn read_among(&self, id: &Id) -> Result<Option<Stored>> {
        self.get(id)
    }

    /// Looks at all entries and blobs that are quicker read together than one by one, checked as
    /// those of a walk are, and says of each of some entries whether something was found in it, or
    /// in a blob that it links; `None` of what was not looked at.
    ///
    /// `list` gives these entries, while another thread begins to look. Where there are no such
    /// objects, it is not asked, and nothing is said.
    fn sift(
        &self,
        finds: Finds<'_>,
        list: &mut dyn FnMut() -> Vec<Id>,
    ) -> Option<Vec<Option<bool>>> {
        let _ = (finds, list);
        None
    }

    /// Opens a large object, to be read piece by piece; `None` if it is small or not there. What
    /// is read is not checked against the id: whoever reads it does that.
    fn stream(&self, id: &Id) -> Result<Option<Streamed>> {
        let _ = id;
        Ok(None)
    }

    /// Gives the kind of each object, where it is in the store.
    fn kinds(&self, ids: &[Id]) -> Result<Vec<Option<Kind>>>;

    /// Says whether an object may be linked: one that was set aside to be removed may not.
    ///
    /// What it leads to is in the store, too.
    fn holds(&self, id: &Id) -> Result<bool> {
        Ok(self.kinds(&[*id])?[0].is_some())
    }

    /// Refuses an object that was removed from the store for good.
    fn admit(&self, id: &Id, kind: Kind) -> Result<()> {
        let _ = (id, kind);
        Ok(())
    }

    /// Says of each object whether it need not be written again. It may say no of one that is
    /// there, where that is quicker.
    fn known(&self, objects: &[NewObject]) -> Result<Vec<bool>> {
        let ids: Vec<Id> = objects.iter().map(|object| object.id).collect();
        Ok(self.kinds(&ids)?.iter().map(Option::is_some).collect())
    }

    /// Gives what is known of an object's place in the history, without its body.
    fn topology(&self, id: &Id) -> Result<Option<Topology>>;

    /// Gives how many first parents an object has.
    fn depth(&self, id: &Id) -> Result<Option<u64>> {
        Ok(self.topology(id)?.map(|topology| topology.depth))
    }

    /// Lists up to `limit` ids that begin with a prefix, in order.
    fn with_prefix(&self, prefix: &Prefix, limit: usize) -> Result<Vec<Id>>;

    /// Visits every object once, in no promised order, until told to stop.
    fn for_each(
        &self,
        visit: &mut dyn FnMut(&Id, &Topology) -> Result<ControlFlow<()>>,
    ) -> Result<()>;

    /// Reads one ref, not following symbolic ones.
    fn reference(&self, name: &RefName) -> Result<Option<RefValue>>;

    /// Lists the refs whose name begins with `prefix`, sorted by name.
    fn references(&self, prefix: &str) -> Result<Vec<(RefName, RefValue)>>;

    /// Lists the ids of all sessions, sorted.
    fn session_ids(&self) -> Result<Vec<String>> {
        let refs = self.references("sessions/")?;
        let named = refs.iter().filter_map(|(name, _)| name.session());
        let with_meta = named.filter(|(_, rest)| *rest == "meta");
        let mut ids: Vec<String> = with_meta.map(|(session, _)| session.to_owned()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Lists the ids of all sessions with this name, sorted. One whose metadata can't be read has
    /// none.
    fn sessions_named(&self, name: &str) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for (meta, value) in self.references("sessions/")? {
            if let Some((session, "meta")) = meta.session()
                && session_name(self, &value).is_ok_and(|found| found.as_deref() == Some(name))
            {
                ids.push(session.to_owned());
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Visits the operations, newest first, until told to stop.
    fn operations(
        &self,
        visit: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<()>;

    /// Reads the objects along first parents from `from` (included), until told to stop.
    fn read_path(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let mut next = Some(*from);
        while let Some(id) = next {
            let stored = self.get(&id)?.ok_or(Error::ObjectMissing { id })?;
            if visit(&id, &stored)?.is_break() {
                break;
            }
            let topology = self.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            next = topology.parents.first().copied();
        }
        Ok(())
    }

    /// Follows first parents from `from` (included), up to `limit` ids.
    fn path(&self, from: &Id, limit: usize) -> Result<Vec<Id>> {
        let mut path = Vec::new();
        let mut next = Some(*from);
        while let Some(id) = next
            && path.len() < limit
        {
            let topology = self.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            path.push(id);
            next = topology.parents.first().copied();
        }
        Ok(path)
    }

    /// Follows first parents as [`Snapshot::path`] does, and gives the label of each object too.
    fn labels(&self, from: &Id, limit: usize) -> Result<Vec<(Id, Arc<str>)>> {
        let path = self.path(from, limit)?.into_iter();
        let labelled = path.map(|id| {
            let topology = self.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            Ok((id, topology.label))
        });
        labelled.collect()
    }

    /// Finds the first object with one of these labels among up to `limit` that
    /// [`Snapshot::path`] gives.
    fn nearest(&self, from: &Id, labels: &[&str], limit: usize) -> Result<Option<Id>> {
        let path = self.labels(from, limit)?;
        Ok(path.into_iter().find(|(_, found)| labels.contains(&&**found)).map(|(id, _)| id))
    }
}

/// Reads the name that a session's metadata gives it.
fn session_name<S: Snapshot + ?Sized>(snapshot: &S, meta: &RefValue) -> Result<Option<String>> {
    let RefValue::Id(id) = meta else {
        return Ok(None);
    };
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    match stored.kind {
        Kind::Session => Ok(Session::decode(&stored.content)?.name),
        _ => Ok(None),
    }
}

/// An object as read: its kind and its content.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The kind.
    pub kind: Kind,
    /// The content, without the header.
    pub content: Content,
}

/// A large object while it is read.
pub struct Streamed {
    /// The kind.
    pub kind: Kind,
    /// How long its content is.
    pub bytes: u64,
    /// The content, without the header.
    pub content: Box<dyn Read + Send>,
}

/// Bytes that may be part of a larger shared buffer.
#[derive(Clone)]
pub struct Content {
    buffer: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Content {
    /// Takes part of a shared buffer.
    ///
    /// # Panics
    /// If the range is not within the buffer.
    pub fn part(buffer: Arc<Vec<u8>>, range: Range<usize>) -> Content {
        assert!(range.start <= range.end && range.end <= buffer.len(), "range within the buffer");
        Content { buffer, range }
    }

    /// Takes another part of the same buffer.
    ///
    /// # Panics
    /// If the range is not within the buffer.
    pub(crate) fn set_range(&mut self, range: Range<usize>) {
        assert!(
            range.start <= range.end && range.end <= self.buffer.len(),
            "range within the buffer"
        );
        self.range = range;
    }

    /// Gives the buffer that it is a part of.
    pub(crate) fn into_buffer(self) -> Arc<Vec<u8>> {
        self.buffer
    }

    /// Gives how long the buffer is that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Grows to the end of another part of the same buffer, if that begins so many bytes behind it.
    pub(crate) fn join(&mut self, next: &Content, gap: usize) -> bool {
        let is_next = self.shares_with(next) && self.range.end + gap == next.range.start;
        self.range.end = if is_next { next.range.end } else { self.range.end };
        is_next
    }

    /// Says whether another is a part of the same buffer.
    pub(crate) fn shares_with(&self, other: &Content) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        let range = 0..bytes.len();
        Content { buffer: Arc::new(bytes), range }
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Content({} bytes)", self.range.len())
    }
}

/// An object's place in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The kind.
    pub kind: Kind,
    /// An entry's or event's type; empty for the other kinds.
    pub label: Arc<str>,
    /// What it follows: an entry's or node's parents, an event's priors.
    pub parents: Vec<Id>,
    /// Milliseconds since 1970; zero for a blob.
    pub time: i64,
    /// How many first parents lie before it.
    pub depth: u64,
}
