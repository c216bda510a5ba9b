//! A blob: raw bytes, encoded as they are.

use std::sync::Arc;

use crate::codec::Value;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{NewObject, Outline};

/// Hashes the bytes.
pub(super) fn encode(content: Vec<u8>) -> Result<NewObject> {
    let (id, content) = (Id::of(Kind::Blob, &content), Arc::new(content));
    Ok(NewObject { id, kind: Kind::Blob, content, parent: None, links: Vec::new() })
}

/// Gives the blob as text if it is UTF-8, else its bytes in hex under the key `hex`.
pub(super) fn to_value(content: &[u8]) -> Value {
    match std::str::from_utf8(content) {
        Ok(text) => Value::from(text),
        Err(_) => {
            let digits = content.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            let hex = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
            Value::map([("hex", Value::Text(hex.collect()))])
        }
    }
}

/// Gives an empty outline: a blob has no place in the history.
pub(super) fn outline() -> Outline {
    Outline { label: String::new(), parents: Vec::new(), time: 0 }
}
