//! A store with every kind of file, and what must be left of it after some bytes were hit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use sapwood::codec::Value;
use sapwood::id::{Id, Kind};
use sapwood::object::{Entry, NewObject};
use sapwood::store::local::LocalStore;
use sapwood::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Store, Transaction,
};

use crate::faults::picture::Picture;
use crate::faults::{contents, file, large, operation};
use crate::sim::SimDisk;
use crate::support::{branch, init, open_read_only, target, update};

pub(crate) type Ids = BTreeSet<Id>;

/// A store, and all that is in it.
pub(crate) struct Oracle {
    pub(crate) disk: SimDisk,
    pub(crate) large: Id,
    picture: Picture,
    links: BTreeMap<Id, Vec<Id>>,
}

fn entry(text: &str, parents: Vec<Id>, links: &[Id]) -> NewObject {
    let links = links.iter().map(|link| Value::Link(*link)).collect();
    let body = Value::map([("content", Value::from(text)), ("links", Value::List(links))]);
    Entry { label: "message".to_owned(), time: 1, parents, body, raw: None }.encode().unwrap()
}

fn say(store: &LocalStore, name: &str, text: &str, more: &[NewObject], is_operation: bool) {
    let name = branch(name);
    let plan = &mut |snapshot: &dyn Snapshot| {
        let ids: Vec<Id> = more.iter().map(NewObject::id).collect();
        let entry = entry(text, target(snapshot, &name)?.into_iter().collect(), &ids);
        let refs = vec![update(name.clone(), entry.id())];
        let mut objects = more.to_vec();
        objects.push(entry);
        Ok(Transaction { objects, refs, operation: is_operation.then(|| operation(text)) })
    };
    store.commit(Durability::Full, plan).unwrap();
}

fn fork(store: &LocalStore, from: &str, to: &str) {
    let plan = &mut |snapshot: &dyn Snapshot| {
        let from = target(snapshot, &branch(from))?.expect("a branch");
        let refs = vec![update(branch(to), from)];
        Ok(Transaction { objects: vec![], refs, operation: Some(operation(to)) })
    };
    store.commit(Durability::Full, plan).unwrap();
}

impl Oracle {
    /// Makes a store with two packs, one of them folded, a closed segment and an open one, a loose
    /// file, refs in a snapshot and in the journal, operations in a file and in the journal.
    pub(crate) fn new() -> Oracle {
        let disk = SimDisk::new(1);
        let store = init(&disk).unwrap();
        let blob = |text: String| NewObject::blob(text.into_bytes()).unwrap();
        for number in 0..8 {
            let text = format!("first {number}");
            say(&store, "main", &text, &[blob(format!("blob {number}"))], number == 3);
        }
        fork(&store, "main", "side");
        store.repack().unwrap();
        for number in 0..8 {
            say(&store, "side", &format!("second {number}"), &[], number == 5);
        }
        say(&store, "main", "with a large one", &[large(1)], false);
        fork(&store, "main", "with-large");
        store.pack_refs().unwrap();
        let head = |_: &dyn Snapshot| {
            let value = RefValue::Symbolic(branch("main"));
            let name = RefName::head();
            let refs = vec![RefUpdate { name, expected: Expected::Any, new: Some(value) }];
            Ok(Transaction { objects: vec![], refs, operation: None })
        };
        store.commit(Durability::Full, &mut { head }).unwrap();
        let mut number = 0;
        while segments(&disk).len() < 2 || number % 5 != 4 {
            say(&store, "main", &format!("third {number} {}", "word ".repeat(30)), &[], false);
            number += 1;
        }
        say(&store, "side", "the last of this branch", &[blob("last".to_owned())], true);
        drop(store);
        Oracle::of(disk)
    }

    /// Takes a picture of a store that is whole.
    pub(crate) fn of(disk: SimDisk) -> Oracle {
        let store = open_read_only(&disk).unwrap();
        let picture = Picture::of(&*store.snapshot().unwrap()).unwrap();
        let links = picture.objects.iter().map(|(id, seen)| {
            let object = NewObject::parse(seen.kind, seen.content.clone()).unwrap();
            (*id, object.links().to_vec())
        });
        let links = links.collect();
        Oracle { disk, large: large(1).id(), picture, links }
    }

    /// Lists what a branch leads to, newest first.
    pub(crate) fn path(&self, branch: &RefName) -> Vec<Id> {
        let mut refs = self.picture.refs.iter();
        match refs.find(|(name, _)| name == branch) {
            Some((_, RefValue::Id(id))) => self.picture.objects[id].path.clone(),
            other => panic!("{branch} is {other:?}"),
        }
    }

    /// Names a file that ends so.
    fn ending(&self, ending: &str) -> PathBuf {
        let mut files = self.disk.files().into_iter();
        files.find(|path| path.to_string_lossy().ends_with(ending)).unwrap()
    }

    pub(crate) fn pack(&self) -> PathBuf {
        self.ending(".pack")
    }

