//! Leaving out of a block the ids that the block itself tells.
//!
//! Nearly every entry links the one before it. That link is 32 bytes that no compressor makes
//! shorter; but it is the hash of an object that stands in the same block. So a link to an earlier
//! object of the block is left out, and how far back that object stands is written instead.
//!
//! ```text
//! folded = distances_bytes (4) distances objects
//! ```
//!
//! A *mark* is `58 20`, which begins a link in CBOR, within the content of an object that is no
//! blob, with at least 32 bytes of the content behind it. Each has a distance, in their order, in
//! 7 bits a byte, the lowest first, the top bit set on all bytes but the last: 0 if the bytes
//! behind the mark are as they are, else by how many objects the one that they name stands before
//! this one. Its id is left out of the objects.
//!
//! Invariant: what is folded and unfolded is what it was, whatever the bytes are. Nothing is read
//! as CBOR here, and a mark may stand in the middle of a text.

use super::super::bytes;
use super::block::Span;
use super::folded::Folded;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::LINK_MARK;
use crate::slots::{Slots, slot_hash};

pub(super) const MARK: &[u8; 2] = LINK_MARK;
const MARKED_BYTES: usize = MARK.len() + Id::BYTES;

/// What is noted of a block while it is folded; its room is used for the next one.
#[derive(Debug, Default)]
pub(super) struct Notes {
    distances: Vec<u8>,
    /// Where the ids begin that are left out.
    cuts: Vec<usize>,
}

/// Folds the raw content of a block where it lies, and says where it begins then: its end is where
/// it was. `None`, and nothing is changed, where that makes it no shorter.
pub(super) fn fold(raw: &mut [u8], ids: &[Id], notes: &mut Notes) -> Option<usize> {
    note(raw, ids, notes)?;
    let Notes { distances, cuts } = notes;
    let head = (distances.len() as u32).to_le_bytes();
    let folded_bytes = head.len() + distances.len() + raw.len() - cuts.len() * Id::BYTES;
    if folded_bytes >= raw.len() {
        return None;
    }
    // From the end on, so that nothing is overwritten that was not moved.
    let (mut from, mut to) = (raw.len(), raw.len());
    for cut in cuts.iter().rev() {
        let behind = cut + Id::BYTES..from;
        (from, to) = (*cut, to - behind.len());
        raw.copy_within(behind, to);
    }
    to -= from;
    raw.copy_within(..from, to);
    for part in [distances.as_slice(), &head] {
        to -= part.len();
        raw[to..to + part.len()].copy_from_slice(part);
    }
    Some(to)
}

/// Notes what of a block is left out; `None` if it is not made of these objects.
fn note(raw: &[u8], ids: &[Id], Notes { distances, cuts }: &mut Notes) -> Option<()> {
    let mut numbers = Slots::default();
    numbers.reserve(ids.len());
    distances.clear();
    cuts.clear();
    let mut start = 0;
    for number in 0..ids.len() {
        let span = Span::at(raw, start)?;
        start = span.content.end;
        let mut at = span.content.start;
        while span.kind != Kind::Blob
            && let Some(found) = next_mark(&raw[at..], start - at)
        {
            let named = at + found + MARK.len();
            at = named + Id::BYTES;
            let target = Id::from_slice(&raw[named..at])
                .and_then(|id| numbers.find(slot_hash(&id), |number| ids[number as usize] == id));
            match target {
                Some(target) => {
                    put_distance(number - target as usize, distances);
                    cuts.push(named);
                }
                None => {
                    put_distance(0, distances);
                    at = named;
                }
            }
        }
        numbers.push(|number| slot_hash(&ids[number as usize]));
    }
    (start == raw.len()).then_some(())
}

/// Gives the id of an object by its number in the block, or by its header and content.
pub(super) type IdOf<'a> = dyn FnMut(usize, &[u8]) -> Result<Id> + 'a;

/// Unfolds the raw content of a block, `raw_bytes` long; `None` if that is not what was folded.
///
/// It ends early behind the object that stands at `until`, if one does. `raw`, which is empty, is
/// the room that it takes.
pub(super) fn unfold(
    folded: &[u8],
    raw_bytes: usize,
    until: usize,
    id_of: &mut IdOf<'_>,
    mut raw: Vec<u8>,
) -> Result<Option<Vec<u8>>> {
    raw.reserve(raw_bytes);
    let as_folded = unfold_into(folded, raw_bytes, until, id_of, &mut raw)?;
    Ok((as_folded && (raw.len() == raw_bytes || raw.len() > until)).then_some(raw))
}

/// Unfolds the begin of a block that is damaged further on, as far as that goes.
pub(super) fn unfold_begin(folded: &[u8], raw_bytes_max: usize) -> Vec<u8> {
    let mut raw = Vec::new();
    let mut id_of = |_: usize, object: &[u8]| Ok(Id::from_bytes(*blake3::hash(object).as_bytes()));
    // Nothing that hashes can fail; where it ends is where the damage is.
    let _ = unfold_into(folded, raw_bytes_max, usize::MAX, &mut id_of, &mut raw);
    raw
}

/// Unfolds up to the first object that is not what was folded, and says whether there was none; or
/// until there is more than `until`.
fn unfold_into(
    folded: &[u8],
    raw_bytes: usize,
    until: usize,
    id_of: &mut IdOf<'_>,
    raw: &mut Vec<u8>,
) -> Result<bool> {
    let Some(mut folded) = Folded::of(folded, raw_bytes) else {
        return Ok(false);
    };
    let (mut starts, mut marks) = (Vec::new(), Vec::new());
    while !folded.is_passed() {
        if raw.len() > until {
            return Ok(true);
        }
        let Some(object) = folded.next(&mut marks) else {
            return Ok(false);
        };
        starts.push(raw.len());
        raw.extend_from_slice(object.header);
        let unfold =
            |target: usize, raw: &[u8]| id_of(target, &raw[starts[target]..starts[target + 1]]);
        object.unfold(&marks, unfold, raw)?;
    }
    Ok(folded.is_at_end())
}

