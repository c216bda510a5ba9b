//! Names and values of refs.
//!
//! A name is a path such as `HEAD` or `sessions/<sid>/heads/<branch>`. What follows `heads/`,
//! `memory/`, `labels/`, `records/` or `attachments/` is one name, whatever slashes it holds:
//! `architect` and `architect/deeper` live side by side.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::Snapshot;

/// How many symbolic refs are followed before giving up.
pub const SYMBOLIC_DEPTH_MAX: usize = 5;

/// The parts of a session whose refs have names of their own, with slashes and all.
pub const NAMED_CLASSES: [&str; 5] = ["heads", "memory", "labels", "records", "attachments"];

/// How the names of the refs of sessions begin.
const SESSIONS: &str = "sessions/";

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 1024;

/// A ref's name, checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefName(Arc<str>);

impl RefName {
    /// The store's own HEAD: the current session of a person at a terminal.
    pub fn head() -> RefName {
        RefName("HEAD".into())
    }

    /// Checks a name.
    pub fn new(name: impl AsRef<str>) -> Result<RefName> {
        let name = name.as_ref();
        match fault(name) {
            Some(why) => Err(Error::InvalidName { what: "ref name", name: name.to_owned(), why }),
            None => Ok(RefName(name.into())),
        }
    }

    /// Says whether this can be a name.
    pub(crate) fn is_name(text: &str) -> bool {
        fault(text).is_none()
    }

    /// Names a ref of a session: `meta`, `HEAD`, `tip`, `events`, `heads/main`, ….
    pub fn of_session(session: &str, rest: &str) -> Result<RefName> {
        if session.contains('/') {
            return Err(Error::InvalidName {
                what: "session id",
                name: session.to_owned(),
                why: "it holds a slash",
            });
        }
        let mut name = String::with_capacity(SESSIONS.len() + session.len() + 1 + rest.len());
        name.push_str(SESSIONS);
        name.push_str(session);
        name.push('/');
        name.push_str(rest);
        RefName::new(name)
    }

    /// Gives the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Gives the session's id and the rest, for a ref of a session.
    pub fn session(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix(SESSIONS)?.split_once('/')
    }

    /// Says whether this is where a session's metadata is.
    pub(crate) fn is_meta(&self) -> bool {
        // Few names end so: the others need not be taken apart.
        self.0.ends_with("/meta") && matches!(self.session(), Some((_, "meta")))
    }

    /// Gives the kind of object that this ref must point to, where its place prescribes one.
    pub fn target_kind(&self) -> Option<Kind> {
        // Asked with every move of a ref: to look for a byte is quicker than for a character.
        let mut parts = self.0.as_bytes().split(|byte| *byte == b'/');
        let is_of_session = parts.next()? == b"sessions" && parts.next().is_some();
        match parts.next().filter(|_| is_of_session)? {
            b"meta" => Some(Kind::Session),
            b"tip" | b"heads" | b"labels" => Some(Kind::Entry),
            b"events" | b"records" => Some(Kind::Event),
            b"memory" => Some(Kind::Node),
            b"attachments" => Some(Kind::Blob),
            _ => None,
        }
    }
}

/// Says what is wrong with a ref's name, if anything is.
fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > NAME_BYTES_MAX {
        return Some("it is longer than 1024 bytes");
    }
    if is_plain(name) {
        return None;
    }
    if name.starts_with('/') {
        return Some("it begins with a slash");
    }
    if holds_control(name) {
        return Some("it holds a control character");
    }
    // Listings check every name, so this is done byte by byte: a searcher costs more to set up.
    let holds = |pair: &[u8; 2]| name.as_bytes().windows(2).any(|found| found == pair);
    if holds(b"..") {
        return Some("it holds '..'");
    }
    if holds(b"@{") {
        return Some("it holds '@{'");
    }
    for part in name.split('/') {
        if part.is_empty() {
            return Some("it holds an empty part");
        }
        if part == "." {
            return Some("it holds the part '.'");
        }
        if part.ends_with(".lock") {
            return Some("a part ends in '.lock'");
        }
    }
    None
}

