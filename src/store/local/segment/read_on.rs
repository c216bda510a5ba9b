//! Reading on: from the last whole group that is known to the last one that there is.
//!
//! A head is checked by its checksum, and that takes little. Its contents are 100 times as long, and
//! need not be looked at where something else vouches for them: the mark, the lock that was given
//! back in good order, or the next group, because who wrote that one knew this one to be whole.
//! Heads that were read before anything vouched for their contents are kept until something does.

use super::{Segment, Table, Tail, Window};
use crate::error::Result;
use crate::id::Id;
use crate::store::local::group::{Head, PREFIX_BYTES, Prefix};

impl Segment {
    /// Reads on to the last whole group, up to byte `until`, and says what stands behind it.
    ///
    /// Contents before `durable` are not hashed: the group is known to be on disk, and whoever
    /// reads an object hashes it.
    pub(crate) fn read_on(&self, durable: u64, until: u64) -> Result<Tail> {
        let mut table = self.table_mut();
        let limit = self.bytes.min(until);
        let mut window = self.recent();
        window.restart(durable);
        let tail = self.add_groups(&mut table, &mut window, durable, limit);
        window.keep_until(table.end);
        tail
    }

    /// Reads on by heads alone, up to the group before the last, while others write.
    ///
    /// Only in a segment that this handle has written to: what comes behind that was written since
    /// by processes that know what they follow, and not left by a power cut.
    pub(crate) fn read_on_beside(&self) -> Result<()> {
        let mut table = self.table_mut();
        let mut window = self.recent();
        window.restart(u64::MAX);
        let read = self.read_ahead(&mut table, &mut window);
        while table.ahead.len() > 1
            && let Some(head) = table.ahead.pop_front()
        {
            table.add(head);
        }
        window.keep_until(table.end);
        read
    }

    /// Reads all heads behind those that were read.
    fn read_ahead(&self, table: &mut Table, window: &mut Window) -> Result<()> {
        let mut offset = table.end + table.ahead.iter().map(|head| head.length).sum::<u64>();
        loop {
            let last = table.ahead.back();
            if last.map_or(table.closed, |head| head.close) {
                return Ok(());
            }
            let previous = last.map_or(table.checksum, |head| head.checksum);
            match self.next_head(window, offset, previous, u64::MAX, self.bytes)? {
                Ok(head) => {
                    offset += head.length;
                    table.ahead.push_back(head);
                }
                Err(_) => return Ok(()),
            }
        }
    }

    fn add_groups(
        &self,
        table: &mut Table,
        window: &mut Window,
        durable: u64,
        limit: u64,
    ) -> Result<Tail> {
        while !table.closed {
            let head = match table.ahead.pop_front() {
                Some(head) => head,
                None => {
                    let (offset, previous) = (table.end, table.checksum);
                    match self.next_head(window, offset, previous, durable, limit)? {
                        Ok(head) => head,
                        Err(tail) => return Ok(tail),
                    }
                }
            };
            let end = table.end + head.length;
            let is_whole = match end <= durable {
                true => end <= limit,
                false => {
                    let group = window.get(self, table.end, head.length as usize, limit)?;
                    head.contents_match(group)
                }
            };
            if !is_whole {
                table.ahead.clear();
                return Ok(Tail::Torn);
            }
            table.add(head);
        }
        Ok(Tail::Closed)
    }

    /// Reads the head of the group at `offset`, and the contents along with it unless they are
    /// known to be durable; or says what stands there.
    fn next_head(
        &self,
        window: &mut Window,
        offset: u64,
        previous: Id,
        durable: u64,
        limit: u64,
    ) -> Result<Result<Head, Tail>> {
        let start = window.get(self, offset, PREFIX_BYTES, limit)?;
        let Some(prefix) = Prefix::read(start, offset, limit) else {
            let clean = start.iter().all(|byte| *byte == 0);
            return Ok(Err(if clean { Tail::Clean } else { Tail::Torn }));
        };
        let known = offset + prefix.length <= durable;
        let wanted = if known { prefix.head_bytes as u64 } else { prefix.length };
        let group = window.get(self, offset, wanted as usize, limit)?;
        let head = prefix.head(group, &self.salt).filter(|_| prefix.previous == previous);
        Ok(head.ok_or(Tail::Torn))
    }
}
