//! CBOR: known here and below, and nowhere else.
//!
//! One value has one encoding: integers and floats as short as they go, definite lengths, no tags.
//! serde_cbor writes it; [`Reader`] reads it and refuses any other. What comes from outside is also
//! written again into a writer that only compares, before it is taken.
//!
//! A link is a byte string of 32 bytes. A number that keeps its text is a byte string of any other
//! length: a text of 32 bytes gets a space at its end.

mod read;
pub(crate) mod record;

use std::io;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_cbor::ser::IoWrite;

use crate::codec::Value;
use crate::id::Id;
use record::{Field, Record};

pub(crate) use read::{Fault, ITEMS_TRUSTED_MAX, Reader};

/// Encodes a record.
pub(crate) fn encode(record: &Record<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024);
    record
        .serialize(&mut serde_cbor::Serializer::new(&mut bytes))
        .expect("writing to memory does not fail");
    bytes
}

/// Says at which byte the encoding of a record differs from these bytes, if it does.
pub(crate) fn is_encoding(record: &Record<'_>, bytes: &[u8]) -> Result<(), usize> {
    let mut compare = Compare { rest: bytes };
    let writer = IoWrite::new(&mut compare);
    let same = record.serialize(&mut serde_cbor::Serializer::new(writer)).is_ok();
    match same && compare.rest.is_empty() {
        true => Ok(()),
        false => Err(bytes.len() - compare.rest.len()),
    }
}

/// Reads the pairs at the start of a map for as long as their keys are among `keys`; `read` reads
/// the value of one.
///
/// What follows is neither read nor checked.
pub(crate) fn head<'a>(
    bytes: &'a [u8],
    keys: &[&'static str],
    mut read: impl FnMut(&'static str, &mut Reader<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut reader = Reader::new(bytes);
    for _ in 0..reader.map_begin()? {
        let found = reader.text()?;
        let Some(key) = keys.iter().find(|key| **key == found) else {
            break;
        };
        read(key, &mut reader)?;
    }
    Ok(())
}

/// Reads the first link of the list that a map has under `key`, if nothing stands before it but the
/// strings and integers that are under `before`. What follows is neither read nor checked.
pub(crate) fn first_link(bytes: &[u8], before: &[&str], key: &str) -> Result<Option<Id>, Fault> {
    let mut reader = Reader::new(bytes);
    for _ in 0..reader.map_begin()? {
        let found = reader.key()?;
        if found == key.as_bytes() {
            return match reader.list_begin()? {
                0 => Ok(None),
                _ => reader.link().map(Some),
            };
        }
        if !before.iter().any(|key| key.as_bytes() == found) {
            break;
        }
        reader.pass()?;
    }
    Ok(None)
}

/// Takes bytes only if they are the next of those expected.
struct Compare<'a> {
    rest: &'a [u8],
}

impl io::Write for Compare<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.rest.strip_prefix(bytes) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => out.serialize_unit(),
            Value::Bool(truth) => out.serialize_bool(*truth),
            Value::Integer(integer) => out.serialize_i64(*integer),
            Value::Float(float) => out.serialize_f64(*float),
            Value::Number(text) if text.len() == Id::BYTES => {
                out.serialize_bytes(format!("{text} ").as_bytes())
            }
            Value::Number(text) => out.serialize_bytes(text.as_bytes()),
            Value::Text(text) => out.serialize_str(text),
            Value::Link(id) => out.serialize_bytes(id.as_bytes()),
            Value::List(items) => {
                let mut list = out.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Value::Map(pairs) => {
                let mut map = out.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.fields().len()))?;
        for (key, field) in self.fields() {
            map.serialize_entry(key, field)?;
        }
        map.end()
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Field::Text(text) => out.serialize_str(text),
            Field::Integer(integer) => out.serialize_i64(*integer),
            Field::Link(id) => out.serialize_bytes(id.as_bytes()),
            Field::Links(ids) => out.collect_seq(ids.iter().map(|id| Field::Link(*id))),
            Field::Value(value) => value.serialize(out),
            Field::Values(values) => out.collect_seq(*values),
            Field::Record(record) => record.serialize(out),
            Field::Records(records) => out.collect_seq(records),
        }
    }
}
