//! The journal on its way into packs.
//!
//! What segments hold is packed with all else, in one step: they are read into a pack that is held
//! in memory, and go with the manifest that names what was made of it. Until then nothing has
//! changed: a run that is stopped leaves segments, as a crash does.
//!
//! The last of them stays open meanwhile where there is little to pack, and is closed by the same
//! manifest: the disk is waited for once. Where somebody wrote to it by then, that manifest is not
//! published, and all is done again with a journal that is closed before it is read.
//!
//! Where they hold much, or operations that go in the same run, they are sealed first, into files.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::{Collection, mark};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::durable::Position;
use crate::store::local::pack::{HeldPack, Pack, Unchecked, held_by_any};
use crate::store::local::segment::Segment;
use crate::store::local::state::{self, State};

/// So much of the journal is held at the most.
const HELD_BYTES_MAX: u64 = 32 << 20;

/// The journal is closed before it is read where it and the packs have more than this: to do all
/// again would take long.
const OPEN_BYTES_MAX: u64 = 16 << 20;

/// A thread hashes what an open journal holds if that is so much.
const HELPED_BYTES_MIN: u64 = 512 << 10;

/// Segments, and a pack of what they hold.
pub(super) struct Passing {
    pub(super) pack: Arc<Pack>,
    /// How many they are, the first ones of the journal.
    pub(super) segments: usize,
    /// Where the journal goes on after them.
    pub(super) end: Position,
    /// Whether the last of them is open.
    pub(super) is_open: bool,
}

impl Passing {
    /// Says whether its pack is one of these.
    pub(super) fn is_among(&self, packs: &HashSet<Id>) -> bool {
        packs.contains(&self.pack.info().id)
    }

    /// Gives where the journal must end to be packed; `None` if it is closed.
    pub(super) fn open_end(&self) -> Option<Position> {
        self.is_open.then_some(self.end)
    }
}

impl Collection<'_> {
    /// Takes the journal in hand, unless it is at rest. It is closed first where it holds much, or
    /// somebody wrote to it while it was open.
    pub(super) fn take_journal(&mut self, is_outrun: bool) -> Result<()> {
        let inner = self.inner;
        let state = inner.refresh()?;
        if inner.is_at_rest(&state) {
            return Ok(());
        }
        let bytes = bytes(&state.segments);
        let is_open = !is_outrun && mark::raw_bytes(&state)? + bytes <= OPEN_BYTES_MAX;
        if !is_open {
            self.hold_manifest();
        }
        let is_helped = !is_open || bytes >= HELPED_BYTES_MIN;
        let ((held, segments, end), is_sound) = self.checked(&state, is_helped, |to_check| {
            if !is_open {
                inner.close_journal()?;
            }
            let state = inner.refresh()?;
            let (open, closed) = state.segments.split_last().expect("a manifest names a segment");
            let (segments, end) = match is_open {
                // What is read may be more: then there is more to find when it is to be closed.
                true => (&state.segments[..], open.end()),
                false => (closed, state::begin_of(open.sequence)),
            };
            let held = self.hold(&state, segments, &to_check)?;
            Ok((held, segments.to_vec(), end))
        })?;
        let Some(held) = held else {
            return self.seal_all(is_open);
        };
        let pack = self.pass(held, &segments, is_sound)?;
        self.passing = Some(Passing { pack, segments: segments.len(), end, is_open });
        Ok(())
    }

    /// Seals the journal, which may be open.
    pub(super) fn seal_all(&self, is_open: bool) -> Result<()> {
        if is_open {
            self.inner.close_journal()?;
        }
        self.inner.seal(self.seal_options())?;
        self.inner.sweep()
    }

    /// Reads what segments hold; `None` where they are to be sealed.
    fn hold(
        &self,
        state: &State,
        segments: &[Arc<Segment>],
        to_check: &Sender<Unchecked>,
    ) -> Result<Option<HeldPack>> {
        let is_old = |segment: &Arc<Segment>| {
            let ledger = segment.ledger();
            ledger.operations.iter().any(|(_, it, _)| it.time < self.options.operations_ms)
        };
        if bytes(segments) > HELD_BYTES_MAX || segments.iter().any(is_old) {
            return Ok(None);
        }
        let mut held = HeldPack::default();
        let check = |full: Option<Unchecked>| {
            full.map(|block| to_check.send(block).expect("they are received until all are sent"))
        };
        for segment in segments {
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

    /// Makes a pack of what segments hold.
    fn pass(&self, held: HeldPack, segments: &[Arc<Segment>], is_sound: bool) -> Result<Arc<Pack>> {
        let last = segments.last().expect("what is held comes from one");
        if !is_sound {
            for segment in segments {
                segment.check_contents()?;
            }
            return Err(Error::corrupt(&last.path, None, "it changes while it is read"));
        }
        // The newest of them says how young it is.
        held.finish(Arc::clone(&self.inner.disk), &last.path).map(Arc::new)
    }
}

/// Counts what segments hold.
fn bytes(segments: &[Arc<Segment>]) -> u64 {
    segments.iter().map(|segment| segment.end().offset).sum()
}
