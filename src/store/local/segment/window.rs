//! Reading a segment in pieces, so that a group is not a read each.

use super::{HEADER_BYTES, Segment};
use crate::error::{Error, Result};

/// The bytes of a segment that were read or written last, without a gap.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    /// The bytes, and room for more: what was made once is not made again for each read.
    buffer: Vec<u8>,
    /// How many of them there are.
    held: usize,
    /// How much is read next: more and more, so that looking for one group is one small read.
    step: usize,
    /// Where reading on began.
    begun: u64,
    /// The memory of the last group that was written, for the next.
    spare: Vec<u8>,
}

impl Window {
    const STEP_MIN: usize = 1 << 12;
    /// How much is read where nobody else wrote the last time: enough to see that it is so.
    const STEP_ALONE: usize = 1 << 7;
    /// How much is read at the most, unless an object is longer: memory that is touched for the
    /// first time costs more than a call.
    const STEP_MAX: usize = Window::KEPT_BYTES_MAX;
    /// How much is read rather than skipped.
    const GAP_MAX: u64 = 1 << 14;
    /// How much more is read at each step.
    const STEP_FACTOR: usize = 4;
    /// How much is kept for those who read objects, and how much is left when there is more.
    const KEPT_BYTES_MAX: usize = 1 << 16;
    const KEPT_BYTES_LEFT: usize = Window::KEPT_BYTES_MAX / 4;
    /// How much is kept by who writes. It needs the newest alone, and memory that is touched for
    /// the first time costs more than all else that is done here.
    const KEPT_WRITTEN_BYTES_MAX: usize = Window::KEPT_BYTES_MAX / 2;

    /// Makes a window for reading much.
    pub(super) fn wide() -> Window {
        Window { step: Window::STEP_MAX, ..Window::default() }
    }

    /// Begins to read on: what is known to be durable at first, if it is not much, and a little
    /// behind it; else as much as there was the last time.
    pub(super) fn restart(&mut self, durable: u64) {
        // The first time, all of the journal was news; that says nothing of the next.
        let found = match self.begun {
            0 => 0,
            begun => self.end().saturating_sub(begun.max(HEADER_BYTES)),
        };
        let known = durable.saturating_sub(self.end());
        self.step = match found {
            _ if (1..=Window::KEPT_BYTES_MAX as u64).contains(&known) => {
                known as usize + Window::STEP_ALONE
            }
            _ if self.end() == 0 => Window::STEP_MIN,
            0 => Window::STEP_ALONE,
            found if found > Window::STEP_MIN as u64 => Window::STEP_MIN * Window::STEP_FACTOR,
            _ => Window::STEP_MIN,
        };
        self.begun = self.end();
    }

    /// Gives `count` bytes at `offset`, fewer where the segment ends.
    pub(super) fn get(
        &mut self,
        segment: &Segment,
        offset: u64,
        count: usize,
        limit: u64,
    ) -> Result<&[u8]> {
        let count = count.min(limit.saturating_sub(offset) as usize);
        if self.held(offset, count).is_none() {
            // A reader of heads skips contents: a small gap is read along. Behind a long one there
            // may be another.
            let is_near = (self.start..=self.end() + Window::GAP_MAX).contains(&offset);
            if !is_near {
                self.step = Window::STEP_MIN;
            }
            if !is_near || self.held > Window::KEPT_BYTES_MAX {
                self.restart_at(offset);
            }
            let from = self.end();
            let missing = (offset + count as u64).saturating_sub(from) as usize;
            let wanted = missing.max(self.step).min(limit.saturating_sub(from) as usize);
            self.step = (self.step * Window::STEP_FACTOR).min(Window::STEP_MAX);
            let filled = segment.file.read_full_at(self.room(wanted), from);
            self.held += filled.map_err(Error::io("read", &segment.path))?;
        }
        let from = ((offset - self.start) as usize).min(self.held);
        Ok(&self.buffer[from..(from + count).min(self.held)])
    }

