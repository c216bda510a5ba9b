//! A file in which values come before those that they hang on, placed in the order of the tree.

use std::collections::HashMap;

use crate::dialect::{Parent, Step};
use crate::error::Result;
use crate::id::Id;
use crate::ops::import::elsewhere::Elsewhere;
use crate::ops::import::feed::Prepared;
use crate::ops::import::intake::{COMMIT_BYTES, Intake};
use crate::ops::import::report::Strange;
use crate::ops::import::tree::{Hang, Row, Tree, name_hash};

/// How much of a file is held that has values before those that they hang on, without its long
/// strings. Of a longer one, such values are orphans.
pub(super) const GATHERED_BYTES_MAX: usize = 64 << 20;

/// The values of a file, some of them placed.
pub(super) struct Late {
    slots: Vec<Slot>,
    /// The row of the first value.
    base: usize,
    named: HashMap<u64, usize>,
    /// The values that wait for the last of them.
    stack: Vec<usize>,
    /// Whether a value is among them.
    is_open: Vec<bool>,
}

enum Slot {
    Waiting(Box<(Prepared, Step)>),
    /// On its way to be placed.
    Taken,
    Placed(Placed),
}

/// A value that has an entry.
pub(super) struct Placed {
    pub(super) id: Id,
    pub(super) hang: Hang,
    pub(super) step: Step,
    pub(super) before: String,
    pub(super) line: u64,
}

/// A value whose parent is placed, or is not in the file.
pub(super) struct Ready {
    pub(super) row: usize,
    pub(super) prepared: Prepared,
    pub(super) step: Step,
    pub(super) parent: Option<(Row, Id)>,
    pub(super) is_circle: bool,
    pub(super) before: String,
}

impl Late {
    pub(super) fn new(gathered: Vec<(Prepared, Step)>, tree: &Tree) -> Late {
        let mut named = HashMap::new();
        for (row, (_, step)) in gathered.iter().enumerate() {
            if let Some(name) = &step.id {
                named.insert(name_hash(name), row);
            }
        }
        let slots = gathered.into_iter().map(|one| Slot::Waiting(Box::new(one))).collect();
        let slots: Vec<Slot> = slots;
        let is_open = vec![false; slots.len()];
        Late { slots, base: tree.len(), named, stack: Vec::new(), is_open }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Gives the next value to be placed on the way to this one; `None` when it is placed.
    pub(super) fn next(&mut self, row: usize) -> Option<Ready> {
        if self.stack.is_empty() {
            self.stack.push(row);
            self.is_open[row] = true;
        }
        loop {
            let top = *self.stack.last()?;
            let Slot::Waiting(waiting) = &self.slots[top] else {
                self.stack.pop();
                self.is_open[top] = false;
                continue;
            };
            let parent = self.parent(top, &waiting.1);
            let is_circle = parent.is_some_and(|parent| self.is_open[parent]);
            let placed = match parent.map(|parent| (parent, &self.slots[parent])) {
                Some((parent, Slot::Placed(placed))) => {
                    Some(((self.base + parent) as Row, placed.id))
                }
                Some((parent, Slot::Waiting(_))) if !is_circle => {
                    self.stack.push(parent);
                    self.is_open[parent] = true;
                    continue;
                }
                _ => None,
            };
            self.stack.pop();
            self.is_open[top] = false;
            let Slot::Waiting(taken) = std::mem::replace(&mut self.slots[top], Slot::Taken) else {
                continue;
            };
            let (mut prepared, step) = *taken;
            let before = std::mem::take(&mut prepared.before);
            return Some(Ready { row: top, prepared, step, parent: placed, is_circle, before });
        }
    }

    fn parent(&self, row: usize, step: &Step) -> Option<usize> {
        match &step.parent {
            Parent::Id(name) => self.named.get(&name_hash(name)).copied(),
            Parent::Before => (0..row).rev().find(|row| match &self.slots[*row] {
                Slot::Waiting(waiting) => waiting.1.parent != Parent::Beside,
                Slot::Placed(placed) => placed.hang != Hang::Beside,
                Slot::Taken => false,
            }),
            _ => None,
        }
    }

    /// Notes where a value was placed.
    pub(super) fn placed(&mut self, placed: Placed, row: usize) {
        self.slots[row] = Slot::Placed(placed);
    }

    /// Gives all values in the order of the file.
    pub(super) fn into_placed(self) -> impl Iterator<Item = Placed> {
        self.slots.into_iter().filter_map(|slot| match slot {
            Slot::Placed(placed) => Some(placed),
            _ => None,
        })
    }
}

impl Intake<'_> {
    /// Holds a value back until all are there, or too many. Its long strings go ahead.
    pub(super) fn gather(
        &mut self,
        mut prepared: Prepared,
        step: Step,
        elsewhere: &mut Elsewhere,
    ) -> Result<()> {
        let blobs = std::mem::take(&mut prepared.blobs);
        let lifted: usize = blobs.iter().map(|blob| blob.content().len()).sum();
        self.objects_bytes += lifted;
        self.objects.extend(blobs);
        self.gathered_bytes += prepared.bytes.saturating_sub(lifted);
        self.gathered.push((prepared, step));
        if self.gathered_bytes > GATHERED_BYTES_MAX {
            for (mut prepared, step) in std::mem::take(&mut self.gathered) {
                self.place_next(&mut prepared, step, elsewhere)?;
            }
        }
        match self.objects_bytes >= COMMIT_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Places what was gathered: a parent before its children, wherever they stand in the file.
    pub(super) fn place_all(&mut self, elsewhere: &mut Elsewhere) -> Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        let mut late = Late::new(gathered, &self.tree);
        for row in 0..late.len() {
            while let Some(ready) = late.next(row) {
                if ready.is_circle {
                    self.odd(Strange::Circle, ready.prepared.line);
                }
                let Ready { row, mut prepared, step, before, .. } = ready;
                let line = prepared.line;
                let (hang, parent) = match ready.parent {
                    Some((row, id)) => (Hang::On(row), Some(id)),
                    None if ready.is_circle => (Hang::Top, None),
                    None => self.parent(&step, line, elsewhere)?,
                };
                let id = self.put(&mut prepared, &step, parent)?;
                late.placed(Placed { id, hang, step, before, line }, row);
                if self.objects_bytes >= COMMIT_BYTES {
                    self.flush()?;
                }
            }
        }
        for Placed { id, hang, step, before, line } in late.into_placed() {
            self.note_before(&before);
            self.seat(id, &step, hang, line, elsewhere);
        }
        Ok(())
    }
}
