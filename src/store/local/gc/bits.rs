//! One bit for each row of a pack.

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    /// Makes an empty set of numbers below a bound.
    pub(super) fn below(bound: u32) -> Bits {
        Bits { words: vec![0; (bound as usize).div_ceil(64)], count: 0 }
    }

    /// Says whether a number is in the set.
    pub(super) fn has(&self, number: u32) -> bool {
        self.words[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// Adds a number, and says whether it is new.
    pub(super) fn add(&mut self, number: u32) -> bool {
        let is_new = !self.has(number);
        self.words[number as usize / 64] |= 1 << (number % 64);
        self.count += u64::from(is_new);
        is_new
    }

    /// Counts the numbers in the set.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_once() {
        let mut bits = Bits::below(130);
        assert!([0, 63, 64, 129].into_iter().all(|number| bits.add(number)));
        assert!(!bits.add(64));
        assert_eq!(bits.count(), 4);
        assert!(bits.has(129) && !bits.has(128));
    }
}
