//! Kinds of objects.

use crate::error::{Error, Result};
use crate::id::{Id, Kind};

/// An object that is encoded, hashed, and ready to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// Its name.
    pub id: Id,
    /// Its kind.
    pub kind: Kind,
    /// Its content, without the header.
    pub content: Vec<u8>,
    /// Every object it points to.
    pub links: Vec<Id>,
}

/// What a walk needs of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its type.
    pub label: String,
    /// What it follows.
    pub parents: Vec<Id>,
    /// Milliseconds since 1970.
    pub time: i64,
}

/// Gives an object's outline: a stand-in until the encoding is there.
pub fn outline(kind: Kind, content: &[u8]) -> Result<Outline> {
    let invalid = || Error::InvalidObject {
        kind: kind.name(),
        why: "too short".to_owned(),
    };
    if kind == Kind::Blob {
        return Ok(Outline {
            label: String::new(),
            parents: Vec::new(),
            time: 0,
        });
    }
    let (time, rest) = content.split_at_checked(8).ok_or_else(invalid)?;
    let (counts, rest) = rest.split_at_checked(2).ok_or_else(invalid)?;
    let (label, rest) = rest
        .split_at_checked(usize::from(counts[0]))
        .ok_or_else(invalid)?;
    let (parents, _) = rest
        .split_at_checked(usize::from(counts[1]) * 32)
        .ok_or_else(invalid)?;
    Ok(Outline {
        label: String::from_utf8_lossy(label).into_owned(),
        parents: parents.chunks(32).filter_map(Id::from_slice).collect(),
        time: i64::from_le_bytes(time.try_into().expect("eight bytes")),
    })
}
