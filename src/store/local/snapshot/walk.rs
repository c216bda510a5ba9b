//! Walking: paths by first parent, through whatever containers they lead.
//!
//! The first steps of a walk that reads are taken within blocks (see `near`). From then on, within
//! a pack, it goes by rows of the graph and never looks an id up. Objects of one block that follow
//! each other are handed on together. A long walk is read ahead by a thread, so that unpacking and
//! what the caller does with it go on at once.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::ahead::{EndsHelp, Window};
use super::{LocalSnapshot, Place};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::cache::BlockCache;
use crate::store::local::index::Position;
use crate::store::local::pack::{Pack, PathEnd, Span};
use crate::store::{Content, Snapshot, Stored, Visit};
use crate::threads::help_scoped;

/// How many rows a search takes at once at first, and at the most.
const NEAR_STEPS: usize = 64;
const NEAR_STEPS_MAX: usize = 4096;
/// How many steps a walk looks ahead at the most.
const ROWS_MAX: usize = 1 << 12;
/// A walk longer than this is read ahead by a thread.
const SHORT_WALK: usize = 128;
/// A long walk keeps a block of which it needs fewer objects at once: it may come back for others.
const FEW: usize = 8;

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

    /// Follows first parents from an object (included), up to `limit` ids, and gives their labels.
    pub(super) fn walk_labels(&self, from: &Id, limit: usize) -> Result<Vec<(Id, Arc<str>)>> {
        let mut path = Vec::new();
        let mut next = Some(*from);
        while let Some(id) = next
            && path.len() < limit
        {
            next = match self.find(&id)? {
                Some(Place::Pack(pack, row)) => {
                    let (rows, end) = pack.path(row, limit - path.len())?;
                    for row in rows {
                        path.push((pack.id(row)?, pack.label(row)?));
                    }
                    end.outside()
                }
                _ => {
                    let outline = self.outline(&id)?;
                    path.push((id, outline.label));
                    outline.parents.first().copied()
                }
            };
        }
        Ok(path)
    }

    /// Finds the first object with one of these labels among up to `limit` along first parents.
    ///
    /// In a pack it goes by rows, a few at first: an id is another page that must be checked.
    pub(super) fn walk_to_label(
        &self,
        from: &Id,
        labels: &[&str],
        limit: usize,
    ) -> Result<Option<Id>> {
        let (mut left, mut count) = (limit, NEAR_STEPS);
        let mut next = Some(*from);
        while let Some(id) = next
            && left > 0
        {
            next = match self.find(&id)? {
                Some(Place::Pack(pack, row)) => {
                    let (rows, end) = pack.path(row, left.min(count))?;
                    for row in &rows {
                        if labels.contains(&&*pack.label(*row)?) {
                            return pack.id(*row).map(Some);
                        }
                    }
                    left -= rows.len();
                    count = (2 * count).min(NEAR_STEPS_MAX);
                    match (end, rows.last()) {
                        (PathEnd::Limit, Some(last)) => self.first_parent(&pack.id(*last)?)?,
                        _ => end.outside(),
                    }
                }
                _ => {
                    let outline = self.outline(&id)?;
                    if labels.contains(&&*outline.label) {
                        return Ok(Some(id));
                    }
                    left -= 1;
                    outline.parents.first().copied()
                }
            };
        }
        Ok(None)
    }

    /// Reads the objects along first parents, until told to stop.
    pub(super) fn walk_objects(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let rest = self.walk_near(from, visit)?;
        rest.map_or(Ok(()), |id| self.walk_rows(&id, visit))
    }

    /// Reads the objects along first parents by their rows.
    fn walk_rows(&self, from: &Id, visit: Visit<'_>) -> Result<()> {
        let mut along = Along::new(self, *from);
        let mut count = 0;
        while let Some(mut batch) = along.next() {
            if count >= SHORT_WALK {
                return self.read_ahead(batch, along, visit);
            }
            count += batch.len();
            batch.unpack(&self.inner.cache, true);
            if batch.visit(visit, &self.inner.cache)?.is_break() {
                return Ok(());
            }
        }
        along.failure.map_or(Ok(()), Err)
    }

    /// Reads along first parents while a thread finds and unpacks what comes next.
    ///
    /// Where no thread can be had, it is read all the same.
    fn read_ahead<'s>(
        &'s self,
        first: Batch<'s>,
        mut along: Along<'s>,
        visit: Visit<'_>,
    ) -> Result<()> {
        let unpack = |batch: &mut Batch<'_>| {
            batch.unpack(&self.inner.cache, batch.len() < FEW);
        };
        let mut batches = std::iter::once(first).chain(along.by_ref());
        let mut find = || batches.next();
        let window = Window::new(&mut find, &unpack);
        let flow = std::thread::scope(|scope| {
            let _ = help_scoped(scope, "sapwood-walk", || window.help());
            let _ends = EndsHelp(&window);
            while let Some(batch) = window.take() {
                if batch.visit(visit, &self.inner.cache)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match flow {
            ControlFlow::Continue(()) => along.failure.map_or(Ok(()), Err),
            ControlFlow::Break(()) => Ok(()),
        }
    }
}

/// Where a path goes on. A parent is looked for when all before it was handed on.
enum Next<'s> {
    At(Id),
    Above(Id),
    AboveRow(&'s Pack, u32),
    Nowhere,
}

/// The objects along first parents, in batches. What can't be found ends it, and is kept.
struct Along<'s> {
    snapshot: &'s LocalSnapshot,
    next: Next<'s>,
    /// Rows of a pack that are known to follow, and how many are looked for at once.
    rows: Option<(&'s Pack, std::vec::IntoIter<u32>)>,
    rows_max: usize,
    /// What was found last, until something follows that is not of it.
    batch: Option<Batch<'s>>,
    failure: Option<Error>,
}

impl<'s> Along<'s> {
    fn new(snapshot: &'s LocalSnapshot, from: Id) -> Along<'s> {
        let next = Next::At(from);
        Along { snapshot, next, rows: None, rows_max: 16, batch: None, failure: None }
    }

    /// Finds the next batch.
    fn find(&mut self) -> Result<Option<Batch<'s>>> {
        loop {
            if let Some((pack, rows)) = &mut self.rows {
                for row in rows {
                    let position = pack.position(row)?;
                    if let Some(full) = add(&mut self.batch, pack, row, position) {
                        return Ok(Some(full));
                    }
                }
            }
            let Some(id) = self.next_id()? else {
                return Ok(self.batch.take());
            };
            let Some(Place::Pack(pack, row)) = self.snapshot.find(&id)? else {
                let stored = self.snapshot.get(&id)?.ok_or(Error::ObjectMissing { id })?;
                self.next = Next::Above(id);
                match self.batch.replace(Batch::Whole(id, stored)) {
                    Some(full) => return Ok(Some(full)),
                    None => continue,
                }
            };
            let (rows, end) = pack.path(row, self.rows_max)?;
            self.rows_max = (self.rows_max * 4).min(ROWS_MAX);
            self.next = match (end, rows.last()) {
                (PathEnd::Limit, Some(last)) => Next::AboveRow(pack, *last),
                (end, _) => end.outside().map_or(Next::Nowhere, Next::At),
            };
            self.rows = Some((pack, rows.into_iter()));
        }
    }

    /// Gives the id of the object where the path goes on.
    fn next_id(&mut self) -> Result<Option<Id>> {
        let child = match std::mem::replace(&mut self.next, Next::Nowhere) {
            Next::Nowhere => return Ok(None),
            Next::At(id) => return Ok(Some(id)),
            Next::Above(id) => id,
            Next::AboveRow(pack, row) => pack.id(row)?,
        };
        self.snapshot.first_parent(&child)
    }
}

impl<'s> Iterator for Along<'s> {
    type Item = Batch<'s>;

    fn next(&mut self) -> Option<Batch<'s>> {
        if self.failure.is_some() {
            return None;
        }
        self.find().unwrap_or_else(|error| {
            self.failure = Some(error);
            self.batch.take()
        })
    }
}

