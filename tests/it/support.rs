//! What the tests share: stores on any disk, and a little world of messages to put into them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sapwood::codec::Value;
use sapwood::disk::Disk;
use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::object::{Entry, NewObject};
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Store, Transaction,
};

/// Where a store stands on a simulated disk.
pub(crate) const ROOT: &str = "/s/.sapwood";

/// Small segments, no thread, no patience: everything happens when the test says so.
pub(crate) fn options() -> Options {
    Options {
        lock_timeout: Duration::ZERO,
        background: false,
        segment_bytes_min: 4 << 10,
        segment_bytes_max: 16 << 10,
        ..Options::default()
    }
}

/// Makes a store on a disk, or opens the one that is there.
pub(crate) fn init(disk: &(impl Disk + Clone + 'static)) -> Result<LocalStore> {
    LocalStore::init(Arc::new(disk.clone()), Path::new(ROOT), options()).map(|(store, _)| store)
}

/// Opens a store on a disk.
pub(crate) fn open(disk: &(impl Disk + Clone + 'static)) -> Result<LocalStore> {
    LocalStore::open(Arc::new(disk.clone()), Path::new(ROOT), options())
}

/// Opens a store on a disk for reading only.
pub(crate) fn open_read_only(disk: &(impl Disk + Clone + 'static)) -> Result<LocalStore> {
    let options = Options { read_only: true, ..options() };
    LocalStore::open(Arc::new(disk.clone()), Path::new(ROOT), options)
}

pub(crate) fn ref_name(name: &str) -> RefName {
    RefName::new(name).unwrap()
}

/// The ref of a branch of the session `s`.
pub(crate) fn branch(name: &str) -> RefName {
    RefName::of_session("s", &format!("heads/{name}")).unwrap()
}

/// An entry that says `text`.
pub(crate) fn message(text: &str, parents: Vec<Id>) -> NewObject {
    let body = Value::map([("role", Value::from("user")), ("content", Value::from(text))]);
    let label = "message".to_owned();
    Entry { label, time: 1, parents, body, raw: None }.encode().unwrap()
}

/// What a message entry says.
pub(crate) fn text_of(snapshot: &dyn Snapshot, id: &Id) -> Result<String> {
    let stored = snapshot.get(id)?.expect("an entry on a path is in the store");
    let entry = Entry::decode(&stored.content)?;
    Ok(entry.body.get("content").and_then(Value::as_text).expect("a message").to_owned())
}

pub(crate) fn update(name: RefName, value: Id) -> RefUpdate {
    RefUpdate { name, expected: Expected::Any, new: Some(RefValue::Id(value)) }
}

/// Gives the id that a ref holds.
pub(crate) fn target(snapshot: &dyn Snapshot, name: &RefName) -> Result<Option<Id>> {
    Ok(match snapshot.reference(name)? {
        Some(RefValue::Id(id)) => Some(id),
        Some(RefValue::Symbolic(_)) => panic!("{name} is symbolic"),
        None => None,
    })
}

/// Appends a message to a branch and gives its id.
pub(crate) fn append(store: &dyn Store, name: &str, text: &str) -> Result<Id> {
    append_with(store, name, text, Durability::Full)
}

/// Appends a message to a branch and gives its id.
pub(crate) fn append_with(
    store: &dyn Store,
    name: &str,
    text: &str,
    durability: Durability,
) -> Result<Id> {
    let name = branch(name);
    let mut id = None;
    store.commit(durability, &mut |snapshot| {
        let entry = message(text, target(snapshot, &name)?.into_iter().collect());
        id = Some(entry.id());
        let refs = vec![update(name.clone(), entry.id())];
        Ok(Transaction { objects: vec![entry], refs, operation: None })
    })?;
    Ok(id.expect("a plan that was carried out"))
}

/// Reads what a branch says, oldest first.
pub(crate) fn texts(store: &dyn Store, name: &str) -> Result<Vec<String>> {
    let snapshot = store.snapshot()?;
    let Some(tip) = target(&*snapshot, &branch(name))? else {
        return Ok(Vec::new());
    };
    let mut texts = Vec::new();
    for id in snapshot.path(&tip, usize::MAX)? {
        texts.push(text_of(&*snapshot, &id)?);
    }
    texts.reverse();
    Ok(texts)
}
