//! A compaction on a path that is read backwards: what it keeps of what came before it.

use super::stack::{place, place_at};
use super::{Shown, first_kept, foreign_id};
use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::store::Snapshot;

/// The field in which a compaction of a linear file names the place of the first that it keeps.
const FIRST_KEPT_PLACE: &str = "firstKeptEntryIndex";

/// So many entries are looked through for the first that is kept before it is asked how deep it
/// lies: most are found by then, and no graph need be opened.
const UNPLACED_MAX: usize = if cfg!(test) { 2 } else { 64 };

/// The newest compaction of a path.
pub(super) struct Compaction {
    pub(super) summary: Vec<Shown>,
    /// The first entry that is kept; `None` once it is met, or if there is none.
    pub(super) kept: Option<Kept>,
    /// How many were shown before the compaction was met.
    pub(super) newer: usize,
    /// What was to be kept first, if it is not on the path.
    pub(super) lost: Option<String>,
    /// How many entries were seen while it was not known how deep the first lies.
    unplaced: usize,
}

/// How a compaction names the first entry that it keeps.
pub(super) enum Kept {
    /// By its id; it lies that deep, once that was looked up.
    Id(Id, Option<u64>),
    /// By the id it had in the program that it came from.
    Foreign(String),
    /// By its place in the linear file that it came from.
    Place(u64),
}

/// What becomes of an entry before a compaction.
pub(super) enum Seen {
    /// It is shown.
    Kept,
    /// It is not.
    Dropped,
    /// What was to be kept first is not on this path: nothing is shown beyond so many.
    Lost(usize),
}

impl Compaction {
    /// Reads what a compaction keeps.
    pub(super) fn of(
        snapshot: &dyn Snapshot,
        body: &Value,
        summary: Vec<Shown>,
        newer: usize,
    ) -> Result<Compaction> {
        let kept = match first_kept(body) {
            Some(Value::Link(id)) => Some(Kept::Id(*id, None)),
            // One that keeps from itself on keeps nothing.
            Some(Value::Text(text)) if foreign_id(body) == Some(text) => None,
            Some(Value::Text(text)) => {
                let own = text.parse::<Id>().ok();
                let depth = own.map(|id| snapshot.depth(&id)).transpose()?.flatten();
                Some(match (own, depth) {
                    (Some(id), Some(_)) => Kept::Id(id, depth),
                    _ => Kept::Foreign(text.clone()),
                })
            }
            _ => place(body, FIRST_KEPT_PLACE).map(Kept::Place),
        };
        Ok(Compaction::keeping(kept, summary, newer))
    }

    /// Begins at a compaction that keeps something, or nothing.
    pub(super) fn keeping(kept: Option<Kept>, summary: Vec<Shown>, newer: usize) -> Compaction {
        Compaction { summary, kept, newer, lost: None, unplaced: 0 }
    }

    /// Says whether it matters how deep an entry of a type lies.
    pub(super) fn asks_depth(&self, label: &str) -> bool {
        match self.kept {
            // What a pop does can't be taken back when the first turns out not to be on the path.
            Some(Kept::Id(_, None)) => self.unplaced >= UNPLACED_MAX || label == "stack_pop",
            Some(Kept::Id(..) | Kept::Place(_)) => true,
            Some(Kept::Foreign(_)) | None => false,
        }
    }

    /// Looks up how deep the first entry lies that is kept; false if it is missing, and so are all.
    pub(super) fn place(&mut self, snapshot: &dyn Snapshot) -> Result<bool> {
        let Some(Kept::Id(id, depth @ None)) = &mut self.kept else {
            return Ok(true);
        };
        *depth = snapshot.depth(id)?;
        let is_there = depth.is_some();
        if !is_there {
            self.lost = Some(id.to_string());
            self.kept = None;
        }
        Ok(is_there)
    }

    /// Says what becomes of an entry, and notes when nothing before it is kept.
    pub(super) fn see(&mut self, id: &Id, depth: u64, body: &Value) -> Seen {
        match &self.kept {
            Some(Kept::Id(first, _)) if first == id => self.kept = None,
            Some(Kept::Id(_, None)) => self.unplaced += 1,
            Some(Kept::Id(first, Some(first_depth))) if depth <= *first_depth => {
                self.lost = Some(first.to_string());
                self.kept = None;
                return Seen::Lost(self.newer);
            }
            Some(Kept::Foreign(first)) if foreign_id(body) == Some(first) => self.kept = None,
            Some(Kept::Place(first)) if place_at(depth) <= *first => {
                let is_first = place_at(depth) == *first;
                self.kept = None;
                return if is_first { Seen::Kept } else { Seen::Dropped };
            }
            _ => {}
        }
        Seen::Kept
    }
}
