//! The leaves of a column: their values, and the levels that say where these belong.

use std::io;

use crate::ops::export::training::parquet::{Kind, thrift};

// The format's numbers for types.
pub(super) const TYPE_BOOLEAN: i64 = 0;
pub(super) const TYPE_BYTE_ARRAY: i64 = 6;

/// How deep a value repeats, and how deep it is there.
#[derive(Clone, Copy, Default)]
pub(super) struct Level {
    pub(super) repeats: u8,
    pub(super) is_there: u8,
    /// How many lists it is in.
    pub(super) lists: u8,
}

/// What is held of a leaf.
pub(super) struct Leaf {
    /// Its name, and the names of what it is in.
    pub(super) path: Vec<&'static str>,
    pub(super) is_text: bool,
    /// The deepest levels.
    pub(super) repeats_max: u8,
    pub(super) is_there_max: u8,
    pub(super) repeats: Vec<u8>,
    pub(super) is_there: Vec<u8>,
    /// Texts with their lengths, or a byte for each truth.
    pub(super) values: Vec<u8>,
}

impl Leaf {
    pub(super) fn at(path: Vec<&'static str>) -> Leaf {
        Leaf {
            path,
            is_text: false,
            repeats_max: 0,
            is_there_max: 0,
            repeats: Vec::new(),
            is_there: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds the leaves of a kind at the place of `above`.
    pub(super) fn collect(kind: &Kind, above: Leaf, leaves: &mut Vec<Leaf>) {
        let below = |names: &[&'static str], repeats: u8, is_there: u8| Leaf {
            repeats_max: above.repeats_max + repeats,
            is_there_max: above.is_there_max + is_there,
            ..Leaf::at([&above.path[..], names].concat())
        };
        match kind {
            Kind::Truth | Kind::Text => {
                leaves.push(Leaf { is_text: *kind == Kind::Text, ..below(&[], 0, 1) });
            }
            Kind::List(item) => Leaf::collect(item, below(&["list", "element"], 1, 2), leaves),
            Kind::Fields(fields) => {
                for (name, kind) in fields {
                    Leaf::collect(kind, below(&[name], 0, 1), leaves);
                }
            }
        }
    }

    pub(super) fn add_level(&mut self, level: Level) {
        self.repeats.push(level.repeats);
        self.is_there.push(level.is_there);
    }

    pub(super) fn add_text(&mut self, text: &str, level: Level) {
        self.add_level(level);
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.values.extend_from_slice(&length.to_le_bytes());
        self.values.extend_from_slice(text.as_bytes());
    }

    pub(super) fn add_truth(&mut self, truth: bool, level: Level) {
        self.add_level(level);
        self.values.push(truth.into());
    }

    pub(super) fn count(&self) -> usize {
        self.is_there.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.len() + self.repeats.len() + self.is_there.len()
    }

    pub(super) fn type_number(&self) -> i64 {
        if self.is_text { TYPE_BYTE_ARRAY } else { TYPE_BOOLEAN }
    }

    /// Gives what is held as a page.
    pub(super) fn page(&self) -> io::Result<Vec<u8>> {
        let mut page = Vec::with_capacity(self.bytes());
        for (levels, max) in
            [(&self.repeats, self.repeats_max), (&self.is_there, self.is_there_max)]
        {
            if max > 0 {
                let runs = runs(levels);
                page.extend_from_slice(&size(runs.len())?.to_le_bytes());
                page.extend_from_slice(&runs);
            }
        }
        match self.is_text {
            true => page.extend_from_slice(&self.values),
            // Eight truths to a byte, the first the lowest.
            false => page.extend(
                self.values
                    .chunks(8)
                    .map(|eight| eight.iter().rev().fold(0, |byte, truth| byte << 1 | truth)),
            ),
        }
        Ok(page)
    }

    pub(super) fn clear(&mut self) {
        self.repeats.clear();
        self.is_there.clear();
        self.values.clear();
    }
}

/// Writes levels as runs: twice how many, then which. Levels are small, so each is a byte.
fn runs(levels: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for run in levels.chunk_by(|one, other| one == other) {
        thrift::varint(2 * run.len() as u64, &mut out);
        out.push(run[0]);
    }
    out
}

/// Gives a size as the format has it.
pub(super) fn size(bytes: usize) -> io::Result<i32> {
    i32::try_from(bytes).map_err(|_| io::Error::other("a group of rows has more than 2 GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truths_are_packed_from_the_lowest_bit() {
        let mut leaf = Leaf { is_there_max: 1, ..Leaf::at(vec!["label"]) };
        let there = Level { is_there: 1, ..Level::default() };
        (0..9).for_each(|number| leaf.add_truth(number % 3 == 0, there));
        assert_eq!(leaf.page().unwrap(), [2, 0, 0, 0, 18, 1, 0b0100_1001, 0]);
    }
}
