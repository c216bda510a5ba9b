//! Kinds of objects.

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
