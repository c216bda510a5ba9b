//! Reading a segment in pieces, so that a group is not a read each.

use super::Segment;
use crate::error::{Error, Result};

/// The bytes of a segment that were read last.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    buffer: Vec<u8>,
    /// How much is read next: more and more, so that looking for one group is one small read.
    step: usize,
}

impl Window {
    const STEP_MIN: usize = 1 << 12;
    const STEP_MAX: usize = 1 << 20;
    /// How much is kept for those who read objects.
    const KEPT_BYTES_MAX: usize = 1 << 16;

    /// Makes a window for reading much.
    pub(super) fn wide() -> Window {
        Window { step: Window::STEP_MAX, ..Window::default() }
    }

    /// Begins anew: what stood behind the end may have changed.
    pub(super) fn restart(&mut self) {
        self.buffer.clear();
        self.step = Window::STEP_MIN;
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
            let wanted = count.max(self.step).min(limit.saturating_sub(offset) as usize);
            self.step = (self.step * 4).min(Window::STEP_MAX);
            self.buffer.resize(wanted, 0);
            self.start = offset;
            let file = &segment.file;
            let filled = file
                .read_full_at(&mut self.buffer, offset)
                .map_err(Error::io("read", &segment.path))
                .inspect_err(|_| self.buffer.clear())?;
            self.buffer.truncate(filled);
        }
        let from = (offset - self.start) as usize;
        Ok(&self.buffer[from..(from + count).min(self.buffer.len())])
    }

    /// Keeps what stands before `end`, which does not change any more.
    pub(super) fn keep_until(&mut self, end: u64) {
        self.buffer.truncate(end.saturating_sub(self.start) as usize);
        if self.buffer.len() > Window::KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
    }

    /// Gives `count` bytes at `offset` if they are here.
    pub(super) fn held(&self, offset: u64, count: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.buffer.get(from..from.checked_add(count)?)
    }
}