    pub(crate) fn loose(&self) -> PathBuf {
        let name = self.large.to_string();
        file(&format!("objects/{}/{}", &name[..2], &name[2..]))
    }

    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        segments(&self.disk)
    }

    pub(crate) fn packs(&self) -> Vec<PathBuf> {
        let files = self.disk.files().into_iter();
        files.filter(|path| path.extension().is_some_and(|ending| ending == "pack")).collect()
    }

    /// Lists the objects that bytes of a file hold.
    pub(crate) fn hit(&self, path: &Path, hit: Range<usize>) -> Ids {
        let bytes = self.disk.read(path);
        if path == self.loose() {
            return Ids::from([self.large]);
        }
        if self.packs().iter().any(|pack| pack == path) {
            return self.hit_in_pack(&bytes, hit);
        }
        if self.segments().iter().any(|segment| segment == path) {
            return hit_in_segment(&bytes, hit);
        }
        Ids::new()
    }

    /// Lists the objects of the blocks that are hit.
    fn hit_in_pack(&self, pack: &[u8], hit: Range<usize>) -> Ids {
        let mut lost = Ids::new();
        let (mut at, mut number) = (16, 0);
        let store = open_read_only(&self.disk).unwrap();
        let name = pack[pack.len() - 32..].iter().map(|byte| format!("{byte:02x}"));
        let objects = store.verify_pack(&name.collect::<String>()).unwrap();
        while !pack[at..].starts_with(b"SAPWPEND") {
            let end = at + 76 + u32_at(pack, at) as usize;
            if at < hit.end && hit.start < end {
                let within = objects.iter().filter(|object| object.block == number);
                lost.extend(within.map(|object| object.id));
            }
            (at, number) = (end, number + 1);
        }
        lost
    }

    /// Checks that everything is there but what may be lost, and that each ref is at the newest
    /// ancestor of what it was of which nothing is missing.
    pub(crate) fn check(&self, store: &LocalStore, may_be_lost: &Ids, context: &str) {
        let snapshot = store.snapshot().unwrap();
        let mut whole = Ids::new();
        for (id, seen) in &self.picture.objects {
            match snapshot.get(id).unwrap_or_else(|error| panic!("{context}: {id}: {error}")) {
                Some(stored) => {
                    assert_eq!((stored.kind, &*stored.content), (seen.kind, &*seen.content));
                    whole.insert(*id);
                }
                None => assert!(may_be_lost.contains(id), "{context}: {} {id} is lost", seen.kind),
            }
        }
        let closed = self.closed(&whole);
        for (name, value) in &self.picture.refs {
            let found = snapshot.reference(name).unwrap();
            let expected = match value {
                RefValue::Symbolic(_) => Some(value.clone()),
                RefValue::Id(id) => {
                    let path = &self.picture.objects[id].path;
                    path.iter().find(|step| closed.contains(step)).copied().map(RefValue::Id)
                }
            };
            assert_eq!(found, expected, "{context}: {name}");
        }
        for (name, value) in snapshot.references("").unwrap() {
            let known = self.picture.refs.iter().any(|(known, _)| *known == name);
            let rescued = name.as_str().starts_with("rescued/");
            assert!(known || rescued && !may_be_lost.is_empty(), "{context}: {name} = {value}");
        }
    }

    /// Finds the objects of which nothing is missing.
    fn closed(&self, whole: &Ids) -> Ids {
        let mut closed = whole.clone();
        loop {
            let open = |id: &Id| self.links[id].iter().any(|link| !closed.contains(link));
            let next: Ids = closed.iter().filter(|id| !open(id)).copied().collect();
            if next.len() == closed.len() {
                return closed;
            }
            closed = next;
        }
    }

    /// Counts the objects of a kind.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.picture.objects.values().filter(|seen| seen.kind == kind).count()
    }
}

fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.parent() == Some(&file("objects/journal")) && name.len() == 16
    };
    contents(disk).into_iter().map(|(path, _)| path).filter(is_segment).collect()
}

/// Lists the objects of a segment whose rows or contents are hit.
fn hit_in_segment(bytes: &[u8], hit: Range<usize>) -> Ids {
    let mut lost = Ids::new();
    let is_hit = |part: Range<usize>| part.start < hit.end && hit.start < part.end;
    let mut at = 64;
    while bytes[at..].starts_with(b"SWGR") {
        let (length, head) = (u32_at(bytes, at + 24), u32_at(bytes, at + 32));
        let mut start = at + head as usize;
        for number in 0..u32_at(bytes, at + 36) as usize {
            let row = at + 80 + 40 * number;
            let end = start + u32_at(bytes, row + 32) as usize;
            // Of a file that is cut, the end of a group tells where its contents are.
            let is_cut = hit.len() > 1 && is_hit(at..at + length as usize);
            if is_hit(row..row + 40) || is_hit(start..end) || is_cut {
                lost.insert(Id::from_slice(&bytes[row..row + 32]).unwrap());
            }
            start = end;
        }
        at += length as usize;
    }
    lost
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}
