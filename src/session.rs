//! Sessions: where a conversation is written to, and how it grows.
//!
//! A session is its refs: `meta` (its metadata), `HEAD` (symbolic: the active branch),
//! `heads/<branch>`, `tip` (where the transcript's current run ends) and `events` (the latest
//! event). `records/<branch>` is the event that says what is known of a branch, and
//! `memory/<branch>` is a shortcut to what is known at the end of a branch.
//!
//! Invariants:
//! - `tip` and `events` together lead to every entry that was ever appended;
//! - the entries after the last event up to `tip` are one stretch of one path: the current run.
//!   An event's link is the entry that the run after it hangs on.
//!
//! What people do with sessions, one verb a file, is in `ops`; here is what the verbs share.

mod append;
mod change;
mod context;
mod draft;
mod forest;
mod join;
mod message;
mod name;
mod pin;
mod remember;
mod run;
mod settings;
mod switch;
mod view;
mod words;

use std::io;

use crate::error::{Error, Result};

pub use crate::walk::transcript;
pub use append::append;
pub use change::Change;
pub use context::{
    Context, Dangling, Shown, before_calls, check_answered, context, first_kept, is_left_out,
    lost_by, restored_entry, shown_message, summaries, unanswered,
};
pub use draft::Draft;
pub use forest::Forest;
pub(crate) use join::Relation;
pub use message::{Answer, Block, Call, IMAGE_WORD, Image, MESSAGE_LABELS, Message, Usage, codex};
pub(crate) use name::check_name;
pub use pin::{Pin, find_pin, pin};
pub use remember::{MEMORY_LABEL, drop_shortcuts, memory_at, memory_near, memory_of, remember};
pub(crate) use remember::{known, recall, remember_node};
pub(crate) use run::Transcript;
pub(crate) use settings::NO_MODEL;
pub use settings::{Settings, Wanted, settings};
pub use view::{BranchRecord, View};
pub use words::{Words, fields};

/// How many characters the id of a new session has.
pub const ID_CHARACTERS: usize = 12;

/// The branch that a session begins with.
pub const FIRST_BRANCH: &str = "main";

/// Makes the id of a new session from random bytes.
pub fn id_from(random: [u8; 8]) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut left = u64::from_le_bytes(random);
    let mut id = String::with_capacity(ID_CHARACTERS);
    for _ in 0..ID_CHARACTERS {
        id.push(char::from(DIGITS[(left % 32) as usize]));
        left /= 32;
    }
    id
}

/// Makes the id of a new session from the system's random numbers.
pub fn random_id() -> Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| {
        Error::io("read", "random numbers")(io::Error::other(error.to_string()))
    })?;
    Ok(id_from(random))
}

#[cfg(test)]
mod tests;
