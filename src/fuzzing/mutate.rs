//! Changes to bytes, the same for the same seed.

/// Words at which decoders are off by one.
const WORDS: [u64; 10] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, u64::MAX];
/// How long a changed input may become.
const BYTES_MAX: usize = 1 << 16;

/// Changes inputs.
#[derive(Clone, Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// Makes one that always changes in the same way.
    pub fn new(seed: u64) -> Mutator {
        Mutator(seed)
    }

    /// Gives an input that is like `input`, perhaps with a part of `other`.
    pub fn change(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            self.step(&mut bytes, other);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn step(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let end = bytes.len().min(at + 1 + self.below(16));
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let repeated = bytes[at..end].to_vec();
                bytes.splice(at..at, repeated);
            }
            4 => bytes.truncate(at),
            5 => {
                let word = WORDS[self.below(WORDS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][self.below(4)];
                let until = bytes.len().min(at + width);
                bytes[at..until].copy_from_slice(&word[..until - at]);
            }
            6 => {
                let from = self.below(other.len() + 1);
                let part = &other[from..other.len().min(from + self.below(64))];
                bytes.splice(at..end, part.iter().copied());
            }
            _ => {
                let inserted = self.next().to_le_bytes();
                bytes.splice(at..at, inserted.into_iter().take(1 + self.below(8)));
            }
        }
    }

    /// Gives a number less than `limit`, which is not zero (splitmix64).
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
