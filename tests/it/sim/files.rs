//! The files and names of a simulated disk, as running processes see them and as they are on disk.
//!
//! Invariants:
//! - A file's pending changes, applied in order to its durable bytes, give its content, unless a
//!   sync has failed: what was pending then is in the content only.
//! - The pending name changes, applied in order to the durable entries, give the entries.
//! - A rename is one change of two names and is never torn.
//!
//! Not here: renaming directories, links, permissions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::faults::{Fault, Op};

pub(super) type NodeId = u64;

const ROOT: NodeId = 0;

/// A file, with a name or without.
#[derive(Clone, Debug, Default)]
pub(super) struct FileNode {
    /// The last name it had.
    pub(super) path: PathBuf,
    pub(super) content: Arc<Vec<u8>>,
    pub(super) durable: Arc<Vec<u8>>,
    pub(super) pending: Vec<Change>,
    /// How many syncs have failed; a handle that has seen fewer has an error to report.
    pub(super) sync_failures: u64,
    pub(super) sync_fault: Option<Fault>,
    /// The handle that has the lock.
    pub(super) lock: Option<u64>,
}

/// A change of a file's bytes.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: u64, bytes: Arc<[u8]> },
    SetLen(u64),
}

#[derive(Clone, Debug, Default)]
pub(super) struct DirNode {
    pub(super) entries: BTreeMap<String, NodeId>,
    pub(super) durable: BTreeMap<String, NodeId>,
}

/// A name in a directory.
pub(super) type Slot = (NodeId, String);

/// A change of one or two names that happens whole or not at all.
#[derive(Clone, Debug)]
pub(super) struct NameChange {
    pub(super) op: Op,
    pub(super) path: PathBuf,
    pub(super) slots: Vec<(Slot, Option<NodeId>)>,
}

/// All files and directories.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) files: BTreeMap<NodeId, FileNode>,
    pub(super) dirs: BTreeMap<NodeId, DirNode>,
    pub(super) pending: Vec<NameChange>,
    node_next: NodeId,
}

/// Writes into a vector, with zeros up to the offset where it is too short.
pub(super) fn overwrite(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = offset as usize;
    let end = start + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[start..end].copy_from_slice(bytes);
}

impl Change {
    pub(super) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => overwrite(content, *offset, bytes),
            Change::SetLen(bytes) => content.resize(*bytes as usize, 0),
        }
    }
}

impl FileNode {
    pub(super) fn change(&mut self, change: Change) {
        change.apply(Arc::make_mut(&mut self.content));
        self.pending.push(change);
    }

    pub(super) fn sync(&mut self) {
        let durable = Arc::make_mut(&mut self.durable);
        for change in self.pending.drain(..) {
            change.apply(durable);
        }
    }

    /// Forgets what was to be written: the pages count as clean from now on.
    pub(super) fn fail_sync(&mut self, fault: Fault) {
        self.pending.clear();
        self.sync_failures += 1;
        self.sync_fault = Some(fault);
    }

    /// Makes both states hold the same bytes.
    pub(super) fn set(&mut self, bytes: Vec<u8>) {
        self.pending.clear();
        self.content = Arc::new(bytes);
        self.durable = Arc::clone(&self.content);
    }
}

impl NameChange {
    /// Applies the change to durable entries.
    pub(super) fn apply(&self, dirs: &mut BTreeMap<NodeId, DirNode>) {
        for ((dir, name), node) in &self.slots {
            let entries = &mut dirs.get_mut(dir).expect("directories are never removed").durable;
            match node {
                Some(node) => entries.insert(name.clone(), *node),
                None => entries.remove(name),
            };
        }
    }
}

impl Files {
    pub(super) fn new() -> Files {
        Files {
            files: BTreeMap::new(),
            dirs: BTreeMap::from([(ROOT, DirNode::default())]),
            pending: Vec::new(),
            node_next: ROOT + 1,
        }
    }

    /// Finds what has a path.
    pub(super) fn find(&self, path: &Path) -> io::Result<NodeId> {
        names(path)?.into_iter().try_fold(ROOT, |node, name| {
            let dir = self.dirs.get(&node).ok_or(ErrorKind::NotADirectory)?;
            Ok(*dir.entries.get(name).ok_or(ErrorKind::NotFound)?)
        })
    }

    pub(super) fn find_file(&self, path: &Path) -> io::Result<NodeId> {
        let node = self.find(path)?;
        if self.dirs.contains_key(&node) {
            return Err(ErrorKind::IsADirectory.into());
        }
        Ok(node)
    }

