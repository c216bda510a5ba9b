//! Reading mirror files back, for who has lost the truth.

use std::path::Path;

use super::{BYTES_MAX, Mirrors, lines};
use crate::disk;
use crate::store::local::layout::is_aside;
use crate::store::local::packed_refs::parse_value;
use crate::store::{NAMED_CLASSES, RefName, RefValue};

/// How deep directories of mirror files are looked into.
const DEPTH_MAX: usize = 4;

impl Mirrors {
    /// Lists the refs that mirror files tell. Names that were too long for a file can't be told.
    pub(crate) fn list(&self) -> Vec<(RefName, RefValue)> {
        let mut found = Vec::new();
        self.list_below(&self.layout.refs_dir(), &mut Vec::new(), &mut found);
        found
    }

    fn list_below(
        &self,
        dir: &Path,
        parts: &mut Vec<String>,
        found: &mut Vec<(RefName, RefValue)>,
    ) {
        for entry in self.disk.list(dir).unwrap_or_default() {
            let path = dir.join(&entry.name);
            parts.push(entry.name);
            if entry.is_dir && parts.len() < DEPTH_MAX {
                self.list_below(&path, parts, found);
            // Before, files were half written here, too: a branch of such a name is not told.
            } else if !parts.last().is_some_and(|name| is_aside(name))
                && let Some(name) = name_of(parts).filter(|name| self.is_at(name, &path))
                && let Ok(bytes) = disk::read_file(&*self.disk, &path, BYTES_MAX)
                && let Some(text) = std::str::from_utf8(&bytes).ok()
                // A power cut may leave the begin of a line, or the rest of another behind it.
                && let Some((value, _)) = text.split_once('\n')
                && let Some(value) = parse_value(value)
            {
                found.push((name, value));
            }
            parts.pop();
        }
        if let [sessions, session] = &parts[..]
            && sessions == "sessions"
            && let Some(session) = decode(session)
            && let Ok(bytes) = disk::read_file(&*self.disk, &dir.join(lines::FILE), BYTES_MAX)
        {
            // Behind the files that these refs had to themselves before: it is newer.
            found.extend(lines::refs(&session, &bytes));
        }
    }

    /// Says whether a ref has this file, or had it to itself before.
    fn is_at(&self, name: &RefName, path: &Path) -> bool {
        self.path(name) == path || lines::line_of(name).is_some()
    }
}

/// Gives the ref whose mirror has this path below `refs/`.
fn name_of(parts: &[String]) -> Option<RefName> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let name = match *parts.as_slice() {
        ["HEAD"] => "HEAD".to_owned(),
        ["other", name] => decode(name)?,
        ["sessions", session, rest] => format!("sessions/{}/{rest}", decode(session)?),
        ["sessions", session, "other", rest] => {
            format!("sessions/{}/{}", decode(session)?, decode(rest)?)
        }
        ["sessions", session, class, name] if NAMED_CLASSES.contains(&class) => {
            format!("sessions/{}/{class}/{}", decode(session)?, decode(name)?)
        }
        _ => return None,
    };
    RefName::new(name).ok()
}

/// Takes back what was done to a part of a name to make it a file's name.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::OsDisk;
    use crate::store::local::layout::Layout;

    #[test]
    fn every_mirror_tells_its_ref() {
        let dir = tempfile::tempdir().unwrap();
        let mut mirrors = Mirrors::new(Arc::new(OsDisk), Layout::new(dir.path()));
        let names = [
            "HEAD",
            "notes/First",
            "sessions/S 1/HEAD",
            "sessions/s/heads/The Architect/deeper",
            "sessions/s/labels/é.tmp",
            "sessions/s/tip",
            "sessions/s/what/else",
        ];
        let id = RefValue::Id(crate::id::Id::from_bytes([7; 32]));
        let value = |name: &str| match name.ends_with("HEAD") {
            true => RefValue::Symbolic(RefName::head()),
            false => id.clone(),
        };
        for name in names {
            mirrors.write(&RefName::new(name).unwrap(), Some(&value(name))).unwrap();
        }
        let mut found = mirrors.list();
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let expected = names.map(|name| (RefName::new(name).unwrap(), value(name)));
        assert_eq!(found, expected);
    }
}
