//! The begin of a walk: objects that lie next to each other in a block, found without an index.
//!
//! Who reads the end of a long path pays most for the pages of index and graph that it touches:
//! each is hashed when it is first used, and objects that follow each other on a path have rows on
//! different pages. But they were written one after the other. So the first steps look at the
//! object before this one in its block, and take it if its hash is the parent's id.
//!
//! Not here: the rest of a longer walk, which goes by rows.

use std::sync::Arc;

use super::{LocalSnapshot, Place};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object;
use crate::store::local::pack::{Pack, Span};
use crate::store::{Snapshot, Stored, Visit};

/// How many steps are taken so at the most.
const STEPS_MAX: usize = 256;
/// As many are taken in any pack, and one more for so many objects in it: a step hashes an object
/// where rows would hash up to three pages, until all pages were hashed.
const STEPS_MIN: usize = 16;
const STEP_OBJECTS: usize = 64;
/// A larger object is looked up: hashing it takes as long as hashing the pages.
const HASHED_BYTES_MAX: usize = 8 << 10;
/// So often something else may lie before an object; then its path is taken to be scattered.
const MISSES_MAX: usize = 2;

impl LocalSnapshot {
    /// Reads the first objects along first parents, and gives the id of the first that was not
    /// read; `None` at the end of the path, or where the visitor wants no more.
    pub(super) fn walk_near(&self, from: &Id, visit: Visit<'_>) -> Result<Option<Id>> {
        let mut id = *from;
        let (mut steps, mut misses) = (0, 0);
        loop {
            let Some(Place::Pack(pack, row)) = self.find(&id)? else {
                let stored = self.get(&id)?.ok_or(Error::ObjectMissing { id })?;
                if visit(&id, &stored)?.is_break() {
                    return Ok(None);
                }
                match first_parent(&stored)? {
                    Some(parent) => id = parent,
                    None => return Ok(None),
                }
                continue;
            };
            let mut near = self.near_in(pack, row)?;
            loop {
                let stored = near.span.stored(&near.block);
                if visit(&id, &stored)?.is_break() {
                    return Ok(None);
                }
                match first_parent(&stored)? {
                    Some(parent) => id = parent,
                    None => return Ok(None),
                }
                steps += 1;
                if steps >= steps_max(pack) || misses >= MISSES_MAX {
                    return Ok(Some(id));
                }
                match near.step(&id) {
                    Step::Taken => {}
                    Step::BlockBegins => break,
                    Step::Missed => {
                        misses += 1;
                        break;
                    }
                }
            }
        }
    }

    /// Reads an object that lies where the index says, in a block that is as it was written.
    pub(super) fn read_in(&self, pack: &Pack, row: u32) -> Result<Stored> {
        let near = self.near_in(pack, row)?;
        Ok(near.span.stored(&near.block))
    }

    fn near_in(&self, pack: &Pack, row: u32) -> Result<Near> {
        let position = pack.position(row)?;
        let block = pack.block_of(position.block, &self.inner.cache, true)?;
        let span = pack.span_at(&block, row, &position)?;
        Ok(Near { block, span, before: None })
    }
}

fn steps_max(pack: &Pack) -> usize {
    (STEPS_MIN + pack.len() as usize / STEP_OBJECTS).min(STEPS_MAX)
}

fn first_parent(stored: &Stored) -> Result<Option<Id>> {
    object::first_parent(stored.kind, &stored.content)
}

/// An object in its block, and what lies before it there.
struct Near {
    block: Arc<Vec<u8>>,
    span: Span,
    /// The objects before it, in their order.
    before: Option<Vec<Span>>,
}

/// What lies before an object.
enum Step {
    /// Its parent, which is in its place now.
    Taken,
    /// Nothing of its kind.
    BlockBegins,
    /// Something else.
    Missed,
}

impl Near {
    fn step(&mut self, parent: &Id) -> Step {
        let kind = self.span.kind;
        let before = self.before.get_or_insert_with(|| spans(&self.block, self.span.start));
        while before.last().is_some_and(|span| span.kind != kind) {
            before.pop();
        }
        let Some(span) = before.pop() else {
            return Step::BlockBegins;
        };
        match span.content.len() <= HASHED_BYTES_MAX && span.id(&self.block) == *parent {
            true => {
                self.span = span;
                Step::Taken
            }
            false => Step::Missed,
        }
    }
}

/// Lists the objects of a block up to an offset.
fn spans(block: &[u8], end: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = 0;
    while start < end
        && let Some(span) = Span::at(block, start)
    {
        start = span.content.end;
        spans.push(span);
    }
    spans
}
