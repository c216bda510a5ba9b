//! What an import tells: of a file, and of all of them.

use std::path::{Path, PathBuf};

use crate::dialect::Odd;
use crate::error::Error;
use crate::object::{Entry, NewObject};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The session; in a dry run, the one that the file has already, if any.
    pub session: Option<String>,
    /// The file; `None` for standard input.
    pub source: Option<PathBuf>,
    /// The dialect.
    pub dialect: &'static str,
    /// What happened.
    pub change: ImportChange,
    /// How many values its session has of it.
    pub values: u64,
    /// How many bytes were read.
    pub bytes: u64,
    /// What was added and what was shared.
    pub tally: Tally,
    /// What was odd, the first of it.
    pub odds: Vec<Oddity>,
    /// How much was odd.
    pub odd_count: u64,
}

/// What an import did to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportChange {
    /// It was made.
    New,
    /// It got what its file had gained.
    Grown,
    /// Its file had been written anew, and so was it.
    Rewritten,
    /// Its values were hung on those of another file that has come.
    Linked,
    /// There was nothing new.
    Unchanged,
}

/// What an import tells while it works.
#[derive(Debug)]
pub enum ImportNote<'a> {
    /// So many bytes of so many have been read.
    Progress(u64, u64),
    /// A file is done.
    Session(&'a Imported),
    /// A file is no session that is known.
    Unknown(&'a Path),
    /// A link leads to a directory that it is in, and is left out.
    Loop(&'a Path),
    /// A file can't be read.
    Failed(&'a Path, &'a Error),
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    /// Sessions that were made or changed.
    pub sessions: u64,
    /// Files in which nothing was new.
    pub unchanged: u64,
    /// Files that are no sessions.
    pub unknown: u64,
    /// Files that could not be read.
    pub failed: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// What was added and what was shared.
    pub tally: Tally,
    /// How much was odd.
    pub odd_count: u64,
    /// How often each pattern was replaced, by its name.
    pub redacted: Vec<(String, u64)>,
}

/// Something odd in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// What.
    pub what: Strange,
    /// The line, from 1.
    pub line: u64,
    /// The file, where a source has several.
    pub file: Option<String>,
}

/// What can be odd about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strange {
    /// About the text of a line.
    Text(Odd),
    /// A value hangs on one that is nowhere.
    Orphan,
    /// Values hang on each other in a circle.
    Circle,
    /// Two values have one id.
    Twin,
    /// The end of the file is half a line.
    TornEnd,
    /// The file is not what it was when it was last read.
    Rewritten,
}

/// What an import added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values that became entries.
    pub entries: u64,
    /// Entries that the store had.
    pub entries_shared: u64,
    /// Long strings.
    pub strings: u64,
    /// Long strings that the store had.
    pub strings_shared: u64,
    /// Bytes of objects that the store had.
    pub bytes_shared: u64,
    /// Bytes of objects that it had not.
    pub bytes_new: u64,
}

impl Tally {
    /// Counts an object.
    pub(super) fn count(&mut self, object: &NewObject, is_new: bool) {
        let (all, shared) = match object.kind() == Entry::KIND {
            true => (&mut self.entries, &mut self.entries_shared),
            false => (&mut self.strings, &mut self.strings_shared),
        };
        *all += 1;
        *shared += u64::from(!is_new);
        let bytes = object.content().len() as u64;
        *if is_new { &mut self.bytes_new } else { &mut self.bytes_shared } += bytes;
    }

    /// Adds another.
    pub fn add(&mut self, other: &Tally) {
        self.entries += other.entries;
        self.entries_shared += other.entries_shared;
        self.strings += other.strings;
        self.strings_shared += other.strings_shared;
        self.bytes_shared += other.bytes_shared;
        self.bytes_new += other.bytes_new;
    }
}
