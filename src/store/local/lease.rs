//! The writer's part of a handle, and the lock that a busy one keeps between its commits.
//!
//! Who commits twice within a millisecond, and finds no group of another in between, keeps the
//! lock: the next commit neither takes it, nor reads on, nor loads anything. The mirrors of what it
//! commits wait meanwhile, for some milliseconds, and are written together.
//!
//! Invariants:
//! - Whenever the lock is free in good order, the mirrors say what the refs are. So they are
//!   written before it is given back; where that fails, it looks as if its holder had died.
//! - A kept lock has the holder's process id in its record, as one that is held: who dies leaves
//!   what it owed to the next writer.
//! - It is given back at the end of a commit, or of its sync, when somebody waits for it; by the
//!   housekeeper, which looks every five milliseconds, when somebody waits, when nobody commits any
//!   more, or after fifty; when the mirrors would take as long; and before anything else that takes
//!   the lock in this process.
//! - Only where who waits can be seen (a bell that is not silent) and there is a housekeeper.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::store::local::Inner;
use crate::store::local::lock::{Guard, LockFile};
use crate::store::local::mirror::Mirrors;
use crate::store::local::state::State;
use crate::store::{RefMove, RefName};

/// Within which time a handle that is busy commits again.
const BUSY: Duration = Duration::from_millis(1);
/// How long the lock is kept at the most, and how long it is then given back after each commit: who
/// polls for it, because it hears no bell, has a chance.
const KEPT_MAX: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(1);
/// How long it is not kept after somebody had to wait for it: there may be a crowd.
const CROWD_PAUSE: Duration = Duration::from_millis(100);
/// How many mirrors may wait to be written. Nor may they take longer than the lock is kept: who
/// waits for it waits for them.
const OWED_MAX: usize = 256;

/// What only a writer needs, but for the mirrors.
#[derive(Debug)]
pub(crate) struct Writer {
    lock: LockFile,
    pace: Pace,
    /// There while the lock is kept.
    lease: Option<Lease>,
}

/// How busy a handle is.
#[derive(Debug, Default)]
struct Pace {
    /// Whether the last commit followed one of this handle.
    alone: bool,
    last_commit: Option<Instant>,
    /// Until when the lock is not kept.
    rests_until: Option<Instant>,
}

/// A lock that is kept.
#[derive(Debug)]
struct Lease {
    begun: Instant,
    /// What the mirrors do not say yet.
    owed: Owed,
}

/// Moves of refs, each ref once.
type Owed = BTreeMap<RefName, RefMove>;

/// The lock while a commit holds it. Dropped, it is given back as if its holder had died.
pub(super) struct Held<'a> {
    /// Before the guard: so it is dropped.
    wait: Wait<'a>,
    pub(super) guard: Guard<'a>,
    pace: &'a mut Pace,
    kept: &'a mut Option<Lease>,
    lease: Option<Lease>,
}

/// Waits for whoever writes mirrors, where a kept lock is dropped: they are written under it.
struct Wait<'a> {
    mirrors: &'a Mutex<Mirrors>,
    is_due: bool,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.is_due {
            drop(self.mirrors.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// What only a writer needs, held by one thread. The lock is not kept.
pub(crate) struct WriterGuard<'a> {
    writer: MutexGuard<'a, Option<Writer>>,
    mirrors: MutexGuard<'a, Mirrors>,
}

impl WriterGuard<'_> {
    pub(crate) fn parts(&mut self) -> (&LockFile, &mut Mirrors) {
        (&opened(&mut self.writer).lock, &mut self.mirrors)
    }
}

/// Gives a writer's part that was opened when its guard was made.
pub(super) fn opened<'a>(writer: &'a mut MutexGuard<'_, Option<Writer>>) -> &'a mut Writer {
    writer.as_mut().expect("opened when the guard was made")
}

impl Writer {
    /// Takes the lock, unless it is kept. Where another process has it, something useful is done
    /// before sleeping.
    pub(super) fn hold<'a>(
        &'a mut self,
        mirrors: &'a Mutex<Mirrors>,
        timeout: Duration,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Held<'a>> {
        let Writer { lock, pace, lease: kept } = self;
        let lease = kept.take();
        let guard = match lease.is_some() {
            true => lock.resume(),
            false => lock.acquire_and_meanwhile(timeout, meanwhile)?,
        };
        let wait = Wait { mirrors, is_due: lease.is_some() };
        Ok(Held { wait, guard, pace, kept, lease })
    }
}

