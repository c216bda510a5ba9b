//! Committing: one transaction becomes one group.
//!
//! The order of steps, and what a crash between them leaves:
//!
//! 1. Plan, drop what is known, check links: outside the lock. Where others were faster the last
//!    time, read on instead: there is less to read under it. Nothing.
//! 2. Large blobs become loose files, durable under their names. Objects that nothing points to.
//!    What links others waits for the lock: they may be gone, and who sees it would build on it.
//! 3. Take the lock; read on; if somebody was faster, plan again.
//! 4. Append the group with one write. The transaction, or a torn tail that the next writer closes.
//! 5. Update the mirror files; give the lock back; or keep it, where this handle is busy and alone
//!    (in `lease`): the next commit has no step 3 then. Stale mirrors, which the next writer mends.
//! 6. Wait until it is durable (in `sync`). The transaction, perhaps unacknowledged.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::error::{Error, Result};
use crate::id::Kind;
use crate::object::NewObject;
use crate::store::local::Inner;
use crate::store::local::durable::Position;
use crate::store::local::group::NewGroup;
use crate::store::local::lease::{self, Held};
use crate::store::local::lock::Guard;
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::mirror::{self, Mirrors};
use crate::store::local::refused::refuse;
use crate::store::local::segment::Tail;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::state::{self, State};
use crate::store::{Durability, RefMove, Snapshot, Transaction};

/// What a plan makes of a snapshot.
pub(crate) type Plan<'a> = &'a mut dyn FnMut(&dyn Snapshot) -> Result<Transaction>;

/// A plan that was checked.
struct Settled {
    /// What goes into the group.
    transaction: Transaction,
    /// The depths of its objects.
    depths: Vec<Option<u64>>,
    moves: Vec<RefMove>,
    /// What is too large for it; blobs of that are stored.
    large: Vec<NewObject>,
}

impl Inner {
    /// Commits a transaction and gives the place that must become durable for it.
    ///
    /// Kept apart: what stands behind it in the program is for readers.
    #[inline(never)]
    pub(crate) fn commit(
        self: &Arc<Inner>,
        durability: Durability,
        plan: Plan<'_>,
    ) -> Result<Position> {
        self.check_writable()?;
        self.check_journal()?;
        loop {
            let mut state = self.state();
            // What a purge has not removed yet must not be taken for something that is there.
            if state.purge.is_some() {
                state = self.settled()?;
            }
            if let Some(position) = self.try_commit(state, durability, plan)? {
                return Ok(position);
            }
        }
    }

    /// Commits a transaction, unless a purge has to be finished first.
    fn try_commit(
        self: &Arc<Inner>,
        known: Arc<State>,
        durability: Durability,
        plan: Plan<'_>,
    ) -> Result<Option<Position>> {
        // What this handle knows may be behind what others committed: then it is planned again
        // under the lock, whatever came of it here. A disk that failed is not asked twice.
        let mut planned = None;
        if self.outrun.load(Ordering::Relaxed) {
            self.read_on_meanwhile();
        } else {
            // What the groups of others tell is entered here, not under the lock.
            drop(known.open_segment().ledger());
            let snapshot = LocalSnapshot::for_commit(self, known);
            match self.settle(&snapshot, plan) {
                Err(error @ Error::Io { .. }) => return Err(error),
                settled => planned = Some((snapshot, settled)),
            }
        }
        let mut writer = self.busy_writer()?;
        let mut read_on = || self.read_on_meanwhile();
        let held = lease::opened(&mut writer);
        let mut held = held.hold(&self.mirrors, self.options.lock_timeout, &mut read_on)?;
        let mut state = match held.was_kept() {
            true => self.state(),
            false => self.see_others(&mut held)?,
        };
        if state.purge.is_some() {
            self.hand_back(held, &state, Vec::new());
            return Ok(None);
        }
        if let Some((_, Ok(settled))) = &planned {
            self.take_back_refused(&state, &settled.large)?;
        }
        let planned =
            planned.filter(|(snapshot, settled)| settled.is_ok() && snapshot.is_all_of(&state));
        let (snapshot, settled) = planned.unwrap_or_else(|| {
            let snapshot = LocalSnapshot::for_commit(self, Arc::clone(&state));
            let settled = self.settle(&snapshot, plan);
            (snapshot, settled)
        });
        let Settled { transaction, depths, moves, large } = match settled {
            Ok(settled) => settled,
            Err(error) => {
                self.hand_back(held, &state, Vec::new());
                return Err(error);
            }
        };
        for object in large.iter().filter(|object| object.kind != Kind::Blob) {
            self.loose.put(&object.id, object.kind, &object.content)?;
        }
        for id in snapshot.loose_seen() {
            self.loose.vouch(&id)?;
        }
        if !transaction.objects.is_empty() || !moves.is_empty() {
            let group = NewGroup {
                objects: &transaction.objects,
                depths: &depths,
                moves: &moves,
                operation: transaction.operation.as_ref(),
                close: false,
            };
            let before = state.open_segment().end();
            state = self.append(state, &group)?;
            let is_synced_next = durability == Durability::Full && !held.was_kept();
            if is_synced_next && mirror::makes_files(&moves) {
                state.open_segment().begin_sync(before);
            }
        }
        let end = state.open_segment().end();
        self.hand_back(held, &state, moves);
        Ok(Some(end))
    }

