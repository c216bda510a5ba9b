//! Whether garbage that writers still see leads into cruft.
//!
//! A writer may point to whatever it sees, garbage too, and supplies nothing again of what that
//! leads to. After a collection that was finished no garbage is left that it sees, and what became
//! garbage since was written when the cruft was not there for it, so it links none. But one that
//! was cut sets some of a path aside and leaves the rest.
//!
//! What can't be read may link anything: whoever needs it will tell.

use super::{Marked, Marker, Place, Single};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object;

impl Marker<'_> {
    /// Says whether no garbage that writers see links cruft, but for what is reached and will be
    /// brought back. Then cruft can be dropped before that garbage is set aside. Where there is no
    /// time to find out, it does not say so.
    pub(in super::super) fn is_closed(&self, go_on: &mut dyn FnMut() -> bool) -> bool {
        let has_garbage = |marked: &&Marked| marked.reached.count() < u64::from(marked.pack.len());
        let links_none = |marked: &Marked| {
            let mut blocks = 0..marked.pack.blocks();
            blocks.all(|block| go_on() && !self.block_links_cruft(marked, block).unwrap_or(true))
        };
        let is_garbage =
            |single: &Single| matches!(single.place, Place::Loose { .. }) && !single.is_reached;
        let mut loose = self.singles.iter().filter(|(_, single)| is_garbage(single));
        self.packs[..self.live].iter().filter(has_garbage).all(links_none)
            && loose.all(|(id, _)| !self.file_links_cruft(id).unwrap_or(true))
    }

    /// Says whether a loose file links cruft.
    fn file_links_cruft(&self, id: &Id) -> Result<bool> {
        let loose = &self.inner.loose;
        match loose.kind(id)? {
            None | Some(Kind::Blob) => Ok(false),
            _ => loose.get(id)?.map_or(Ok(false), |stored| self.links_cruft(&stored.content)),
        }
    }

    /// Says whether garbage in a block links cruft.
    fn block_links_cruft(&self, marked: &Marked, block: u32) -> Result<bool> {
        let (pack, mut raw) = (&marked.pack, None);
        for row in pack.block_rows(block)? {
            let position = pack.position(*row)?;
            if marked.reached.has(*row) || position.kind == Kind::Blob {
                continue;
            }
            let raw = match &mut raw {
                Some(raw) => &*raw,
                none => none.insert(pack.block_of(block, &self.unpacked, self.keeps)?),
            };
            let span = pack.span_at(raw, *row, &position)?;
            if self.links_cruft(&raw[span.content])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Says whether an object links one that only cruft has, and that is not reached.
    fn links_cruft(&self, content: &[u8]) -> Result<bool> {
        for id in object::possible_links(content) {
            if self.is_lost_cruft(&id)? && !self.is_seen(&id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_lost_cruft(&self, id: &Id) -> Result<bool> {
        for marked in &self.packs[self.live..] {
            if marked.pack.find(id)?.is_some_and(|row| !marked.reached.has(row)) {
                return Ok(true);
            }
        }
        let single = self.singles.get(id);
        Ok(single.is_some_and(|single| single.place == Place::Aside && !single.is_reached))
    }

    /// Says whether writers see an object.
    fn is_seen(&self, id: &Id) -> Result<bool> {
        for marked in &self.packs[..self.live] {
            if marked.pack.find(id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(self.is_live_single(id))
    }
}
