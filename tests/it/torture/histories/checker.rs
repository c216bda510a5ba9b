//! Whether calls that overlap in time can have happened one after the other.
//!
//! The search of Wing and Gong: of the calls that are left, any one may come next that began before
//! all of them had ended. What was tried without success is remembered by the calls that are done
//! and the state they led to.

use std::collections::HashSet;
use std::time::Duration;

/// What a call is to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Read,
    /// All of them or none.
    Swap(Vec<Swap>),
}

/// A ref that is to be moved.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Swap {
    pub(super) place: usize,
    pub(super) old: Option<u8>,
    pub(super) new: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Answer {
    State(State),
    Done,
    Refused,
}

/// What the refs point to.
pub(super) type State = [Option<u8>; 2];

/// A call of a client; without an answer it may have happened at any time from its begin on.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) invoked: Duration,
    pub(super) returned: Option<Duration>,
    pub(super) action: Action,
    pub(super) answer: Option<Answer>,
}

impl Call {
    /// Gives the state after the call, if it can happen in this one with its answer.
    fn after(&self, state: State) -> Option<State> {
        match &self.action {
            Action::Read => (self.answer.is_none() || self.answer == Some(Answer::State(state)))
                .then_some(state),
            Action::Swap(swaps) => {
                let fits = swaps.iter().all(|swap| state[swap.place] == swap.old);
                match (fits, self.answer) {
                    (true, None | Some(Answer::Done)) => {
                        let mut next = state;
                        swaps.iter().for_each(|swap| next[swap.place] = Some(swap.new));
                        Some(next)
                    }
                    (false, None | Some(Answer::Refused)) => Some(state),
                    _ => None,
                }
            }
        }
    }
}

/// Says whether there is an order that explains all answers, from refs that are not there.
pub(super) fn is_linearizable(history: &[Call]) -> bool {
    let mut calls: Vec<&Call> = history.iter().collect();
    calls.sort_by_key(|call| call.invoked);
    let mut search = Search { calls: &calls, seen: HashSet::new() };
    let done = vec![0u64; calls.len().div_ceil(64)];
    search.goes_on(done, [None; 2])
}

struct Search<'a> {
    calls: &'a [&'a Call],
    seen: HashSet<(Vec<u64>, State)>,
}

impl Search<'_> {
    fn goes_on(&mut self, done: Vec<u64>, state: State) -> bool {
        let mut open = vec![(done, state)];
        while let Some((done, state)) = open.pop() {
            if !self.seen.insert((done.clone(), state)) {
                continue;
            }
            let left: Vec<usize> =
                (0..self.calls.len()).filter(|at| done[at / 64] >> (at % 64) & 1 == 0).collect();
            let limit = left.iter().filter_map(|at| self.calls[*at].returned).min();
            let Some(limit) = limit else {
                return true;
            };
            for at in left.into_iter().filter(|at| self.calls[*at].invoked <= limit) {
                if let Some(next) = self.calls[at].after(state) {
                    let mut done = done.clone();
                    done[at / 64] |= 1 << (at % 64);
                    open.push((done, next));
                }
            }
        }
        false
    }
}

fn call(begin: u64, end: u64, action: Action, answer: Option<Answer>) -> Call {
    let at = Duration::from_millis;
    Call { invoked: at(begin), returned: answer.map(|_| at(end)), action, answer }
}

#[test]
fn the_checker_knows_right_from_wrong() {
    let swap = |old: Option<u8>, new: u8| Action::Swap(vec![Swap { place: 0, old, new }]);
    let read = |value: Option<u8>| Some(Answer::State([value, None]));
    let done = Some(Answer::Done);
    let write = call(0, 10, swap(None, 1), done);
    // While it is written, both can be read, but not the old after the new.
    let early = call(1, 2, Action::Read, read(Some(1)));
    let late = |value| call(3, 4, Action::Read, read(value));
    assert!(is_linearizable(&[write.clone(), early.clone(), late(Some(1))]));
    assert!(!is_linearizable(&[write.clone(), early, late(None)]));
    // Afterwards the old can't be read, and not both of two can have won.
    assert!(!is_linearizable(&[write.clone(), call(11, 12, Action::Read, read(None))]));
    assert!(!is_linearizable(&[write.clone(), call(5, 12, swap(None, 2), done)]));
    assert!(is_linearizable(&[write.clone(), call(5, 12, swap(None, 2), Some(Answer::Refused))]));
    // One that was killed may have happened late, or never.
    let killed = call(0, 0, swap(Some(1), 3), None);
    let after = |value| call(20, 21, Action::Read, read(value));
    assert!(is_linearizable(&[write.clone(), killed.clone(), after(Some(3))]));
    assert!(is_linearizable(&[write.clone(), killed.clone(), after(Some(1))]));
    assert!(!is_linearizable(&[write, killed, after(Some(2))]));
}
