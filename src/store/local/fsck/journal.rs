//! The journal: every group of every segment, and what was durable once.

use std::sync::Arc;

use crate::error::Result;
use crate::id::Id;
use crate::store::local::durable::Position;
use crate::store::local::manifest::{Closed, Manifest};
use crate::store::local::segment::{Location, Segment, Tail};
use crate::store::local::state;
use crate::store::{RefName, RefValue};

use super::{Check, Severity};

/// The segments that could be read, each with the end of what is looked at.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) segments: Vec<(Arc<Segment>, u64)>,
    /// Whether no group is missing that was durable.
    pub(super) whole: bool,
}

impl Journal {
    /// Counts the objects in all segments.
    pub(super) fn objects(&self) -> u64 {
        let counts = self.segments.iter();
        counts.map(|(segment, _)| segment.table().objects.len() as u64).sum()
    }

    /// Reads on to what was committed after the check began.
    pub(super) fn read_on(&self) {
        if let Some((segment, _)) = self.segments.last() {
            // Damage was reported when the segment was first read; this looks for what is new.
            let _ = segment.read_on(0, u64::MAX);
        }
    }

    /// Says whether an object has been committed since.
    pub(super) fn holds_now(&self, id: &Id) -> bool {
        let last = self.segments.last();
        last.is_some_and(|(segment, _)| segment.table().objects.contains_key(id))
    }

    /// Gives the values that refs took after the check began.
    pub(super) fn later_values(&self, visit: Visit<'_>) {
        let Some((segment, end)) = self.segments.last() else {
            return;
        };
        for (name, versions) in &segment.ledger().refs {
            let mut later = versions.behind(*end).peekable();
            if later.peek().is_some() {
                visit(name, &mut later);
            }
        }
    }
}

/// Is shown the values that a ref took, oldest first.
type Visit<'v> = &'v mut dyn FnMut(&RefName, &mut dyn Iterator<Item = &Option<RefValue>>);

impl Check<'_> {
    /// Reads all segments. `named` says whether the manifest's records can be believed.
    pub(super) fn journal(&mut self, manifest: &Manifest, named: bool, mark: Position) -> Journal {
        let mut journal = Journal { segments: Vec::new(), whole: true };
        for record in &manifest.segments {
            let path = self.layout.segment(record.sequence);
            let read =
                Segment::open(&*self.disk, &path, record.sequence, true).and_then(|segment| {
                    let whole = match &record.closed {
                        Some(closed) => self.closed_segment(&segment, closed)?,
                        None => self.open_segment(&segment, mark)?,
                    };
                    Ok((segment, whole))
                });
            match read {
                Ok((segment, whole)) => {
                    journal.whole &= whole;
                    let end = segment.end().offset;
                    journal.segments.push((Arc::new(segment), end));
                }
                Err(error) => {
                    journal.whole = false;
                    self.fault(Severity::Error, "journal-damaged", None, error);
                }
            }
        }
        let last = manifest.segments.last().map_or(0, |record| record.sequence);
        if named && mark.sequence > last {
            let why = format!("it ends with segment {last}, but segment {} exists", mark.sequence);
            let path = self.layout.current();
            self.odd(Severity::Error, "manifest-behind", &path, why);
        }
        journal
    }

    /// Reads a closed segment, and says whether it ends where the manifest says.
    fn closed_segment(&mut self, segment: &Segment, closed: &Closed) -> Result<bool> {
        segment.read_on(u64::MAX, closed.bytes)?;
        let whole = segment.closed_here() == *closed;
        if !whole {
            let end = segment.end().offset;
            let why = format!(
                "at byte {end}: no whole group, but it was closed at byte {}",
                closed.bytes
            );
            self.odd(Severity::Error, "journal-damaged", &segment.path, why);
        }
        Ok(whole)
    }

    /// Reads the open segment, and says whether all is there that was once durable.
    fn open_segment(&mut self, segment: &Segment, mark: Position) -> Result<bool> {
        let marked = state::marked_in(segment, mark);
        let (tail, claim) = state::read_on_and_claim(segment, marked, true)?;
        let end = segment.end().offset;
        if claim > end {
            let why = format!(
                "at byte {end}: no whole group, but it was on disk up to byte {claim} once"
            );
            self.odd(Severity::Error, "journal-damaged", &segment.path, why);
            // Groups whose heads are whole say at least what they held.
            segment.read_on(claim, u64::MAX)?;
            return Ok(segment.end().offset >= claim);
        }
        if tail == Tail::Torn {
            let why =
                format!("at byte {end}: bytes that are no whole group, and never were durable");
            self.odd(Severity::Notice, "torn-tail", &segment.path, why);
        }
        Ok(true)
    }

    /// Compares the depths that groups say with those that all objects together give.
    pub(super) fn journal_depths(&mut self, journal: &Journal) {
        for (segment, end) in &journal.segments {
            let wrong = segment.table().objects.iter().any(|(id, location)| {
                let (said, right) = (location.depth, self.inventory.depth(id));
                location.group_end <= *end && said.is_some() && right.is_some() && said != right
            });
            if wrong {
                let why = "it says a wrong depth of an object";
                self.odd(Severity::Error, "journal-damaged", &segment.path, why);
            }
        }
    }

    /// Checks the objects in all segments, each against its id, and the operations.
    pub(super) fn journal_objects(&mut self, journal: &Journal) {
        for (segment, end) in &journal.segments {
            let mut rows: Vec<(Id, Location)> = {
                let table = segment.table();
                let seen = table.objects.iter();
                seen.filter(|(_, location)| location.group_end <= *end)
                    .map(|(id, location)| (*id, *location))
                    .collect()
            };
            rows.sort_unstable_by_key(|(_, location)| location.offset);
            for (id, location) in rows {
                if self.passes_over(location.kind) {
                    self.unread_object(&id, Some(location.kind));
                    continue;
                }
                match segment.read(&id, &location) {
                    Ok(content) => self.object(&id, location.kind, &content, &segment.path),
                    Err(error) => {
                        self.unread_object(&id, Some(location.kind));
                        self.fault(Severity::Error, "journal-damaged", Some(id), error);
                    }
                }
            }
            for (at, _, moves) in &segment.ledger().operations {
                if at <= end {
                    self.mention_moves(moves);
                }
            }
        }
    }
}
