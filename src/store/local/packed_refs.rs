//! A snapshot of all refs: `refs/packed-<generation>`, sorted and immutable.
//!
//! A paged file whose payload is text, a line per ref: name, tab, value. A name holds no control
//! character, so lines sort as names do, and one ref is found by bisection.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::bytes;
use crate::store::local::paged::{Paged, PagedWriter, Ready, Remains};
use crate::store::{RefName, RefValue};

const MAGIC: &[u8; 8] = b"SAPWREFS";
const VERSION: u32 = 1;
/// Longer than any line: two names and what is around them.
const LINE_BYTES_MAX: u64 = 4096;

/// How the names of the refs of sessions begin, and how those of their metadata end.
const SESSIONS: &[u8] = b"sessions/";
const META_ENDS: &[u8] = b"/meta\t";
/// What is searched for: a search looks at two bytes first, and would take the slash and the tab,
/// which `/HEAD` and `/main` have in the same places.
const META_MARK: &[u8] = b"eta\t";
/// Few sessions have refs of fewer bytes.
const SESSION_BYTES: usize = 256;

/// All refs as they were at one moment.
#[derive(Debug)]
pub(crate) struct PackedRefs {
    file: Paged,
    /// The ref that was asked for last, which was found: who appends asks for the same one, that
    /// never moves, each time.
    last_found: Mutex<Option<(RefName, RefValue)>>,
}

impl PackedRefs {
    /// Writes a snapshot, durably, and gives its length. The refs come sorted by name.
    pub(crate) fn write<'a>(
        disk: &Arc<dyn Disk>,
        path: &Path,
        refs: impl IntoIterator<Item = (&'a RefName, &'a RefValue)>,
    ) -> Result<u64> {
        let mut ready = Ready::default();
        let bytes = PackedRefs::prepare(disk, path, refs, &mut ready)?;
        ready.publish(&**disk)?;
        Ok(bytes)
    }

    /// Writes a snapshot that gets its name with other files, and gives its length.
    pub(crate) fn prepare<'a>(
        disk: &Arc<dyn Disk>,
        path: &Path,
        refs: impl IntoIterator<Item = (&'a RefName, &'a RefValue)>,
        ready: &mut Ready,
    ) -> Result<u64> {
        let mut writer = PagedWriter::create(Arc::clone(disk), path)?;
        for (name, value) in refs {
            writer.write(format!("{name}\t{value}\n").as_bytes())?;
        }
        writer.finish_into(MAGIC, VERSION, path, ready)
    }

    /// Opens a snapshot of the length that the manifest gives.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, bytes: u64) -> Result<PackedRefs> {
        let file = Paged::open(disk, path, Some(bytes), MAGIC, VERSION)?;
        Ok(PackedRefs { file, last_found: Mutex::default() })
    }

    /// Takes a payload that was made in memory.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn from_memory(path: &Path, payload: Vec<u8>) -> PackedRefs {
        PackedRefs { file: Paged::from_memory(path, payload), last_found: Mutex::default() }
    }

    /// Checks every byte.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// Finds one ref.
    pub(crate) fn get(&self, name: &RefName) -> Result<Option<RefValue>> {
        let last_found = || self.last_found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, value)) = &*last_found()
            && last == name
        {
            return Ok(Some(value.clone()));
        }
        let at = self.lower_bound(name.as_str())?;
        let value = match self.line(at)? {
            Some((found, value)) if found == name.as_str() => self.value(at, value)?,
            _ => return Ok(None),
        };
        *last_found() = Some((name.clone(), value.clone()));
        Ok(Some(value))
    }

    /// Visits the refs whose name begins with `prefix`, in order.
    pub(crate) fn for_each(
        &self,
        prefix: &str,
        visit: &mut dyn FnMut(RefName, RefValue),
    ) -> Result<()> {
        let mut at = self.lower_bound(prefix)?;
        while let Some((name, value)) = self.line(at)?
            && name.starts_with(prefix)
        {
            let checked = RefName::new(name).map_err(|_| self.damaged(at))?;
            visit(checked, self.value(at, value)?);
            at += (name.len() + value.len() + 2) as u64;
        }
        Ok(())
    }

    /// Lists the sessions that have metadata, without reading the other refs.
    pub(crate) fn sessions(&self) -> Result<Vec<String>> {
        // Nearly all refs are of sessions: to look where those begin would take longer.
        let mut lines = self.file.bytes(0, self.file.len() as usize)?;
        // Room that is not used is never touched.
        let mut sessions = Vec::with_capacity(lines.len() / SESSION_BYTES);
        let mark = bytes::Text::new(META_MARK);
        while let Some(found) = mark.find(lines) {
            let end = found + META_MARK.len();
            let newline = bytes::find_last(b'\n', &lines[..found]);
            let name = &lines[newline.map_or(0, |newline| newline + 1)..end];
            let name = name.strip_suffix(META_ENDS);
            // A branch or label may end in `/meta`, too.
            if let Some(session) = name.and_then(|name| name.strip_prefix(SESSIONS))
                && !session.contains(&b'/')
            {
                let session = std::str::from_utf8(session);
                let at = self.file.len() - lines.len() as u64;
                sessions.push(session.map_err(|_| self.damaged(at))?.to_owned());
            }
            lines = &lines[end..];
        }
        Ok(sessions)
    }

    /// Finds the first line whose name is not less than `name`.
    fn lower_bound(&self, name: &str) -> Result<u64> {
        let (mut low, mut high) = (0, self.file.len());
        while low < high {
            let begin = self.line_begin(low + (high - low) / 2)?;
            let line = self.line_bytes(begin)?;
            let tab = bytes::find(b'\t', line).ok_or_else(|| self.damaged(begin))?;
            match line[..tab].cmp(name.as_bytes()) {
                Ordering::Less => low = begin + line.len() as u64 + 1,
                _ => high = begin,
            }
        }
        Ok(low)
    }

    /// Finds where the line that holds a byte begins.
    fn line_begin(&self, at: u64) -> Result<u64> {
        let from = at.saturating_sub(LINE_BYTES_MAX);
        let before = self.file.bytes(from, (at - from) as usize)?;
        match bytes::find_last(b'\n', before) {
            Some(newline) => Ok(from + newline as u64 + 1),
            None if from == 0 => Ok(0),
            None => Err(self.damaged(at)),
        }
    }

    /// Splits the line that begins at a byte; `None` at the end.
    fn line(&self, at: u64) -> Result<Option<(&str, &str)>> {
        let rest = self.file.len() - at;
        if rest == 0 {
            return Ok(None);
        }
        let line = std::str::from_utf8(self.line_bytes(at)?).ok();
        line.and_then(|line| line.split_once('\t')).map(Some).ok_or_else(|| self.damaged(at))
    }

    /// Gives the line that begins at a byte, without its newline.
    fn line_bytes(&self, at: u64) -> Result<&[u8]> {
        let rest = self.file.len() - at;
        let bytes = self.file.bytes(at, rest.min(LINE_BYTES_MAX) as usize)?;
        bytes::find(b'\n', bytes).map(|end| &bytes[..end]).ok_or_else(|| self.damaged(at))
    }

    fn value(&self, at: u64, text: &str) -> Result<RefValue> {
        parse_value(text).ok_or_else(|| self.damaged(at))
    }

    fn damaged(&self, at: u64) -> Error {
        Error::corrupt(self.file.path(), at, "a line is not a ref")
    }
}

