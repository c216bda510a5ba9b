//! Making things durable, one sync for all who wait.
//!
//! Threads of one process queue on a mutex, processes on the lock of the shared mark. Who gets the
//! turn reads on to the end of what anybody has written, syncs, and raises the mark; the others
//! find the mark beyond what they wait for. Nobody waits for a process that hangs: after a while
//! each syncs for itself.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::Bell;
use crate::error::{Error, Result};
use crate::store::local::Inner;
use crate::store::local::durable::{DurableMark, Position};
use crate::store::local::segment::Tail;
use crate::store::local::state::{self, State};

/// How long to wait for another process's sync before syncing without a turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(1);
/// How much a relaxed commit may leave unsynced before a sync is asked for at once.
const UNSYNCED_BYTES_MAX: u64 = 2 << 20;
/// How long to wait for who claimed the turn before asking for it.
const CLAIM_TIMEOUT: Duration = Duration::from_millis(1);
/// How soon to look again whether another process is done, and how soon after a while.
const SHORT_PAUSE: Duration = Duration::from_micros(50);
const LONG_PAUSE: Duration = Duration::from_micros(200);

impl Inner {
    /// Waits until everything up to a place is on disk.
    pub(crate) fn wait_durable(&self, target: Position) -> Result<()> {
        let bell = self.sync_bell.get_or_init(Bell::default);
        let mut is_asked = false;
        let waited = self.wait_or_sync(target, bell, &mut is_asked);
        if is_asked {
            // Who is woken for a sync that it does not need leaves it to another.
            bell.pass_on();
        }
        waited
    }

    /// Waits for a place to be on disk, and notes whether it was woken to begin a sync and has not.
    fn wait_or_sync(&self, target: Position, bell: &Bell, is_asked: &mut bool) -> Result<()> {
        let begun = Instant::now();
        // Where nobody else writes, nobody else has synced, and there is nothing to read on.
        let crowd = self.outrun.load(Ordering::Relaxed);
        let mut listens = crowd;
        loop {
            if self.durable_position() >= target {
                return Ok(());
            }
            let syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
            let crowd = crowd || listens;
            if self.durable_position() >= target || (crowd && self.look_at_mark() >= target) {
                return Ok(());
            }
            let heard = listens.then(|| bell.listen());
            if heard.is_some() && self.look_at_mark() >= target {
                return Ok(());
            }
            if self.dead.load(Ordering::Acquire) {
                let source = std::io::Error::other("the sync of another thread failed");
                return Err(self.died(self.layout.root(), source));
            }
            // Who claims the turn rings when it is over. One that died does not: so after a while
            // it is tried all the same.
            let waited = begun.elapsed();
            let turn = match bell.claim() || waited > CLAIM_TIMEOUT {
                true => self.writable_mark().try_turn(),
                false => Ok(None),
            };
            if !matches!(turn, Ok(None)) || waited > TURN_TIMEOUT {
                *is_asked = false;
                let synced = self.sync_for_all(target, crowd);
                drop(turn);
                bell.ring();
                synced?;
                continue;
            }
            drop(syncing);
            match heard {
                None => listens = true,
                Some(heard) => {
                    let until = bell.until(heard, hint(target));
                    let early = waited < CLAIM_TIMEOUT;
                    let pause = if early { SHORT_PAUSE } else { LONG_PAUSE };
                    *is_asked = bell.wait_until(heard, until, pause);
                }
            }
        }
    }

    /// Says whether much of what was written up to a place is not durable yet.
    pub(crate) fn is_far_behind(&self, written: Position) -> bool {
        let durable = self.durable_position();
        let from = if durable.sequence == written.sequence { durable.offset } else { 0 };
        written.offset.saturating_sub(from) >= UNSYNCED_BYTES_MAX
    }