impl Pace {
    /// Notes that a commit ends. What it took to write mirrors does not make a handle less busy.
    fn note_commit(&mut self) {
        self.last_commit = Some(Instant::now());
    }

    /// Notes that the lock is free that was kept, and is not kept for a while.
    fn rest(&mut self, pause: Duration) {
        self.rests_until = Some(Instant::now() + pause);
    }
}

impl Held<'_> {
    /// Says whether the lock was kept: nobody else can have written anything since.
    pub(super) fn was_kept(&self) -> bool {
        self.lease.is_some()
    }

    /// Notes whether nobody else has committed since this handle did.
    pub(super) fn note_alone(&mut self, is_alone: bool) {
        self.pace.alone = is_alone;
    }

    /// Says whether the lock is worth keeping at this moment, where a mirror takes so long.
    fn is_worth_keeping(&mut self, mirror_time: Duration) -> bool {
        let now = Instant::now();
        let pace = &mut *self.pace;
        let is_busy = pace.last_commit.replace(now).is_some_and(|last| now - last < BUSY);
        let in_time = match &self.lease {
            Some(lease) => now - lease.begun < KEPT_MAX && !lease.owes_much(mirror_time),
            None => is_busy && pace.alone && pace.rests_until.is_none_or(|until| until < now),
        };
        in_time && !self.guard.is_awaited()
    }
}

fn moves_of(owed: Owed) -> Vec<RefMove> {
    owed.into_values().collect()
}

impl Lease {
    fn owes_much(&self, mirror_time: Duration) -> bool {
        let time = mirror_time.saturating_mul(self.owed.len() as u32);
        self.owed.len() >= OWED_MAX || time >= KEPT_MAX
    }

    /// Gives how long the lock is not kept when this has ended, and perhaps somebody waited for it.
    /// Who kept it for a short time, and then had nothing to commit, may keep it again at once.
    fn pause(&self, is_awaited: bool, mirror_time: Duration) -> Duration {
        match self.begun.elapsed() >= KEPT_MAX || self.owes_much(mirror_time) {
            _ if is_awaited => CROWD_PAUSE,
            true => PAUSE,
            false => Duration::ZERO,
        }
    }

    fn owe(&mut self, moves: Vec<RefMove>) {
        for moved in moves {
            match self.owed.get_mut(&moved.name) {
                Some(owed) => owed.new = moved.new,
                None => drop(self.owed.insert(moved.name.clone(), moved)),
            }
        }
    }
}

