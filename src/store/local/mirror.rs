//! Mirror files: every ref as a file that a person can `cat`.
//!
//! They are written under the writer lock, after the journal, and never read for truth; where the
//! lock is kept for several commits, a little later, each with its last value. A file is
//! made and overwritten in place: replacing one by renaming makes some file systems flush it, at
//! the price of a sync. So who looks at that moment may find a new file empty, or behind the line
//! that counts the rest of a longer one; who died there left it to the next writer.
//!
//! Invariant: no two ref names share a file (but for the three in `lines`, which have a line each),
//! also not where the file system folds case or normalises Unicode. So what is not a lower-case
//! ASCII letter, a digit, or one of ` -_.+=@,` is written as `%` and two hex digits; what follows
//! `heads/` or another of the named classes is one file name, its slashes encoded too; names too
//! long for a file end in `~` and a hash; and refs that the layout does not know stand under
//! `other/`.

mod lines;
mod list;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{self, Disk, DiskFile, OpenMode};
use crate::error::{Error, Result};
use crate::store::local::durable::Position;
use crate::store::local::layout::Layout;
use crate::store::{NAMED_CLASSES, RefMove, RefName, RefValue};

use lines::{META_LINE, line_of};
pub(crate) use lines::{absent, text_of};

/// How many mirror files are kept open.
const OPEN_MAX: usize = 128;
/// The longest encoded part of a name before it is cut and hashed.
const PART_BYTES_MAX: usize = 180;
/// How long a mirror file is at the most.
const BYTES_MAX: u64 = 4096;

/// The mirror files of one store.
#[derive(Debug)]
pub(crate) struct Mirrors {
    disk: Arc<dyn Disk>,
    layout: Layout,
    open: HashMap<RefName, (Box<dyn DiskFile>, u64)>,
    /// The open files of lines, by session; all of them whole.
    lines: HashMap<String, Box<dyn DiskFile>>,
    /// The directory that was made last, or was there.
    made: Option<PathBuf>,
    /// Whether no mirror is known to be behind its ref.
    whole: bool,
    /// The end of the journal up to which the open files are those that have the names.
    kept_until: Position,
}

impl Mirrors {
    pub(crate) fn new(disk: Arc<dyn Disk>, layout: Layout) -> Mirrors {
        let (open, lines) = Default::default();
        let kept_until = Position::default();
        Mirrors { disk, layout, open, lines, made: None, whole: true, kept_until }
    }

    /// Says whether no mirror is known to be behind its ref.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Notes whether all mirrors could be written that a dead process may have left behind.
    pub(crate) fn set_whole(&mut self, whole: bool) {
        self.whole = whole;
    }

    /// Gives the end of the journal when these mirrors were last written.
    pub(crate) fn kept_until(&self) -> Position {
        self.kept_until
    }

    /// Notes the end of the journal: these mirrors are written up to there.
    pub(crate) fn keep_until(&mut self, end: Position) {
        self.kept_until = end;
    }

    /// Closes the open files unless they still have their names: another process that wrote to the
    /// journal may have replaced or removed them.
    pub(crate) fn keep_if(&mut self, unchanged: bool) {
        if !unchanged {
            self.close_all();
        }
    }

    fn close_all(&mut self) {
        self.open.clear();
        self.lines.clear();
    }

    fn make_room(&mut self) {
        if self.open.len() + self.lines.len() >= OPEN_MAX {
            self.close_all();
        }
    }

    /// Writes the new values of refs into their files, or removes the files.
    pub(crate) fn follow(&mut self, moves: &[RefMove]) -> Result<()> {
        let on_lines = moves.iter().filter_map(|moved| Some((line_of(&moved.name)?, moved)));
        let on_lines: Vec<_> = on_lines.collect();
        for of_session in on_lines.chunk_by(|((one, _), _), ((other, _), _)| one == other) {
            let ((session, _), _) = of_session[0];
            let changes = of_session.iter().map(|((_, line), moved)| (*line, moved.new.as_ref()));
            let changes: Vec<_> = changes.collect();
            let is_new = of_session
                .iter()
                .any(|((_, line), moved)| *line == META_LINE && moved.old.is_none());
            self.put_lines(session, &changes, is_new)?;
        }
        moves.iter().filter(|moved| line_of(&moved.name).is_none()).try_for_each(|moved| {
            match &moved.new {
                Some(value) => self.put(&moved.name, value, moved.old.is_none()),
                None => self.remove(&moved.name),
            }
        })
    }

