//! Walking the history: paths, ancestry, reachability, transcripts. On any snapshot.
//!
//! The first parent is the path; further parents are what was merged in. `depth` counts first
//! parents only, so it orders a path and nothing else: no walk here takes it, or the time, for a
//! proof of who came first. They only decide what is looked at next.
//!
//! Hashes make no circles, but a damaged graph file could: a walk that meets one ends with an error
//! or at what it has seen. Nothing recurses.

mod ancestry;
mod common;
mod joined;
mod transcript;

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::{Snapshot, Topology};

pub use ancestry::{Ancestors, ancestors};
pub use common::{is_ancestor, is_on_path, merge_bases};
pub use joined::{check_transcript, cut_run, told};
pub use transcript::{
    BRANCH, Item, Items, MOVE, is_turn, read_run, run_count, run_tips, transcript,
    transcript_items, transcript_since, turn_count,
};

/// How many ids a path asks for at first, and at the most.
const PATH_BATCH_MIN: usize = 4;
const PATH_BATCH_MAX: usize = 4096;

/// How many objects are looked up together when all links are followed.
const REACH_BATCH: usize = 1024;

/// Walks first parents, from an object (included) back to the root.
pub fn path(snapshot: &dyn Snapshot, from: Id) -> Path<'_> {
    Path {
        snapshot,
        batch: Vec::new().into_iter(),
        batch_size: PATH_BATCH_MIN,
        next: Some(Next::From(from)),
        landmark: None,
        steps: 0,
    }
}

/// The ids of a path, newest first.
pub struct Path<'a> {
    snapshot: &'a dyn Snapshot,
    batch: std::vec::IntoIter<Id>,
    batch_size: usize,
    next: Option<Next>,
    /// An id passed some steps ago; to meet it again is to walk in a circle.
    landmark: Option<Id>,
    steps: u64,
}

/// Where the next batch of a path begins.
#[derive(Clone, Copy)]
enum Next {
    From(Id),
    After(Id),
}

impl Path<'_> {
    fn refill(&mut self, next: Next) -> Result<()> {
        let limit = self.batch_size;
        let (mut ids, known) = match next {
            Next::From(id) => (self.snapshot.path(&id, limit)?, 0),
            Next::After(id) => (self.snapshot.path(&id, limit + 1)?, 1),
        };
        if ids.len() == limit + known {
            self.next = ids.last().map(|last| Next::After(*last));
        }
        ids.drain(..known.min(ids.len()));
        self.batch = ids.into_iter();
        self.batch_size = (4 * self.batch_size).min(PATH_BATCH_MAX);
        Ok(())
    }

    /// Remembers an id at each power of two, so that any circle is met within twice its length.
    fn check_circle(&mut self, id: Id) -> Result<()> {
        if self.landmark == Some(id) {
            return Err(circle(&id));
        }
        self.steps += 1;
        if self.steps.is_power_of_two() {
            self.landmark = Some(id);
        }
        Ok(())
    }
}

impl Iterator for Path<'_> {
    type Item = Result<Id>;

    fn next(&mut self) -> Option<Result<Id>> {
        let id = match self.batch.next() {
            Some(id) => id,
            None => {
                let next = self.next.take()?;
                if let Err(error) = self.refill(next) {
                    return Some(Err(error));
                }
                self.batch.next()?
            }
        };
        if let Err(error) = self.check_circle(id) {
            self.batch = Vec::new().into_iter();
            self.next = None;
            return Some(Err(error));
        }
        Some(Ok(id))
    }
}

/// Collects everything that these objects lead to by any link, themselves included.
pub fn reachable(snapshot: &dyn Snapshot, roots: &[Id]) -> Result<HashSet<Id>> {
    let mut seen = HashSet::new();
    let mut open: Vec<Id> = roots.iter().copied().filter(|id| seen.insert(*id)).collect();
    while !open.is_empty() {
        let batch = open.split_off(open.len().saturating_sub(REACH_BATCH));
        for (id, kind) in batch.iter().zip(snapshot.kinds(&batch)?) {
            let links = match kind {
                None => return Err(Error::ObjectMissing { id: *id }),
                Some(Kind::Blob) => continue,
                Some(_) => links(snapshot, id)?,
            };
            open.extend(links.into_iter().filter(|link| seen.insert(*link)));
        }
    }
    Ok(seen)
}

/// Lists the objects of which this one is a parent, oldest first. Looks at the whole graph.
pub fn children(snapshot: &dyn Snapshot, id: &Id) -> Result<Vec<Id>> {
    let mut found = Vec::new();
    snapshot.for_each(&mut |child, topology| {
        if topology.parents.contains(id) {
            found.push((topology.time, *child));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, child)| child).collect())
}

/// Gives every object that this one points to.
fn links(snapshot: &dyn Snapshot, id: &Id) -> Result<Vec<Id>> {
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    Ok(NewObject::parse(stored.kind, stored.content.to_vec())?.links)
}

fn topology(snapshot: &dyn Snapshot, id: &Id) -> Result<Topology> {
    let topology = snapshot.topology(id)?;
    topology.ok_or(Error::ObjectMissing { id: *id })
}

fn circle(id: &Id) -> Error {
    Error::corrupt(format!("the history of object {id}"), None, "it runs in a circle")
}

#[cfg(test)]
mod tests;
