//! The directory of a memory tree: which files are part of it, and what they say.
//!
//! Nothing is lost: every file but the transcript is kept as a blob, and so is a transcript that is
//! no list. What can't be read is told, and stands aside.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::codec::Value;
use crate::codec::json::{self, Rigour};
use crate::dialect::memory_tree::{
    AVATARS_FOLDER, BRANCHES_FILE, NODES_FOLDER, SESSION_FILE, TRANSCRIPT_FILE, TRANSCRIPT_KEYS,
    TreeBranch, TreeNode, TreeSession, Turn, read_branches, read_node, read_session, read_turn,
};
use crate::dialect::{Layout, Odd, Piece, Splitter};
use crate::disk::{self, SourceFile};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{NewObject, Run};
use crate::ops::exact::entry_text;
use crate::ops::import::feed;
use crate::ops::import::intake::{COMMIT_BYTES, Intake};
use crate::ops::import::report::Strange;
use crate::ops::redact::Scrubber;
use crate::repo::read_entry;
use crate::store::Snapshot;
use crate::walk;

/// Longer files are refused: each is held in memory.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// How the names of nodes' files end.
const NODE_ENDING: &str = ".json";

/// The files of a memory tree.
#[derive(Clone, Debug, Default)]
pub(in crate::ops::import) struct Folder {
    /// The directory.
    pub(super) path: PathBuf,
    /// By their paths in the directory.
    files: Vec<(String, SourceFile)>,
}

/// What the files of a memory tree say.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) session: TreeSession,
    pub(super) turns: Vec<(Piece, Turn)>,
    /// How the turns stood; `None` if there is no list of turns.
    pub(super) layout: Option<Layout>,
    pub(super) nodes: Vec<TreeNode>,
    node_ids: HashSet<String>,
    /// `None` if no file tells them.
    pub(super) branches: Option<Vec<TreeBranch>>,
    /// What is kept as blobs, by path.
    pub(super) files: Vec<(String, Id)>,
    /// Of all bytes.
    pub(super) hash: String,
}

/// Takes the memory trees out of some files: each is a directory, and its files are none of
/// their own.
pub(in crate::ops::import) fn take_trees(files: &mut Vec<SourceFile>) -> Vec<PathBuf> {
    let paths: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let nodes = files.iter().filter_map(|file| Some(file.path.parent()?.to_owned()));
    let folders: HashSet<PathBuf> = nodes.filter(|path| path.ends_with(NODES_FOLDER)).collect();
    let is_tree = |dir: &Path| {
        paths.contains(dir.join(BRANCHES_FILE).as_path())
            || folders.contains(&dir.join(NODES_FOLDER))
    };
    let begins = files.iter().filter(|file| {
        let name = file.path.file_name();
        name.is_some_and(|name| name == SESSION_FILE || name == TRANSCRIPT_FILE)
    });
    let dirs = begins.filter_map(|file| file.path.parent());
    let mut trees: Vec<PathBuf> = dirs.filter(|dir| is_tree(dir)).map(Path::to_owned).collect();
    trees.sort();
    trees.dedup();
    files.retain(|file| !trees.iter().any(|tree| file.path.strip_prefix(tree).is_ok_and(is_part)));
    trees
}

/// Says whether a path in the directory is that of a part of a memory tree.
pub(crate) fn is_part(path: &Path) -> bool {
    let is_node = path.parent() == Some(Path::new(NODES_FOLDER))
        && path.to_string_lossy().ends_with(NODE_ENDING);
    let is_file = [SESSION_FILE, TRANSCRIPT_FILE, BRANCHES_FILE].iter().any(|it| path == *it);
    is_file || is_node || path.starts_with(AVATARS_FOLDER)
}

impl Folder {
    /// Looks at the files of a memory tree.
    pub(in crate::ops::import) fn look(path: &Path) -> Result<Folder> {
        let mut files = Vec::new();
        for part in disk::list_below(path).map_err(Error::io("read", path))? {
            if is_part(&part) {
                let at = path.join(&part);
                let file = disk::look_at_source(&at).map_err(Error::io("read", &at))?;
                files.push((part.to_string_lossy().into_owned(), file));
            }
        }
        Ok(Folder { path: path.to_owned(), files })
    }

    /// Counts its bytes.
    pub(in crate::ops::import) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, file)| file.bytes).sum()
    }

    /// Says when one of its files was last changed.
    pub(in crate::ops::import) fn modified_ms(&self) -> i64 {
        self.files.iter().map(|(_, file)| file.modified_ms).max().unwrap_or_default()
    }

    /// Reads its files, with what must not be stored replaced; what is odd, and the blobs, go to
    /// the intake.
    pub(super) fn read(
        &self,
        scrubber: Option<&Scrubber>,
        intake: &mut Intake<'_>,
    ) -> Result<Contents> {
        let mut contents = Contents::default();
        let mut hasher = blake3::Hasher::new();
        let mut pending_bytes = 0;
        for (name, file) in &self.files {
            let bytes = read_whole(file)?;
            let head = format!("{name}\n{}\n", bytes.len());
            hasher.update(head.as_bytes()).update(&bytes);
            let scrubbed = scrubber.and_then(|scrubber| scrubber.bytes(&bytes));
            let bytes = scrubbed.unwrap_or(bytes);
            if name == TRANSCRIPT_FILE && contents.take_turns(&bytes, intake)? {
                continue;
            }
            contents.take_file(name, &bytes, intake);
            pending_bytes += bytes.len();
            let blob = NewObject::blob(bytes)?;
            contents.files.push((name.clone(), blob.id()));
            intake.objects.push(blob);
            if pending_bytes >= COMMIT_BYTES {
                pending_bytes = 0;
                intake.flush()?;
            }
        }
        contents.hash = hasher.finalize().to_hex().to_string();
        Ok(contents)
    }
}

