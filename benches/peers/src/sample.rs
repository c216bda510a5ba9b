//! Messages to store: JSON of a given length, made of words, the same in every run.

use std::fmt::Write as _;

const SYLLABLES: [&str; 32] = [
    "ba", "con", "der", "el", "fi", "ga", "hol", "in", "jo", "ker", "lum", "ma", "nor", "o", "per",
    "qui", "ras", "se", "ti", "un", "ver", "wa", "xe", "yor", "ze", "tion", "ing", "ment", "al",
    "ist", "ous", "ly",
];

/// How many phrases there are.
const PHRASES: usize = 600;

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins a sequence.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Gives the next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

/// Makes a message of about so many bytes. No two writers' or numbers' messages are the same.
pub fn message(writer: usize, number: usize, bytes: usize) -> String {
    let mut dice = Dice::new((writer as u64) << 40 | number as u64);
    let role = ["user", "assistant"][number % 2];
    let time = 1_760_000_000_000 + number as u64 * 1000;
    let mut text = String::with_capacity(bytes + 16);
    write!(text, r#"{{"type":"message","role":"{role}","timestamp":{time},"writer":{writer},"#)
        .and_then(|()| write!(text, r#""number":{number},"content":""#))
        .expect("a string takes what is written to it");
    while text.len() + 2 < bytes {
        push_phrase(&mut text, dice.below(PHRASES).min(dice.below(PHRASES)));
    }
    text.push_str("\"}");
    text
}

/// Adds one of the phrases that all conversations are made of, the first ones far more often.
///
/// With so many of them, zstd at level 3 makes a fifth of 64 KiB of messages, as it does of
/// sessions that people had.
fn push_phrase(text: &mut String, phrase: usize) {
    let mut words = Dice::new(phrase as u64);
    for _ in 0..4 + words.below(12) {
        let mut word = Dice::new(words.below(2000) as u64);
        for _ in 0..1 + word.below(3) {
            text.push_str(SYLLABLES[word.below(SYLLABLES.len())]);
        }
        text.push(' ');
    }
}

/// Makes the messages of one writer.
pub fn messages(writer: usize, count: usize, bytes: usize) -> Vec<String> {
    (0..count).map(|number| message(writer, number, bytes)).collect()
}
