//! The commands that scripts and other programs use: one file each, all of one shape.
//!
//! An `Args` struct whose doc comment is the help, and `run`, which does it. What several of them
//! need stands here.

pub(crate) mod cat_file;
pub(crate) mod completions;
pub(crate) mod count_objects;
pub(crate) mod for_each_ref;
pub(crate) mod fsck;
pub(crate) mod hash_object;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod merge_base;
pub(crate) mod op;
pub(crate) mod pack_refs;
pub(crate) mod reflog;
pub(crate) mod repack;
pub(crate) mod rev_list;
pub(crate) mod rev_parse;
pub(crate) mod symbolic_ref;
pub(crate) mod unpack;
pub(crate) mod update_ref;
pub(crate) mod verify_pack;

use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::store::{RefName, Snapshot};

use crate::failure::Failure;

/// How many digits of an id are shown where space is short.
pub(crate) const SHORT_DIGITS: usize = 8;

/// Shortens an id to so many digits, or as many more as tell it from all others.
pub(crate) fn short(
    snapshot: &dyn Snapshot,
    id: &Id,
    digits_min: usize,
) -> Result<String, Failure> {
    let mut digits = digits_min.clamp(4, Id::DIGITS);
    while digits < Id::DIGITS {
        let text = id.short(digits);
        let others = snapshot.with_prefix(&text.parse()?, 2)?;
        if others.iter().all(|other| other == id) {
            return Ok(text);
        }
        digits += 1;
    }
    Ok(id.to_string())
}

/// Takes a ref's name, with or without `refs/` before it.
fn ref_name(text: &str) -> Result<RefName, Failure> {
    Ok(RefName::new(text.strip_prefix("refs/").unwrap_or(text))?)
}

/// Says whether an error means that what was named is not there.
fn is_missing(error: &Error) -> bool {
    matches!(
        error,
        Error::RevisionUnknown { .. }
            | Error::RevisionMalformed { .. }
            | Error::ObjectMissing { .. }
            | Error::InvalidName { .. }
            | Error::Refused { .. }
            | Error::SymbolicDepth { .. }
            | Error::TooLarge { .. }
    )
}

/// Writes how many there are of something that has a regular plural.
pub(crate) fn counted(count: impl TryInto<u64>, one: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// Writes a number of bytes as git's `-H` does.
pub(crate) fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.2} {}", UNITS[unit])
}
