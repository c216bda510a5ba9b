//! Texts and values with what was found in them replaced.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::codec::{Key, Value, json};
use crate::error::{Error, Result};
use crate::ops::redact::patterns::{Hit, Patterns};

/// What stands where something was, unless another text is given.
pub const REPLACEMENT: &str = "[redacted]";

/// How often a text is looked at again: what is left and right of a replacement may be a hit too.
const ROUNDS_MAX: usize = 8;
/// How many different texts that were found are kept, and how many characters of each: a name has
/// no room for more.
const FOUND_MAX: usize = 10_000;
const FOUND_CHARACTERS_MAX: usize = 100;

/// Replaces what the patterns find, and counts it.
#[derive(Debug)]
pub struct Scrubber {
    patterns: Patterns,
    replacement: String,
    counts: Vec<AtomicU64>,
    /// What was found.
    found: Mutex<BTreeSet<String>>,
}

impl Scrubber {
    /// Replaces what these patterns find by a text, which must be none of it.
    pub fn new(patterns: Patterns, replacement: &str) -> Result<Scrubber> {
        let is_plain = |letter: char| !letter.is_control() && letter != '"' && letter != '\\';
        let refused = |why: &str| Error::Refused {
            why: why.to_owned(),
            hint: "choose another text with --replace",
        };
        if !replacement.chars().all(is_plain) {
            return Err(refused(
                "the replacement holds a quote, a backslash or a control character",
            ));
        }
        if !patterns.find(replacement.as_bytes()).is_empty() {
            return Err(refused("the replacement is itself something that is looked for"));
        }
        let counts = patterns.names().map(|_| AtomicU64::new(0)).collect();
        let replacement = replacement.to_owned();
        Ok(Scrubber { patterns, replacement, counts, found: Mutex::default() })
    }

    /// Gives the same without what was counted.
    pub(super) fn uncounted(&self) -> Scrubber {
        let counts = self.counts.iter().map(|_| AtomicU64::new(0)).collect();
        let (patterns, replacement) = (self.patterns.clone(), self.replacement.clone());
        Scrubber { patterns, replacement, counts, found: Mutex::default() }
    }

    /// Gives the same, looking for others too.
    pub(super) fn and(&self, others: &Patterns) -> Result<Scrubber> {
        let patterns = self.patterns.clone().and(others.clone())?;
        let more = patterns.names().count() - self.counts.len();
        let known = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let counts = known.chain(std::iter::repeat_n(0, more)).map(AtomicU64::new).collect();
        let found = Mutex::new(self.found());
        Ok(Scrubber { patterns, replacement: self.replacement.clone(), counts, found })
    }

    /// Looks for others alone.
    pub(super) fn only(&self, patterns: Patterns) -> Scrubber {
        let counts = patterns.names().map(|_| AtomicU64::new(0)).collect();
        let replacement = self.replacement.clone();
        Scrubber { patterns, replacement, counts, found: Mutex::default() }
    }

    /// Adds what another counted of the patterns that were added last.
    pub(super) fn count_last(&self, other: &Scrubber) {
        for (count, more) in self.counts.iter().rev().zip(other.counts.iter().rev()) {
            count.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Gives what was replaced, the first of it where there was much.
    pub(super) fn found(&self) -> BTreeSet<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says whether bytes contain what is looked for, and counts nothing.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        !self.hits(text).is_empty()
    }

    /// Gives what is looked for.
    pub(super) fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// Gives how often each pattern was replaced, by name, those that were.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let named = self.patterns.names().map(str::to_owned).zip(counts);
        named.filter(|(_, count)| *count > 0).collect()
    }

    /// Replaces in bytes; `None` if there is nothing to replace.
    pub(crate) fn bytes(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut scrubbed: Option<Vec<u8>> = None;
        for _ in 0..ROUNDS_MAX {
            let hits = self.hits(scrubbed.as_deref().unwrap_or(text));
            if hits.is_empty() {
                break;
            }
            scrubbed = Some(self.replaced(scrubbed.as_deref().unwrap_or(text), &hits));
        }
        scrubbed
    }

    /// Replaces in a text, and says whether there was anything to replace.
    pub(crate) fn text(&self, text: &mut String) -> bool {
        let Some(scrubbed) = self.bytes(text.as_bytes()) else {
            return false;
        };
        *text = lossy(scrubbed);
        true
    }

    /// Replaces in every key, string and number of a value, and says whether there was anything.
    pub(crate) fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Link(_) => false,
            Value::Text(text) => self.text(text),
            Value::Integer(_) | Value::Float(_) | Value::Number(_) => {
                let mut text = json::to_string(value);
                let changed = self.text(&mut text);
                if changed {
                    *value = Value::Text(text);
                }
                changed
            }
            Value::List(items) => {
                items.iter_mut().fold(false, |changed, item| self.value(item) | changed)
            }
            Value::Map(pairs) => self.pairs(pairs),
        }
    }

    /// Replaces the value of a key that says what it is; `None` if there is nothing to replace.
    pub(super) fn assigned(&self, key: &str, text: &str) -> Option<String> {
        let hits = self.patterns.find_assigned(key, text);
        let found = !hits.is_empty() && text != self.replacement;
        found.then(|| lossy(self.replaced(text.as_bytes(), &hits)))
    }

    fn pairs(&self, pairs: &mut [(Key, Value)]) -> bool {
        let mut changed = false;
        for place in 0..pairs.len() {
            let (key, value) = &mut pairs[place];
            if let Value::Text(text) = value
                && let Some(scrubbed) = self.assigned(key, text)
            {
                *text = scrubbed;
                changed = true;
            }
            changed |= self.value(value);
            if let Some(scrubbed) = self.bytes(pairs[place].0.as_bytes()) {
                pairs[place].0 = lossy(scrubbed).into();
                changed = true;
                let stem = pairs[place].0.clone();
                let is_taken = |name: &Key, pairs: &[(Key, Value)]| {
                    pairs.iter().enumerate().any(|(at, (key, _))| at != place && key == name)
                };
                for number in 2.. {
                    if !is_taken(&pairs[place].0, pairs) {
                        break;
                    }
                    pairs[place].0 = format!("{stem} {number}").into();
                }
            }
        }
        changed
    }

    /// Finds what is not the replacement itself.
    fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = self.patterns.find(text);
        hits.retain(|hit| &text[hit.range.clone()] != self.replacement.as_bytes());
        hits
    }

    fn replaced(&self, text: &[u8], hits: &[Hit]) -> Vec<u8> {
        let mut scrubbed = Vec::with_capacity(text.len());
        let mut from = 0;
        for Hit { range, pattern } in hits {
            scrubbed.extend_from_slice(&text[from..range.start]);
            scrubbed.extend_from_slice(self.replacement.as_bytes());
            self.counts[*pattern].fetch_add(1, Ordering::Relaxed);
            self.note(&text[range.clone()]);
            from = range.end;
        }
        scrubbed.extend_from_slice(&text[from..]);
        scrubbed
    }

    fn note(&self, hit: &[u8]) {
        let begin = hit.get(..4 * FOUND_CHARACTERS_MAX).unwrap_or(hit);
        let begin = String::from_utf8_lossy(begin);
        let begin: String = begin.chars().take(FOUND_CHARACTERS_MAX).collect();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < FOUND_MAX {
            found.insert(begin);
        }
    }
}

/// Makes a text of bytes of which some were cut out, perhaps within a character.
fn lossy(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}