/// The bytes of plain parts of names: letters, digits, `-` and `_`.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < plain.len() {
        plain[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'-' | b'_');
        byte += 1;
    }
    plain
};

/// Says quickly of most names that nothing is wrong: their parts are plain, and not empty.
fn is_plain(name: &str) -> bool {
    let mut part_before = false;
    let plain = name.bytes().all(|byte| {
        let is_part = PLAIN[usize::from(byte)];
        let fits = is_part || (byte == b'/' && part_before);
        part_before = is_part;
        fits
    });
    plain && part_before
}

/// Says whether a name holds a control character.
fn holds_control(name: &str) -> bool {
    match name.is_ascii() {
        true => name.bytes().any(|byte| byte.is_ascii_control()),
        false => name.chars().any(char::is_control),
    }
}

impl Borrow<str> for RefName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl FromStr for RefName {
    type Err = Error;

    fn from_str(name: &str) -> Result<RefName> {
        RefName::new(name)
    }
}

/// What a ref holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefValue {
    /// An object.
    Id(Id),
    /// Another ref, which may be missing: an unborn branch.
    Symbolic(RefName),
}

impl fmt::Display for RefValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefValue::Id(id) => id.fmt(out),
            RefValue::Symbolic(name) => write!(out, "ref: {name}"),
        }
    }
}

/// Follows symbolic refs to the last name, and gives the id there if that ref exists.
pub fn resolve(snapshot: &dyn Snapshot, name: &RefName) -> Result<(RefName, Option<Id>)> {
    let mut current = name.clone();
    for _ in 0..=SYMBOLIC_DEPTH_MAX {
        match snapshot.reference(&current)? {
            None => return Ok((current, None)),
            Some(RefValue::Id(id)) => return Ok((current, Some(id))),
            Some(RefValue::Symbolic(next)) => current = next,
        }
    }
    Err(Error::SymbolicDepth { name: name.to_string(), depth_max: SYMBOLIC_DEPTH_MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_spaces_slashes_and_any_utf8() {
        for name in ["HEAD", "sessions/s1/heads/The Architect", "sessions/s1/heads/über/日本"] {
            RefName::new(name).unwrap();
        }
    }

    #[test]
    fn names_that_could_leave_their_place_are_refused() {
        let bad = [
            "", "/", "/HEAD", "a//b", "a/", "a/../b", "..", "a..b", "./a", "a/.", "a\0b", "a\nb",
            "a\u{7f}", "a.lock", "a.lock/b", "a@{1}",
        ];
        for name in bad.into_iter().map(str::to_owned).chain(["x".repeat(1025)]) {
            assert!(RefName::new(name.clone()).is_err(), "{name:?}");
        }
        assert!(RefName::of_session("a/b", "meta").is_err());
    }

    #[test]
    fn the_metadata_of_a_session_is_in_one_place() {
        let is_meta = |name: &str| RefName::new(name).unwrap().is_meta();
        assert!(is_meta("sessions/s/meta"));
        for name in ["meta", "sessions/meta", "sessions/s/heads/meta", "x/s/meta"] {
            assert!(!is_meta(name), "{name}");
        }
    }

    #[test]
    fn the_place_of_a_ref_says_what_it_points_to() {
        let kind = |name: &str| RefName::new(name).unwrap().target_kind();
        assert_eq!(kind("HEAD"), None);
        assert_eq!(kind("sessions/s/HEAD"), None);
        assert_eq!(kind("sessions/s/meta"), Some(Kind::Session));
        assert_eq!(kind("sessions/s/heads/a/b"), Some(Kind::Entry));
        assert_eq!(kind("sessions/s/memory/root"), Some(Kind::Node));
    }
}
