//! Passages of a conversation, ranked by what they have to do with a goal (BM25).

use std::collections::BTreeMap;

use crate::id::Id;

/// How long a passage is at the most, in characters.
const PASSAGE_CHARS_MAX: usize = 700;

/// How soon a word that comes again stops counting, and how much long passages are held back.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// What is worth less than this part of the best passage is no help.
const WORTH_MIN: f64 = 0.2;

/// The passages that say any word of the goal, and what is known of all others.
pub(super) struct Passages {
    /// The words of the goal, and how many passages have each.
    words: BTreeMap<String, usize>,
    found: Vec<Candidate>,
    count: usize,
    words_total: usize,
}

struct Candidate {
    entry: Id,
    role: String,
    text: String,
    /// How often each word of the goal comes, in their order.
    counts: Vec<usize>,
    length: usize,
}

/// A passage that matters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    pub(super) entry: Id,
    pub(super) role: String,
    pub(super) text: String,
}

impl Passages {
    /// Looks for the words of a goal.
    pub(super) fn about(goal: &str) -> Passages {
        let words = words(goal).map(|word| (word, 0)).collect();
        Passages { words, found: Vec::new(), count: 0, words_total: 0 }
    }

    /// Reads what somebody said. The newest comes first.
    pub(super) fn add(&mut self, entry: Id, role: &str, text: &str) {
        for passage in split(text) {
            let mut counts: BTreeMap<&str, usize> =
                self.words.keys().map(|word| (word.as_str(), 0)).collect();
            let mut length = 0;
            for word in words(&passage) {
                length += 1;
                if let Some(count) = counts.get_mut(word.as_str()) {
                    *count += 1;
                }
            }
            self.count += 1;
            self.words_total += length;
            let counts: Vec<usize> = counts.into_values().collect();
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            for (with, count) in self.words.values_mut().zip(&counts) {
                *with += usize::from(*count > 0);
            }
            let role = role.to_owned();
            self.found.push(Candidate { entry, role, text: passage, counts, length });
        }
    }

    /// Gives the best passages that fit, in the order in which they were said. Leaves out entries
    /// that are shown anyway.
    pub(super) fn best(&self, limit: usize, shown: &[Id]) -> Vec<Ranked> {
        let mut ranked: Vec<(f64, usize)> = self
            .found
            .iter()
            .enumerate()
            .filter(|(_, passage)| !shown.contains(&passage.entry))
            .map(|(place, passage)| (self.score(passage), place))
            .collect();
        // Of equals the newest, which was read first.
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let worth_min = ranked.first().map_or(0.0, |best| best.0 * WORTH_MIN);
        ranked.retain(|(score, _)| *score >= worth_min);
        let mut left = limit.saturating_sub(40);
        let mut taken = Vec::new();
        for (_, place) in ranked {
            let length = self.found[place].text.chars().count() + 60;
            if length <= left {
                left -= length;
                taken.push(place);
            }
        }
        taken.sort_unstable();
        let best = taken.into_iter().rev().map(|place| {
            let found = &self.found[place];
            Ranked { entry: found.entry, role: found.role.clone(), text: found.text.clone() }
        });
        best.collect()
    }

    fn score(&self, passage: &Candidate) -> f64 {
        let all = self.count as f64;
        let mean = (self.words_total as f64 / all).max(1.0);
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * passage.length as f64 / mean;
        let scores = self.words.values().zip(&passage.counts).map(|(with, count)| {
            let (with, count) = (*with as f64, *count as f64);
            let rarity = log2((all - with + 0.5) / (with + 0.5) + 1.0);
            rarity * count * (SATURATION + 1.0) / (count + SATURATION * length)
        });
        scores.sum()
    }
}

/// Gives the binary logarithm of a number from 1 on, to eight digits and the same everywhere. The
/// system's would be all that a library is loaded for, each time that the program starts.
fn log2(number: f64) -> f64 {
    const TERMS: u32 = 8;
    const MANTISSA_BITS: u32 = 52;
    let halvings = (number.to_bits() >> MANTISSA_BITS) as i32 - 1023;
    let mantissa = number.to_bits() & ((1 << MANTISSA_BITS) - 1);
    let rest = f64::from_bits(1f64.to_bits() | mantissa);
    let small = (rest - 1.0) / (rest + 1.0);
    let (mut power, mut sum) = (small, 0.0);
    for term in 0..TERMS {
        sum += power / f64::from(2 * term + 1);
        power *= small * small;
    }
    f64::from(halvings) + sum * 2.0 * std::f64::consts::LOG2_E
}

/// Lists the words of a text, small, those of one letter left out.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().nth(1).is_some()).map(str::to_lowercase)
}

/// Splits a text at empty lines into passages that are not too long.
fn split(text: &str) -> Vec<String> {
    let mut passages: Vec<String> = Vec::new();
    let mut length = 0;
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let letters = paragraph.chars().count();
        match passages.last_mut() {
            Some(last) if length + letters + 2 <= PASSAGE_CHARS_MAX => {
                last.push_str("\n\n");
                last.push_str(paragraph);
                length += letters + 2;
            }
            _ => {
                passages.push(paragraph.to_owned());
                length = letters;
            }
        }
    }
    let shortened = |passage: String| match passage.chars().count() {
        count if count <= PASSAGE_CHARS_MAX => vec![passage],
        _ => pieces(&passage),
    };
    passages.into_iter().flat_map(shortened).collect()
}

/// Cuts a long passage between words.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut length = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let letters = word.chars().count();
        if length > 0 && length + letters > PASSAGE_CHARS_MAX {
            pieces.push(String::new());
            length = 0;
        }
        length += letters;
        let piece = pieces.last_mut().expect("there is always one");
        piece.extend(word.chars().take(PASSAGE_CHARS_MAX));
    }
    pieces
}

/// Cuts a text off at so many characters, and says so.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::log2;

    #[test]
    fn logarithms_are_those_of_the_system_to_eight_digits() {
        for number in [1.0, 1.000_1, 1.5, 1.999_999, 2.0, 3.0, 10.0, 12_345.678, 1e12] {
            let found = log2(number);
            assert!((found - f64::log2(number)).abs() < 1e-8, "{number}: {found}");
        }
    }
}
