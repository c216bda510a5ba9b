//! What marking reads of packs: blocks, unpacked by a thread while others are looked into.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::Marker;
use crate::error::Result;
use crate::slots::begin_of;
use crate::store::local::cache::BlockCache;
use crate::store::local::pack::Pack;
use crate::store::local::state::State;
use crate::threads::help;

/// A thread unpacks where packs have so much.
const AHEAD_BYTES_MIN: u64 = 512 << 10;
/// So many blocks are unpacked ahead, or left to be.
const BLOCKS_AHEAD: usize = 12;
/// Of these, one in so many is left to whoever looks into all of them, so that neither waits long
/// for the other: to unpack takes more than twice as long as to look.
const LEFT_ONE_IN: usize = 3;
/// What is unpacked is kept if all packs together have no more than this.
const KEPT_BYTES_MAX: usize = 96 << 20;

/// A block: the place of its pack, and its number.
type Wanted = (usize, u32);

/// What became of a block in the thread.
type Unpacked = (Wanted, Result<Arc<Vec<u8>>>);

/// What is known of a block that is wanted soon.
enum Soon {
    /// The thread unpacks it.
    Asked,
    /// It is unpacked.
    Ready(Arc<Vec<u8>>),
    /// Whoever looks into it unpacks it.
    Left,
}

/// Blocks that are unpacked ahead, by a thread that ends with this.
pub(super) struct Ahead {
    jobs: Option<Sender<(Arc<Pack>, Wanted)>>,
    done: Receiver<Unpacked>,
    thread: Option<JoinHandle<()>>,
    soon: HashMap<Wanted, Soon>,
    /// So many were asked for and have not come, wanted still or not: no more than are wanted soon.
    under_way: usize,
    /// The blocks before this one are next.
    next: Wanted,
    /// So many were taken in a row.
    taken: usize,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Nobody wants what it has.
            let _ = thread.join();
        }
    }
}

impl Ahead {
    pub(super) fn begin(unpacked: &Arc<BlockCache>, keeps: bool) -> Ahead {
        let ((jobs, waiting), (results, done)) = (channel::<(Arc<Pack>, Wanted)>(), channel());
        let unpacked = Arc::clone(unpacked);
        let work = move || {
            for (pack, wanted) in waiting {
                if results.send((wanted, pack.block_of(wanted.1, &unpacked, keeps))).is_err() {
                    return;
                }
            }
        };
        // Where no thread can be had, nobody takes a job, and all is left to whoever marks.
        let (thread, soon) = (help("sapwood-mark", work).ok(), HashMap::new());
        Ahead { jobs: Some(jobs), done, thread, soon, under_way: 0, next: (0, 0), taken: 0 }
    }

    /// Has the blocks before those that are wanted soon unpacked, too.
    fn go_on(&mut self, pack: &Arc<Pack>, wanted: Wanted) -> Result<()> {
        if !self.soon.contains_key(&wanted) {
            self.soon.clear();
            self.next = wanted;
        }
        while let Ok(found) = self.done.try_recv() {
            self.note(found);
        }
        while self.soon.len() < BLOCKS_AHEAD && self.next.1 > 0 {
            self.next.1 -= 1;
            if pack.block_rows(self.next.1)?.is_empty() {
                continue;
            }
            self.taken += 1;
            let is_left = self.taken.is_multiple_of(LEFT_ONE_IN) || self.under_way >= BLOCKS_AHEAD;
            let jobs = self.jobs.as_ref().filter(|_| !is_left);
            let is_asked =
                jobs.is_some_and(|jobs| jobs.send((Arc::clone(pack), self.next)).is_ok());
            self.under_way += usize::from(is_asked);
            self.soon.insert(self.next, if is_asked { Soon::Asked } else { Soon::Left });
        }
        Ok(())
    }

    /// Gives a block, which is waited for if the thread has it; `None` if that has it not.
    fn take(&mut self, wanted: Wanted) -> Option<Arc<Vec<u8>>> {
        while let Some(Soon::Asked) = self.soon.get(&wanted) {
            let found = self.done.recv().ok()?;
            self.note(found);
        }
        match self.soon.remove(&wanted) {
            Some(Soon::Ready(raw)) => Some(raw),
            _ => None,
        }
    }