    /// Writes a ref's value into its file, or removes the file.
    pub(crate) fn write(&mut self, name: &RefName, value: Option<&RefValue>) -> Result<()> {
        if let Some((session, line)) = line_of(name) {
            return self.write_line(session, line, value);
        }
        match value {
            Some(value) => self.put(name, value, false),
            None => self.remove(name),
        }
    }

    /// Writes the mirrors again that differ from the refs, which are all that there are.
    pub(crate) fn mend(&mut self, refs: &BTreeMap<RefName, RefValue>) -> Result<()> {
        for (name, value) in refs {
            if !self.shows(name, value)? {
                self.write(name, Some(value))?;
            }
        }
        self.clear_absent(refs)
    }

    /// Clears the lines of refs that are not there.
    pub(crate) fn clear_absent(&mut self, refs: &BTreeMap<RefName, RefValue>) -> Result<()> {
        for name in absent(refs) {
            if self.read(&name)?.is_some() {
                self.write(&name, None)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, name: &RefName, value: &RefValue, is_new: bool) -> Result<()> {
        let text = text_line(value);
        let written = match self.open.get_mut(name) {
            Some((file, bytes)) => overwrite(&**file, bytes, &text),
            None => {
                self.make_room();
                let path = self.path(name);
                // One that cannot be written to: another takes its place.
                let Ok((file, mut bytes)) = self.open_file(&path, is_new) else {
                    return self.replace(name, &text);
                };
                let written = overwrite(&*file, &mut bytes, &text);
                self.open.insert(name.clone(), (file, bytes));
                written
            }
        };
        written.map_err(|source| {
            self.open.remove(name);
            Error::io("write", self.path(name))(source)
        })
    }

    /// Opens a mirror file, made where there is none, and gives its length.
    fn open_file(&mut self, path: &Path, is_new: bool) -> io::Result<(Box<dyn DiskFile>, u64)> {
        if is_new {
            match self.create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return Ok((created?, 0)),
            }
        }
        match self.disk.open(path, OpenMode::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((self.create(path)?, 0)),
            found => {
                let file = found?;
                let bytes = file.len()?;
                Ok((file, bytes))
            }
        }
    }

    /// Makes a mirror file, and its directory unless that was the last one to be made.
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let dir = path.parent().expect("a mirror file stands in a directory");
        let is_made = self.made.as_deref() == Some(dir);
        if !is_made {
            self.disk.create_dir(dir)?;
            self.made = Some(dir.to_owned());
        }
        match self.disk.open(path, OpenMode::CreateNew) {
            Err(error) if is_made && error.kind() == io::ErrorKind::NotFound => {
                self.disk.create_dir(dir)?;
                self.disk.open(path, OpenMode::CreateNew)
            }
            created => created,
        }
    }

    /// Reads what a mirror says, as a person would.
    pub(crate) fn read(&self, name: &RefName) -> Result<Option<String>> {
        let bytes = self.read_file(&self.path(name))?;
        Ok(match line_of(name) {
            Some((_, line)) => bytes.and_then(|bytes| lines::parse(&bytes)[line].take()),
            None => bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        })
    }

    fn read_file(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match disk::read_file(&*self.disk, path, BYTES_MAX) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    /// Says whether a mirror says what its ref is.
    pub(crate) fn shows(&self, name: &RefName, value: &RefValue) -> Result<bool> {
        Ok(self.read(name)? == Some(text_of(name, value)))
    }

    fn replace(&mut self, name: &RefName, text: &[u8]) -> Result<()> {
        self.open.remove(name);
        let path = self.path(name);
        let file = self.make_anew(&path, text).map_err(Error::io("write", &path))?;
        self.open.insert(name.clone(), (file, text.len() as u64));
        Ok(())
    }

    /// Makes a file that takes the place of one that cannot be written to. Until it has its name it
    /// stands above all others: what a crash leaves is found without looking everywhere.
    fn make_anew(&self, path: &Path, bytes: &[u8]) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create_dir(path.parent().expect("a mirror file stands in a directory"))?;
        let aside = disk::aside(&*self.disk, &self.layout.refs_dir().join("mirror"))?;
        let file = self.disk.open(&aside, OpenMode::CreateNew)?;
        let written = file.write_all_at(bytes, 0).and_then(|()| self.disk.rename(&aside, path));
        if written.is_err() {
            // Best effort: the error that counts is the one before.
            let _ = self.disk.remove(&aside);
        }
        written.map(|()| file)
    }

    fn remove(&mut self, name: &RefName) -> Result<()> {
        self.open.remove(name);
        let path = self.path(name);
        self.remove_file(&path).map_err(Error::io("remove", path))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        disk::remove_if_there(&*self.disk, path)
    }

