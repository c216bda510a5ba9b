//! Objects that stand in several containers, and what they cost.
//!
//! Writers drop what the store has already, but not all of it: plumbing writes loose files,
//! `unpack` makes them of packs, and a commit may write an object again where that is quicker than
//! to look for it. One copy counts: that in a pack, else that in the journal.
//!
//! Invariant: a loose file goes only after the copy in a pack was read, and hashed.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::id::Id;
use crate::store::local::cache::BlockCache;
use crate::store::local::gc::bytes_below;
use crate::store::local::pack::Pack;
use crate::store::local::pack::held_by_any;
use crate::store::local::state::State;
use crate::store::local::{Inner, LocalStore};

/// Objects that are there once more, by the container that could do without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// In a journal segment, and in a pack or an older segment.
    pub journal: u64,
    /// Loose, and in a pack or the journal.
    pub loose: u64,
    /// In a pack, and in an older one.
    pub packed: u64,
    /// What they take on disk; about, as far as they are in packs.
    pub bytes: u64,
}

impl Copies {
    /// Gives how many there are.
    pub fn count(&self) -> u64 {
        self.journal + self.loose + self.packed
    }
}

impl LocalStore {
    /// Counts the objects that are there once more.
    pub fn copies(&self) -> Result<Copies> {
        let inner = &self.inner;
        inner.copies(&*inner.refresh()?)
    }

    /// Drops the objects that are there once more, and says what there was.
    ///
    /// A crash leaves some of them. Copies in two packs are dropped by packing all packs anew.
    pub fn drop_copies(&self) -> Result<Copies> {
        let inner = &self.inner;
        inner.check_writable()?;
        inner.alone_or_wait(Inner::drop_copies)
    }

    /// Gives the bytes of all files of the store.
    pub fn bytes(&self) -> Result<u64> {
        bytes_below(&*self.inner.disk, self.path())
    }
}

impl Inner {
    fn copies(&self, state: &State) -> Result<Copies> {
        let mut copies = Copies::default();
        for (place, pack) in state.packs.iter().enumerate().skip(1) {
            for row in 0..pack.len() {
                if held_by_any(&state.packs[..place], &pack.id(row)?)? {
                    copies.packed += 1;
                    copies.bytes += self.bytes_in(pack, row)?;
                }
            }
        }
        let mut in_journal: HashSet<Id> = HashSet::new();
        for segment in &state.segments {
            for (id, location) in &segment.table().objects {
                if !in_journal.insert(*id) || held_by_any(&state.packs, id)? {
                    copies.journal += 1;
                    copies.bytes += u64::from(location.bytes);
                }
            }
        }
        for (id, bytes) in self.loose.list()? {
            if in_journal.contains(&id) || held_by_any(&state.packs, &id)? {
                copies.loose += 1;
                copies.bytes += bytes;
            }
        }
        Ok(copies)
    }

    /// Gives about what an object of a pack takes: its share of its block.
    fn bytes_in(&self, pack: &Pack, row: u32) -> Result<u64> {
        let content = pack.read(row, &self.cache)?.content.len() as u64;
        let block = pack.block_place(pack.position(row)?.block)?;
        Ok(content * u64::from(block.compressed_bytes) / u64::from(block.raw_bytes.max(1)))
    }

    fn drop_copies(self: &Arc<Inner>) -> Result<Copies> {
        let copies = self.copies(&*self.refresh()?)?;
        if copies.count() == 0 {
            return Ok(copies);
        }
        match copies.packed {
            0 => self.checkpoint()?,
            _ => self.repack().map(drop)?,
        }
        let state = self.refresh()?;
        // What is in memory says nothing about what is on disk.
        let cache = BlockCache::new(0);
        for (id, _) in self.loose.list()? {
            for pack in &state.packs {
                if let Some(row) = pack.find(&id)?
                    && pack.read(row, &cache).is_ok()
                {
                    self.loose.remove(&id)?;
                    break;
                }
            }
        }
        Ok(copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;
    use crate::object::NewObject;
    use crate::store::local::Options;
    use crate::store::{Durability, Store, Transaction};

    #[test]
    fn each_object_is_left_once_and_a_loose_one_stays_where_the_packed_one_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let open = || LocalStore::open(Arc::new(OsDisk), dir.path(), options.clone()).unwrap();
        let (store, _) = LocalStore::init(Arc::new(OsDisk), dir.path(), options.clone()).unwrap();
        let blobs: Vec<NewObject> = (0..9)
            .map(|number| NewObject::blob(format!("blob {number}").into_bytes()).unwrap())
            .collect();
        let committed = store.commit(Durability::Full, &mut |_| {
            Ok(Transaction { objects: blobs.clone(), ..Transaction::default() })
        });
        committed.unwrap();
        blobs[..2].iter().for_each(|blob| store.put_alone(blob).unwrap());
        let found = store.copies().unwrap();
        assert_eq!((found.journal, found.loose, found.packed), (0, 2, 0));
        assert_eq!(store.drop_copies().unwrap(), found);
        assert_eq!(store.copies().unwrap(), Copies::default());
        assert_eq!(store.count_objects().unwrap().packed_objects, 9);

        store.unpack(None).unwrap();
        let pack = store.packs().unwrap().remove(0);
        let path = dir.path().join(format!("objects/pack/{pack}.pack"));
        let whole = std::fs::read(&path).unwrap();
        drop(store);
        let mut damaged = whole.clone();
        damaged[120] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let store = open();
        assert_eq!(store.drop_copies().unwrap().loose, 9);
        assert_eq!(store.count_objects().unwrap().loose_objects, 9, "the only ones that are whole");
        drop(store);
        std::fs::write(&path, whole).unwrap();
        let store = open();
        assert!(store.bytes().unwrap() > 0);
        store.drop_copies().unwrap();
        assert_eq!(store.count_objects().unwrap().loose_objects, 0);
        for blob in &blobs {
            assert_eq!(
                *store.snapshot().unwrap().get(&blob.id).unwrap().unwrap().content,
                blob.content[..]
            );
        }
    }
}
