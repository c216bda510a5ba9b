//! Walking: paths by first parent, through whatever containers they lead.
//!
//! Within a pack a walk goes by rows of the graph and never looks an id up; a long one is read
//! ahead by a thread, so that unpacking and what the caller does with it go on at once.

use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};

use super::{LocalSnapshot, Place};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::cache::Cursor;
use crate::store::local::pack::{Found, PathEnd, Span};
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
                    if path.len() == limit {
                        break;
                    }
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
        let cursor = Cursor::new(&self.inner.cache);
        self.find_along(from, cursor, &mut |id, object| {
            if count == SHORT_WALK {
                rest = Some(*id);
                return Ok(ControlFlow::Break(()));
            }
            count += 1;
            self.visit_checked(id, object, visit)
        })?;
        rest.map_or(Ok(()), |id| self.read_ahead(&id, visit))
    }

    fn visit_checked(&self, id: &Id, object: Object, visit: Visit<'_>) -> Result<ControlFlow<()>> {
        match object {
            Object::Whole(stored) => visit(id, &stored),
            Object::Packed(found) => {
                self.check(id, found.is(id))?;
                visit(id, &found.stored())
            }
        }
    }

    /// Finds the objects along first parents.
    fn find_along(&self, from: &Id, mut cursor: Cursor<'_>, visit: Take<'_>) -> Result<()> {
        let mut next = Some(*from);
        let mut rows_max = 16;
        while let Some(mut id) = next {
            let Some(Place::Pack(pack, row)) = self.find(&id)? else {
                let stored = self.get(&id)?.ok_or(Error::ObjectMissing { id })?;
                if visit(&id, Object::Whole(stored))?.is_break() {
                    return Ok(());
                }
                next = self.first_parent(&id)?;
                continue;
            };
            let (rows, end) = pack.path(row, rows_max)?;
            rows_max = (rows_max * 4).min(ROWS_MAX);
            for row in rows {
                id = pack.id(row)?;
                let found = pack.find_with(row, &mut cursor)?;
                if visit(&id, Object::Packed(found))?.is_break() {
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

    /// Gives the error for an object that does not match its id.
    fn check(&self, id: &Id, matches: bool) -> Result<()> {
        match matches {
            true => Ok(()),
            // Reading it alone says in which file it is damaged.
            false => self.get(id).and(Err(Error::ObjectMissing { id: *id })),
        }
    }

    /// Reads along first parents in a thread, while the caller is busy with what was read.
    ///
    /// Whoever has the time checks the objects against their ids: the thread where the caller does
    /// not keep up, the caller where it waits.
    fn read_ahead(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let (sender, receiver) = mpsc::sync_channel(AHEAD_BATCHES);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("sapwood-walk".to_owned());
            let spawned = thread.spawn_scoped(scope, move || {
                let mut batch = Batch::default();
                let cursor = Cursor::passing(&self.inner.cache);
                let walked =
                    self.find_along(from, cursor, &mut |id, object| match batch.take(id, object) {
                        None => Ok(ControlFlow::Continue(())),
                        Some(full) => self.hand_over(&sender, full),
                    });
                let walked = walked.and_then(|()| self.hand_over(&sender, batch).map(drop));
                if let Err(error) = walked {
                    // Where nobody listens any more, nothing is missed.
                    let _ = sender.send(Err(error));
                }
            });
            if spawned.is_err() {
                // Where no thread can be had, the caller does it all.
                let cursor = Cursor::passing(&self.inner.cache);
                return self.find_along(from, cursor, &mut |id, object| {
                    self.visit_checked(id, object, visit)
                });
            }
            for batch in receiver {
                let batch = batch?;
                for (id, span) in &batch.objects {
                    self.check(id, batch.checked || batch.matches(id, span))?;
                    let content = Content::part(Arc::clone(&batch.block), span.content.clone());
                    if visit(id, &Stored { kind: span.kind, content })?.is_break() {
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
                for (id, span) in &batch.objects {
                    self.check(id, batch.checked || batch.matches(id, span))?;
                }
                batch.checked = true;
                sender.send(Ok(batch)).is_err()
            }
            Err(_) => true,
        };
        Ok(if gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// An object that a walk has found.
enum Object {
    /// Read alone, and checked.
    Whole(Stored),
    /// In a block, and not checked.
    Packed(Found),
}

/// What is done with each object that a walk finds.
type Take<'a> = &'a mut dyn FnMut(&Id, Object) -> Result<ControlFlow<()>>;

/// Objects of one block on their way from the thread to the caller.
///
/// The block's count of owners is touched once, not with every object: two threads that both count
/// take longer for that than for all the rest.
#[derive(Default)]
struct Batch {
    block: Arc<Vec<u8>>,
    objects: Vec<(Id, Span)>,
    checked: bool,
}

impl Batch {
    /// Adds an object; gives the objects so far if it begins another block.
    fn take(&mut self, id: &Id, object: Object) -> Option<Batch> {
        let next = match object {
            Object::Packed(Found { block, span }) if Arc::ptr_eq(&self.block, &block) => {
                self.objects.push((*id, span));
                return None;
            }
            Object::Packed(Found { block, span }) => {
                Batch { block, objects: vec![(*id, span)], checked: false }
            }
            Object::Whole(Stored { kind, content }) => {
                let span = Span { kind, start: content.range().start, content: content.range() };
                let block = Arc::clone(content.buffer());
                Batch { block, objects: vec![(*id, span)], checked: true }
            }
        };
        Some(std::mem::replace(self, next))
    }

    fn matches(&self, id: &Id, span: &Span) -> bool {
        span.id(&self.block) == *id
    }
}