    pub(super) fn find_dir(&self, path: &Path) -> io::Result<NodeId> {
        let node = self.find(path)?;
        if !self.dirs.contains_key(&node) {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(node)
    }

    pub(super) fn file(&mut self, node: NodeId) -> &mut FileNode {
        self.files.get_mut(&node).expect("files live as long as the disk")
    }

    /// Makes an empty file where there is nothing.
    pub(super) fn create(&mut self, path: &Path) -> io::Result<NodeId> {
        let slot = self.slot(path)?;
        let node = self.node_new();
        let file = FileNode { path: path.to_owned(), ..FileNode::default() };
        self.files.insert(node, file);
        self.change_names(Op::Create, path, vec![(slot, Some(node))]);
        Ok(node)
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> io::Result<()> {
        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        ancestors.reverse();
        for dir in ancestors {
            match self.find_dir(dir) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let slot = self.slot(dir)?;
                    let node = self.node_new();
                    self.dirs.insert(node, DirNode::default());
                    self.change_names(Op::CreateDir, dir, vec![(slot, Some(node))]);
                }
                found => _ = found?,
            }
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.find_file(from)?;
        match self.find_file(to) {
            Ok(replaced) if replaced == node => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let slots = vec![(self.slot(from)?, None), (self.slot(to)?, Some(node))];
        self.change_names(Op::Rename, to, slots);
        self.file(node).path = to.to_owned();
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.find_file(path)?;
        let slot = self.slot(path)?;
        self.change_names(Op::Remove, path, vec![(slot, None)]);
        Ok(())
    }

    /// Makes the changes of a directory's names durable, and with them earlier ones of the same
    /// names elsewhere, so that none can come back.
    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let dir = self.find_dir(path)?;
        let mut synced: BTreeSet<Slot> = BTreeSet::new();
        let mut left = Vec::new();
        let mut done = Vec::new();
        for change in self.pending.drain(..).rev() {
            let slots = || change.slots.iter().map(|(slot, _)| slot);
            if slots().any(|slot| slot.0 == dir || synced.contains(slot)) {
                synced.extend(slots().cloned());
                done.push(change);
            } else {
                left.push(change);
            }
        }
        for change in done.iter().rev() {
            change.apply(&mut self.dirs);
        }
        left.reverse();
        self.pending = left;
        Ok(())
    }

    /// Lists all files, sorted.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, node)) = open.pop() {
            match self.dirs.get(&node) {
                Some(dir) => {
                    open.extend(dir.entries.iter().map(|(name, node)| (path.join(name), *node)));
                }
                None => found.push(path),
            }
        }
        found.sort();
        found
    }

    /// Hashes the names and contents of the files that are picked.
    pub(super) fn fingerprint(&self, picked: impl Fn(&Path) -> bool) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for path in self.paths() {
            if picked(&path) {
                let content = &self.files[&self.find_file(&path).expect("it was listed")].content;
                hasher.update(path.as_os_str().as_encoded_bytes());
                hasher.update(&[0]);
                hasher.update(&(content.len() as u64).to_le_bytes());
                hasher.update(content);
            }
        }
        hasher.finalize().into()
    }

    /// Counts the bytes of all files that have a name.
    pub(super) fn bytes(&self) -> u64 {
        let nodes = self.dirs.values().flat_map(|dir| dir.entries.values());
        nodes.filter_map(|node| self.files.get(node)).map(|file| file.content.len() as u64).sum()
    }

    /// Drops all that has no name any more, durable or not.
    pub(super) fn prune(&mut self) {
        let mut reached = BTreeSet::from([ROOT]);
        let mut open = vec![ROOT];
        while let Some(node) = open.pop() {
            if let Some(dir) = self.dirs.get(&node) {
                let nodes = dir.entries.values().chain(dir.durable.values());
                open.extend(nodes.filter(|node| reached.insert(**node)));
            }
        }
        self.files.retain(|node, _| reached.contains(node));
        self.dirs.retain(|node, _| reached.contains(node));
    }

    fn slot(&self, path: &Path) -> io::Result<Slot> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let name = name.to_str().ok_or(ErrorKind::InvalidInput)?;
        Ok((self.find_dir(parent)?, name.to_owned()))
    }

    fn node_new(&mut self) -> NodeId {
        self.node_next += 1;
        self.node_next - 1
    }

    fn change_names(&mut self, op: Op, path: &Path, slots: Vec<(Slot, Option<NodeId>)>) {
        for ((dir, name), node) in &slots {
            let dir = self.dirs.get_mut(dir).expect("directories are never removed");
            match node {
                Some(node) => dir.entries.insert(name.clone(), *node),
                None => dir.entries.remove(name),
            };
        }
        let path = path.to_owned();
        self.pending.push(NameChange { op, path, slots });
    }
}

/// Splits an absolute path into its names.
fn names(path: &Path) -> io::Result<Vec<&str>> {
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the path is not absolute"));
    }
    parts
        .map(|part| match part {
            Component::Normal(name) => name.to_str().ok_or(ErrorKind::InvalidInput.into()),
            _ => Err(ErrorKind::InvalidInput.into()),
        })
        .collect()
}
