//! Pops of a linear conversation, as pi's first version wrote them: a `stack_pop` puts a summary in
//! the place of everything from some place on.
//!
//! A place counts the values of the file that a path came from, its header included, so the entry
//! at the root has place 1. The later of two pops wins where both speak of the same entries, and
//! holds though it was popped itself.

use crate::codec::Value;

/// What was popped, seen from the end of a path backwards.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// The first place of what was popped.
    popped: Option<u64>,
}

impl Stack {
    /// Says whether anything is gone.
    pub(super) fn is_popped(&self) -> bool {
        self.popped.is_some()
    }

    /// Says whether an entry is gone.
    pub(super) fn hides(&self, place: u64) -> bool {
        self.popped.is_some_and(|popped| popped <= place)
    }

    /// Takes the next older pop, and says whether it pops what no newer one has.
    pub(super) fn pop(&mut self, back_to: u64) -> bool {
        let is_lower = !self.hides(back_to);
        if is_lower {
            self.popped = Some(back_to);
        }
        is_lower
    }
}

/// Gives the place of an entry that lies so deep.
pub(super) fn place_at(depth: u64) -> u64 {
    depth + 1
}

/// Reads a place.
pub(super) fn place(body: &Value, key: &str) -> Option<u64> {
    body.get(key)?.as_i64()?.try_into().ok()
}
