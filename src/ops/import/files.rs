//! Which files are imported, and in which order.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::codec::Value;
use crate::codec::json::{self, Rigour};
use crate::disk::{self, Looked, SourceFile, Unreadable};
use crate::ops::import::land::From;
use crate::ops::import::memory_tree;
use crate::time;

/// How the names of session files end. A file that is named itself may be called anything.
const ENDINGS: [&str; 3] = [".jsonl", ".json", ".jsonl.zst"];

/// How much of a file is looked at to tell how old it is.
const PEEK_BYTES: u64 = 16 << 10;

/// The fields in which a value says when it was written.
const TIME_KEYS: [&str; 3] = ["timestamp", "startTime", "time"];

/// Files that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Those that can be looked at.
    pub files: Vec<SourceFile>,
    /// The directories that are memory trees. Their files are not among the others.
    pub trees: Vec<PathBuf>,
    /// Links that lead to directories that they are in.
    pub loops: Vec<PathBuf>,
    /// Those that can't.
    pub unreadable: Vec<Unreadable>,
}

/// Finds the files at some paths, each once.
pub fn find_files(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        disk::find_sources(path, &ENDINGS, &mut |looked| match looked {
            Looked::File(file) => found.files.push(file),
            Looked::Loop(path) => found.loops.push(path),
            Looked::Unreadable(unreadable) => found.unreadable.push(unreadable),
        });
    }
    found.files.sort();
    found.files.dedup_by(|one, other| one.path == other.path);
    found.trees = memory_tree::take_trees(&mut found.files);
    found
}

/// A file that is imported.
#[derive(Default)]
pub(super) struct File {
    /// Where it is; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    pub(super) bytes: u64,
    pub(super) modified_ms: i64,
    /// The session that it has already.
    pub(super) sid: Option<String>,
    /// Whether it is read again to be linked with others.
    pub(super) is_again: bool,
    /// Whether values come before those that they hang on.
    pub(super) is_late: bool,
    /// Where its bytes come from, if not from the path.
    pub(super) stream: Option<Box<dyn Read + Send>>,
}

impl fmt::Debug for File {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "File({:?}, {:?})", self.path, self.sid)
    }
}

impl File {
    pub(super) fn new(file: SourceFile, sid: Option<String>) -> File {
        let SourceFile { path, bytes, modified_ms } = file;
        File { path: Some(path), bytes, modified_ms, sid, ..File::default() }
    }

    /// Gives its name without endings.
    pub(super) fn stem(&self) -> String {
        let name = self.path.as_deref().and_then(Path::file_name).unwrap_or_default();
        let name = name.to_string_lossy();
        let stem = ENDINGS.iter().rev().find_map(|ending| name.strip_suffix(ending));
        stem.unwrap_or(&name).to_owned()
    }

    /// Gives its path as text.
    pub(super) fn source(&self) -> Option<String> {
        self.path.as_deref().map(disk::source_text)
    }

    /// Gives what its session notes of it.
    pub(super) fn from(&self) -> From {
        From { source: self.source(), size: self.bytes, modified_ms: self.modified_ms }
    }
}

/// Puts the oldest first, so that what others hang on comes before them.
pub(super) fn in_order(files: &mut [File]) {
    files.sort_by_cached_key(|file| {
        let begin = file.path.as_deref().and_then(|path| begin(path).ok().flatten());
        (begin.unwrap_or(i64::MAX), file.path.clone())
    });
}

/// Gives the first time that a file tells.
fn begin(path: &Path) -> std::io::Result<Option<i64>> {
    let mut text = Vec::new();
    disk::open_source(path)?.take(PEEK_BYTES).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let told = text.lines().find_map(|line| {
        let (value, _) = json::parse_first(line, Rigour::Lenient).ok()?;
        TIME_KEYS.iter().find_map(|key| told(value.get(key)?))
    });
    Ok(told)
}

fn told(value: &Value) -> Option<i64> {
    match value {
        Value::Text(text) => time::parse(text),
        Value::Integer(ms) => Some(*ms),
        _ => None,
    }
}
