//! Making a graph from what the objects say.
//!
//! Not here: reading the objects, and knowing the depth of those outside the pack. Both are given.

use std::collections::HashMap;

use super::{
    DEPTH_OPEN, HEADER_BYTES, KIND_UNREADABLE, LABEL_BYTES_MAX, LABEL_OPEN, LABELS_MAX, NONE,
    OUTSIDE_BIT, ROW_BYTES,
};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};

/// A depth that has not been looked at yet.
const DEPTH_UNSEEN: u32 = u32::MAX - 1;
/// The deepest that a row can say it is.
const DEPTH_MAX: u32 = u32::MAX - 2;

/// Collects objects in any order.
#[derive(Debug, Default)]
pub(crate) struct GraphBuilder {
    records: Vec<Record>,
    /// By their numbers, where these were known; else where they are among the others.
    parents: Vec<u32>,
    others: Vec<Id>,
    labels: Vec<String>,
    label_numbers: HashMap<String, u16>,
}

#[derive(Debug)]
struct Record {
    kind: u8,
    label: u16,
    time: i64,
    parents_at: u32,
    parents: u32,
}

/// Which object stands in which row.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    /// The objects of the rows, by when they were added.
    pub(crate) numbers: &'a [u32],
    /// The rows of the objects, if any parent was known by its number.
    pub(crate) rows: &'a [u32],
}

impl GraphBuilder {
    /// Makes room for so many objects.
    pub(crate) fn reserve(&mut self, objects: usize) {
        self.records.reserve_exact(objects);
    }

    /// Adds an object. `number_of` says when a parent was added, if it was and that is known: four
    /// bytes are kept of it then, not its id.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        label: &str,
        time: i64,
        parents: &[Id],
        number_of: &dyn Fn(&Id) -> Option<u32>,
    ) -> Result<()> {
        let parents_at = self.parents.len();
        let end = parents_at + parents.len();
        if end >= OUTSIDE_BIT as usize {
            return Err(Error::TooLarge {
                what: "the number of parents in a pack",
                found: end as u64,
                limit: u64::from(OUTSIDE_BIT),
            });
        }
        for parent in parents {
            let word = number_of(parent).unwrap_or_else(|| {
                self.others.push(*parent);
                (self.others.len() - 1) as u32 | OUTSIDE_BIT
            });
            self.parents.push(word);
        }
        let label = self.label_number(label);
        self.records.push(Record {
            kind: kind as u8,
            label,
            time,
            parents_at: parents_at as u32,
            parents: parents.len() as u32,
        });
        Ok(())
    }

    /// Adds an object that could not be read: whoever asks for its row is told so.
    pub(crate) fn add_unreadable(&mut self) {
        self.records.push(Record {
            kind: KIND_UNREADABLE,
            label: LABEL_OPEN,
            time: 0,
            parents_at: 0,
            parents: 0,
        });
    }

    /// Makes the payload, and hands it on piece by piece.
    ///
    /// `depth_of` is asked once for each object outside the pack that is somebody's first parent.
    pub(crate) fn build(
        &self,
        pack_id: &Id,
        order: &Order<'_>,
        row_of: &mut dyn FnMut(&Id) -> Result<Option<u32>>,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
        out: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Order { numbers: order, rows } = *order;
        let mut links = Links {
            first: Vec::with_capacity(order.len()),
            further: Vec::with_capacity(order.len()),
            ..Links::default()
        };
        let mut depths = vec![DEPTH_UNSEEN; order.len()];
        for (depth, record) in depths.iter_mut().zip(order) {
            let record = &self.records[*record as usize];
            if record.kind == KIND_UNREADABLE {
                *depth = DEPTH_OPEN;
            }
            let at = record.parents_at as usize;
            let words = &self.parents[at..at + record.parents as usize];
            links.add(words, &mut |links, word| match word & OUTSIDE_BIT {
                0 => Ok(rows[word as usize]),
                _ => links.word(&self.others[(word & !OUTSIDE_BIT) as usize], row_of),
            })?;
        }
        let depths = links.depths(depths, depth_of)?;
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.extend_from_slice(pack_id.as_bytes());
        for count in [order.len(), links.outside.len(), links.overflow.len(), self.labels.len()] {
            header.extend_from_slice(&(count as u32).to_le_bytes());
        }
        header.resize(HEADER_BYTES as usize, 0);
        out(&header)?;
        for (row, record) in order.iter().enumerate() {
            let record = &self.records[*record as usize];
            let mut bytes = [0; ROW_BYTES as usize];
            bytes[0] = record.kind;
            bytes[2..4].copy_from_slice(&record.label.to_le_bytes());
            bytes[4..8].copy_from_slice(&depths[row].to_le_bytes());
            bytes[8..12].copy_from_slice(&links.first[row].to_le_bytes());
            bytes[12..16].copy_from_slice(&links.further[row].to_le_bytes());
            bytes[16..].copy_from_slice(&record.time.to_le_bytes());
            out(&bytes)?;
        }
        for id in &links.outside {
            out(id.as_bytes())?;
        }
        for word in &links.overflow {
            out(&word.to_le_bytes())?;
        }
        for label in &self.labels {
            out(&[label.len() as u8])?;
            out(label.as_bytes())?;
        }
        Ok(())
    }

    fn label_number(&mut self, label: &str) -> u16 {
        if let Some(number) = self.label_numbers.get(label) {
            return *number;
        }
        let number = self.labels.len();
        if number >= LABELS_MAX || label.len() > LABEL_BYTES_MAX {
            return LABEL_OPEN;
        }
        self.labels.push(label.to_owned());
        self.label_numbers.insert(label.to_owned(), number as u16);
        number as u16
    }
}