impl Contents {
    /// Lists the pictures, by their names.
    pub(super) fn avatars(&self) -> impl Iterator<Item = (&str, Id)> {
        self.files.iter().filter_map(|(path, id)| {
            let name = path.strip_prefix(AVATARS_FOLDER)?.strip_prefix('/')?;
            Some((name, *id))
        })
    }

    /// Says whether the transcript still begins with the turns that it had.
    pub(super) fn goes_on(
        &self,
        snapshot: &dyn Snapshot,
        runs: &[Run],
        layout: &Layout,
    ) -> Result<bool> {
        let mut turns = self.turns.iter();
        let style = self.layout.as_ref().map(|layout| layout.style).unwrap_or_default();
        let mut known = Vec::new();
        for run in runs {
            walk::read_run(snapshot, run, &mut known)?;
        }
        for id in known {
            let (mut was, mut is) = (Vec::new(), Vec::new());
            entry_text(snapshot, &mut read_entry(snapshot, &id)?, layout.style, &mut was)?;
            match turns.next() {
                Some((Piece { text: Some(text), .. }, _)) => is.extend_from_slice(text),
                Some((Piece { value: Some(value), .. }, _)) => {
                    json::write_styled(value, style, &mut is);
                }
                _ => return Ok(false),
            }
            if was != is {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the turns of a transcript apart, if it is a list.
    fn take_turns(&mut self, bytes: &[u8], intake: &mut Intake<'_>) -> Result<bool> {
        let mut splitter = Splitter::default();
        let Some(split) = splitter.list(bytes, &TRANSCRIPT_KEYS) else {
            return Ok(false);
        };
        let tail = bytes[bytes.len() - splitter.pending_bytes()..].to_vec();
        let mut layout = Layout {
            anew: true,
            style: splitter.style.unwrap_or_default(),
            tail: feed::raw(tail, &mut intake.objects)?,
            ..Layout::default()
        };
        if let Some(second) = split.pieces.get(1) {
            layout.between.clone_from(&second.before);
        }
        for (place, piece) in split.pieces.into_iter().enumerate() {
            layout.note(place as u64, &piece.before);
            if let Some(odd) = piece.odd {
                intake.odd_in(TRANSCRIPT_FILE, Strange::Text(odd), piece.line);
            }
            let turn = piece.value.as_ref().map(read_turn).unwrap_or_default();
            self.turns.push((piece, turn));
        }
        self.layout = Some(layout);
        Ok(true)
    }

    /// Reads what a file says.
    fn take_file(&mut self, name: &str, bytes: &[u8], intake: &mut Intake<'_>) {
        let path = Path::new(name);
        if path.starts_with(AVATARS_FOLDER) {
            return;
        }
        let is_read = match document(bytes) {
            None => false,
            Some(value) if name == SESSION_FILE => {
                self.session = read_session(&value, &mut intake.source);
                value.as_map().is_some()
            }
            Some(value) if name == BRANCHES_FILE => {
                self.branches = read_branches(&value);
                self.branches.is_some()
            }
            Some(_) if name == TRANSCRIPT_FILE => false,
            Some(value) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let node = read_node(&stem, &value);
                let is_node = node.is_some();
                if let Some(node) = node {
                    match self.node_ids.insert(node.id.clone()) {
                        true => self.nodes.push(node),
                        false => intake.odd_in(name, Strange::Twin, 1),
                    }
                }
                is_node
            }
        };
        if !is_read {
            intake.odd_in(name, Strange::Text(Odd::Unreadable), 1);
        }
    }
}

impl Intake<'_> {
    /// Says what is odd in one of several files.
    pub(super) fn odd_in(&mut self, file: &str, what: Strange, line: u64) {
        let told = self.odds.len();
        self.odd(what, line);
        if let Some(oddity) = self.odds.get_mut(told) {
            oddity.file = Some(file.to_owned());
        }
    }
}

/// Reads a file that is one value.
fn document(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
    let (value, end) = json::parse_first(text, Rigour::Lenient).ok()?;
    (end == text.len()).then_some(value)
}

fn read_whole(file: &SourceFile) -> Result<Vec<u8>> {
    if file.bytes > FILE_BYTES_MAX {
        let what = "the length of a file of a memory tree";
        return Err(Error::TooLarge { what, found: file.bytes, limit: FILE_BYTES_MAX });
    }
    disk::read_file(&disk::OsDisk, &file.path, FILE_BYTES_MAX)
        .map_err(Error::io("read", &file.path))
}
