//! The derived graph of a pack: kind, type, time, depth and parents of each row.
//!
//! A paged file whose rows stand beside those of the index. It answers what a walk asks without
//! decompressing a body.
//!
//! Invariants: it holds nothing that can't be made again from the objects; a graph that is missing,
//! damaged or contradicts itself is an error here, and the pack then makes another in memory.
//!
//! Two things may be left open in a row, and are then asked elsewhere: the depth, where the path
//! leaves the pack for an object that nobody knew when the graph was made; and the label, where
//! there are more of them, or longer ones, than the table holds.

mod build;

use std::path::Path;
use std::sync::Arc;

use super::paged::{Magic, Paged, u32_at, u64_at};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};

pub(crate) use build::{GraphBuilder, Order};

/// The footer's magic.
pub(crate) const GRAPH_MAGIC: &Magic = b"SAPWGRPH";
/// The version that is written and read.
pub(crate) const GRAPH_VERSION: u32 = 1;

/// The header: the pack's id; the numbers of rows, outside ids, overflow words, labels; zeros.
const HEADER_BYTES: u64 = 64;
/// Kind, zero, label, depth, first parent, further parents, time. What a step needs comes first.
const ROW_BYTES: u64 = 24;
/// The part of a row that a step reads: up to the first parent.
const STEP_BYTES: usize = 12;

/// A parent that is not there, or no further parents.
const NONE: u32 = u32::MAX;
/// Set in a parent that is a place in the table of outside ids, not a row.
const OUTSIDE_BIT: u32 = 1 << 31;
/// A depth that was not known when the graph was made.
const DEPTH_OPEN: u32 = u32::MAX;
/// A label that the table does not hold.
const LABEL_OPEN: u16 = u16::MAX;
/// The kind of a row whose object could not be read: only in a graph made in memory.
const KIND_UNREADABLE: u8 = 0;
/// The most labels in the table, all of which are read when a graph is opened.
pub(crate) const LABELS_MAX: usize = 4096;
/// The longest label in the table.
const LABEL_BYTES_MAX: usize = 255;

/// A parent of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// It has none.
    None,
    /// A row of the same pack.
    Row(u32),
    /// A place in the table of outside ids.
    Outside(u32),
}

/// What a row says, but for its further parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphRow {
    /// The kind.
    pub(crate) kind: Kind,
    /// The label's number; `None` where the object must be asked.
    pub(crate) label: Option<u16>,
    /// How many first parents lie before it; `None` where they must be counted.
    pub(crate) depth: Option<u32>,
    /// Milliseconds since 1970.
    pub(crate) time: i64,
    /// The first parent.
    pub(crate) first: Parent,
    further: u32,
}

/// An open graph.
#[derive(Debug)]
pub(crate) struct Graph {
    paged: Paged,
    labels: Vec<Arc<str>>,
    rows: u32,
    outside: u32,
    overflow: u32,
}

