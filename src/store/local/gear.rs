//! Places in a text that are chosen by what stands there, and hashes of the stretches that begin
//! at them.
//!
//! The same text has the same chosen places, wherever it stands: so what two texts share is found
//! in both by looking at one place in a few. Four bytes say whether a place is chosen, in a sum
//! that is made of many places at once; only what stands at those is hashed, as a whole.
//!
//! Not here: any promise against someone who wants stretches to collide, or no place to be chosen.

/// How much one hash covers.
pub(super) const STRETCH_BYTES: usize = 24;
/// What the sum of a place is made of.
const SUMMED_BYTES: usize = 4;
/// Sums are made of so many places at once.
const BATCH: usize = 64;

/// Bytes of which one bit is set, of eight sums in a word.
const ONES: u64 = u64::from_ne_bytes([1; 8]);
const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Visits the stretches at about one place in `one_in`, a power of two up to 128: where one ends,
/// its last byte included, and its hash.
#[inline]
pub(super) fn for_each_stretch(text: &[u8], one_in: u8, mut visit: impl FnMut(usize, u64)) {
    // A place is chosen if the top bits of its sum are not set.
    let top_bits = u64::from_ne_bytes([u8::MAX << (8 - one_in.ilog2()); 8]);
    let places = (text.len() + 1).saturating_sub(STRETCH_BYTES);
    let mut rest = [0; BATCH + SUMMED_BYTES - 1];
    for begin in (0..places).step_by(BATCH) {
        let sums = match text[begin..].first_chunk() {
            Some(batch) => sums(batch),
            None => {
                let left = &text[begin..];
                rest[..left.len()].copy_from_slice(left);
                sums(&rest)
            }
        };
        for (word, eight) in sums.as_chunks::<8>().0.iter().enumerate() {
            let bits = u64::from_le_bytes(*eight) & top_bits;
            // The top bit of each byte that is zero.
            let mut chosen = bits.wrapping_sub(ONES) & !bits & TOPS;
            while chosen != 0 {
                let at = begin + 8 * word + chosen.trailing_zeros() as usize / 8;
                chosen &= chosen - 1;
                if at >= places {
                    return;
                }
                let stretch = text[at..].first_chunk().expect("it begins no later");
                visit(at + STRETCH_BYTES, hash(stretch));
            }
        }
    }
}

/// Gives the sums of places that follow each other.
fn sums(text: &[u8; BATCH + SUMMED_BYTES - 1]) -> [u8; BATCH] {
    let mut sums = [0u8; BATCH];
    for (place, sum) in sums.iter_mut().enumerate() {
        let add = |sum: u8, next: usize| sum.wrapping_mul(5).wrapping_add(text[place + next]);
        *sum = (0..SUMMED_BYTES).fold(0, add);
    }
    sums
}

/// Hashes a stretch.
fn hash(stretch: &[u8; STRETCH_BYTES]) -> u64 {
    let word = |at: usize| {
        let word = stretch[at..].first_chunk().expect("it has three words");
        u64::from_le_bytes(*word)
    };
    let second = word(8).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(21);
    let third = word(16).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(42);
    mix(word(0) ^ second ^ third)
}

/// Spreads what a number says over all its bits.
pub(super) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_IN: u8 = 16;

    fn chosen(text: &[u8]) -> Vec<(usize, u64)> {
        let mut chosen = Vec::new();
        for_each_stretch(text, ONE_IN, |end, hash| chosen.push((end, hash)));
        chosen
    }

    #[test]
    fn the_same_text_has_the_same_places_wherever_it_stands() {
        let text: Vec<u8> = (0..5000).map(|at| mix(at / 3) as u8).collect();
        let whole = chosen(&text);
        let one_in = text.len() / whole.len();
        assert!((usize::from(ONE_IN) / 2..usize::from(ONE_IN) * 2).contains(&one_in), "{one_in}");
        for (from, to) in [(0, 4999), (1, 5000), (7, 4000), (100, 170), (64, 128), (3, 26), (3, 27)]
        {
            let within = whole.iter().filter(|(end, _)| end - STRETCH_BYTES >= from && *end <= to);
            let expected: Vec<(usize, u64)> =
                within.map(|(end, hash)| (end - from, *hash)).collect();
            assert_eq!(chosen(&text[from..to]), expected, "{from}..{to}");
        }
    }
}
