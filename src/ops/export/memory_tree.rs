//! A session as a memory tree: the directory that it came from, or one that says the same.
//!
//! A directory that is there already is written into only if it is empty, or a memory tree that has
//! no file which the session has not: nothing is deleted, and nothing else is overwritten.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path};

use crate::codec::{Value, json};
use crate::dialect::memory_tree::{
    self as shape, AVATARS_FOLDER, BRANCHES_FILE, MEMORY_TREE, NODES_FOLDER, Names, SESSION_FILE,
    TRANSCRIPT_FILE,
};
use crate::disk;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{Entry, Run};
use crate::ops::exact::{bytes_of, entry_text};
use crate::ops::import::is_part;
use crate::ops::imported_tree::{TreeRecord, refs_of, state};
use crate::repo::{Repo, read_entry, read_node, restored};
use crate::session::{Forest, MEMORY_LABEL, View, first_kept, memory_of, restored_entry};
use crate::store::Snapshot;
use crate::walk::{self, Item, transcript_items};

/// What was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeExported {
    /// How many files were written.
    pub files: u64,
    /// Whether it is, byte for byte, the directory that the session came from.
    pub is_exact: bool,
}

/// Writes a session, by its exact id, into a directory as a memory tree.
pub fn export_memory_tree(repo: &Repo, session: &str, dir: &Path) -> Result<TreeExported> {
    let snapshot = repo.snapshot()?;
    let view = View::of(&*snapshot, session)?;
    let exact = exact(&view)?;
    let is_exact = exact.is_some();
    let files = match exact {
        Some(files) => files,
        None => by_meaning(&view)?,
    };
    check_directory(dir, &files)?;
    for (name, content) in &files {
        let bytes = match content {
            Content::Text(bytes) => bytes.clone(),
            Content::Blob(id) => {
                let mut bytes = Vec::new();
                bytes_of(&*snapshot, &Value::Link(*id), &mut bytes)?;
                bytes
            }
        };
        let path = dir.join(name);
        disk::write_export(&path, &bytes).map_err(Error::io("write", &path))?;
    }
    Ok(TreeExported { files: files.len() as u64, is_exact })
}

/// What a file has in it.
enum Content {
    Text(Vec<u8>),
    Blob(Id),
}

/// The files, by their paths in the directory.
type Files = BTreeMap<String, Content>;

/// Refuses a directory in which something else would be left or overwritten.
fn check_directory(dir: &Path, files: &Files) -> Result<()> {
    let is_plain = |path: &Path| path.components().all(|it| matches!(it, Component::Normal(_)));
    if let Some(name) = files.keys().find(|name| !is_plain(Path::new(name))) {
        return Err(Error::InvalidName {
            what: "file name",
            name: name.clone(),
            why: "it leads out of the directory",
        });
    }
    let found = disk::list_below(dir).map_err(Error::io("read", dir))?;
    let has = |name: &str| found.iter().any(|path| path == Path::new(name));
    let has_nodes = || found.iter().any(|path| path.starts_with(NODES_FOLDER));
    let is_tree =
        (has(SESSION_FILE) || has(TRANSCRIPT_FILE)) && (has(BRANCHES_FILE) || has_nodes());
    if !found.is_empty() && !is_tree {
        return Err(Error::Refused {
            why: format!("{} is not empty, and no memory tree", dir.display()),
            hint: "name a directory that is empty or not there",
        });
    }
    let is_left = |path: &&std::path::PathBuf| {
        is_part(path) && !files.contains_key(path.to_string_lossy().as_ref())
    };
    match found.iter().find(is_left) {
        None => Ok(()),
        Some(path) => Err(Error::Refused {
            why: format!("{} holds {}, which the session has not", dir.display(), path.display()),
            hint: "name a directory that is empty or not there",
        }),
    }
}

/// Gives the directory that a session came from, if nothing has changed since.
fn exact(view: &View<'_>) -> Result<Option<Files>> {
    if view.meta()?.dialect.as_deref() != Some(MEMORY_TREE) {
        return Ok(None);
    }
    let refs = refs_of(view)?.into_iter().collect();
    let Some(record) = TreeRecord::last(view)?.filter(|record| record.state == state(&refs)) else {
        return Ok(None);
    };
    let files = record.files.into_iter().map(|(path, id)| (path, Content::Blob(id)));
    let mut files: Files = files.collect();
    if let Some((runs, layout)) = record.turns {
        let mut text = Vec::new();
        for (place, id) in entries(view.snapshot, &runs)?.iter().enumerate() {
            text.extend_from_slice(layout.before(place as u64).as_bytes());
            entry_text(
                view.snapshot,
                &mut read_entry(view.snapshot, id)?,
                layout.style,
                &mut text,
            )?;
        }
        bytes_of(view.snapshot, &layout.tail, &mut text)?;
        files.insert(TRANSCRIPT_FILE.to_owned(), Content::Text(text));
    }
    Ok(Some(files))
}

fn entries(snapshot: &dyn Snapshot, runs: &[Run]) -> Result<Vec<Id>> {
    let mut entries = Vec::new();
    for run in runs {
        walk::read_run(snapshot, run, &mut entries)?;
    }
    Ok(entries)
}

