//! Why files are longer than what is in them.
//!
//! Each byte is laid to one cause: to a file that is wholly in another; else to the lines that two
//! files share; else, among the lines that are different, to a string or an image that several use.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::Snapshot;

use super::ledger::Ledger;

/// How many causes are told.
const CAUSES_MAX: usize = 10;
/// How much of a string is told, in characters.
const WORDS_CHARACTERS: usize = 48;

/// Bytes that say nothing new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waste {
    /// How many, before compression.
    pub bytes: u64,
    /// Why.
    pub cause: Cause,
}

/// Why bytes say nothing new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A file was saved again.
    File {
        /// The one that could be done without.
        file: PathBuf,
        /// The one that has all of it.
        whole: PathBuf,
        /// Whether both are the same; else one begins with the other.
        is_same: bool,
    },
    /// Lines of one file are in another.
    Lines {
        /// How many.
        lines: u64,
        /// Where they are first.
        first: PathBuf,
        /// Where they are again, which may be the same file.
        again: PathBuf,
    },
    /// A string is used several times.
    Text {
        /// How often.
        uses: u64,
        /// Its length.
        bytes: u64,
        /// Its first words.
        words: String,
    },
    /// An image is used several times.
    Image {
        /// How often.
        uses: u64,
        /// Its length in base64.
        bytes: u64,
    },
}

/// A file, and by which ways it can be begun with.
#[derive(Debug)]
pub(super) struct SurveyedFile {
    path: PathBuf,
    bytes: u64,
    /// For each line a hash of all lines up to it.
    begins: Vec<u64>,
}

impl SurveyedFile {
    pub(super) fn new(path: PathBuf, bytes: u64, entries: &[Id]) -> SurveyedFile {
        let mut hasher = blake3::Hasher::new();
        let begins = entries.iter().map(|id| {
            hasher.update(id.as_bytes());
            let hash = hasher.finalize();
            u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash is longer"))
        });
        let begins = begins.collect();
        SurveyedFile { path, bytes, begins }
    }

    /// Says whether another file begins with all of this one, or is the same.
    fn begins(&self, other: &SurveyedFile) -> bool {
        let last = self.begins.len().checked_sub(1);
        last.is_some_and(|last| other.begins.get(last) == self.begins.last())
    }
}

/// The lines that were seen before, by where that was and where they are again.
#[derive(Debug, Default)]
pub(super) struct Again {
    pairs: HashMap<(u32, u32), (u64, u64)>,
}

impl Again {
    /// Takes in the lines of the next file.
    pub(super) fn add(&mut self, file: u32, entries: &[Id], ledger: &Ledger) {
        let mut here = HashSet::with_capacity(entries.len());
        for id in entries {
            let is_second = !here.insert(id);
            if let Some(line) = ledger.line(id)
                && (line.first != file || is_second)
            {
                let (lines, bytes) = self.pairs.entry((line.first, file)).or_default();
                *lines += 1;
                *bytes += line.bytes;
            }
        }
    }
}

/// Gives the largest causes, the largest first.
pub(super) fn largest(
    snapshot: &dyn Snapshot,
    files: &[SurveyedFile],
    again: Again,
    ledger: &Ledger,
) -> Result<Vec<Waste>> {
    let mut causes = saved_again(files);
    for ((first, file), (lines, bytes)) in again.pairs {
        let (first, file) = (&files[first as usize], &files[file as usize]);
        let is_other = !std::ptr::eq(first, file);
        if !(is_other && (first.begins(file) || file.begins(first))) {
            let (first, again) = (first.path.clone(), file.path.clone());
            causes.push(Waste { bytes, cause: Cause::Lines { lines, first, again } });
        }
    }
    let order = |one: &Waste, other: &Waste| {
        other.bytes.cmp(&one.bytes).then_with(|| one.cause.key().cmp(&other.cause.key()))
    };
    causes.sort_by(order);
    causes.truncate(CAUSES_MAX);
    let mut texts: Vec<_> = ledger.texts().filter(|(_, text)| text.uses > 1).collect();
    texts.sort_by_key(|(id, text)| (u64::MAX - (text.uses - 1) * text.bytes, **id));
    for (id, text) in texts.into_iter().take(CAUSES_MAX) {
        let (uses, bytes) = (text.uses, text.bytes);
        let cause = match text.is_image {
            true => Cause::Image { uses, bytes },
            false => Cause::Text { uses, bytes, words: words(snapshot, id)? },
        };
        causes.push(Waste { bytes: (uses - 1) * bytes, cause });
    }
    causes.sort_by(order);
    causes.truncate(CAUSES_MAX);
    Ok(causes)
}

/// Finds the files that are wholly in another: of several, in the shortest.
fn saved_again(files: &[SurveyedFile]) -> Vec<Waste> {
    let mut ends: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, file) in files.iter().enumerate() {
        if let Some(end) = file.begins.last() {
            ends.entry(*end).or_default().push(place);
        }
    }
    let mut whole: HashMap<usize, usize> = HashMap::new();
    for (place, file) in files.iter().enumerate() {
        let begun = file.begins.iter().filter_map(|hash| ends.get(hash)).flatten();
        for within in begun.copied().filter(|within| files[*within].begins(file)) {
            let is_shorter = files[within].begins.len() < file.begins.len();
            let best = whole.get(&within).map_or(usize::MAX, |best| files[*best].begins.len());
            if (is_shorter || within > place) && file.begins.len() < best {
                whole.insert(within, place);
            }
        }
    }
    let waste = whole.into_iter().map(|(within, place)| {
        let (within, file) = (&files[within], &files[place]);
        let is_same = within.begins.len() == file.begins.len();
        let (short, whole) = (within.path.clone(), file.path.clone());
        Waste { bytes: within.bytes, cause: Cause::File { file: short, whole, is_same } }
    });
    waste.collect()
}

impl Cause {
    /// Puts causes of one length into one order.
    fn key(&self) -> (u8, Option<&PathBuf>, Option<&PathBuf>, &str) {
        match self {
            Cause::File { file, whole, .. } => (0, Some(file), Some(whole), ""),
            Cause::Lines { first, again, .. } => (1, Some(first), Some(again), ""),
            Cause::Text { words, .. } => (2, None, None, words),
            Cause::Image { .. } => (3, None, None, ""),
        }
    }
}

/// Gives the first words of a string, on one line.
fn words(snapshot: &dyn Snapshot, id: &Id) -> Result<String> {
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    let begin = &stored.content[..stored.content.len().min(8 * WORDS_CHARACTERS)];
    let text = String::from_utf8_lossy(begin);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(line.chars().take(WORDS_CHARACTERS).collect())
}
