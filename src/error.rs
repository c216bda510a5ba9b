//! The one error of the library.
//!
//! A variant carries what was expected, what was found, and the id or path it is about. Which
//! message, hint and exit code a person sees is decided by the command line, not here.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::id::Id;

/// What every fallible function of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// No store where one was looked for.
    #[error("no sapwood store at {}", path.display())]
    NotAStore {
        /// Where it was looked for.
        path: PathBuf,
    },

    /// A file of a version, hash or codec that this program does not know.
    #[error("{} has {found}; this program reads {supported}", path.display())]
    UnsupportedFormat {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: String,
        /// What can be read.
        supported: &'static str,
    },

    /// Bytes that cannot be what was once written.
    #[error("{} is damaged{}: {why}", path.display(), at_byte(*offset))]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where in the file, if known.
        offset: Option<u64>,
        /// What is wrong with it.
        why: String,
    },

    /// An object whose content is not what its kind demands.
    #[error("not a valid {kind}: {why}")]
    InvalidObject {
        /// The kind it should be: an object kind, or `JSON`.
        kind: &'static str,
        /// What is wrong with it.
        why: String,
    },

    /// An object that is not in the store.
    #[error("object {id} is not in the store")]
    ObjectMissing {
        /// Its id.
        id: Id,
    },

    /// An object of another kind than was asked for.
    #[error("object {id} is of kind {found}, not {expected}")]
    WrongKind {
        /// Its id.
        id: Id,
        /// What was asked for.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },

    /// A revision that names nothing.
    #[error("unknown revision '{revision}': {why}")]
    RevisionUnknown {
        /// What was asked for.
        revision: String,
        /// Which part of it was not found.
        why: String,
    },

    /// A text that is not a revision.
    #[error("'{}' is not a revision: {why}", revision.escape_debug())]
    RevisionMalformed {
        /// What was asked for.
        revision: String,
        /// What is wrong with it.
        why: String,
    },

    /// A prefix that several objects share.
    #[error("'{prefix}' is ambiguous: {} objects or more begin with it", candidates.len())]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some of the objects that begin with it.
        candidates: Vec<Id>,
    },

    /// A name or the begin of an id that several sessions have.
    #[error("'{}' is ambiguous: {count} sessions {how}", name.escape_debug())]
    AmbiguousSession {
        /// What was asked for.
        name: String,
        /// How many there are.
        count: usize,
        /// What they share with it.
        how: &'static str,
        /// Some of them, by their ids.
        candidates: Vec<String>,
    },

    /// A name that cannot be one.
    #[error("'{}' is not a valid {what}: {why}", name.escape_debug())]
    InvalidName {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },

    /// A link or ref to an object that is not in the store.
    #[error("{from} would point to {target}, which is not in the store")]
    Dangling {
        /// What holds the link: an object's id or a ref's name.
        from: String,
        /// Where it points.
        target: Id,
    },

    /// A ref that is not where it was expected.
    #[error("ref '{name}' is at {found}, expected {expected}")]
    RefConflict {
        /// The ref.
        name: String,
        /// The value that the caller expected.
        expected: String,
        /// The value it has.
        found: String,
    },

    /// A name that is taken.
    #[error("{what} '{name}' exists already, at {at}")]
    Exists {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it points.
        at: String,
    },

    /// A tool call that nothing has answered yet: the conversation can't be cut there.
    #[error("{} no result yet", calls_have(calls, entry))]
    Unanswered {
        /// The entry that made it.
        entry: Id,
        /// The calls, by name and id.
        calls: Vec<String>,
    },

    /// An operation that can't be undone or redone: a ref went elsewhere after it.
    #[error("operation {number} ({command}): {name} has moved on since, to {at}")]
    MovedOn {
        /// The operation's place in the log.
        number: u64,
        /// What it was.
        command: String,
        /// What has moved: `branch main`, `label ok`.
        name: String,
        /// Where it is now.
        at: String,
    },

    /// Something that the model does not allow.
    #[error("{why}")]
    Refused {
        /// What, and why.
        why: String,
        /// What to do instead.
        hint: &'static str,
    },

    /// An object that was redacted or forgotten, and comes back.
    #[error("{}{kind} {id} was removed from this store for good", on_line(*line))]
    Removed {
        /// Its id.
        id: Id,
        /// Its kind.
        kind: &'static str,
        /// The line of the file that is imported, if one is.
        line: Option<u64>,
    },

    /// A chain of symbolic refs that is too long, or a circle.
    #[error("ref '{name}' leads through more than {depth_max} symbolic refs")]
    SymbolicDepth {
        /// The ref where it began.
        name: String,
        /// How many are followed.
        depth_max: usize,
    },

    /// Something larger than the format allows.
    #[error("{what} is {found}, more than the {limit} allowed")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        found: u64,
        /// The limit.
        limit: u64,
    },

    /// Another process holds the lock.
    #[error(
        "{} is locked by {holder}; gave up after {:.1} s",
        path.display(),
        waited.as_secs_f64()
    )]
    LockTimeout {
        /// The lock file.
        path: PathBuf,
        /// Who holds it: `process 123`, or `another process`.
        holder: String,
        /// How long was waited.
        waited: Duration,
    },

    /// A sync that failed: whether the transaction is on disk is not known.
    #[error(
        "syncing {} failed, so it is unknown whether the last transaction is on disk: {source}",
        path.display()
    )]
    OutcomeUnknown {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A handle whose sync once failed. It can't be trusted with more.
    #[error("this handle on {} is closed, because an earlier sync failed", path.display())]
    HandleDead {
        /// The store.
        path: PathBuf,
    },

    /// A store that was opened for reading only.
    #[error("the store at {} was opened for reading only", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },

    /// A store on a file system whose locks and syncs can't be relied on.
    #[error("{} is on a network file system ({filesystem})", path.display())]
    NetworkFilesystem {
        /// The store.
        path: PathBuf,
        /// Its type.
        filesystem: String,
    },
}

impl Error {
    /// Wraps what the system said, with what was tried and where.
    pub fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.into(), source }
    }

    /// Reports damage in a file.
    pub fn corrupt(
        path: impl Into<PathBuf>,
        offset: impl Into<Option<u64>>,
        why: impl Into<String>,
    ) -> Error {
        Error::Corrupt { path: path.into(), offset: offset.into(), why: why.into() }
    }

    /// Says whether this is a file that is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Says of calls that they have, or of one that it has.
fn calls_have(calls: &[String], entry: &Id) -> String {
    match calls {
        [call] => format!("the tool call {call} at entry {entry} has"),
        calls => format!("the tool calls {} at entry {entry} have", calls.join(", ")),
    }
}

/// Says on which line something is, if that is known.
fn on_line(line: Option<u64>) -> String {
    line.map_or(String::new(), |line| format!("line {line}: "))
}

/// Says where in a file something is, if that is known.
fn at_byte(offset: Option<u64>) -> String {
    offset.map_or(String::new(), |at| format!(" at byte {at}"))
}
