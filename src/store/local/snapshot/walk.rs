//! Walking: paths by first parent, through whatever containers they lead.
//!
//! Within a pack a walk goes by rows of the graph and never looks an id up; a long one is read
//! ahead by a thread, so that unpacking and what the caller does with it go on at once.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, mpsc};

use super::{LocalSnapshot, Place};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::cache::Cursor;
use crate::store::local::pack::PathEnd;
use crate::store::{Content, Snapshot, Stored, Visit};

/// How many steps a walk looks ahead at the most.
const ROWS_MAX: usize = 1 << 12;
/// A walk longer than this is read ahead by a thread.
const SHORT_WALK: usize = 256;
/// How many blocks the thread may be ahead.
const AHEAD_BATCHES: usize = 2;

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
        self.find_along(from, &mut |id, stored| {
            if count == SHORT_WALK {
                rest = Some(*id);
                return Ok(ControlFlow::Break(()));
            }
            count += 1;
            self.check(id, stored)?;
            visit(id, stored)
        })?;
        rest.map_or(Ok(()), |id| self.read_ahead(&id, visit))
    }

    /// Finds the objects along first parents, unchecked.
    fn find_along(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
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
                let stored = pack.find_with(row, &mut cursor)?;
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

    /// Checks an object against its id.
    fn check(&self, id: &Id, stored: &Stored) -> Result<()> {
        if Id::of(stored.kind, &stored.content) == *id {
            return Ok(());
        }
        // Reading it alone says in which file it is damaged.
        self.get(id).and(Err(Error::ObjectMissing { id: *id }))
    }

    /// Reads along first parents in a thread, while the caller is busy with what was read.
    ///
    /// Whoever has the time checks the objects against their ids: the thread where the caller does
    /// not keep up, the caller where it waits.
    fn read_ahead(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let (sender, receiver) = mpsc::sync_channel(AHEAD_BATCHES);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut batch = Batch::default();
                let walked = self.find_along(from, &mut |id, stored| {
                    if batch.takes(stored) {
                        batch.objects.push((*id, stored.kind, stored.content.range()));
                        return Ok(ControlFlow::Continue(()));
                    }
                    let next = Batch::of(id, stored);
                    self.hand_over(&sender, std::mem::replace(&mut batch, next))
                });
                let walked = walked.and_then(|()| self.hand_over(&sender, batch).map(drop));
                if let Err(error) = walked {
                    // Where nobody listens any more, nothing is missed.
                    let _ = sender.send(Err(error));
                }
            });
            for batch in receiver {
                let batch = batch?;
                for (id, stored) in batch.stored() {
                    if !batch.checked {
                        self.check(&id, &stored)?;
                    }
                    if visit(&id, &stored)?.is_break() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    /// Gives a batch to the caller: at once where it waits for one, else checked.
    fn hand_over(
        &self,
        sender: &mpsc::SyncSender<Result<Batch>>,
        batch: Batch,
    ) -> Result<ControlFlow<()>> {
        let gone = match sender.try_send(Ok(batch)) {
            Ok(()) => false,
            Err(mpsc::TrySendError::Full(Ok(mut batch))) => {
                batch.stored().try_for_each(|(id, stored)| self.check(&id, &stored))?;
                batch.checked = true;
                sender.send(Ok(batch)).is_err()
            }
            Err(_) => true,
        };
        Ok(if gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Objects of one buffer on their way from the thread to the caller.
///
/// The buffer's count of owners is touched once, not with every object: two threads that both count
/// take longer for that than for all the rest.
#[derive(Default)]
struct Batch {
    buffer: Arc<Vec<u8>>,
    objects: Vec<(Id, Kind, Range<usize>)>,
    checked: bool,
}

impl Batch {
    fn of(id: &Id, stored: &Stored) -> Batch {
        Batch {
            buffer: Arc::clone(stored.content.buffer()),
            objects: vec![(*id, stored.kind, stored.content.range())],
            checked: false,
        }
    }

    fn takes(&self, stored: &Stored) -> bool {
        Arc::ptr_eq(&self.buffer, stored.content.buffer())
    }

    fn stored(&self) -> impl Iterator<Item = (Id, Stored)> {
        self.objects.iter().map(|(id, kind, range)| {
            let content = Content::part(Arc::clone(&self.buffer), range.clone());
            (*id, Stored { kind: *kind, content })
        })
    }
}
