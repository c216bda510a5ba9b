//! Walking: paths by first parent, through whatever containers they lead.
//!
//! Within a pack a walk goes by rows of the graph and never looks an id up; a long one is read ahead by
//! a thread, so that unpacking and what the caller does with it go on at once.

use std::ops::ControlFlow;
use std::sync::mpsc;

use super::{LocalSnapshot, Place};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::cache::Cursor;
use crate::store::local::pack::PathEnd;
use crate::store::{Snapshot, Visit};

/// How many steps a walk looks ahead at the most.
const ROWS_MAX: usize = 1 << 12;
/// A walk longer than this is read ahead by a thread.
const SHORT_WALK: usize = 256;
/// How many objects the thread hands over at once, and how often it may be ahead.
const AHEAD_BATCH: usize = 128;
const AHEAD_BATCHES: usize = 8;

impl LocalSnapshot {
    /// Follows first parents from an object (included), up to `limit` ids.
    pub(super) fn walk_ids(&self, from: &Id, limit: usize) -> Result<Vec<Id>> {
        let mut path = Vec::new();
        let mut next = Some(*from);
        while let Some(id) = next
            && path.len() < limit
        {
            next = match self.find(&id)? {
                Some(Place::Pack(pack, row)) => {
                    let (rows, end) = pack.path(row, limit - path.len())?;
                    for row in rows {
                        path.push(pack.id(row)?);
                    }
                    end.outside()
                }
                _ => {
                    path.push(id);
                    self.first_parent(&id)?
                }
            };
        }
        Ok(path)
    }

    /// Reads the objects along first parents, until told to stop.
    pub(super) fn walk_objects(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let mut count = 0;
        let mut rest = None;
        self.read_along(from, &mut |id, stored| {
            if count == SHORT_WALK {
                rest = Some(*id);
                return Ok(ControlFlow::Break(()));
            }
            count += 1;
            visit(id, stored)
        })?;
        rest.map_or(Ok(()), |id| self.read_ahead(&id, visit))
    }

    /// Reads the objects along first parents, in this thread.
    fn read_along(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let mut cursor = Cursor::new(&self.inner.cache);
        let mut next = Some(*from);
        let mut rows_max = 16;
        while let Some(mut id) = next {
            let Some(Place::Pack(pack, row)) = self.find(&id)? else {
                let stored = self.get(&id)?.ok_or(Error::ObjectMissing { id })?;
                if visit(&id, &stored)?.is_break() {
                    return Ok(());
                }
                next = self.first_parent(&id)?;
                continue;
            };
            let (rows, end) = pack.path(row, rows_max)?;
            rows_max = (rows_max * 4).min(ROWS_MAX);
            for row in rows {
                id = pack.id(row)?;
                let stored = pack.read_with(row, &mut cursor)?;
                if visit(&id, &stored)?.is_break() {
                    return Ok(());
                }
            }
            next = match end {
                PathEnd::Limit => self.first_parent(&id)?,
                end => end.outside(),
            };
        }
        Ok(())
    }

    /// Reads along first parents in a thread, while the caller is busy with what was read.
    fn read_ahead(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let (sender, receiver) = mpsc::sync_channel(AHEAD_BATCHES);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut batch = Vec::with_capacity(AHEAD_BATCH);
                let walked = self.read_along(from, &mut |id, stored| {
                    batch.push((*id, stored.clone()));
                    let full = batch.len() == AHEAD_BATCH;
                    let gone = full && sender.send(Ok(std::mem::take(&mut batch))).is_err();
                    Ok(if gone {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    })
                });
                // Where nobody listens any more, nothing is missed.
                let _ = sender.send(Ok(batch));
                if let Err(error) = walked {
                    let _ = sender.send(Err(error));
                }
            });
            for batch in receiver {
                for (id, stored) in batch? {
                    if visit(&id, &stored)?.is_break() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }
}