    fn note(&mut self, (found, raw): Unpacked) {
        self.under_way -= 1;
        if let Some(soon @ Soon::Asked) = self.soon.get_mut(&found) {
            // Where that failed, it is tried again, and told.
            *soon = raw.map_or(Soon::Left, Soon::Ready);
        }
    }
}

impl Marker<'_> {
    /// Gives what holds most of its memory, for whoever gives that back.
    pub(in crate::store::local::gc) fn into_memory(self) -> impl Send + use<> {
        (self.packs, self.unpacked)
    }

    /// Unpacks a block; a thread unpacks those before it, which are probably wanted next.
    pub(super) fn unpacked(
        &mut self,
        pack: &Arc<Pack>,
        number: usize,
        block: u32,
    ) -> Result<Arc<Vec<u8>>> {
        let kept = pack.kept_block(block, &self.unpacked);
        // Once begun, it goes on before what is kept, too.
        let is_ahead = self.is_helped && (self.ahead.is_some() || kept.is_none());
        if !is_ahead || pack.is_held() {
            return kept.map_or_else(|| pack.block_of(block, &self.unpacked, self.keeps), Ok);
        }
        let begin = || Ahead::begin(&self.unpacked, self.keeps);
        let ahead = self.ahead.get_or_insert_with(begin);
        ahead.go_on(pack, (number, block))?;
        let raw = ahead.take((number, block)).or(kept);
        raw.map_or_else(|| pack.block_of(block, &self.unpacked, self.keeps), Ok)
    }
}

/// Makes room for what is unpacked.
pub(in crate::store::local::gc) fn new_cache() -> Arc<BlockCache> {
    Arc::new(BlockCache::of_blocks(KEPT_BYTES_MAX))
}

/// Says whether all that packs have is kept once it is unpacked.
pub(in crate::store::local::gc) fn keeps(state: &State) -> Result<bool> {
    Ok(raw_bytes(state)? <= KEPT_BYTES_MAX as u64)
}

/// Says whether packs have so much that a thread should help to unpack it.
pub(super) fn is_much(state: &State) -> Result<bool> {
    Ok(raw_bytes(state)? >= AHEAD_BYTES_MIN)
}

/// Counts what all packs have, unpacked.
pub(in crate::store::local::gc) fn raw_bytes(state: &State) -> Result<u64> {
    let mut bytes = 0;
    for pack in state.all_packs() {
        for block in 0..pack.blocks() {
            bytes += u64::from(pack.block_place(block)?.raw_bytes);
        }
    }
    Ok(bytes)
}

/// Says whether some object may be in more than one of the packs.
pub(super) fn has_twins(packs: &[Arc<Pack>]) -> Result<bool> {
    if packs.len() < 2 {
        return Ok(false);
    }
    let mut begins = Vec::with_capacity(packs.iter().map(|pack| pack.len() as usize).sum());
    for pack in packs {
        for row in 0..pack.len() {
            begins.push(begin_of(&pack.id(row)?));
        }
    }
    begins.sort_unstable();
    Ok(begins.windows(2).any(|pair| pair[0] == pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;
    use crate::object::NewObject;
    use crate::store::local::{LocalStore, Options};
    use crate::store::{Durability, Snapshot, Store as _, Transaction};

    #[test]
    fn blocks_that_nobody_came_for_do_not_pile_up() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
        let blob = |byte: u8| NewObject::blob(vec![byte; 130_000]).unwrap();
        let objects: Vec<NewObject> = (0..120).map(blob).collect();
        let mut plan =
            |_: &dyn Snapshot| Ok(Transaction { objects: objects.clone(), ..Default::default() });
        store.commit(Durability::Relaxed, &mut plan).unwrap();
        store.seal().unwrap();
        let pack = Arc::clone(&store.inner.refresh().unwrap().packs[0]);
        assert!(pack.blocks() > 100);

        let unpacked = Arc::new(BlockCache::of_blocks(KEPT_BYTES_MAX));
        let mut ahead = Ahead::begin(&unpacked, false);
        for block in (0..pack.blocks()).rev().step_by(BLOCKS_AHEAD + 1) {
            ahead.go_on(&pack, (0, block)).unwrap();
            assert!(ahead.take((0, block)).is_none(), "it was not foreseen");
            assert!(ahead.under_way <= BLOCKS_AHEAD);
        }
        let first = (0..ahead.under_way).filter(|_| ahead.done.recv().is_ok()).count();
        assert_eq!((first, ahead.done.try_recv().is_err()), (ahead.under_way, true));
    }
}
