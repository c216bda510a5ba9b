//! The file `state` of a session: `meta`, `tip` and `events`, which programs move and few people
//! read, on a line each. To make a file is most of what a new session costs.
//!
//! Every line has its place and its length, so one is written without a look at the others. Stores
//! that were written before have a file for each of the three: they go when `state` is made.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{BYTES_MAX, Mirrors};
use crate::disk::{self, DiskFile};
use crate::error::{Error, Result};
use crate::store::local::packed_refs::parse_value;
use crate::store::{RefName, RefValue};

/// The file's name.
pub(super) const FILE: &str = "state";
/// The refs on its lines.
const NAMES: [&str; 3] = ["meta", "tip", "events"];
/// The line that a session has as long as it is there.
pub(super) const META_LINE: usize = 0;

const NAME_BYTES: usize = 7;
const VALUE_BYTES: usize = 64;
const LINE_BYTES: usize = NAME_BYTES + VALUE_BYTES + 1;
const FILE_BYTES: usize = LINE_BYTES * NAMES.len();
/// What stands where there is no ref.
const MISSING: &str = "-";

/// What the lines say; `None` where there is no ref.
type Values = [Option<String>; NAMES.len()];

/// New values of refs of one session, by the numbers of their lines.
pub(super) type Changes<'a> = [(usize, Option<&'a RefValue>)];

/// Gives the session of a ref that stands on a line, and the line's number.
pub(super) fn line_of(name: &RefName) -> Option<(&str, usize)> {
    let (session, rest) = name.session()?;
    let line = NAMES.iter().position(|known| *known == rest)?;
    Some((session, line))
}

/// Says what the mirror of a ref holds, without the newline.
pub(crate) fn text_of(name: &RefName, value: &RefValue) -> String {
    match line_of(name) {
        Some(_) => shown(value),
        None => value.to_string(),
    }
}

/// Gives the refs that are not there and whose lines stand beside those of refs that are.
pub(crate) fn absent(refs: &BTreeMap<RefName, RefValue>) -> Vec<RefName> {
    let present = refs.keys().filter_map(|name| Some(line_of(name)?.0));
    let beside = present.flat_map(|session| NAMES.map(|rest| RefName::of_session(session, rest)));
    let mut absent: Vec<RefName> =
        beside.flatten().filter(|name| !refs.contains_key(name)).collect();
    absent.dedup();
    absent
}

/// Reads the lines of a file; those that are damaged say nothing.
pub(super) fn parse(bytes: &[u8]) -> Values {
    let mut lines = bytes.chunks(LINE_BYTES);
    NAMES.map(|name| {
        let line = lines.next()?.strip_suffix(b"\n")?;
        let (found, value) = line.split_at_checked(NAME_BYTES)?;
        let (found, value) = (str::from_utf8(found).ok()?, str::from_utf8(value).ok()?);
        let value = value.trim_end();
        (found.trim_end() == name && value != MISSING).then(|| value.to_owned())
    })
}

/// Gives the refs that the lines of a session tell.
pub(super) fn refs(session: &str, bytes: &[u8]) -> Vec<(RefName, RefValue)> {
    let told = NAMES.iter().zip(parse(bytes));
    let told = told.filter_map(|(rest, text)| {
        Some((RefName::of_session(session, rest).ok()?, parse_value(&text?)?))
    });
    told.collect()
}

/// Says a value in as many bytes as a line has for it. Nobody makes these refs symbolic; if one
/// does, the line tells such values apart, and no name is read from it.
fn shown(value: &RefValue) -> String {
    match value {
        RefValue::Id(id) => String::from_utf8(id.digits().to_vec()).expect("hex digits are ASCII"),
        RefValue::Symbolic(name) => {
            format!("ref: ..{}", &blake3::hash(name.as_str().as_bytes()).to_hex()[..32])
        }
    }
}