    /// Gives the file of a ref.
    pub(crate) fn path(&self, name: &RefName) -> PathBuf {
        let Some((session, rest)) = name.session() else {
            return match name.as_str() {
                "HEAD" => self.layout.refs_dir().join("HEAD"),
                other => self.layout.refs_dir().join("other").join(encode(other)),
            };
        };
        let mut path = self.session_dir(session);
        match rest.split_once('/') {
            Some((class, name)) if NAMED_CLASSES.contains(&class) => {
                path.push(class);
                path.push(encode(name));
            }
            None if rest == "HEAD" => path.push(rest),
            None if line_of(name).is_some() => path.push(lines::FILE),
            _ => {
                path.push("other");
                path.push(encode(rest));
            }
        }
        path
    }

    fn session_dir(&self, session: &str) -> PathBuf {
        let mut path = self.layout.refs_dir();
        path.push("sessions");
        path.push(encode(session));
        path
    }
}

/// Says whether files are made for these moves: that takes about as long as to write a group.
pub(crate) fn makes_files(moves: &[RefMove]) -> bool {
    moves.iter().any(|moved| moved.old.is_none() && line_of(&moved.name).is_none())
}

/// Gives what the file of a ref holds. An append writes one, so nothing is formatted.
fn text_line(value: &RefValue) -> Vec<u8> {
    match value {
        RefValue::Id(id) => [&id.digits()[..], b"\n"].concat(),
        RefValue::Symbolic(name) => [b"ref: ", name.as_str().as_bytes(), b"\n"].concat(),
    }
}

/// Writes a text over a file that was so many bytes long.
fn overwrite(file: &dyn DiskFile, bytes: &mut u64, text: &[u8]) -> io::Result<()> {
    file.write_all_at(text, 0)?;
    match std::mem::replace(bytes, text.len() as u64) > text.len() as u64 {
        true => file.set_len(text.len() as u64),
        false => Ok(()),
    }
}

fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (place, byte) in name.bytes().enumerate() {
        let edge = place == 0 || place + 1 == name.len();
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'+' | b'=' | b'@' | b',' => {
                out.push(char::from(byte));
            }
            b'.' | b' ' if !edge => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
    }
    if out.len() > PART_BYTES_MAX {
        let hash = blake3::hash(name.as_bytes()).to_string();
        out.truncate(PART_BYTES_MAX - 33);
        out.push('~');
        out.push_str(&hash[..32]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn no_two_names_share_a_file() {
        let long = "x".repeat(300);
        let names = [
            "main",
            "Main",
            "architect",
            "architect/deeper",
            "architect%2fdeeper",
            "The Architect",
            ".hidden",
            "trailing.",
            "é",
            "e\u{301}",
            &long,
            &long[..299],
        ];
        let mirrors = Mirrors::new(Arc::new(OsDisk), Layout::new("/s".as_ref()));
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let name = RefName::of_session("s1", &format!("heads/{name}")).unwrap();
            let path = mirrors.path(&name);
            assert_eq!(path.parent().unwrap(), std::path::Path::new("/s/refs/sessions/s1/heads"));
            let file = path.file_name().unwrap().to_str().unwrap().to_lowercase();
            assert!(file.len() <= 255);
            assert!(seen.insert(file), "{name}");
        }
    }

    #[test]
    fn a_mirror_follows_its_ref() {
        let dir = tempfile::tempdir().unwrap();
        let mut mirrors = Mirrors::new(Arc::new(OsDisk), Layout::new(dir.path()));
        let name = RefName::new("sessions/s/heads/main").unwrap();
        let value = |byte| RefValue::Id(crate::id::Id::from_bytes([byte; 32]));
        let mut old = None;
        for next in [value(1), value(2), RefValue::Symbolic(RefName::head()), value(3)] {
            let new = Some(next.clone());
            mirrors.follow(&[RefMove { name: name.clone(), old, new: new.clone() }]).unwrap();
            old = new;
            let path = dir.path().join("refs/sessions/s/heads/main");
            let text = disk::read_file(&OsDisk, &path, 100).unwrap();
            assert_eq!(text, format!("{next}\n").into_bytes());
        }
        mirrors.write(&name, None).unwrap();
        assert_eq!(mirrors.read(&name).unwrap(), None);
        // One that is there although its ref is new was left behind.
        mirrors.write(&name, Some(&value(4))).unwrap();
        mirrors.keep_if(false);
        let new = Some(RefValue::Symbolic(RefName::head()));
        mirrors.follow(&[RefMove { name: name.clone(), old: None, new: new.clone() }]).unwrap();
        assert_eq!(mirrors.read(&name).unwrap(), new.map(|value| value.to_string()));
    }
}
