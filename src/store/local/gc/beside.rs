//! What a thread does while another closes the journal and reads it.
//!
//! To close it is to wait for the disk, and to read it takes one processor. Meanwhile the objects
//! that were read are hashed; and while there are none, blocks of packs are unpacked, which marking
//! looks into next. What is not done by then, whoever needs it does: hashes before what was read is
//! used, blocks when they are looked into.
//!
//! Not here: any call of the disk. Packs are mapped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{Collection, mark};
use crate::error::Result;
use crate::store::local::cache::BlockCache;
use crate::store::local::pack::Unchecked;
use crate::store::local::state::State;
use crate::threads::help_scoped;

/// Blocks on their way to whoever hashes their objects next.
struct Checking {
    waiting: Mutex<Receiver<Unchecked>>,
    is_sound: AtomicBool,
}

impl Checking {
    fn next(&self) -> std::result::Result<Unchecked, TryRecvError> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).try_recv()
    }

    fn check(&self, block: &Unchecked) {
        if !block.is_sound() {
            self.is_sound.store(false, Ordering::Relaxed);
        }
    }

    /// Checks all that there is and comes.
    fn check_all(&self) {
        loop {
            let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(block) = next else {
                return;
            };
            self.check(&block);
        }
    }
}

impl Collection<'_> {
    /// Does some work that gives blocks to check, and says whether all of them are sound. A thread
    /// helps if that is wanted.
    pub(super) fn checked<T>(
        &self,
        state: &State,
        is_helped: bool,
        work: impl FnOnce(Sender<Unchecked>) -> Result<T>,
    ) -> Result<(T, bool)> {
        let (to_check, waiting) = channel();
        let checking = Checking { waiting: Mutex::new(waiting), is_sound: AtomicBool::new(true) };
        let done = thread::scope(|scope| {
            if is_helped && self.threads() > 0 {
                let unpacked = &*self.unpacked;
                let beside = || help(state, unpacked, &checking);
                // Where no thread can be had, this one does it all.
                let _ = help_scoped(scope, "sapwood-check", beside);
            }
            let done = work(to_check);
            checking.check_all();
            done
        })?;
        Ok((done, checking.is_sound.into_inner()))
    }
}

/// Checks what comes, and unpacks blocks while nothing does.
fn help(state: &State, unpacked: &BlockCache, checking: &Checking) {
    let keeps = mark::keeps(state).unwrap_or(false);
    // In the order in which marking will go.
    let packs = state.packs.iter().rev().filter(|_| keeps);
    let mut blocks =
        packs.flat_map(|pack| (0..pack.blocks()).rev().map(move |block| (pack, block)));
    loop {
        match checking.next() {
            Ok(block) => checking.check(&block),
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => match blocks.next() {
                // Where that fails, it is tried again, and told.
                Some((pack, block)) => drop(pack.block_of(block, unpacked, true)),
                None => return checking.check_all(),
            },
        }
    }
}