    fn restart_at(&mut self, offset: u64) {
        self.held = 0;
        self.start = offset;
    }

    /// Gives the place of the next bytes.
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.held + bytes;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        &mut self.buffer[self.held..end]
    }

    /// Adds what was just written at `offset`; its end where it is long, and nothing else where
    /// there would be much.
    pub(super) fn add(&mut self, offset: u64, bytes: &[u8]) {
        self.begun += bytes.len() as u64;
        let skipped = bytes.len().saturating_sub(Window::KEPT_BYTES_LEFT);
        let (offset, bytes) = (offset + skipped as u64, &bytes[skipped..]);
        let is_much = self.held + bytes.len() > Window::KEPT_WRITTEN_BYTES_MAX;
        if is_much || self.end() != offset {
            self.restart_at(offset);
        }
        self.room(bytes.len()).copy_from_slice(bytes);
        self.held += bytes.len();
    }

    /// Gives memory for the next group.
    pub(super) fn take_spare(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Keeps the memory of a group for the next, unless it is much.
    pub(super) fn put_spare(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        if bytes.capacity() <= 2 * Window::KEPT_BYTES_MAX {
            self.spare = bytes;
        }
    }

    /// Keeps what stands before `end`, which does not change any more; the newest where that is
    /// much.
    pub(super) fn keep_until(&mut self, end: u64) {
        self.held = self.held.min(end.saturating_sub(self.start) as usize);
        if self.held > Window::KEPT_BYTES_MAX {
            let dropped = self.held - Window::KEPT_BYTES_LEFT;
            self.buffer.copy_within(dropped..self.held, 0);
            self.held -= dropped;
            self.start += dropped as u64;
        }
        if self.buffer.len() > 2 * Window::KEPT_BYTES_MAX {
            self.buffer.truncate(self.held);
            self.buffer.shrink_to_fit();
        }
    }

    /// Gives `count` bytes at `offset` if they are here.
    pub(super) fn held(&self, offset: u64, count: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.buffer[..self.held].get(from..from.checked_add(count)?)
    }

    fn end(&self) -> u64 {
        self.start + self.held as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;
    use crate::id::Id;
    use crate::object::NewObject;
    use crate::store::local::group::NewGroup;
    use crate::store::local::segment::{Location, Zeros};

    #[test]
    fn a_segment_is_shown_in_order_and_takes_little_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segment");
        Segment::allocate(&OsDisk, &path, 1 << 20, Zeros::Written).unwrap();
        let segment = Segment::begin(&OsDisk, &path, 1).unwrap();
        let lengths = [3, 40_000, 5_000, 200_000, 0, 90_000, 60_000, 30_000, 9, 8_000, 50_000];
        let objects: Vec<NewObject> = (0..)
            .zip(lengths)
            .map(|(byte, bytes)| NewObject::blob(vec![byte; bytes]).unwrap())
            .collect();
        for objects in objects.chunks(2) {
            let group = NewGroup { objects, close: false, ..NewGroup::closing() };
            segment.append(&group, 0).unwrap();
        }
        let mut shown = Vec::new();
        let mut show = |_: &Id, _: &Location, content: &[u8]| {
            shown.push(content.to_vec());
            Ok(())
        };
        segment.for_each(&mut show).unwrap();
        assert!(shown.iter().eq(objects.iter().map(|object| &*object.content)));
        // Those in between are skipped.
        let mut window = Window::wide();
        for (_, location) in segment.in_order() {
            if location.bytes as usize <= Window::KEPT_BYTES_MAX {
                let bytes = location.bytes as usize;
                let content = window.get(&segment, location.offset, bytes, segment.bytes);
                assert_eq!(content.unwrap().len(), bytes);
                assert!(window.buffer.len() <= 2 * Window::KEPT_BYTES_MAX);
            }
        }
    }
}
