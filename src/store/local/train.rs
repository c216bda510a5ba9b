//! Finding the text that many blocks of a pack share: what makes a good dictionary.
//!
//! Stretches of the sample are hashed, and of one in a few it is counted in how many parts of the
//! sample it occurs. The sample is cut into pieces; one is worth as much as the stretches
//! in it occur elsewhere. The best are taken one after the other, and what a stretch is worth is
//! counted once.
//!
//! Not here: any promise. It is a guess, made so that a compressor finds more.

use std::collections::BinaryHeap;

use crate::store::local::gear;
use crate::store::local::halves;

/// What is taken at once.
const PIECE_BYTES: usize = 1024;
/// How far a table is searched for a place.
const PROBES_MAX: usize = 8;

/// Chooses from the parts of a sample the text that most of them share, the best of it last. A part
/// is made of some texts.
///
/// One stretch in so many is looked at, in so many threads.
pub(crate) fn shared_text(
    parts: &[Vec<&[u8]>],
    bytes_max: usize,
    one_in: u8,
    threads: usize,
) -> Vec<u8> {
    let found = halves::map(parts, threads, |texts| stretches(texts, one_in));
    let mut counts = Counts::new(found.iter().flatten().map(Vec::len).sum());
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut marks: Vec<u32> = Vec::new();
    for (part, (texts, found)) in (0..).zip(parts.iter().zip(found)) {
        for (text, found) in texts.iter().zip(found) {
            let first = pieces.len();
            let chunks = text.chunks(PIECE_BYTES);
            pieces.extend(chunks.map(|text| Piece { part, text, first_mark: 0 }));
            let mut next = first;
            for (end, hash) in found {
                while next <= first + (end as usize - 1) / PIECE_BYTES {
                    pieces[next].first_mark = marks.len();
                    next += 1;
                }
                marks.extend(counts.count(hash, part));
            }
            pieces[next..].iter_mut().for_each(|piece| piece.first_mark = marks.len());
        }
    }
    let taken = choose(&pieces, &marks, &mut counts, bytes_max);
    taken.into_iter().flat_map(|piece| pieces[piece].text).copied().collect()
}

/// Lists the stretches of each text of a part: where it ends, and its hash.
fn stretches(texts: &[&[u8]], one_in: u8) -> Vec<Vec<(u32, u64)>> {
    let of_text = |text: &&[u8]| {
        let mut found = Vec::with_capacity(text.len() / usize::from(one_in));
        gear::for_each_stretch(text, one_in, |end, hash| found.push((end as u32, hash)));
        found
    };
    texts.iter().map(of_text).collect()
}

/// A piece of the sample.
struct Piece<'t> {
    part: u32,
    text: &'t [u8],
    /// Its first stretch, and the end of those of the piece before it.
    first_mark: usize,
}

