//! Where turns began, so that what follows a rollback hangs on what was before them.

use crate::dialect::Parent;

/// Where the turns of a path began, by the numbers of the values before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// The last value of the path.
    last: Option<u64>,
    /// What was before the turn that has begun, in which nobody has spoken so far.
    open: Option<Option<u64>>,
    /// What was before each turn in which somebody spoke.
    before: Vec<Option<u64>>,
}

impl Turns {
    /// Begins a turn here.
    pub(super) fn begin(&mut self) {
        self.open = Some(self.last);
    }

    /// Begins a turn here unless one has begun.
    pub(super) fn open(&mut self) {
        self.open = self.open.or(Some(self.last));
    }

    /// Notes that a person has spoken in the turn.
    pub(super) fn keep(&mut self) {
        self.before.extend(self.open.take());
    }

    /// Goes on behind the value with this number.
    pub(super) fn pass(&mut self, number: u64) {
        self.last = Some(number);
    }

    /// Takes so many turns back, and says on what the next value hangs.
    pub(super) fn take_back(&mut self, turns: i64) -> Parent {
        let turns = usize::try_from(turns).unwrap_or(0).min(self.before.len());
        self.open = None;
        match self.before.drain(self.before.len() - turns..).next() {
            None => Parent::Before,
            Some(None) => Parent::Root,
            Some(Some(number)) => Parent::Id(number.to_string()),
        }
    }
}
