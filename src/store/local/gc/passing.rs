//! The journal on its way into packs.
//!
//! What closed segments hold is packed with all else, in one step: they are read into a pack that
//! is held in memory, and go with the manifest that names what was made of it. Until then nothing
//! has changed: a run that is stopped leaves closed segments, as a crash does.
//!
//! Where they hold much, or operations that go in the same run, they are sealed first, into files.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::Collection;
use crate::error::{Error, Result};
use crate::store::local::pack::{HeldPack, Pack, Unchecked, held_by_any};
use crate::store::local::segment::Segment;
use crate::store::local::state::State;

/// So much of the journal is held at the most.
const HELD_BYTES_MAX: u64 = 32 << 20;

/// Closed segments, and a pack of what they hold.
pub(super) struct Passing {
    pub(super) pack: Arc<Pack>,
    /// How many they are, the first ones of the journal.
    pub(super) segments: usize,
    /// The number of the segment after them.
    pub(super) next_sequence: u64,
}

impl Collection<'_> {
    /// Closes the open segment, unless the journal is at rest, and takes in hand what is closed.
    pub(super) fn take_journal(&mut self) -> Result<()> {
        let inner = self.inner;
        let state = inner.refresh()?;
        if inner.is_at_rest(&state) {
            return Ok(());
        }
        self.hold_manifest();
        let (held, is_sound) = self.checked(&state, |to_check| {
            inner.close_journal()?;
            let state = inner.refresh()?;
            let held = self.hold(&state, &to_check)?;
            Ok((held, state))
        })?;
        self.passing = match held {
            (Some(held), state) => Some(self.pass(held, &state, is_sound)?),
            (None, _) => None,
        };
        match self.passing {
            Some(_) => Ok(()),
            None => inner.seal(self.seal_options()).and_then(|()| inner.sweep()),
        }
    }

    /// Reads what closed segments hold; `None` where they are to be sealed.
    fn hold(&self, state: &State, to_check: &Sender<Unchecked>) -> Result<Option<HeldPack>> {
        let closed = closed(state);
        let is_old = |segment: &Arc<Segment>| {
            let table = segment.table();
            table.operations.iter().any(|(_, it, _)| it.time < self.options.operations_ms)
        };
        let bytes: u64 = closed.iter().map(|segment| segment.end().offset).sum();
        if bytes > HELD_BYTES_MAX || closed.iter().any(is_old) {
            return Ok(None);
        }
        let mut held = HeldPack::default();
        let check = |full: Option<Unchecked>| {
            full.map(|block| to_check.send(block).expect("they are received until all are sent"))
        };
        for segment in closed {
            segment.for_each(&mut |id, place, content| {
                if !held_by_any(&state.packs, id)? {
                    check(held.add(id, place.kind, content));
                }
                Ok(())
            })?;
        }
        check(held.end_block());
        Ok(Some(held).filter(|held| !held.is_empty()))
    }

    /// Takes what closed segments hold in hand.
    fn pass(&self, held: HeldPack, state: &State, is_sound: bool) -> Result<Passing> {
        let (open, closed) = (state.open_segment(), closed(state));
        let last = closed.last().expect("what is held comes from one");
        if !is_sound {
            for segment in closed {
                segment.check_contents()?;
            }
            return Err(Error::corrupt(&last.path, None, "it changes while it is read"));
        }
        // The newest of them says how young it is.
        let pack = held.finish(Arc::clone(&self.inner.disk), &last.path)?;
        let (segments, next_sequence) = (closed.len(), open.sequence);
        Ok(Passing { pack: Arc::new(pack), segments, next_sequence })
    }
}

/// Gives the segments that are closed.
fn closed(state: &State) -> &[Arc<Segment>] {
    &state.segments[..state.segments.len() - 1]
}
