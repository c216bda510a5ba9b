//! How packs are written.

/// How a pack is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackOptions {
    /// How hard zstd tries.
    pub(crate) level: i32,
    /// How hard it tries at first, if not as hard at once: a block that gets short by that stays.
    pub(crate) first_level: Option<i32>,
    /// How hard it tries on a dictionary.
    pub(crate) dictionary_level: i32,
    /// How much raw content a block has, unless one object alone has more.
    pub(crate) block_bytes: usize,
    /// How much of the raw content at its end is not compressed: the newest is read most often.
    pub(crate) tail_bytes: usize,
    /// Whether links within a block are left out of it.
    pub(crate) fold: bool,
    /// Whether it may have dictionaries.
    pub(crate) dictionaries: bool,
    /// Whether all that is added is known to be what its id says: it was hashed already, or lay
    /// where a checked index says, in a block with the checksum that the index has for it.
    pub(crate) is_checked: bool,
    /// Whether little memory is taken to find repetitions.
    pub(crate) is_little: bool,
    /// How many threads compress, beside the one that writes, which does where it would wait.
    pub(crate) threads: usize,
}

impl PackOptions {
    /// How hard zstd tries where time matters more than space.
    pub(crate) const QUICK_LEVEL: i32 = 3;

    /// How a store is packed that was tidied: fewer blocks, better compressed.
    pub(crate) const TIDY: PackOptions = PackOptions {
        level: 8,
        first_level: None,
        dictionary_level: 17,
        block_bytes: 256 << 10,
        tail_bytes: 0,
        fold: true,
        dictionaries: false,
        is_checked: false,
        is_little: false,
        threads: 0,
    };

    /// Gives how a pack of a few blocks is written: memory for another try would take longer than
    /// that saves, and so would more of it for the first one. Who has one try only tries hard.
    pub(crate) fn for_little(self) -> PackOptions {
        PackOptions {
            level: self.first_level.unwrap_or(self.level),
            first_level: None,
            dictionaries: false,
            is_little: self.first_level.is_some(),
            ..self
        }
    }
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions {
            level: PackOptions::QUICK_LEVEL,
            block_bytes: 128 << 10,
            tail_bytes: 32 << 10,
            fold: false,
            ..PackOptions::TIDY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_packed_with_little_memory_unless_the_one_try_is_a_hard_one() {
        let quick = PackOptions { first_level: Some(3), level: 6, ..PackOptions::TIDY };
        let hard = PackOptions { first_level: None, level: 17, ..PackOptions::TIDY };
        let form = |options: PackOptions| {
            let little = options.for_little();
            (little.level, little.first_level, little.is_little)
        };
        assert_eq!(form(quick), (3, None, true));
        assert_eq!(form(hard), (17, None, false));
    }
}
