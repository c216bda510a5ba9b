//! Hashes of all stretches of a text, a step for each byte.
//!
//! With each byte the hash moves up by some bits, and a random number for the byte is added; what
//! moved out at the top is forgotten. So the top bits hang on all bytes of a stretch, the lowest on
//! the last few: to find places, compare hashes as numbers; to tell stretches apart, mix them.
//!
//! Not here: any promise against someone who wants stretches to collide.

/// By how many bits the hash moves with each byte.
const STEP_BITS: u32 = 3;
/// How much one hash covers.
pub(super) const STRETCH_BYTES: usize = u64::BITS.div_ceil(STEP_BITS) as usize;

const NUMBERS: [u64; 256] = numbers();

/// Visits every stretch: where it ends, its last byte included, and its hash.
#[inline]
pub(super) fn for_each_stretch(text: &[u8], mut visit: impl FnMut(usize, u64)) {
    let step = |hash: u64, byte: &u8| (hash << STEP_BITS).wrapping_add(NUMBERS[*byte as usize]);
    let Some((first, rest)) = text.split_at_checked(STRETCH_BYTES - 1) else {
        return;
    };
    let mut hash = first.iter().fold(0, step);
    for (end, byte) in (STRETCH_BYTES..).zip(rest) {
        hash = step(hash, byte);
        visit(end, hash);
    }
}

/// Spreads what a hash says over all its bits.
pub(super) fn mix(hash: u64) -> u64 {
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

const fn numbers() -> [u64; 256] {
    let (mut numbers, mut seed, mut byte) = ([0; 256], 0u64, 0);
    while byte < numbers.len() {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = seed;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        numbers[byte] = number ^ (number >> 31);
        byte += 1;
    }
    numbers
}
