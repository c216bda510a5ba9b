//! A block while it is sifted: where its objects are among all, and what its entries link.

use memchr::memmem::Finder;

use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{LINK_MARK, links_at};
use crate::store::local::pack::{FoldedObject, Mark, Pack};

/// A block that is looked at.
pub(super) struct Sight<'s> {
    pack: &'s Pack,
    /// The number of the pack's first object among all.
    start: u32,
    rows: &'s [u32],
    /// What kinds the objects have that were met in it.
    kinds: Vec<Kind>,
}

/// What an entry links, or seems to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// An object before it in the same block, by its number.
    Near(usize),
    /// Any object.
    Any(Id),
}

impl<'s> Sight<'s> {
    /// Begins with a block whose objects stand in these rows.
    pub(super) fn of(pack: &'s Pack, start: u32, rows: &'s [u32]) -> Sight<'s> {
        Sight { pack, start, rows, kinds: Vec::with_capacity(rows.len()) }
    }

    /// Checks that an object is where the index says, and gives its place among all.
    pub(super) fn place_of(&mut self, object: &FoldedObject<'_>, block: u32) -> Result<u32> {
        let Some(row) = self.rows.get(object.number) else {
            return Err(self.pack.not_listed(block));
        };
        let position = self.pack.position(*row)?;
        if (object.kind, object.start) != (position.kind, position.offset as usize) {
            return Err(self.pack.not_held(*row, &position));
        }
        self.kinds.push(object.kind);
        Ok(self.start + row)
    }

    /// Gives the kind of an object that was met, and its place among all, by its number in the
    /// block.
    pub(super) fn met(&self, number: usize) -> (Kind, u32) {
        (self.kinds[number], self.start + self.rows[number])
    }

    /// Gives the id of an object, by its number in the block.
    pub(super) fn id(&self, number: usize) -> Result<Id> {
        self.pack.id(self.rows[number])
    }
}

/// Lists what an entry links, or seems to, by its marks; `content` has all ids.
pub(super) fn list_links(
    marks: &[Mark],
    content: &[u8],
    link_mark: &Finder<'_>,
    links: &mut Vec<Link>,
) {
    links.clear();
    let mut put_back = 0;
    for mark in marks {
        let from = mark.end + put_back;
        let id = &content[from..from + Id::BYTES];
        match mark.left_out {
            Some(number) => {
                put_back += Id::BYTES;
                links.push(Link::Near(number));
                // A mark that begins in what was left out is not among these.
                let until = content.len().min(from + Id::BYTES + LINK_MARK.len() - 1);
                if link_mark.find(&content[from..until]).is_some() {
                    let all = links_at(link_mark.find_iter(content), content);
                    links.clear();
                    links.extend(all.map(Link::Any));
                    return;
                }
            }
            None => links.push(Link::Any(Id::from_slice(id).expect("an id's bytes"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_beside_ids_that_were_left_out_and_within_them() {
        let link_mark = Finder::new(LINK_MARK);
        let listed = |near: [u8; 32], end: usize| {
            let far = [7; 32];
            let content = [&b"text"[..], LINK_MARK, &near, b" and ", LINK_MARK, &far].concat();
            let marks = [
                Mark { end: 6, left_out: Some(3) },
                Mark { end: content.len() - 2 * Id::BYTES, left_out: None },
            ];
            let mut links = vec![Link::Near(9)];
            list_links(&marks[..end], &content, &link_mark, &mut links);
            (links, Link::Any(Id::from_bytes(near)), Link::Any(Id::from_bytes(far)))
        };
        let (links, _, far) = listed([1; 32], 2);
        assert_eq!(links, [Link::Near(3), far]);
        // Where an id looks as if a link began in it, that may be one.
        for at in [0, 10, 30] {
            let mut odd = [1; 32];
            odd[at..at + 2].copy_from_slice(LINK_MARK);
            let (links, near, far) = listed(odd, 2);
            assert_eq!((links[0], links[links.len() - 1]), (near, far));
            assert_eq!(links.len(), 3, "{at}");
        }
        // Its last byte, and the first of what follows.
        let mut odd = [1; 32];
        odd[31] = LINK_MARK[0];
        assert_eq!(listed(odd, 2).0.len(), 3);
        assert_eq!(listed([1; 32], 0).0, []);
    }
}