/// Takes the best pieces, and gives them in the order in which they are to stand: those that follow
/// each other in the sample do so here, and what is worth most stands last.
fn choose(
    pieces: &[Piece<'_>],
    marks: &[u32],
    counts: &mut Counts,
    bytes_max: usize,
) -> Vec<usize> {
    let marks_of = |piece: usize| {
        let end = pieces.get(piece + 1).map_or(marks.len(), |next| next.first_mark);
        &marks[pieces[piece].first_mark..end]
    };
    let worth = |counts: &Counts, piece: usize| -> u64 {
        marks_of(piece).iter().map(|mark| counts.elsewhere(*mark)).sum()
    };
    let all = (0..pieces.len()).map(|piece| (worth(counts, piece), piece));
    let mut heap: BinaryHeap<(u64, usize)> = all.filter(|(worth, _)| *worth > 0).collect();
    let (mut taken, mut bytes): (Vec<(usize, u64)>, usize) = (Vec::new(), 0);
    while bytes + PIECE_BYTES <= bytes_max
        && let Some((believed, piece)) = heap.pop()
    {
        let now = worth(counts, piece);
        if now + now / 8 < believed {
            heap.push((now, piece));
        } else if now > 0 {
            marks_of(piece).iter().for_each(|mark| counts.forget(*mark));
            taken.push((piece, now));
            bytes += pieces[piece].text.len();
        }
    }
    taken.sort_unstable();
    let follows = |one: &(usize, u64), two: &(usize, u64)| {
        one.0 + 1 == two.0 && pieces[one.0].part == pieces[two.0].part
    };
    let mut runs: Vec<&[(usize, u64)]> = taken.chunk_by(follows).collect();
    runs.sort_by_key(|run| run.iter().map(|(_, worth)| *worth).max());
    runs.concat().into_iter().map(|(piece, _)| piece).collect()
}

/// In how many parts stretches occur, by their hashes.
struct Counts {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// A part of the hash; 0 where the slot is free.
    tag: u32,
    /// How many parts have it.
    parts: u16,
    /// The last that has, cut to 16 bits.
    last: u16,
}

impl Counts {
    fn new(stretches: usize) -> Counts {
        Counts { slots: vec![Slot::default(); stretches.next_power_of_two().max(1 << 10)] }
    }

    /// Counts a stretch of a part, and gives its slot; `None` if there is no room.
    fn count(&mut self, hash: u64, part: u32) -> Option<u32> {
        let (tag, last) = (hash as u32 | 1, part as u16);
        let mask = self.slots.len() - 1;
        for probe in 0..PROBES_MAX {
            let at = ((hash >> 34) as usize + probe) & mask;
            let slot = &mut self.slots[at];
            if slot.tag == 0 {
                *slot = Slot { tag, parts: 1, last };
            } else if slot.tag != tag {
                continue;
            } else if slot.last != last {
                slot.last = last;
                slot.parts = slot.parts.saturating_add(1);
            }
            return Some(at as u32);
        }
        None
    }

    /// Says in how many other parts a stretch is.
    fn elsewhere(&self, slot: u32) -> u64 {
        u64::from(self.slots[slot as usize].parts.saturating_sub(1))
    }

    fn forget(&mut self, slot: u32) {
        self.slots[slot as usize].parts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seed: u64, words: u64) -> Vec<u8> {
        let word = |word: u64| (seed * 10_000 + word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..words).flat_map(|number| format!("{:016x} ", word(number)).into_bytes()).collect()
    }

    fn shared(parts: &[Vec<u8>], bytes_max: usize) -> Vec<u8> {
        let parts: Vec<Vec<&[u8]>> = parts.iter().map(|part| vec![part.as_slice()]).collect();
        shared_text(&parts, bytes_max, 16, 2)
    }

    #[test]
    fn what_parts_share_is_chosen_and_what_is_single_is_not() {
        let (common, rare) = (text(1, 300), text(2, 300));
        let parts: Vec<Vec<u8>> = (0..20)
            .map(|number| match number % 7 {
                0 => [text(100 + number, 400), rare.clone(), common.clone()].concat(),
                _ => [text(100 + number, 300), common.clone(), text(200 + number, 100)].concat(),
            })
            .collect();
        let chosen = shared(&parts, 64 << 10);
        let holds = |wanted: &[u8]| memchr::memmem::find(&chosen, wanted).is_some();
        assert!(holds(&common[1500..3000]) && holds(&rare[1500..3000]));
        assert!(!holds(&text(101, 60)) && chosen.len() < 40 << 10, "{}", chosen.len());
        assert!(shared(&parts, 4 << 10).len() <= 4 << 10);
    }

    #[test]
    fn nothing_is_shared_by_one_part_or_none() {
        assert!(shared(&[], 1 << 20).is_empty());
        assert!(shared(&[Vec::new(), b"a".to_vec()], 1 << 20).is_empty());
        assert!(shared(&[text(1, 5000)], 1 << 20).is_empty());
    }
}