/// Reads a ref's value as it stands in snapshots and mirror files.
pub(crate) fn parse_value(text: &str) -> Option<RefValue> {
    match text.strip_prefix("ref: ") {
        Some(name) => RefName::new(name).ok().map(RefValue::Symbolic),
        None => text.parse::<Id>().ok().map(RefValue::Id),
    }
}

/// A ref that was found in what is left of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundRef {
    pub(crate) name: RefName,
    pub(crate) value: RefValue,
    /// Whether its line is what was written.
    pub(crate) is_sound: bool,
}

/// Reads what is left of a snapshot.
pub(crate) fn salvage(disk: &dyn Disk, path: &Path) -> Result<Vec<FoundRef>> {
    let remains = Remains::open(disk, path, MAGIC, VERSION)?;
    let mut found = Vec::new();
    let mut start = 0;
    for line in remains.payload().split_inclusive(|byte| *byte == b'\n') {
        let part = start..start + line.len();
        start = part.end;
        let text = std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\n'));
        let fields = text.and_then(|text| text.split_once('\t'));
        let parsed =
            fields.and_then(|(name, value)| Some((RefName::new(name).ok()?, parse_value(value)?)));
        if let Some((name, value)) = parsed {
            found.push(FoundRef { name, value, is_sound: remains.is_sound(part) });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn every_ref_is_found_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("packed");
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        let name = |number: u64| RefName::new(format!("sessions/s{number:05}/tip")).unwrap();
        let value = |number: u64| match number % 5 {
            0 => RefValue::Symbolic(name(number + 1)),
            _ => RefValue::Id(Id::from_bytes([number as u8; 32])),
        };
        for count in [0, 1, 2, 500] {
            let refs: Vec<_> = (0..count).map(|at| (name(2 * at), value(at))).collect();
            let pairs = refs.iter().map(|(name, value)| (name, value));
            let bytes = PackedRefs::write(&disk, &path, pairs).unwrap();
            let packed = PackedRefs::open(&OsDisk, &path, bytes).unwrap();
            for at in 0..count {
                assert_eq!(packed.get(&name(2 * at)).unwrap(), Some(value(at)));
                assert_eq!(packed.get(&name(2 * at + 1)).unwrap(), None);
            }
            let mut seen = Vec::new();
            packed.for_each("sessions/", &mut |name, value| seen.push((name, value))).unwrap();
            assert_eq!(seen, refs);
            packed.for_each("zzz", &mut |_, _| panic!("nothing begins so")).unwrap();
            assert!(packed.sessions().unwrap().is_empty());
        }
    }

    #[test]
    fn sessions_are_those_with_metadata() {
        let lines = |names: &[&str]| -> Vec<u8> {
            let id = Id::from_bytes([7; 32]);
            names.iter().flat_map(|name| format!("{name}\t{id}\n").into_bytes()).collect()
        };
        let names = [
            "HEAD",
            "meta",
            "sessions/a-b/meta",
            "sessions/a/heads/meta",
            "sessions/a/labels/beta",
            "sessions/a/labels/x/meta",
            "sessions/a/meta",
            "sessions/b/tip",
            "sessions/ü/meta",
            "x/meta",
        ];
        let packed = |names: &[&str]| PackedRefs::from_memory(Path::new("x"), lines(names));
        assert_eq!(packed(&names).sessions().unwrap(), ["a-b", "a", "ü"]);
        assert_eq!(packed(&names[4..7]).sessions().unwrap(), ["a"]);
        assert!(packed(&[]).sessions().unwrap().is_empty());
    }
}