impl Inner {
    /// Gives what only a writer needs, opened on first use. A lock that is kept is given back.
    pub(crate) fn writer(&self) -> Result<WriterGuard<'_>> {
        let mut writer = self.busy_writer()?;
        self.end_lease(opened(&mut writer));
        let mirrors = self.mirrors();
        Ok(WriterGuard { writer, mirrors })
    }

    /// Gives a writer's part, opened on first use. A lock that is kept stays so.
    pub(super) fn busy_writer(&self) -> Result<MutexGuard<'_, Option<Writer>>> {
        let mut guard = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            let (lock_bell, sync_bell) = self.disk.bells(&self.layout.bells());
            let _ = self.sync_bell.set(sync_bell);
            let mut lock = LockFile::open(&*self.disk, self.layout.lock())?.with_bell(lock_bell);
            if !self.options.allow_network {
                lock = lock.with_shared_record();
            }
            let pace = Pace::default();
            *guard = Some(Writer { lock, pace, lease: None });
        }
        Ok(guard)
    }

    /// Gives the mirrors. Who needs a writer's part too takes that before.
    pub(super) fn mirrors(&self) -> MutexGuard<'_, Mirrors> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a commit: keeps the lock, or writes the mirrors and gives it back.
    pub(super) fn hand_back(&self, mut held: Held<'_>, state: &State, moves: Vec<RefMove>) {
        let may_keep = self.options.background && held.guard.can_be_kept();
        let keeps = may_keep && held.is_worth_keeping(self.mirror_time());
        held.wait.is_due = false;
        let Held { guard, pace, kept, lease, .. } = held;
        if !keeps && lease.is_none() {
            self.give_back(guard, state, &moves);
            pace.note_commit();
            return;
        }
        let is_new = lease.is_none();
        let mut lease = lease.unwrap_or_else(|| Lease { begun: Instant::now(), owed: Owed::new() });
        lease.owe(moves);
        if keeps {
            guard.keep();
            *kept = Some(lease);
            if is_new {
                self.untended.store(true, Ordering::Relaxed);
            }
        } else {
            let pause = lease.pause(guard.is_awaited(), self.mirror_time());
            self.give_back(guard, state, &moves_of(lease.owed));
            pace.note_commit();
            pace.rest(pause);
        }
    }

    /// Writes mirrors and gives the lock back.
    ///
    /// Where its record, or a mirror, could not be written, the lock looks as if its holder had
    /// died: the transactions stand, and the next writer mends the mirrors.
    fn give_back(&self, guard: Guard<'_>, state: &State, moves: &[RefMove]) {
        let mut mirrors = self.mirrors();
        let mirrored = self.follow(&mut mirrors, moves);
        mirrors.keep_until(state.open_segment().end());
        if mirrored.is_ok() && mirrors.is_whole() {
            let _ = guard.release(state.manifest.generation);
        }
    }

    /// Gives the lock back if it is kept.
    fn end_lease(&self, writer: &mut Writer) {
        if let Some(lease) = writer.lease.take() {
            let pause = lease.pause(writer.lock.is_awaited(), self.mirror_time());
            self.give_back(writer.lock.resume(), &self.state(), &moves_of(lease.owed));
            writer.pace.rest(pause);
        }
    }

    /// Writes mirrors, and notes how long that takes.
    fn follow(&self, mirrors: &mut Mirrors, moves: &[RefMove]) -> Result<()> {
        let begun = Instant::now();
        let followed = mirrors.follow(moves);
        if let Some(time) = begun.elapsed().checked_div(moves.len() as u32) {
            self.mirror_nanos.store(time.as_nanos() as u64, Ordering::Relaxed);
        }
        followed
    }

    /// Gives how long it lately took to write a mirror.
    fn mirror_time(&self) -> Duration {
        Duration::from_nanos(self.mirror_nanos.load(Ordering::Relaxed))
    }

    /// Gives the lock back if it is kept, and does not keep it for a while: nobody looks after it,
    /// or the handle goes.
    pub(crate) fn stop_keeping(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &mut *writer {
            self.end_lease(writer);
            writer.pace.rest(CROWD_PAUSE);
        }
    }

    /// Gives the lock back if it is kept and somebody waits for it, unless another thread commits:
    /// that one will see to it.
    pub(crate) fn give_way(&self) {
        if let Ok(mut writer) = self.writer.try_lock()
            && let Some(writer) = &mut *writer
            && writer.lease.is_some()
            && writer.lock.is_awaited()
        {
            self.end_lease(writer);
        }
    }

    /// Looks after a lock that is kept: gives it back when it is time, else writes the mirrors that
    /// are owed, while commits go on. Says whether it is still kept.
    pub(crate) fn tend(&self) -> bool {
        let mut guard = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = &mut *guard else { return false };
        let Some(lease) = &mut writer.lease else { return false };
        let is_idle = writer.pace.last_commit.is_none_or(|last| last.elapsed() >= BUSY);
        if is_idle || lease.begun.elapsed() >= KEPT_MAX || writer.lock.is_awaited() {
            self.end_lease(writer);
            return false;
        }
        let owed = moves_of(std::mem::take(&mut lease.owed));
        // Taken before the writer's part is given back: who gives back the lock waits for them.
        let mut mirrors = self.mirrors();
        drop(guard);
        let was_whole = mirrors.is_whole();
        mirrors.set_whole(false);
        let of_one = |one: &RefMove, next: &RefMove| {
            one.name.session().map(|(session, _)| session)
                == next.name.session().map(|(session, _)| session)
        };
        let mut sessions = owed.chunk_by(of_one);
        let followed = sessions.try_for_each(|moves| self.follow(&mut mirrors, moves));
        mirrors.set_whole(was_whole && followed.is_ok());
        true
    }
}

#[cfg(test)]
mod tests;