    /// Learns what others have committed since this handle did, under the lock that it has taken.
    fn see_others(self: &Arc<Inner>, held: &mut Held<'_>) -> Result<Arc<State>> {
        let mut mirrors = self.mirrors();
        let alone_until = mirrors.kept_until();
        let state = self.catch_up(&held.guard, &mut mirrors)?;
        let is_alone = alone_until == state.open_segment().end();
        held.note_alone(is_alone && !held.guard.holder_died);
        let outrun = !is_alone && alone_until != Position::default();
        self.outrun.store(outrun, Ordering::Relaxed);
        Ok(state)
    }

    /// Hashes what the journal holds, once per handle: who writes does not build on damage. What
    /// comes later was written by processes that did the same.
    fn check_journal(&self) -> Result<()> {
        if !self.journal_checked.load(Ordering::Acquire) {
            self.state().segments.iter().try_for_each(|segment| segment.check_contents())?;
            self.journal_checked.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Removes the files of blobs that were redacted since they were planned.
    fn take_back_refused(&self, state: &State, large: &[NewObject]) -> Result<()> {
        let refused = state.refused.as_deref();
        for object in large.iter().filter(|object| object.kind == Kind::Blob) {
            if refuse(refused, &object.id, object.kind).is_err() {
                self.loose.remove(&object.id)?;
            }
        }
        Ok(())
    }

    /// Plans, checks, and stores large blobs alone. What is small goes into the group.
    fn settle(&self, snapshot: &LocalSnapshot, plan: Plan<'_>) -> Result<Settled> {
        let mut transaction = plan(snapshot)?;
        let refused = snapshot.state.refused.as_deref();
        for object in transaction.objects.iter().filter(|_| refused.is_some()) {
            refuse(refused, &object.id, object.kind)?;
        }
        let moves = transaction.settle(snapshot)?;
        let is_large = |object: &mut NewObject| object.content.len() as u64 >= LOOSE_BYTES_MIN;
        let large: Vec<NewObject> = transaction.objects.extract_if(.., is_large).collect();
        for object in large.iter().filter(|object| object.kind == Kind::Blob) {
            self.loose.put(&object.id, object.kind, &object.content)?;
        }
        let depths = snapshot.depths_of_new(&transaction.objects);
        Ok(Settled { transaction, depths, moves, large })
    }

    /// Brings a writer up to date: the last whole group is read, the segment is fit to append to.
    ///
    /// Recovers from a crash where there was one. The caller holds the lock.
    pub(crate) fn catch_up(
        self: &Arc<Inner>,
        guard: &Guard<'_>,
        mirrors: &mut Mirrors,
    ) -> Result<Arc<State>> {
        if guard.holder_died {
            // Perhaps between giving a manifest its name and making that name durable.
            let root = self.layout.root();
            self.disk.sync_dir(root).map_err(Error::io("sync", root))?;
        }
        let mark = self.marked()?;
        let mut state = self.state();
        if guard.holder_died || guard.generation != state.manifest.generation {
            state = self.reload()?;
        }
        let first_write = !state.open_segment().is_vouched();
        // Whoever wrote since this handle last looked gave the lock back in good order: its groups
        // are whole, and their contents need not be hashed. Of another machine's nobody knows.
        let trusted = !first_write && !guard.holder_died && !self.options.allow_network;
        // Bytes that survived a power cut behind a hole are looked for once: what is there later
        // was written since.
        let seen = self.journal_seen.load(Ordering::Acquire) && !guard.holder_died;
        let looks_behind = first_write && !seen;
        if !(trusted && state.read_on_trusting(mark)?)
            && state.read_on(mark, looks_behind)? != Tail::Clean
        {
            let bytes = self.segment_bytes(state.open_segment(), 0);
            state = self.next_segment(&state, bytes)?;
        }
        let segment = state.open_segment();
        let kept = mirrors.kept_until();
        let same = kept.sequence == segment.sequence && segment.ledger().reshaped <= kept.offset;
        mirrors.keep_if(!guard.holder_died && same);
        if guard.holder_died {
            // A mirror that cannot be written holds up nobody: the next writer tries again.
            let healed = self.heal(&state, mirrors).is_ok();
            mirrors.set_whole(healed);
        }
        segment.write_again(state::marked_in(segment, mark))?;
        self.journal_seen.store(true, Ordering::Release);
        Ok(state)
    }

    /// Writes every mirror file again whose ref moved since the last refs snapshot.
    fn heal(self: &Arc<Inner>, state: &Arc<State>, mirrors: &mut Mirrors) -> Result<()> {
        let snapshot = LocalSnapshot::new(Arc::clone(self), Arc::clone(state));
        for segment in &state.segments {
            let names: Vec<_> = segment.ledger().refs.keys().cloned().collect();
            for name in names {
                mirrors.write(&name, snapshot.reference(&name)?.as_ref())?;
            }
        }
        Ok(())
    }

    /// Appends the group, in a new segment if this one has no room for it.
    fn append(
        self: &Arc<Inner>,
        mut state: Arc<State>,
        group: &NewGroup<'_>,
    ) -> Result<Arc<State>> {
        let bytes = group.bytes_max();
        self.note_group(bytes);
        if !state.open_segment().has_room(bytes) || self.is_crowded(state.open_segment()) {
            state = self.rotate(&state, bytes)?;
        }
        let segment = state.open_segment();
        let durable = self.durable_position();
        segment.append(group, state::marked_in(segment, durable))?;
        Ok(state)
    }
}
