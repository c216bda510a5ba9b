//! Which contents are alike, told from small samples of them.
//!
//! A sample of a content is a few numbers: the smallest of the hashes of all its stretches of
//! [`STRETCH_BYTES`]. Two contents that share much of their text share some of them, wherever in
//! them it stands. Contents that share enough are put into one group, groups in the order of their
//! first content. So versions of a file, which a tool read again and again, become neighbours.
//!
//! Not here: any promise. It is a guess, made so that a compressor finds more.

use std::collections::HashMap;

/// How much of a content one hash covers.
const STRETCH_BYTES: usize = 32;
/// How many hashes are kept of a content.
const SAMPLE_HASHES: usize = 8;
/// How many of them two contents must share to be alike.
const SHARED_MIN: usize = 2;

/// Orders contents so that those that are alike follow each other, and gives their places.
pub(crate) fn order<'c>(contents: impl Iterator<Item = &'c [u8]>) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<u32, usize> = HashMap::new();
    for (place, content) in contents.enumerate() {
        let sample = sample(content);
        let found = nearest(sample.iter().filter_map(|hash| group_of.get(hash).copied()));
        let group = found.unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(place);
        group_of.extend(sample.into_iter().map(|hash| (hash, group)));
    }
    groups.concat()
}

/// Gives the group that is named most often, if it is named often enough.
fn nearest(named: impl Iterator<Item = usize>) -> Option<usize> {
    let mut counts: Vec<(usize, usize)> = Vec::with_capacity(SAMPLE_HASHES);
    for group in named {
        match counts.iter_mut().find(|(_, other)| *other == group) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, group)),
        }
    }
    let most = counts.into_iter().max_by_key(|(count, group)| (*count, usize::MAX - group));
    most.filter(|(count, _)| *count >= SHARED_MIN).map(|(_, group)| group)
}

/// Gives the smallest hashes of all stretches, each once; none of a content that is too short.
fn sample(content: &[u8]) -> Vec<u32> {
    const BASE: u32 = 0x9e37_79b1;
    let leaving = BASE.wrapping_pow(STRETCH_BYTES as u32);
    let mut smallest: Vec<u32> = Vec::with_capacity(SAMPLE_HASHES + 1);
    let mut rolling = 0u32;
    for (place, byte) in content.iter().enumerate() {
        rolling = rolling.wrapping_mul(BASE).wrapping_add(u32::from(*byte) + 1);
        if let Some(before) = place.checked_sub(STRETCH_BYTES) {
            let gone = u32::from(content[before]) + 1;
            rolling = rolling.wrapping_sub(gone.wrapping_mul(leaving));
        }
        let hash = mix(rolling);
        let full = smallest.len() == SAMPLE_HASHES;
        if place + 1 >= STRETCH_BYTES
            && !(full && hash >= smallest[SAMPLE_HASHES - 1])
            && let Err(at) = smallest.binary_search(&hash)
        {
            smallest.insert(at, hash);
            smallest.truncate(SAMPLE_HASHES);
        }
    }
    smallest
}

fn mix(mut hash: u32) -> u32 {
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seed: u32, words: u32) -> String {
        (0..words).map(|word| format!("{:08x} ", mix(seed * 10_000 + word))).collect()
    }

    fn check(contents: &[&str], expected: &[usize]) {
        let found = order(contents.iter().map(|content| content.as_bytes()));
        assert_eq!(found, expected, "{contents:.40?}");
    }

    #[test]
    fn what_is_alike_becomes_neighbours() {
        let (one, two, three) = (text(1, 300), text(2, 300), text(3, 300));
        let longer = format!("some words before, {one} and some behind");
        let changed = two.replacen(&two[900..960], "and another line in the middle", 1);
        check(&[&one, &two, &three, &longer, &changed], &[0, 3, 1, 4, 2]);
    }

    #[test]
    fn what_is_not_alike_stays_in_order() {
        let texts: Vec<String> = (0..9).map(|seed| text(seed, 200)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        check(&texts, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        check(&["", "a", "", &"x".repeat(5000), "b"], &[0, 1, 2, 3, 4]);
    }
}
