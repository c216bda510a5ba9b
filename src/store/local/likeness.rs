//! Which contents are alike, told from small samples of them.
//!
//! A sample of a content is a few numbers: the smallest of the hashes of stretches of it. Two
//! contents that share much of their text share some of them, wherever in them it stands. Contents
//! that share enough are put into one group, groups in the order of their first content. So
//! versions of a file, which a tool read again and again, become neighbours.
//!
//! Not here: any promise. It is a guess, made so that a compressor finds more.

use std::collections::HashMap;

use crate::store::local::gear;

/// One stretch in so many is looked at.
const LOOKED_ONE_IN: u8 = 32;
/// How many hashes are kept of a content.
const SAMPLE_HASHES: usize = 8;
/// How many of them two contents must share to be alike.
const SHARED_MIN: usize = 2;

/// What is known of a content.
pub(crate) type Sample = Vec<u64>;

/// Orders contents so that those that are alike follow each other, and gives their places.
pub(crate) fn order(samples: impl Iterator<Item = Sample>) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<u64, usize> = HashMap::new();
    for (place, sample) in samples.enumerate() {
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

/// Gives the smallest hashes of stretches, each once; none of a content that is too short.
pub(crate) fn sample(content: &[u8]) -> Sample {
    let mut smallest: Sample = Vec::with_capacity(SAMPLE_HASHES + 1);
    let mut bound = u64::MAX;
    gear::for_each_stretch(content, LOOKED_ONE_IN, |_, hash| {
        if hash < bound
            && let Err(at) = smallest.binary_search(&hash)
        {
            smallest.insert(at, hash);
            smallest.truncate(SAMPLE_HASHES);
            bound = smallest.get(SAMPLE_HASHES - 1).copied().unwrap_or(u64::MAX);
        }
    });
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(seed: u64, words: u64) -> String {
        (0..words).map(|word| format!("{:016x} ", gear::mix(seed * 10_000 + word))).collect()
    }

    fn check(contents: &[&str], expected: &[usize]) {
        let found = order(contents.iter().map(|content| sample(content.as_bytes())));
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
