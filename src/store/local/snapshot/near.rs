//! The begin of a walk: objects that lie next to each other in a block, found without an index.
//!
//! Who reads the end of a long path pays most for the pages of index and graph that it touches:
//! each is mapped and checked when it is first used, and objects that follow each other on a path
//! have rows on different pages. But they were written one after the other. So the first steps look
//! at the object before this one in its block, and take it if its hash is the parent's id.
//!
//! In a short pack it is the other way round: the few pages of its index are soon checked, and to
//! look an id up takes less than to hash an object. There all of a path is read so, without the
//! graph.
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
/// where rows would touch up to three pages, until all pages were touched.
const STEPS_MIN: usize = 16;
const STEP_OBJECTS: usize = 64;
/// A larger object is looked up: hashing it takes as long as touching the pages.
const HASHED_BYTES_MAX: usize = 8 << 10;
/// So often something else may lie before an object; then its path is taken to be scattered.
const MISSES_MAX: usize = 2;

impl LocalSnapshot {
    /// Reads the first objects along first parents, and gives the id of the first that was not
    /// read; `None` at the end of the path, or where the visitor wants no more.
    ///
    /// It stays apart from the rest of a walk, which a short one never runs.
    #[inline(never)]
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
            let steps_max = steps_max(pack, steps);
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
                if steps >= steps_max || misses >= MISSES_MAX {
                    return Ok(Some(id));
                }
                match self.step(pack, &mut near, &id)? {
                    Step::Taken => {}
                    Step::Elsewhere => break,
                    Step::Missed => {
                        misses += 1;
                        break;
                    }
                }
            }
        }
    }

    /// Goes to the parent of an object, if it is near.
    fn step(&self, pack: &Pack, near: &mut Near, parent: &Id) -> Result<Step> {
        if !pack.is_short() {
            return Ok(near.step(parent));
        }
        let Some(row) = pack.find(parent)? else {
            return Ok(Step::Elsewhere);
        };
        *near = self.near_in(pack, row)?;
        Ok(Step::Taken)
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

/// Gives after how many steps rows are better; so many were taken up to this pack.
fn steps_max(pack: &Pack, taken: usize) -> usize {
    let objects = pack.len() as usize;
    match pack.is_short() {
        // All of it; more would be a circle, which rows make out.
        true => taken + objects + 1,
        false => (STEPS_MIN + objects / STEP_OBJECTS).min(STEPS_MAX),
    }
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
    /// Nothing that could be it.
    Elsewhere,
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
            return Step::Elsewhere;
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::codec::Value;
    use crate::disk::OsDisk;
    use crate::id::Kind;
    use crate::object::Entry;
    use crate::store::Store;
    use crate::store::local::pack::{PackOptions, PackWriter};
    use crate::store::local::{LocalStore, Options};

    fn entry(parent: Option<Id>) -> Vec<u8> {
        let (label, parents) = ("message".to_owned(), parent.into_iter().collect());
        let entry = Entry { label, time: 1, parents, body: Value::Null, raw: None };
        entry.encode().unwrap().content.to_vec()
    }

    /// Makes a store whose only pack has these entries, whatever they hash to.
    fn store_of(dir: &tempfile::TempDir, entries: &[(Id, Vec<u8>)]) -> LocalStore {
        let options = Options { background: false, ..Options::default() };
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
        let options = PackOptions { is_checked: true, ..PackOptions::default() };
        let packs = store.inner.layout.pack_dir();
        let mut writer = PackWriter::new(Arc::new(OsDisk), &packs, options).unwrap();
        for (id, content) in entries {
            writer.add(id, Kind::Entry, content).unwrap();
        }
        let info = writer.finish(&mut |_| Ok(None)).unwrap();
        store.inner.edit_manifest(|manifest| manifest.packs.push(info)).unwrap();
        store
    }

    #[test]
    fn a_path_in_a_short_pack_needs_no_graph() {
        let mut entries: Vec<(Id, Vec<u8>)> = Vec::new();
        for _ in 0..200 {
            let content = entry(entries.last().map(|(id, _)| *id));
            entries.push((Id::of(Kind::Entry, &content), content));
        }
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(&dir, &entries);
        let pack = &store.inner.refresh().unwrap().packs[0];
        assert!(pack.is_short());
        let mut read = Vec::new();
        let mut visit = |id: &Id, stored: &Stored| {
            read.push((*id, stored.content.to_vec()));
            Ok(ControlFlow::Continue(()))
        };
        store.snapshot().unwrap().read_path(&entries[199].0, &mut visit).unwrap();
        assert!(read.iter().eq(entries.iter().rev()));
        assert!(!pack.has_open_graph());
    }

    #[test]
    fn a_circle_ends() {
        // Nobody can hash one, but a writer may be wrong.
        let [one, two] = [[1; 32], [2; 32]].map(Id::from_bytes);
        let dir = tempfile::tempdir().unwrap();
        let store = store_of(&dir, &[(one, entry(Some(two))), (two, entry(Some(one)))]);
        let snapshot = store.snapshot().unwrap();
        let read = snapshot.read_path(&one, &mut |_, _| Ok(ControlFlow::Continue(())));
        assert!(matches!(read, Err(Error::Corrupt { .. })), "{read:?}");
    }
}
