//! Reading a segment in pieces, so that a group is not a read each.

use super::Segment;
use crate::error::{Error, Result};

/// The bytes of a segment that were read or written last, without a gap.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    buffer: Vec<u8>,
    /// How much is read next: more and more, so that looking for one group is one small read.
    step: usize,
    /// Where reading on began.
    begun: u64,
}

impl Window {
    const STEP_MIN: usize = 1 << 12;
    /// How much is read where nobody else wrote the last time: enough to see that it is so.
    const STEP_ALONE: usize = 1 << 7;
    const STEP_MAX: usize = 1 << 20;
    /// How much more is read at each step.
    const STEP_FACTOR: usize = 4;
    /// How much is kept for those who read objects, and how much is left when there is more.
    const KEPT_BYTES_MAX: usize = 1 << 16;
    const KEPT_BYTES_LEFT: usize = Window::KEPT_BYTES_MAX / 4;

    /// Makes a window for reading much.
    pub(super) fn wide() -> Window {
        Window { step: Window::STEP_MAX, ..Window::default() }
    }

    /// Begins to read on: what is known to be durable at first, if it is not much, and a little
    /// behind it; else as much as there was the last time.
    pub(super) fn restart(&mut self, durable: u64) {
        let found = self.end().saturating_sub(self.begun);
        let known = durable.saturating_sub(self.end());
        self.step = match found {
            _ if (1..=Window::KEPT_BYTES_MAX as u64).contains(&known) => {
                known as usize + Window::STEP_ALONE
            }
            _ if self.begun == 0 => Window::STEP_MIN,
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
            // A reader of heads skips contents: a small gap is read along.
            let near = self.start..=self.end() + Window::STEP_MIN as u64;
            if !near.contains(&offset) || self.buffer.len() > Window::KEPT_BYTES_MAX {
                self.buffer.clear();
                self.start = offset;
            }
            let (held, from) = (self.buffer.len(), self.end());
            let missing = (offset + count as u64).saturating_sub(from) as usize;
            let wanted = missing.max(self.step).min(limit.saturating_sub(from) as usize);
            self.step = (self.step * Window::STEP_FACTOR).min(Window::STEP_MAX);
            self.buffer.resize(held + wanted, 0);
            let filled = segment.file.read_full_at(&mut self.buffer[held..], from);
            self.buffer.truncate(held + *filled.as_ref().unwrap_or(&0));
            filled.map_err(Error::io("read", &segment.path))?;
        }
        let from = ((offset - self.start) as usize).min(self.buffer.len());
        Ok(&self.buffer[from..(from + count).min(self.buffer.len())])
    }

    /// Adds what was just written at `offset`; its end where it is long.
    pub(super) fn add(&mut self, offset: u64, bytes: &[u8]) {
        self.begun += bytes.len() as u64;
        let skipped = bytes.len().saturating_sub(Window::KEPT_BYTES_LEFT);
        let (offset, bytes) = (offset + skipped as u64, &bytes[skipped..]);
        if self.end() != offset {
            self.buffer.clear();
            self.start = offset;
        }
        self.buffer.extend_from_slice(bytes);
        self.keep_until(self.end());
    }

    /// Keeps what stands before `end`, which does not change any more; the newest where that is
    /// much.
    pub(super) fn keep_until(&mut self, end: u64) {
        self.buffer.truncate(end.saturating_sub(self.start) as usize);
        if self.buffer.len() > Window::KEPT_BYTES_MAX {
            let dropped = self.buffer.len() - Window::KEPT_BYTES_LEFT;
            self.buffer = self.buffer.split_off(dropped);
            self.start += dropped as u64;
        }
    }

    /// Gives `count` bytes at `offset` if they are here.
    pub(super) fn held(&self, offset: u64, count: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.buffer.get(from..from.checked_add(count)?)
    }

    fn end(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }
}
