//! Which answer belongs to which call.
//!
//! An answer belongs to the last call before it with its id that is still open; ids need not be
//! unique. It stands with its call where both are in one section, else where it was given.

use std::collections::{HashMap, HashSet};

use crate::ops::export::outline::{Outline, Row};

/// How many entries lie between a call and its answer at the most. Answers that come later stand
/// where they were given.
const STEPS_MAX: usize = 4096;

/// A call or an answer: the place of its entry, and its number among those of the entry.
pub(in crate::ops::export) type Part = (usize, usize);

/// Calls and what answers them.
#[derive(Default)]
pub(in crate::ops::export) struct Joined {
    answers: HashMap<Part, Part>,
    /// The answers that stand with their calls.
    moved: HashSet<Part>,
    /// The entries that hold only such answers.
    whole: HashSet<usize>,
}

impl Joined {
    /// Joins answers to calls.
    pub(super) fn of(outline: &Outline, rows: &[Row], nearest: &[Option<usize>]) -> Joined {
        let mut joined = Joined::default();
        // The calls that are open, by their ids, in order.
        let mut open: HashMap<&str, Vec<Part>> = HashMap::new();
        for (place, row) in rows.iter().enumerate() {
            let home = nearest[place].and_then(|on| outline.home(on));
            let mut count = 0;
            for (number, answer) in row.answers.iter().enumerate() {
                let Some(calls) = open.get_mut(answer.as_str()) else {
                    continue;
                };
                // What hangs beside the paths may hang anywhere.
                let last = calls.len().checked_sub(1).filter(|_| outline.home(place).is_none());
                let Some(found) = above(outline, calls, place).or(last) else {
                    continue;
                };
                if home.is_none() || outline.home(calls[found].0) == home {
                    joined.answers.insert(calls.remove(found), (place, number));
                    joined.moved.insert((place, number));
                    count += 1;
                }
            }
            if count > 0 && count == row.answers.len() && row.is_only_answers {
                joined.whole.insert(place);
            }
            for (number, call) in row.calls.iter().enumerate() {
                open.entry(call).or_default().push((place, number));
            }
        }
        joined
    }

    /// Gives the answer to a call.
    pub(in crate::ops::export) fn answer(&self, call: Part) -> Option<Part> {
        self.answers.get(&call).copied()
    }

    /// Says whether an answer stands with its call.
    pub(in crate::ops::export) fn is_moved(&self, answer: Part) -> bool {
        self.moved.contains(&answer)
    }

    /// Says whether all of an entry stands with calls.
    pub(in crate::ops::export) fn is_whole(&self, place: usize) -> bool {
        self.whole.contains(&place)
    }
}

/// Finds the nearest of these calls on the path to a place. They are sorted.
fn above(outline: &Outline, calls: &[Part], place: usize) -> Option<usize> {
    let first = calls.first()?.0;
    let mut next = outline.forest.parent(place);
    for _ in 0..STEPS_MAX {
        let at = next.filter(|at| *at >= first)?;
        let behind = calls.partition_point(|call| call.0 <= at);
        if let Some(found) = behind.checked_sub(1).filter(|found| calls[*found].0 == at) {
            return Some(found);
        }
        next = outline.forest.parent(at);
    }
    None
}