/// Objects that follow each other on a path, and are read at once.
enum Batch<'s> {
    /// One from outside packs.
    Whole(Id, Stored),
    /// Some of one block: their rows and positions, and what unpacking gave.
    Block(&'s Pack, Vec<(u32, Position)>, Option<Result<Unpacked>>),
}

/// A block, and the objects of a batch in it.
type Unpacked = (Arc<Vec<u8>>, Vec<(Id, Span)>);

/// Adds an object to a batch; gives what is in it if the object begins another.
fn add<'s>(
    batch: &mut Option<Batch<'s>>,
    pack: &'s Pack,
    row: u32,
    position: Position,
) -> Option<Batch<'s>> {
    match batch {
        Some(Batch::Block(its, objects, _))
            if std::ptr::eq(*its, pack) && objects[0].1.block == position.block =>
        {
            objects.push((row, position));
            None
        }
        _ => batch.replace(Batch::Block(pack, vec![(row, position)], None)),
    }
}

impl Batch<'_> {
    fn len(&self) -> usize {
        match self {
            Batch::Whole(..) => 1,
            Batch::Block(_, objects, _) => objects.len(),
        }
    }

    /// Unpacks the block, which is kept in the cache or only looked for there.
    fn unpack(&mut self, cache: &BlockCache, keep: bool) {
        if let Batch::Block(pack, objects, unpacked) = self {
            let block = pack.block_of(objects[0].1.block, cache, keep);
            *unpacked = Some(block.and_then(|block| {
                // Ids lie far apart: the processor fetches many at once if they are read at once.
                let mut ids = Vec::with_capacity(objects.len());
                for (row, _) in &*objects {
                    ids.push(pack.id(*row)?);
                }
                let mut found = Vec::with_capacity(objects.len());
                for (id, (row, place)) in ids.into_iter().zip(&*objects) {
                    // The span is not passed on with a failure: written in one width and read in
                    // another, it would be waited for.
                    match Span::of(&block, place) {
                        Some(span) => found.push((id, span)),
                        None => return Err(pack.not_held(*row, place)),
                    }
                }
                Ok((block, found))
            }));
        }
    }

    /// Shows the objects, until told to stop; the cache gets the block's room.
    fn visit(self, visit: Visit<'_>, cache: &BlockCache) -> Result<ControlFlow<()>> {
        let (block, objects) = match self {
            Batch::Whole(id, stored) => return visit(&id, &stored),
            Batch::Block(_, _, unpacked) => unpacked.expect("it was unpacked")?,
        };
        // What another thread unpacked is in its processor's cache; it comes sooner from there if
        // the begins of all objects are asked for at once.
        let begins = objects.iter().map(|(_, span)| block[span.content.start - 1]);
        std::hint::black_box(begins.fold(0, |all, byte| all | byte));
        // Counting the owners of the block for each object takes longer than finding one.
        let mut stored = Stored { kind: Kind::Blob, content: Content::part(block, 0..0) };
        for (id, span) in objects {
            stored.kind = span.kind;
            stored.content.set_range(span.content);
            if visit(&id, &stored)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        cache.done_with(stored.content.into_buffer());
        Ok(ControlFlow::Continue(()))
    }
}