    /// Reads the shared mark, and notes it. One that cannot be read costs a sync; the transaction
    /// stands without it.
    fn look_at_mark(&self) -> Position {
        let marked = self.writable_mark().get().unwrap_or_default();
        self.raise_durable(marked);
        marked
    }

    /// Makes everything durable that this handle has seen.
    pub(crate) fn sync(&self) -> Result<()> {
        let state = self.state();
        let segment = state.open_segment();
        // What this handle wrote to a segment before the open one was synced when that was closed.
        match segment.is_vouched() {
            true => self.wait_durable(segment.end()),
            false => Ok(()),
        }
    }

    /// Syncs the open segment, for everybody, unless another has meanwhile.
    fn sync_for_all(&self, target: Position, crowd: bool) -> Result<()> {
        let (state, marked) = match crowd {
            false => (self.state(), self.durable_position()),
            true => {
                let marked = self.look_at_mark();
                if marked >= target {
                    return Ok(());
                }
                (self.read_on_to_sync(marked), marked)
            }
        };
        let segment = state.open_segment();
        let covered = match segment.is_vouched() {
            true => segment.end(),
            // Others write into this segment; this handle has not, and cannot vouch for it. Whoever
            // began it may not have made the manifest that names it durable yet.
            false => {
                let root = self.layout.root();
                self.disk.sync_dir(root).map_err(|source| self.died(root, source))?;
                state::begin_of(segment.sequence)
            }
        };
        if let Some(bell) = self.sync_bell.get().filter(|_| crowd) {
            bell.announce(hint(covered));
        }
        segment.sync().map_err(|source| self.died(&segment.path, source))?;
        // What is durable stays so where the others cannot be told: they sync for themselves.
        let _ = self.note_durable(covered, marked);
        Ok(())
    }

    /// Reads on to the last whole group that anybody has written, given the mark.
    ///
    /// What stands behind it is mostly a group that is just being written, and damage does not
    /// matter here: what was written is to be synced all the same.
    fn read_on_to_sync(&self, mark: Position) -> Arc<State> {
        self.read_on_meanwhile();
        let state = self.state();
        let segment = state.open_segment();
        let tail = segment.read_on(state::marked_in(segment, mark), u64::MAX);
        let all = matches!(tail, Ok(Tail::Clean | Tail::Torn)) && mark.sequence <= segment.sequence;
        if all { state } else { self.refresh_from(mark).unwrap_or(state) }
    }

    /// Reads what others have written while one of them writes: there is less to read under the
    /// lock then. What cannot be read now is met there. Not on a file system of the network, where
    /// bytes need not come in the order in which they were written.
    pub(crate) fn read_on_meanwhile(&self) {
        let state = self.state();
        let segment = state.open_segment();
        if segment.is_vouched() && !self.options.allow_network {
            let _ = segment.read_on_beside();
        }
    }

    /// Gives what this handle knows to be durable.
    pub(crate) fn durable_position(&self) -> Position {
        *self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise_durable(&self, position: Position) {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        *durable = (*durable).max(position);
    }

    /// Notes for this handle what a sync has covered, and for all others if it is more than the
    /// mark said.
    pub(crate) fn note_durable(&self, position: Position, marked: Position) -> Result<()> {
        self.raise_durable(position);
        let mark = self.writable_mark();
        match position > marked && position > mark.get()? {
            true => mark.set(position),
            false => Ok(()),
        }
    }

    fn writable_mark(&self) -> &DurableMark {
        self.mark.as_ref().expect("a handle that writes has opened the mark")
    }

    /// Closes the handle after a failed sync.
    pub(crate) fn died(&self, path: &Path, source: std::io::Error) -> Error {
        self.dead.store(true, Ordering::Release);
        Error::OutcomeUnknown { path: path.to_owned(), source }
    }
}

/// Says a place in one word, for those who wait. One that is too far for that is said to be less
/// far.
fn hint(position: Position) -> u64 {
    position.sequence << 32 | position.offset.min(u64::from(u32::MAX))
}
