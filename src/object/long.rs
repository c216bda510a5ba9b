//! Long strings: lifted out of an object into blobs of their own, and put back.
//!
//! Invariant: what was restored is lifted to the same object again.

use super::{NewObject, Object};
use crate::codec::{LINK_BYTES_MIN, Value};
use crate::error::Result;
use crate::id::Id;

/// Lifts an object's long strings, encodes it, adds it and its blobs to `objects`, gives its id.
pub fn encode_lifted(mut object: Object, objects: &mut Vec<NewObject>) -> Result<Id> {
    for value in values(&mut object) {
        lift(value, objects)?;
    }
    let encoded = object.encode()?;
    let id = encoded.id;
    objects.push(encoded);
    Ok(id)
}

/// Gives every part of an object that may hold long strings.
fn values(object: &mut Object) -> Vec<&mut Value> {
    match object {
        Object::Blob(_) => Vec::new(),
        Object::Entry(entry) => {
            let mut values = vec![&mut entry.body];
            values.extend(&mut entry.raw);
            values
        }
        Object::Node(node) => {
            let facts = node.facts.iter_mut().map(|fact| &mut fact.value);
            facts.chain(&mut node.notes).chain([&mut node.card]).collect()
        }
        Object::Event(event) => vec![&mut event.body],
        Object::Session(session) => {
            let mut values = vec![&mut session.meta];
            values.extend(session.fork.as_mut().map(|fork| &mut fork.metadata));
            values
        }
    }
}

/// Replaces every long string by a link, and adds the blobs that hold them to `blobs`.
pub fn lift(value: &mut Value, blobs: &mut Vec<NewObject>) -> Result<()> {
    match value {
        Value::Text(text) if text.len() >= LINK_BYTES_MIN => {
            let blob = NewObject::blob(std::mem::take(text).into_bytes())?;
            *value = Value::Link(blob.id);
            blobs.push(blob);
            Ok(())
        }
        Value::List(items) => items.iter_mut().try_for_each(|item| lift(item, blobs)),
        Value::Map(pairs) => pairs.iter_mut().try_for_each(|(_, value)| lift(value, blobs)),
        _ => Ok(()),
    }
}

/// Replaces every link by the string it stands for, so that a later [`lift`] gives the link again.
///
/// A link stays if its object is not UTF-8 or too short to have been lifted. Only blobs can be
/// UTF-8: content of the other kinds begins with a byte that no UTF-8 text begins with.
pub fn restore(value: &mut Value, fetch: &mut dyn FnMut(&Id) -> Result<Vec<u8>>) -> Result<()> {
    match value {
        Value::Link(id) => {
            let content = fetch(id)?;
            if content.len() >= LINK_BYTES_MIN
                && let Ok(text) = String::from_utf8(content)
            {
                *value = Value::Text(text);
            }
            Ok(())
        }
        Value::List(items) => items.iter_mut().try_for_each(|item| restore(item, fetch)),
        Value::Map(pairs) => pairs.iter_mut().try_for_each(|(_, value)| restore(value, fetch)),
        _ => Ok(()),
    }
}