/// Makes a directory that says what a session says.
fn by_meaning(view: &View<'_>) -> Result<Files> {
    let mut files = Files::new();
    let mut put = |name: String, value: &Value| {
        let text = json::pretty(value) + "\n";
        files.insert(name, Content::Text(text.into_bytes()));
    };
    let forest = Forest::of(view)?;
    let mut teller = Teller { view, forest, names: Names::default(), turns: Vec::new() };
    let nodes = teller.name_nodes()?;
    teller.tell()?;
    let names = &teller.names;
    for id in &nodes {
        let mut node = read_node(view.snapshot, id)?;
        let facts = node.facts.iter_mut().map(|fact| &mut fact.value);
        for value in facts.chain(&mut node.notes).chain([&mut node.card]) {
            restored(view.snapshot, value)?;
        }
        let name = names.of(id).expect("all nodes were named");
        put(format!("{NODES_FOLDER}/{name}.json"), &shape::node(id, &node, names));
    }
    let mut branches = Vec::new();
    for (name, end) in view.branches()? {
        let (memory, record) = (memory_of(view, &name)?, view.record(&name)?);
        branches.push(shape::branch(&name, end, memory, record.as_ref(), names));
    }
    put(BRANCHES_FILE.to_owned(), &Value::List(branches));
    put(SESSION_FILE.to_owned(), &shape::session(&view.meta()?, view.active()?.as_deref()));
    put(TRANSCRIPT_FILE.to_owned(), &Value::List(teller.turns));
    for (name, id) in view.named("attachments")? {
        files.insert(format!("{AVATARS_FOLDER}/{name}"), Content::Blob(id));
    }
    Ok(files)
}

/// Tells a session turn by turn.
struct Teller<'a> {
    view: &'a View<'a>,
    forest: Forest,
    names: Names,
    turns: Vec<Value>,
}

impl Teller<'_> {
    /// Names all nodes that the session knows, as they were called if they came from a memory
    /// tree, and lists them.
    fn name_nodes(&mut self) -> Result<Vec<Id>> {
        let snapshot = self.view.snapshot;
        let mut called: HashMap<Id, String> = HashMap::new();
        let mut next = Vec::new();
        for id in self.forest.ids() {
            let topology = snapshot.topology(id)?.ok_or(Error::ObjectMissing { id: *id })?;
            if &*topology.label != MEMORY_LABEL {
                continue;
            }
            let body = read_entry(snapshot, id)?.body;
            let Some(node) = body.get("node").and_then(Value::as_link) else {
                continue;
            };
            if snapshot.kinds(&[node])? == [Some(Kind::Node)] {
                let name = body.get("nodeId").and_then(Value::as_text);
                called.extend(name.map(|name| (node, name.to_owned())));
                next.push(node);
            }
        }
        next.reverse();
        let mut nodes = Vec::new();
        let mut seen = HashSet::new();
        while let Some(id) = next.pop() {
            if seen.insert(id) {
                self.names.node(id, called.get(&id).map(String::as_str));
                next.extend(read_node(snapshot, &id)?.parents);
                nodes.push(id);
            }
        }
        Ok(nodes)
    }

    /// Tells all that was said, a parent before what hangs on it, and the switches between.
    fn tell(&mut self) -> Result<()> {
        let mut is_told = vec![false; self.forest.ids().len()];
        for item in transcript_items(self.view.snapshot, self.view.id())? {
            match item?.1 {
                Item::Entry(id) => {
                    if let Some(place) = self.forest.place(&id) {
                        self.tell_path(place, &mut is_told)?;
                    }
                }
                Item::Event(_, event) if event.label == "switch" => {
                    let number = self.number();
                    self.turns.push(shape::switch(number, &event));
                }
                Item::Event(..) => {}
            }
        }
        (0..is_told.len()).try_for_each(|place| self.tell_path(place, &mut is_told))
    }

    fn number(&self) -> i64 {
        self.turns.len() as i64 + 1
    }

    /// Tells an entry, and before it what it hangs on.
    fn tell_path(&mut self, place: usize, is_told: &mut [bool]) -> Result<()> {
        let above = |place: &usize| self.forest.parent(*place);
        let path = std::iter::successors(Some(place), above);
        let fresh: Vec<usize> = path.take_while(|place| !is_told[*place]).collect();
        for place in fresh.into_iter().rev() {
            is_told[place] = true;
            let id = self.forest.ids()[place];
            let entry = restored_entry(self.view.snapshot, &id)?;
            let kept = self.first_kept(&entry)?;
            let number = self.number();
            self.turns.push(shape::turn(number, &id, &entry, kept, &mut self.names));
        }
        Ok(())
    }

    /// Finds the first entry that a compaction keeps.
    fn first_kept(&self, entry: &Entry) -> Result<Option<Id>> {
        let named = first_kept(&entry.body).filter(|_| entry.label == "compaction");
        let text = match named {
            Some(Value::Link(id)) => return Ok(Some(*id)),
            Some(Value::Text(text)) => text,
            _ => return Ok(None),
        };
        if let Some(id) = text.parse().ok().filter(|id| self.forest.place(id).is_some()) {
            return Ok(Some(id));
        }
        let Some(parent) = entry.parents.first() else {
            return Ok(None);
        };
        for id in walk::path(self.view.snapshot, *parent) {
            let id = id?;
            let body = read_entry(self.view.snapshot, &id)?.body;
            if ["id", "uuid"].iter().any(|key| body.get(key).and_then(Value::as_text) == Some(text))
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}
