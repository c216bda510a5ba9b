//! Reading objects of a snapshot as what they are.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{self, Entry, Event, Node, Object, Session};
use crate::store::{Snapshot, Stored};

/// Reads an object.
pub fn read(snapshot: &dyn Snapshot, id: &Id) -> Result<Object> {
    let stored = get(snapshot, id)?;
    Object::decode(stored.kind, &stored.content)
}

/// Reads an entry.
pub fn read_entry(snapshot: &dyn Snapshot, id: &Id) -> Result<Entry> {
    Entry::decode(&get_as(snapshot, id, Kind::Entry)?.content)
}

/// Reads a node of the memory tree.
pub fn read_node(snapshot: &dyn Snapshot, id: &Id) -> Result<Node> {
    Node::decode(&get_as(snapshot, id, Kind::Node)?.content)
}

/// Reads an event.
pub fn read_event(snapshot: &dyn Snapshot, id: &Id) -> Result<Event> {
    Event::decode(&get_as(snapshot, id, Kind::Event)?.content)
}

/// Reads a session's metadata.
pub fn read_session(snapshot: &dyn Snapshot, id: &Id) -> Result<Session> {
    Session::decode(&get_as(snapshot, id, Kind::Session)?.content)
}

/// Reads an entry's or event's body with its long strings put back.
pub fn body(snapshot: &dyn Snapshot, id: &Id) -> Result<Value> {
    let mut body = match read(snapshot, id)? {
        Object::Entry(entry) => entry.body,
        Object::Event(event) => event.body,
        other => {
            return Err(Error::WrongKind {
                id: *id,
                expected: "entry or event",
                found: other.kind().name(),
            });
        }
    };
    restored(snapshot, &mut body)?;
    Ok(body)
}

/// Puts the long strings back that a value links to.
pub fn restored(snapshot: &dyn Snapshot, value: &mut Value) -> Result<()> {
    object::restore(value, &mut |link| Ok(get(snapshot, link)?.content.to_vec()))
}

fn get(snapshot: &dyn Snapshot, id: &Id) -> Result<Stored> {
    snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })
}

fn get_as(snapshot: &dyn Snapshot, id: &Id, kind: Kind) -> Result<Stored> {
    let stored = get(snapshot, id)?;
    as_kind(id, &stored, kind)?;
    Ok(stored)
}

/// Makes sure that an object is of a kind.
pub(crate) fn as_kind<'s>(id: &Id, stored: &'s Stored, kind: Kind) -> Result<&'s Stored> {
    match stored.kind == kind {
        true => Ok(stored),
        false => {
            let (expected, found) = (kind.name(), stored.kind.name());
            Err(Error::WrongKind { id: *id, expected, found })
        }
    }
}