fn line_text(line: usize, value: Option<&str>) -> [u8; LINE_BYTES] {
    let (name, value) = (NAMES[line].as_bytes(), value.unwrap_or(MISSING).as_bytes());
    let mut text = [b' '; LINE_BYTES];
    text[..name.len()].copy_from_slice(name);
    text[NAME_BYTES..][..value.len()].copy_from_slice(value);
    text[LINE_BYTES - 1] = b'\n';
    text
}

/// Writes lines, those that are neighbours at once.
fn write_lines(file: &dyn DiskFile, changes: &Changes<'_>) -> io::Result<()> {
    let mut changes = changes.to_vec();
    changes.sort_unstable_by_key(|(line, _)| *line);
    changes.chunk_by(|(one, _), (next, _)| one + 1 == *next).try_for_each(|run| {
        let lines = run.iter();
        let text = lines.flat_map(|(line, value)| line_text(*line, value.map(shown).as_deref()));
        file.write_all_at(&text.collect::<Vec<u8>>(), (run[0].0 * LINE_BYTES) as u64)
    })
}

impl Mirrors {
    /// Gives the file of a session's lines.
    pub(super) fn lines_path(&self, session: &str) -> PathBuf {
        self.session_dir(session).join(FILE)
    }

    /// Finds the mirror of a ref, also where it has a file of before: where it is, what it says.
    pub(crate) fn find(&self, name: &RefName) -> Result<(PathBuf, Option<String>)> {
        let (path, text) = (self.path(name), self.read(name)?);
        let Some((session, line)) = line_of(name).filter(|_| text.is_none()) else {
            return Ok((path, text));
        };
        match self.disk.len(&path) {
            Err(_) => {
                let old = self.old_values(session)[line].take();
                Ok((if old.is_some() { self.old_path(session, line) } else { path }, old))
            }
            Ok(_) => Ok((path, None)),
        }
    }

    /// Gives the file that one of these refs had to itself before.
    fn old_path(&self, session: &str, line: usize) -> PathBuf {
        self.session_dir(session).join(NAMES[line])
    }

    /// Writes lines of a session that are new where it `is_new`.
    pub(super) fn put_lines(
        &mut self,
        session: &str,
        changes: &Changes<'_>,
        is_new: bool,
    ) -> Result<()> {
        let removes = changes.iter().any(|(_, value)| value.is_none());
        let written = match self.lines.get(session).filter(|_| !removes) {
            Some(file) => write_lines(&**file, changes),
            None => self.put_all_lines(session, changes, is_new),
        };
        written.map_err(|source| {
            self.lines.remove(session);
            Error::io("write", self.lines_path(session))(source)
        })
    }

    /// Writes the whole file, with what it said of the refs that did not move.
    fn put_all_lines(
        &mut self,
        session: &str,
        changes: &Changes<'_>,
        is_new: bool,
    ) -> io::Result<()> {
        self.lines.remove(session);
        let path = self.lines_path(session);
        if changes.iter().all(|(_, value)| value.is_none()) && self.disk.len(&path).is_err() {
            return self.remove_old(session, changes.iter().map(|(line, _)| *line));
        }
        let (file, bytes) = self.open_or_replace(&path, is_new)?;
        let mut values = match bytes {
            0 if is_new => Values::default(),
            0 => self.old_values(session),
            _ => {
                let mut found = [0; FILE_BYTES];
                let count = file.read_full_at(&mut found, 0)?;
                parse(&found[..count])
            }
        };
        for (line, value) in changes {
            values[*line] = value.map(shown);
        }
        if values.iter().all(Option::is_none) {
            drop(file);
            self.remove_file(&path)?;
            return self.remove_old(session, 0..NAMES.len());
        }
        let lines: [_; NAMES.len()] =
            std::array::from_fn(|line| line_text(line, values[line].as_deref()));
        file.write_all_at(lines.as_flattened(), 0)?;
        if bytes > FILE_BYTES as u64 {
            file.set_len(FILE_BYTES as u64)?;
        }
        self.make_room();
        self.lines.insert(session.to_owned(), file);
        match bytes == 0 && !is_new {
            true => self.remove_old(session, 0..NAMES.len()),
            false => Ok(()),
        }
    }

