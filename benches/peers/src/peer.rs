//! What people would use instead, behind one trait, each as those who know it well would use it.
//!
//! A peer keeps branches of messages. A message has a parent; a branch is a name that points to its
//! newest message. Whatever a peer has no better way for is done with [`Peer::walk`].
//!
//! | peer | how a message and its branch are kept |
//! | --- | --- |
//! | JSONL | a file for each branch, a line for each message; a fork is a copy of the file |
//! | SQLite | a row with its parent, found with a recursive query; a row for each branch |
//! | redb, fjall, LMDB | a value, its parent's key first, under a key that grows with time |
//! | git | a blob and a commit through libgit2; `git fast-import` for many |

pub mod bare;
pub mod fjall;
pub mod git;
pub mod jsonl;
mod key_value;
pub mod lmdb;
pub mod pipe;
pub mod redb;
pub mod sapwood;
pub mod sqlite;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;
use crate::peer::sapwood::Care;

/// The key of a message, as the peer has it, and zeros.
pub type Key = [u8; 32];

/// What is shown each message, newest first; it says whether to go on.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8]) -> Result<bool>;

/// What a message that stands for all before it begins with.
pub const COMPACTION: &str = r#"{"type":"compaction""#;

/// When a message counts as committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When it is on disk.
    Durable,
    /// When it survives the end of the process.
    Relaxed,
}

/// A store of messages.
pub trait Peer {
    /// Appends a message to a branch; when it returns, the message is committed.
    fn append(&mut self, branch: &str, body: &str) -> Result<()>;
    /// Appends many, in the quickest way there is; when it returns, all are committed.
    fn fill(&mut self, branch: &str, bodies: &mut dyn Iterator<Item = String>) -> Result<()>;
    /// Makes a branch that begins with all that another has.
    fn fork(&mut self, branch: &str, name: &str) -> Result<()>;
    /// Makes one of two branches the current one of a session.
    fn switch(&mut self, session: &str, to_other: bool) -> Result<()>;
    /// Lists all branches, and gives their number.
    fn branches(&mut self) -> Result<usize>;
    /// Lists the keys of a branch, newest first.
    fn path(&mut self, branch: &str) -> Result<Vec<Key>>;
    /// Reads the messages of a branch, newest first.
    fn walk(&mut self, branch: &str, visit: Visit<'_>) -> Result<()>;
    /// Reads one message of a branch, and gives its length.
    fn get(&mut self, branch: &str, key: &Key) -> Result<usize>;
    /// Does what makes it small and quick.
    fn maintain(&mut self) -> Result<()>;

    /// Brings what was written to where it usually lies.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes durable what was committed, whatever the mode.
    fn sync(&mut self) -> Result<()>;

    /// Takes over session files, a branch each.
    fn import(&mut self, files: &[PathBuf]) -> Result<()> {
        for file in files {
            let (name, mut lines) = lines_of(file)?;
            self.fill(&name, &mut lines)?;
        }
        Ok(())
    }

    /// Makes the last messages of a branch stand for all before them.
    fn compact(&mut self, branch: &str, kept: &[String]) -> Result<()> {
        let summary = format!(r#"{COMPACTION},"summary":"What came before."}}"#);
        self.fill(branch, &mut std::iter::once(summary).chain(kept.iter().cloned()))
    }

    /// Reads what a model is shown: the messages since the last compaction.
    fn context(&mut self, branch: &str) -> Result<usize> {
        let mut bodies = Vec::new();
        self.walk(branch, &mut |body| {
            bodies.push(serde_json::from_slice::<Value>(body)?);
            Ok(!body.starts_with(COMPACTION.as_bytes()))
        })?;
        Ok(bodies.len())
    }

    /// Commits facts, a node each.
    fn remember(&mut self, branch: &str, facts: &mut dyn Iterator<Item = String>) -> Result<()> {
        self.fill(branch, facts)
    }

    /// Collects the latest facts of a branch, and gives their number.
    fn resolve(&mut self, branch: &str) -> Result<usize> {
        let mut facts: HashMap<String, Value> = HashMap::new();
        self.walk(branch, &mut |body| {
            let fact: Value = serde_json::from_slice(body)?;
            let key = fact.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
            facts.entry(key).or_insert(fact);
            Ok(true)
        })?;
        Ok(facts.len())
    }

    /// Counts the messages that hold a text.
    fn grep(&mut self, branches: &[String], text: &str) -> Result<usize> {
        grep_by_walking(self, branches, text)
    }
}

/// Gives bytes as a key.
fn key_of(bytes: &[u8]) -> Key {
    let mut key = Key::default();
    key[..bytes.len()].copy_from_slice(bytes);
    key
}

/// Gives the branch that a session file becomes, and its lines.
fn lines_of(file: &Path) -> Result<(String, impl Iterator<Item = String>)> {
    let lines = BufReader::with_capacity(1 << 18, File::open(file)?).lines();
    Ok((branch_of(file), lines.map_while(std::io::Result::ok)))
}

/// Gives the branch that a session file becomes.
pub fn branch_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// Counts the messages that hold a text, by reading them all.
fn grep_by_walking<P: Peer + ?Sized>(
    peer: &mut P,
    branches: &[String],
    text: &str,
) -> Result<usize> {
    let mut found = 0;
    for branch in branches {
        peer.walk(branch, &mut |body| {
            found += usize::from(std::str::from_utf8(body)?.contains(text));
            Ok(true)
        })?;
    }
    Ok(found)
}

/// A kind of peer.
pub struct Kind {
    /// Its name on the command line and on disk.
    pub name: &'static str,
    /// What it is called where it is durable, and where it is relaxed.
    pub labels: [&'static str; 2],
    /// Whether several processes may write at once.
    pub is_shared: bool,
    open: fn(&Path, Mode) -> Result<Box<dyn Peer>>,
}

/// All of them, sapwood first.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "sapwood",
        labels: ["sapwood", "sapwood, relaxed"],
        is_shared: true,
        open: |dir, mode| sapwood::open(dir, mode, Care::Usual),
    },
    Kind {
        name: "sapwood-aggressive",
        labels: ["sapwood, gc --aggressive"; 2],
        is_shared: true,
        open: |dir, mode| sapwood::open(dir, mode, Care::Aggressive),
    },
    Kind {
        name: "jsonl",
        labels: ["JSONL files, fdatasync", "JSONL files"],
        is_shared: true,
        open: jsonl::open,
    },
    Kind {
        name: "sqlite",
        labels: ["SQLite WAL FULL", "SQLite WAL NORMAL"],
        is_shared: true,
        open: |dir, mode| sqlite::open(dir, mode, sqlite::Form::Plain),
    },
    Kind {
        name: "sqlite-zstd",
        labels: ["SQLite WAL FULL, zstd bodies", "SQLite WAL NORMAL, zstd bodies"],
        is_shared: true,
        open: |dir, mode| sqlite::open(dir, mode, sqlite::Form::Compressed),
    },
    Kind {
        name: "sqlite-id",
        labels: ["SQLite WAL FULL, by hash", "SQLite WAL NORMAL, by hash"],
        is_shared: true,
        open: |dir, mode| sqlite::open(dir, mode, sqlite::Form::ByHash),
    },
    Kind { name: "redb", labels: ["redb", "redb, None"], is_shared: false, open: redb::open },
    Kind {
        name: "fjall",
        labels: ["fjall, SyncData", "fjall, Buffer"],
        is_shared: false,
        open: fjall::open,
    },
    Kind { name: "lmdb", labels: ["LMDB", "LMDB, NOSYNC"], is_shared: true, open: lmdb::open },
    Kind {
        name: "git",
        labels: ["git (libgit2), fsync", "git (libgit2)"],
        is_shared: true,
        open: git::open,
    },
];

/// sapwood, and those that keep messages by number or by a key that grows with time: not
/// `sqlite-id`, which is only there for what is asked by hash.
pub fn usual() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| !["sqlite-id", "sapwood-aggressive"].contains(&kind.name))
}