/// Finds the next mark in the rest of a content that had, unfolded, so many bytes.
pub(super) fn next_mark(rest: &[u8], unfolded_bytes: usize) -> Option<usize> {
    let last = unfolded_bytes.checked_sub(MARKED_BYTES)?;
    let begins = &rest[..rest.len().min(last + MARK.len())];
    let mut from = 0;
    loop {
        // The first byte of a mark is rare, and looking for one byte is less work.
        let at = from + bytes::find(MARK[0], &begins[from..])?;
        if begins.get(at + 1) == Some(&MARK[1]) {
            return Some(at);
        }
        from = at + 1;
    }
}

fn put_distance(mut distance: usize, out: &mut Vec<u8>) {
    while distance >= 0x80 {
        out.push(distance as u8 | 0x80);
        distance >>= 7;
    }
    out.push(distance as u8);
}

pub(super) fn take_distance(distances: &mut &[u8]) -> Option<usize> {
    let mut distance = 0usize;
    for shift in (0..28).step_by(7) {
        let (byte, rest) = distances.split_first()?;
        *distances = rest;
        distance |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(distance);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(kind: Kind, content: &[u8], raw: &mut Vec<u8>) -> Id {
        raw.extend_from_slice(crate::id::Header::new(kind, content.len() as u64).bytes());
        raw.extend_from_slice(content);
        Id::of(kind, content)
    }

    fn unfolded(folded: &[u8], raw_bytes: usize) -> Option<Vec<u8>> {
        let hash = |object: &[u8]| Id::from_bytes(*blake3::hash(object).as_bytes());
        unfold(folded, raw_bytes, usize::MAX, &mut |_, object| Ok(hash(object)), Vec::new())
            .unwrap()
    }

    #[test]
    fn links_to_earlier_objects_are_left_out_and_come_back() {
        let (mut raw, mut ids) = (Vec::new(), Vec::new());
        for number in 0..300usize {
            let mut content = format!("entry {number} X ").into_bytes();
            let linked = [number.checked_sub(1), number.checked_sub(200)];
            for target in linked.into_iter().flatten() {
                let target: &Id = &ids[target];
                content.extend_from_slice(MARK);
                content.extend_from_slice(target.as_bytes());
            }
            ids.push(object(Kind::Entry, &content, &mut raw));
        }
        let mut block = raw.clone();
        let begin = fold(&mut block, &ids, &mut Notes::default()).unwrap();
        let folded = &block[begin..];
        assert!(folded.len() < raw.len() - 398 * 29, "{} of {}", folded.len(), raw.len());
        assert_eq!(unfolded(folded, raw.len()).as_ref(), Some(&raw));
        for (bytes, cut) in [(raw.len() + 1, folded.len()), (raw.len() - 1, folded.len())]
            .into_iter()
            .chain((0..folded.len()).map(|cut| (raw.len(), cut)))
        {
            assert_eq!(unfolded(&folded[..cut], bytes), None);
        }
    }

    #[test]
    fn what_would_not_be_shorter_is_not_folded() {
        let mut raw = Vec::new();
        let one = object(Kind::Entry, b"no link", &mut raw);
        let content = [MARK.as_slice(), one.as_bytes()].concat();
        let two = object(Kind::Blob, &content, &mut raw);
        let mut block = raw.clone();
        assert_eq!(fold(&mut block, &[one, two], &mut Notes::default()), None);
        assert_eq!(block, raw);
    }

    proptest! {
        /// Contents full of marks, whole and cut ids, in objects of all kinds.
        #[test]
        fn any_objects_come_back(
            made in prop::collection::vec(
                (0usize..5, prop::collection::vec((0usize..6, 0usize..9, 0usize..34), 0..6)),
                1..12,
            ),
        ) {
            let (mut raw, mut ids) = (Vec::new(), Vec::<Id>::new());
            for (number, (kind, parts)) in made.iter().enumerate() {
                let mut content = vec![number as u8];
                for (what, which, bytes) in parts {
                    match (what, ids.get(*which)) {
                        (0, _) => content.extend_from_slice(&MARK[..(*bytes).min(2)]),
                        (1, _) => content.extend_from_slice(&b"X X X "[..(*bytes).min(6)]),
                        (2, Some(id)) => {
                            let end = (*bytes).min(32);
                            content.extend_from_slice(&id.as_bytes()[..end]);
                        }
                        (_, Some(id)) => content.extend([MARK.as_slice(), id.as_bytes()].concat()),
                        _ => content.push(0x58),
                    }
                }
                ids.push(object(Kind::ALL[*kind], &content, &mut raw));
            }
            let mut block = raw.clone();
            match fold(&mut block, &ids, &mut Notes::default()) {
                Some(begin) => {
                    prop_assert!(begin > 0);
                    prop_assert_eq!(unfolded(&block[begin..], raw.len()), Some(raw));
                }
                None => prop_assert_eq!(block, raw),
            }
        }

        #[test]
        fn any_bytes_are_refused_or_unfolded(folded in prop::collection::vec(any::<u8>(), 0..80)) {
            for raw_bytes in [0, 1, 40, 200] {
                if let Some(raw) = unfolded(&folded, raw_bytes) {
                    prop_assert_eq!(raw.len(), raw_bytes);
                }
            }
        }
    }
}