/// The parents of all rows, as they are written.
#[derive(Default)]
struct Links {
    first: Vec<u32>,
    further: Vec<u32>,
    overflow: Vec<u32>,
    outside: Vec<Id>,
    outside_places: HashMap<Id, u32>,
}

impl Links {
    fn add(
        &mut self,
        parents: &[u32],
        word_of: &mut dyn FnMut(&mut Links, u32) -> Result<u32>,
    ) -> Result<()> {
        let Some((first, further)) = parents.split_first() else {
            self.first.push(NONE);
            self.further.push(NONE);
            return Ok(());
        };
        let word = word_of(self, *first)?;
        self.first.push(word);
        if further.is_empty() {
            self.further.push(NONE);
            return Ok(());
        }
        self.further.push(self.overflow.len() as u32);
        self.overflow.push(further.len() as u32);
        for parent in further {
            let word = word_of(self, *parent)?;
            self.overflow.push(word);
        }
        Ok(())
    }

    fn word(&mut self, id: &Id, row_of: &mut dyn FnMut(&Id) -> Result<Option<u32>>) -> Result<u32> {
        if let Some(row) = row_of(id)? {
            return Ok(row);
        }
        let next = self.outside.len() as u32;
        let place = *self.outside_places.entry(*id).or_insert(next);
        if place == next {
            self.outside.push(*id);
        }
        Ok(place | OUTSIDE_BIT)
    }

    /// Counts the first parents before each row, those outside the pack included.
    ///
    /// Begins with what the rows are at: unseen, or open and to be left so.
    fn depths(
        &self,
        mut depths: Vec<u32>,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
    ) -> Result<Vec<u32>> {
        let mut outside: HashMap<u32, Option<u64>> = HashMap::new();
        let mut path: Vec<u32> = Vec::new();
        for start in 0..depths.len() {
            let mut row = start;
            let base = loop {
                if depths[row] != DEPTH_UNSEEN {
                    break (depths[row] <= DEPTH_MAX).then_some(u64::from(depths[row]));
                }
                // Seen, and open until the way back: a circle, which hashes rule out, ends here.
                depths[row] = DEPTH_OPEN;
                path.push(row as u32);
                match self.first[row] {
                    NONE => {
                        path.pop();
                        depths[row] = 0;
                        break Some(0);
                    }
                    word if word & OUTSIDE_BIT != 0 => {
                        let place = word & !OUTSIDE_BIT;
                        if let Some(known) = outside.get(&place) {
                            break *known;
                        }
                        let known = depth_of(&self.outside[place as usize])?;
                        outside.insert(place, known);
                        break known;
                    }
                    word => row = word as usize,
                }
            };
            let Some(mut depth) = base else {
                path.clear();
                continue;
            };
            while let Some(row) = path.pop() {
                depth = depth.saturating_add(1);
                if depth > u64::from(DEPTH_MAX) {
                    path.clear();
                    break;
                }
                depths[row as usize] = depth as u32;
            }
        }
        Ok(depths)
    }
}