impl Kind {
    /// Finds a kind by its name.
    pub fn named(name: &str) -> Result<&'static Kind> {
        let found = KINDS.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| format!("there is no peer '{name}'").into())
    }

    /// Opens a store of this kind, made where there is none.
    pub fn open(&self, dir: &Path, mode: Mode) -> Result<Box<dyn Peer>> {
        std::fs::create_dir_all(dir)?;
        (self.open)(dir, mode)
    }

    /// Gives what it is called in a mode.
    pub fn label(&self, mode: Mode) -> &'static str {
        self.labels[usize::from(mode == Mode::Relaxed)]
    }
}

impl Mode {
    /// Gives its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Durable => "full",
            Mode::Relaxed => "relaxed",
        }
    }

    /// Reads a name.
    pub fn named(name: &str) -> Mode {
        if name == Mode::Relaxed.name() { Mode::Relaxed } else { Mode::Durable }
    }
}

/// Appends a line.
type Append = Box<dyn FnMut(&str) -> Result<()>>;

/// Runs a peer on standard input, as `sapwood append --stdin` does: a line for a line.
pub fn serve(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut append: Append = match words.as_slice() {
        ["bare", path, mode] => {
            let mut file = bare::Appender::open(Path::new(path), Mode::named(mode))?;
            Box::new(move |line| file.append(line))
        }
        [kind, dir, mode, branch] => {
            let mut peer = Kind::named(kind)?.open(Path::new(dir), Mode::named(mode))?;
            let branch = (*branch).to_owned();
            Box::new(move |line| peer.append(&branch, line))
        }
        _ => return Err("usage: peers serve (KIND DIR MODE BRANCH | bare PATH MODE)".into()),
    };
    let mut output = std::io::stdout().lock();
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        append(line.trim_end_matches('\n'))?;
        output.write_all(b"ok\n")?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
