//! The objects of a block as they lie in it, without the ids that are left out.
//!
//! Who looks for something in all objects need not put the ids back (see `fold`), which would copy
//! all that is there: it sees where they are missing, and whose they are.
//!
//! Invariant: who unfolds a block and who passes it read it with the same code.

use std::path::Path;

use super::block::{Block, Span, with_zstd};
use super::fold::{MARK, next_mark, take_distance};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};

/// Is shown an object as it lies in its block, and its marks.
pub(crate) type See<'s> = dyn FnMut(&FoldedObject<'_>, &[Mark]) -> Result<()> + 's;

/// The objects of a block as they lie in it, one after the other.
pub(super) struct Folded<'b> {
    /// What is not read yet of the distances; `None` in a block that is not folded.
    distances: Option<&'b [u8]>,
    rest: &'b [u8],
    /// How long the block is, unfolded, and how much of it was passed.
    raw_bytes: usize,
    passed_bytes: usize,
    number: usize,
}

/// An object as it lies in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoldedObject<'b> {
    /// How many objects stand before it.
    pub(crate) number: usize,
    /// Its kind.
    pub(crate) kind: Kind,
    /// Where it begins in the block, unfolded.
    pub(crate) start: usize,
    pub(super) header: &'b [u8],
    /// Its content without the ids that are left out.
    pub(crate) content: &'b [u8],
}

/// A mark in the content of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Where it ends in the content as it lies there.
    pub(crate) end: usize,
    /// The number of the object whose id is left out behind it.
    pub(crate) left_out: Option<usize>,
}

impl<'b> Folded<'b> {
    /// Begins to read folded content; `None` if that is cut off.
    pub(super) fn of(folded: &'b [u8], raw_bytes: usize) -> Option<Folded<'b>> {
        let (head, rest) = folded.split_first_chunk()?;
        let (distances, rest) = rest.split_at_checked(u32::from_le_bytes(*head) as usize)?;
        Some(Folded { distances: Some(distances), ..Folded::plain(rest, raw_bytes) })
    }

    /// Begins to read content that is not folded.
    pub(super) fn plain(raw: &'b [u8], raw_bytes: usize) -> Folded<'b> {
        Folded { distances: None, rest: raw, raw_bytes, passed_bytes: 0, number: 0 }
    }

    /// Says whether all was read, and was all of the block.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
            && self.distances.is_none_or(<[u8]>::is_empty)
            && self.passed_bytes == self.raw_bytes
    }

    /// Says whether nothing comes any more.
    pub(super) fn is_passed(&self) -> bool {
        self.rest.is_empty()
    }

    /// Gives the next object and its marks; `None` if there is none, or it is not as it was folded.
    pub(super) fn next(&mut self, marks: &mut Vec<Mark>) -> Option<FoldedObject<'b>> {
        marks.clear();
        let (kind, header_bytes, content_bytes) = Span::header(self.rest)?;
        let (header, rest) = self.rest.split_at(header_bytes);
        let (start, number) = (self.passed_bytes, self.number);
        let end = (start + header_bytes).saturating_add(content_bytes);
        if end > self.raw_bytes {
            return None;
        }
        let (mut at, mut left) = (0, content_bytes);
        while kind != Kind::Blob
            && let Some(found) = next_mark(rest.get(at..)?, left)
        {
            at += found + MARK.len();
            left -= found + MARK.len();
            let distance = self.distances.as_mut().map_or(Some(0), take_distance)?;
            let target = number.checked_sub(distance)?;
            let left_out = (target != number).then_some(target);
            marks.push(Mark { end: at, left_out });
            left -= left_out.map_or(0, |_| Id::BYTES);
        }
        let (content, rest) = rest.split_at_checked(at + left)?;
        (self.rest, self.passed_bytes, self.number) = (rest, end, number + 1);
        Some(FoldedObject { number, kind, start, header, content })
    }
}

impl FoldedObject<'_> {
    /// Adds its content as it was before ids were left out. `id_of` gives the id of the object with
    /// a number, and may look at what is there.
    pub(crate) fn unfold(
        &self,
        marks: &[Mark],
        mut id_of: impl FnMut(usize, &[u8]) -> Result<Id>,
        raw: &mut Vec<u8>,
    ) -> Result<()> {
        let mut from = 0;
        for Mark { end, left_out } in marks {
            if let Some(target) = left_out {
                raw.extend_from_slice(&self.content[from..*end]);
                let id = id_of(*target, raw)?;
                raw.extend_from_slice(id.as_bytes());
                from = *end;
            }
        }
        raw.extend_from_slice(&self.content[from..]);
        Ok(())
    }
}

impl Block<'_> {
    /// Decompresses the objects into room of this thread, and shows each as it lies there. Whether
    /// the block is whole is known at the end.
    pub(crate) fn pass(
        &self,
        offset: u64,
        path: &Path,
        dictionary: Option<&[u8]>,
        see: &mut See<'_>,
    ) -> Result<()> {
        let raw_bytes = self.header.raw_bytes as usize;
        let mut pass_all = |content: &[u8]| {
            let objects = match self.header.form.is_folded {
                true => Folded::of(content, raw_bytes),
                false => Some(Folded::plain(content, raw_bytes)),
            };
            let passed = objects.map_or(Ok(None), |objects| pass(objects, see))?;
            passed.ok_or_else(|| Error::corrupt(path, offset, "a block does not unfold"))
        };
        match self.stored() {
            Some(content) => pass_all(content),
            None => {
                // Who is shown an object may need what decompresses, for another block.
                let room = with_zstd(|zstd, room| {
                    self.decompress_frame(zstd, offset, path, dictionary, room)?;
                    Ok(std::mem::take(room))
                })?;
                let passed = pass_all(&room);
                with_zstd(|_, kept| {
                    *kept = room;
                    Ok(())
                })?;
                passed
            }
        }
    }
}

/// Shows all objects; `None` if they are not as they were folded.
pub(super) fn pass(mut objects: Folded<'_>, see: &mut See<'_>) -> Result<Option<()>> {
    let mut marks = Vec::new();
    while let Some(object) = objects.next(&mut marks) {
        see(&object, &marks)?;
    }
    Ok(objects.is_at_end().then_some(()))
}
