//! Adding entries to a branch.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{self, Entry, LABEL_BYTES_MAX, NewObject};
use crate::repo::Repo;
use crate::session::pin::{Pin, is_expected};
use crate::session::run::Transcript;
use crate::store::{Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Transaction};
use crate::time;

/// The type of an entry whose body names none.
const LABEL_DEFAULT: &str = "message";

/// Adds an entry for each body to the end of a branch, in one transaction, and gives their ids.
///
/// A body is a JSON object. Its `type` becomes the entry's type and its `timestamp`, RFC 3339 or
/// milliseconds, the time. Bodies are encoded before the store's lock is taken; only what depends
/// on the parent waits for it.
///
/// Fails with [`Error::RefConflict`] if the session or the branch is gone: somebody removed it.
pub fn append(
    repo: &Repo,
    pin: &Pin,
    bodies: Vec<Value>,
    durability: Durability,
    now_ms: i64,
) -> Result<Vec<Id>> {
    let mut blobs = Vec::new();
    let mut entries = Vec::with_capacity(bodies.len());
    for body in bodies {
        entries.push(entry(body, now_ms, &mut blobs)?);
    }
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    // Mostly nobody else writes to the branch: then all is encoded before the lock is taken.
    let guess = pin.last_end.get();
    let mut chain = match guess {
        Some(_) => Chain::new(&blobs, &mut entries, guess)?,
        None => Chain::default(),
    };
    repo.commit(durability, &mut |snapshot| {
        let parent = end(snapshot, pin)?;
        if chain.ids.is_empty() || chain.parent != parent {
            chain = Chain::new(&blobs, &mut entries, parent)?;
        }
        plan(snapshot, pin, &chain, now_ms)
    })?;
    pin.last_end.set(chain.ids.last().copied());
    Ok(chain.ids)
}

/// Entries that hang one on another, encoded.
#[derive(Default)]
struct Chain {
    /// What the first hangs on.
    parent: Option<Id>,
    ids: Vec<Id>,
    /// The blobs, and the entries.
    objects: Vec<NewObject>,
}

impl Chain {
    fn new(blobs: &[NewObject], entries: &mut [Entry], parent: Option<Id>) -> Result<Chain> {
        let ids = Vec::with_capacity(entries.len());
        let mut objects = Vec::with_capacity(blobs.len() + entries.len());
        objects.extend_from_slice(blobs);
        let mut chain = Chain { parent, ids, objects };
        for entry in entries {
            let above = chain.ids.last().copied().or(parent);
            entry.parents.clear();
            entry.parents.extend(above);
            let object = entry.encode()?;
            chain.ids.push(object.id);
            chain.objects.push(object);
        }
        Ok(chain)
    }
}

/// Gives where the branch ends, after checking that there is one.
fn end(snapshot: &dyn Snapshot, pin: &Pin) -> Result<Option<Id>> {
    let gone = |name: &RefName, what: &str| Error::RefConflict {
        name: name.to_string(),
        expected: what.to_owned(),
        found: "nothing".to_owned(),
    };
    if snapshot.reference(&pin.meta)?.is_none() {
        return Err(gone(&pin.meta, "the session"));
    }
    let end = target(snapshot, &pin.head)?;
    if end.is_none() && !is_expected(snapshot, pin)? {
        return Err(gone(&pin.head, "the branch"));
    }
    Ok(end)
}

/// Makes an entry of a body, all but its parent, with its long strings lifted.
fn entry(mut body: Value, now_ms: i64, blobs: &mut Vec<NewObject>) -> Result<Entry> {
    if body.as_map().is_none() {
        return Err(Error::InvalidObject {
            kind: "entry",
            why: "its body is not a JSON object".to_owned(),
        });
    }
    let label = match body.get("type") {
        Some(Value::Text(label)) if is_label(label) => label.clone(),
        _ => LABEL_DEFAULT.to_owned(),
    };
    let time = match body.get("timestamp") {
        Some(Value::Text(text)) => time::parse(text),
        Some(Value::Integer(ms)) => Some(*ms),
        _ => None,
    };
    object::lift(&mut body, blobs)?;
    Ok(Entry { label, time: time.unwrap_or(now_ms), parents: Vec::new(), body, raw: None })
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.len() <= LABEL_BYTES_MAX && !text.chars().any(char::is_control)
}

/// Moves the branch and the tip, and closes the run before where the new entries don't extend it.
fn plan(snapshot: &dyn Snapshot, pin: &Pin, chain: &Chain, now_ms: i64) -> Result<Transaction> {
    let parent = chain.parent;
    let tip = target(snapshot, &pin.tip)?;
    let last = chain.ids.last().copied();
    let mut transaction = Transaction {
        objects: chain.objects.clone(),
        refs: vec![update(&pin.head, parent, last), update(&pin.tip, tip, last)],
        operation: None,
    };
    if tip != parent {
        let end = Transcript { tip, events: target(snapshot, &pin.events)? };
        if let Some(event) = end.leave(|| end.run_count(snapshot), parent, now_ms)? {
            let event = event.encode()?;
            transaction.refs.push(update(&pin.events, end.events, Some(event.id)));
            transaction.objects.push(event);
        }
    }
    Ok(transaction)
}

fn update(name: &RefName, old: Option<Id>, new: Option<Id>) -> RefUpdate {
    RefUpdate {
        name: name.clone(),
        expected: old.map_or(Expected::Missing, |id| Expected::Is(RefValue::Id(id))),
        new: new.map(RefValue::Id),
    }
}

/// Reads a ref that holds an object, if it exists.
fn target(snapshot: &dyn Snapshot, name: &RefName) -> Result<Option<Id>> {
    match snapshot.reference(name)? {
        None => Ok(None),
        Some(RefValue::Id(id)) => Ok(Some(id)),
        Some(RefValue::Symbolic(_)) => Err(Error::InvalidName {
            what: "branch",
            name: name.to_string(),
            why: "it is a symbolic ref",
        }),
    }
}