    /// Opens the file, or makes another one where that can't be written to.
    fn open_or_replace(
        &mut self,
        path: &Path,
        is_new: bool,
    ) -> io::Result<(Box<dyn DiskFile>, u64)> {
        self.open_file(path, is_new).or_else(|_| {
            let said = disk::read_file(&*self.disk, path, BYTES_MAX).unwrap_or_default();
            Ok((self.make_anew(path, &said)?, said.len() as u64))
        })
    }

    fn old_values(&self, session: &str) -> Values {
        std::array::from_fn(|line| {
            let path = self.old_path(session, line);
            let bytes = disk::read_file(&*self.disk, &path, BYTES_MAX).ok()?;
            Some(shown(&parse_value(str::from_utf8(&bytes).ok()?.trim_end())?))
        })
    }

    /// Removes files that refs of a session had to themselves before.
    fn remove_old(&self, session: &str, lines: impl IntoIterator<Item = usize>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.remove_file(&self.old_path(session, line)))
    }

    /// Writes a line, and tidies up behind who died while the file was made.
    pub(super) fn write_line(
        &mut self,
        session: &str,
        line: usize,
        value: Option<&RefValue>,
    ) -> Result<()> {
        let is_known = self.lines.contains_key(session);
        self.put_lines(session, &[(line, value)], false)?;
        match !is_known && self.lines.contains_key(session) {
            true => self
                .remove_old(session, 0..NAMES.len())
                .map_err(Error::io("remove", self.session_dir(session))),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::disk::OsDisk;
    use crate::id::Id;
    use crate::store::RefMove;
    use crate::store::local::layout::Layout;

    struct Rig {
        dir: tempfile::TempDir,
        mirrors: Mirrors,
    }

    impl Rig {
        fn new() -> Rig {
            let dir = tempfile::tempdir().unwrap();
            let mirrors = Mirrors::new(Arc::new(OsDisk), Layout::new(dir.path()));
            Rig { dir, mirrors }
        }

        fn follow(&mut self, moves: &[(&str, Option<u8>, Option<u8>)]) {
            let moves: Vec<RefMove> = moves
                .iter()
                .map(|(rest, old, new)| RefMove {
                    name: name(rest),
                    old: old.map(value),
                    new: new.map(value),
                })
                .collect();
            self.mirrors.follow(&moves).unwrap();
        }

        fn files(&self) -> Vec<String> {
            let dir = self.dir.path().join("refs/sessions/s");
            let mut names: Vec<String> = fs::read_dir(dir)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort_unstable();
            names
        }

        fn text(&self) -> String {
            fs::read_to_string(self.mirrors.lines_path("s")).unwrap()
        }

        /// Puts a file there as it was before there were lines.
        fn put_old(&self, rest: &str, byte: u8) {
            let path = self.dir.path().join("refs/sessions/s").join(rest);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{}\n", value(byte))).unwrap();
        }
    }

    fn name(rest: &str) -> RefName {
        RefName::of_session("s", rest).unwrap()
    }

    fn value(byte: u8) -> RefValue {
        RefValue::Id(Id::from_bytes([byte; 32]))
    }

    fn text(values: [Option<u8>; 3]) -> String {
        let line = |(name, byte): (&str, Option<u8>)| {
            let value = byte.map_or("-".to_owned(), |byte| value(byte).to_string());
            format!("{name:7}{value:64}\n")
        };
        ["meta", "tip", "events"].into_iter().zip(values).map(line).collect()
    }

    #[test]
    fn three_refs_of_a_session_have_one_file() {
        let mut rig = Rig::new();
        rig.follow(&[("HEAD", None, Some(9)), ("meta", None, Some(1)), ("tip", None, Some(2))]);
        assert_eq!(rig.files(), ["HEAD", "state"]);
        assert_eq!(rig.text(), text([Some(1), Some(2), None]));
        for keeps in [true, false] {
            rig.mirrors.keep_if(keeps);
            rig.follow(&[("events", None, Some(3)), ("tip", Some(2), Some(4))]);
            assert_eq!(rig.text(), text([Some(1), Some(4), Some(3)]));
            rig.follow(&[("events", Some(3), None)]);
            assert_eq!(rig.text(), text([Some(1), Some(4), None]));
            assert_eq!(rig.mirrors.read(&name("events")).unwrap(), None);
        }
        assert!(rig.mirrors.shows(&name("tip"), &value(4)).unwrap());
        assert!(!rig.mirrors.shows(&name("meta"), &value(4)).unwrap());
        rig.follow(&[("meta", Some(1), None), ("tip", Some(4), None)]);
        assert_eq!(rig.files(), ["HEAD"]);
        rig.follow(&[("tip", Some(4), None)]);
        assert_eq!(rig.files(), ["HEAD"]);
    }

    #[test]
    fn files_of_before_are_read_and_taken_over() {
        let mut rig = Rig::new();
        rig.put_old("meta", 1);
        rig.put_old("tip", 2);
        rig.put_old("events", 3);
        let (path, said) = rig.mirrors.find(&name("tip")).unwrap();
        assert!(path.ends_with("s/tip"));
        assert_eq!(said, Some(value(2).to_string()));
        let mut told = rig.mirrors.list();
        told.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let expected = [("events", 3), ("meta", 1), ("tip", 2)];
        assert_eq!(told, expected.map(|(rest, byte)| (name(rest), value(byte))));

        rig.follow(&[("events", Some(3), None)]);
        assert_eq!(rig.files(), ["meta", "tip"], "nothing is written where one goes");
        rig.follow(&[("tip", Some(2), Some(4))]);
        assert_eq!(rig.files(), ["state"]);
        assert_eq!(rig.text(), text([Some(1), Some(4), None]));
        // Who dies before these are removed leaves them to who mends.
        rig.put_old("meta", 1);
        rig.mirrors.keep_if(false);
        rig.mirrors.write(&name("tip"), Some(&value(5))).unwrap();
        assert_eq!(rig.files(), ["state"]);
        assert_eq!(rig.text(), text([Some(1), Some(5), None]));
    }

    #[test]
    fn what_a_crash_left_of_the_file_is_mended() {
        let mut rig = Rig::new();
        rig.follow(&[("meta", None, Some(1)), ("tip", None, Some(2))]);
        let whole = rig.text();
        for left in ["", "meta", &whole[..100], &format!("{whole}more")] {
            fs::write(rig.mirrors.lines_path("s"), left).unwrap();
            rig.mirrors.keep_if(false);
            rig.follow(&[("tip", Some(2), Some(3))]);
            let meta = left.contains('\n').then_some(1);
            assert_eq!(rig.text(), text([meta, Some(3), None]), "{left}");
        }
        let refs = BTreeMap::from([(name("meta"), value(1)), (name("events"), value(6))]);
        rig.mirrors.mend(&refs).unwrap();
        assert_eq!(rig.text(), text([Some(1), None, Some(6)]));
        assert_eq!(absent(&refs), [name("tip")]);
    }

    #[test]
    fn a_symbolic_one_is_told_apart_and_not_believed() {
        let mut rig = Rig::new();
        let symbolic = |rest: &str| RefValue::Symbolic(name(rest));
        rig.mirrors.write(&name("tip"), Some(&symbolic("heads/main"))).unwrap();
        assert!(rig.mirrors.shows(&name("tip"), &symbolic("heads/main")).unwrap());
        assert!(!rig.mirrors.shows(&name("tip"), &symbolic("heads/other")).unwrap());
        assert_eq!(rig.text().len(), FILE_BYTES);
        assert_eq!(rig.mirrors.list(), []);
    }
}
