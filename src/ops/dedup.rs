//! What sharing saves: in a store, and in a folder of session files that are in none yet.
//!
//! Entries and long strings are stored once, however many sessions and lines use them. [`sharing`]
//! compares that with what it would be if each use were a copy. [`survey`] imports files into a
//! scratch store that is thrown away, and says what would be stored, and why the files are longer.

mod ledger;
mod survey;
mod waste;

use crate::error::Result;
use crate::ops::session_ids;
use crate::session::{Forest, View};
use crate::store::Snapshot;

use ledger::Ledger;

pub use survey::{Survey, SurveyOptions, survey};
pub use waste::{Cause, Waste};

/// What the sessions of a store use, and how much of it is different.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// How many sessions.
    pub sessions: u64,
    /// Entries, counted in every session.
    pub entries: u64,
    /// Entries, each once.
    pub entries_unique: u64,
    /// Long strings, counted wherever an entry of a session uses them.
    pub strings: u64,
    /// Long strings, each once.
    pub strings_unique: u64,
    /// The bytes of all uses of entries and strings.
    pub bytes: u64,
}

/// Adds up what all sessions use. Each entry and each string is read once; `progress` is told how
/// many sessions of how many are done.
pub fn sharing(snapshot: &dyn Snapshot, progress: &mut dyn FnMut(u64, u64)) -> Result<Sharing> {
    let sessions = session_ids(snapshot)?;
    let mut sharing = Sharing { sessions: sessions.len() as u64, ..Sharing::default() };
    let mut ledger = Ledger::default();
    for (number, session) in (0..).zip(&sessions) {
        let forest = Forest::of(&View::of(snapshot, session)?)?;
        ledger.add(snapshot, forest.ids(), number)?;
        for line in forest.ids().iter().filter_map(|id| ledger.line(id)) {
            sharing.entries += 1;
            sharing.strings += u64::from(line.strings);
            sharing.bytes += line.bytes;
        }
        progress(u64::from(number) + 1, sharing.sessions);
    }
    sharing.entries_unique = ledger.lines();
    sharing.strings_unique = ledger.texts().count() as u64;
    Ok(sharing)
}

#[cfg(test)]
mod tests;