impl Graph {
    /// Opens the graph of a pack of this many objects.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, pack_id: &Id, rows: u32) -> Result<Graph> {
        let paged = Paged::open(disk, path, None, GRAPH_MAGIC, GRAPH_VERSION)?;
        Graph::new(paged, pack_id, rows)
    }

    /// Takes a graph that was made in memory; the path is for messages.
    pub(crate) fn from_memory(
        path: &Path,
        payload: Vec<u8>,
        pack_id: &Id,
        rows: u32,
    ) -> Result<Graph> {
        Graph::new(Paged::from_memory(path, payload), pack_id, rows)
    }

    fn new(paged: Paged, pack_id: &Id, rows: u32) -> Result<Graph> {
        let header = paged.bytes(0, HEADER_BYTES as usize)?;
        let (outside, overflow) = (u32_at(header, 36), u32_at(header, 40));
        let label_count = u32_at(header, 44);
        if header[..32] != pack_id.as_bytes()[..] || u32_at(header, 32) != rows {
            return Err(paged.corrupt(0, "it is the graph of another pack"));
        }
        let mut graph = Graph { paged, labels: Vec::new(), rows, outside, overflow };
        graph.read_labels(label_count)?;
        Ok(graph)
    }

    /// Gives the file's path.
    pub(crate) fn path(&self) -> &Path {
        self.paged.path()
    }

    /// Gives the memory back that the file takes.
    pub(crate) fn release(&self) {
        self.paged.release();
    }

    /// Checks every page.
    pub(crate) fn check(&self) -> Result<()> {
        self.paged.check()
    }

    /// Gives what a row says.
    pub(crate) fn row(&self, row: u32) -> Result<GraphRow> {
        if row >= self.rows {
            return Err(self.damaged(row, "no such row"));
        }
        let bytes = self.paged.bytes(row_at(row), ROW_BYTES as usize)?;
        let kind = Kind::from_code(bytes[0])
            .ok_or_else(|| self.damaged(row, "an object of no known kind"))?;
        let label = u16::from_le_bytes([bytes[2], bytes[3]]);
        let depth = u32_at(bytes, 4);
        Ok(GraphRow {
            kind,
            label: (label != LABEL_OPEN).then_some(label),
            depth: (depth != DEPTH_OPEN).then_some(depth),
            time: u64_at(bytes, 16) as i64,
            first: self.parent(row, u32_at(bytes, 8))?,
            further: u32_at(bytes, 12),
        })
    }

    /// Gives the first parent of a row, and the row's depth where it is known.
    ///
    /// The parent's own depth is one less: whoever walks checks that, and never walks in circles.
    #[inline]
    pub(crate) fn step(&self, row: u32) -> Result<(Parent, Option<u32>)> {
        if row >= self.rows {
            return Err(self.damaged(row, "no such row"));
        }
        let bytes = self.paged.bytes(row_at(row), STEP_BYTES)?;
        if bytes[0] == KIND_UNREADABLE {
            return Err(self.damaged(row, "an object that could not be read"));
        }
        let depth = u32_at(bytes, 4);
        let parent = self.parent(row, u32_at(bytes, 8))?;
        Ok((parent, (depth != DEPTH_OPEN).then_some(depth)))
    }

    /// Gives the parents of a row after the first.
    pub(crate) fn further(&self, row: u32, said: &GraphRow) -> Result<Vec<Parent>> {
        if said.further == NONE {
            return Ok(Vec::new());
        }
        let left = self.overflow.checked_sub(said.further).filter(|left| *left > 0);
        let left = left.ok_or_else(|| self.damaged(row, "parents beyond the table"))? - 1;
        let at = self.overflow_at() + 4 * u64::from(said.further);
        let count = self.paged.u32(at)?;
        if count > left {
            return Err(self.damaged(row, "more parents than the table holds"));
        }
        let words = self.paged.bytes(at + 4, 4 * count as usize)?;
        words.chunks_exact(4).map(|word| self.parent(row, u32_at(word, 0))).collect()
    }

    /// Gives an id of the table of outside ids.
    ///
    /// A [`Parent::Outside`] of this graph is within the table.
    pub(crate) fn outside(&self, place: u32) -> Result<Id> {
        let at = row_at(self.rows) + u64::from(place) * Id::BYTES as u64;
        let bytes = self.paged.bytes(at, Id::BYTES)?;
        Ok(Id::from_slice(bytes).expect("an id's bytes"))
    }

    /// Gives a label of the table.
    pub(crate) fn label(&self, number: u16) -> Result<Arc<str>> {
        let label = self.labels.get(usize::from(number));
        label
            .cloned()
            .ok_or_else(|| self.paged.corrupt(self.paged.len(), "a label beyond the table"))
    }

    /// Reports a row that can't be.
    pub(crate) fn damaged(&self, row: u32, why: &str) -> Error {
        self.paged.corrupt(row_at(row), why)
    }

    fn parent(&self, row: u32, word: u32) -> Result<Parent> {
        if word == NONE {
            return Ok(Parent::None);
        }
        let place = word & !OUTSIDE_BIT;
        let (parent, count) = if word & OUTSIDE_BIT == 0 {
            (Parent::Row(place), self.rows)
        } else {
            (Parent::Outside(place), self.outside)
        };
        if place >= count {
            return Err(self.damaged(row, "a parent beyond the table"));
        }
        Ok(parent)
    }

    fn overflow_at(&self) -> u64 {
        row_at(self.rows) + u64::from(self.outside) * Id::BYTES as u64
    }

    fn read_labels(&mut self, count: u32) -> Result<()> {
        let mut at = self.overflow_at() + 4 * u64::from(self.overflow);
        if count as usize > LABELS_MAX {
            return Err(self.paged.corrupt(44, "more labels than there can be"));
        }
        for _ in 0..count {
            let bytes = usize::from(self.paged.bytes(at, 1)?[0]);
            let text = std::str::from_utf8(self.paged.bytes(at + 1, bytes)?)
                .map_err(|_| self.paged.corrupt(at, "a label that is not UTF-8"))?;
            self.labels.push(Arc::from(text));
            at += 1 + bytes as u64;
        }
        if at != self.paged.len() {
            return Err(self.paged.corrupt(at, "it is not as long as its counts say"));
        }
        Ok(())
    }
}

fn row_at(row: u32) -> u64 {
    HEADER_BYTES + u64::from(row) * ROW_BYTES
}
