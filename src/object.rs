//! Objects: the five kinds, each encoded and decoded by a file of its own.
//!
//! Every kind has the same functions in the same order: `encode`, `decode`, `check`, `record`. The
//! record names the fields on disk, in their order; encoding, links and printing follow from it.
//!
//! Invariants:
//! - a value has one encoding, so it has one id; `decode` accepts nothing else;
//! - `links` holds every id that the content mentions, once;
//! - long strings are links before an object is encoded ([`lift`]).
//!
//! No I/O here: [`restore`] is given the blobs by its caller.

mod blob;
mod entry;
mod event;
mod long;
mod node;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::codec::cbor::record::{Record, invalid};
use crate::codec::{Value, cbor};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};

pub use entry::Entry;
pub use event::{Event, Run};
pub use long::{encode_lifted, lift, restore};
pub use node::{Fact, Node};
pub use session::{Fork, Session};

/// How many parents an entry or a node, and how many priors an event may have.
pub const PARENTS_MAX: usize = 65_535;

/// The longest type of an entry or event, in bytes.
pub const LABEL_BYTES_MAX: usize = 255;

/// How long an object that is no blob may be to be taken in. What a decoder builds of it is several
/// times as long; so the number of values in it has a limit, too.
pub(crate) const RECORD_BYTES_MAX: u64 = 64 << 20;
const RECORD_ITEMS_MAX: u64 = 4 << 20;

/// Checks the length of a content that is to be taken in, before anything is built of it.
pub(crate) fn check_length(kind: Kind, bytes: u64) -> Result<()> {
    match bytes > RECORD_BYTES_MAX && kind != Kind::Blob {
        true => Err(Error::TooLarge {
            what: "an object that is no blob",
            found: bytes,
            limit: RECORD_BYTES_MAX,
        }),
        false => Ok(()),
    }
}

/// Checks the length of a content that is to be taken in, and how many values it has.
pub(crate) fn check_size(kind: Kind, content: &[u8]) -> Result<()> {
    let (bytes, limit) = (content.len() as u64, RECORD_ITEMS_MAX);
    if bytes <= limit || kind == Kind::Blob {
        return Ok(());
    }
    check_length(kind, bytes)?;
    match cbor::Reader::new(content).count() {
        found if found > limit => {
            Err(Error::TooLarge { what: "the number of values in an object", found, limit })
        }
        _ => Ok(()),
    }
}

/// An object that is encoded, hashed, and ready to be committed.
///
/// Only this module makes one, so its id is the hash of its content and its links are all there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObject {
    pub(crate) id: Id,
    pub(crate) kind: Kind,
    /// Shared, so that a transaction that is planned again costs no copy.
    pub(crate) content: Arc<Vec<u8>>,
    /// The first of what it follows.
    pub(crate) parent: Option<Id>,
    pub(crate) links: Vec<Id>,
}

impl NewObject {
    /// Gives its name.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Gives its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Gives its content, without the header.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Gives every object it points to.
    pub fn links(&self) -> &[Id] {
        &self.links
    }

    /// Makes a blob of any bytes.
    pub fn blob(content: Vec<u8>) -> Result<NewObject> {
        blob::encode(content)
    }

    /// Takes content that was encoded elsewhere, and refuses all but the one encoding.
    pub fn parse(kind: Kind, content: Vec<u8>) -> Result<NewObject> {
        let links = |record: Record<'_>| {
            record.verify(kind, &content)?;
            Ok((record.first_parent(), record.all_links()))
        };
        let (parent, links) = match kind {
            Kind::Blob => Ok((None, Vec::new())),
            Kind::Entry => links(Entry::decode(&content)?.record()),
            Kind::Node => links(Node::decode(&content)?.record()),
            Kind::Event => links(Event::decode(&content)?.record()),
            Kind::Session => links(Session::decode(&content)?.record()),
        }?;
        let id = Id::of(kind, &content);
        Ok(NewObject { id, kind, content: Arc::new(content), parent, links })
    }

    /// Encodes a record whose fields were checked, and checks the values in it.
    fn of_record(kind: Kind, record: &Record<'_>) -> Result<NewObject> {
        record.check(kind)?;
        let content = cbor::encode(record);
        let id = Id::of(kind, &content);
        let (parent, links) = (record.first_parent(), record.all_links());
        Ok(NewObject { id, kind, content: Arc::new(content), parent, links })
    }
}

/// The bytes that begin a link.
pub(crate) const LINK_MARK: &[u8; 2] = b"\x58\x20";

/// Gives every 32 bytes of a content, of any kind but a blob's, that stand behind the bytes that
/// begin a link: all its links, and perhaps a stretch of text that looks like one.
pub fn possible_links(content: &[u8]) -> impl Iterator<Item = Id> {
    links_at(memchr::memmem::find_iter(content, LINK_MARK), content)
}

/// Gives the 32 bytes behind each of these places of [`LINK_MARK`] in a content.
pub(crate) fn links_at(
    marks: impl Iterator<Item = usize>,
    content: &[u8],
) -> impl Iterator<Item = Id> {
    marks.filter_map(move |at| {
        let from = at + LINK_MARK.len();
        Id::from_slice(content.get(from..from + Id::BYTES)?)
    })
}

/// An object of any kind.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "objects are decoded one at a time")]
pub enum Object {
    /// Raw bytes.
    Blob(Vec<u8>),
    /// One step of a conversation.
    Entry(Entry),
    /// One commit of the memory tree.
    Node(Node),
    /// One thing that happened to a session.
    Event(Event),
    /// A session's metadata.
    Session(Session),
}

impl Object {
    /// Decodes content of a known kind.
    pub fn decode(kind: Kind, content: &[u8]) -> Result<Object> {
        Ok(match kind {
            Kind::Blob => Object::Blob(content.to_vec()),
            Kind::Entry => Object::Entry(Entry::decode(content)?),
            Kind::Node => Object::Node(Node::decode(content)?),
            Kind::Event => Object::Event(Event::decode(content)?),
            Kind::Session => Object::Session(Session::decode(content)?),
        })
    }

    /// Gives the kind.
    pub fn kind(&self) -> Kind {
        match self {
            Object::Blob(_) => Kind::Blob,
            Object::Entry(_) => Kind::Entry,
            Object::Node(_) => Kind::Node,
            Object::Event(_) => Kind::Event,
            Object::Session(_) => Kind::Session,
        }
    }

    /// Encodes and hashes the object.
    pub fn encode(&self) -> Result<NewObject> {
        match self {
            Object::Blob(content) => blob::encode(content.clone()),
            Object::Entry(entry) => entry.encode(),
            Object::Node(node) => node.encode(),
            Object::Event(event) => event.encode(),
            Object::Session(session) => session.encode(),
        }
    }

    /// Gives every field by its name on disk, in order, for printing.
    pub fn to_value(&self) -> Value {
        match self {
            Object::Blob(content) => blob::to_value(content),
            Object::Entry(entry) => entry.record().to_value(),
            Object::Node(node) => node.record().to_value(),
            Object::Event(event) => event.record().to_value(),
            Object::Session(session) => session.record().to_value(),
        }
    }
}

/// What the history needs to know of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// An entry's or event's type; empty for the other kinds.
    pub label: String,
    /// An entry's or node's parents, an event's priors.
    pub parents: Vec<Id>,
    /// Milliseconds since 1970; zero for a blob.
    pub time: i64,
}

/// Reads the outline of content that is known to be valid, without building its body.
///
/// What stands behind the outline's fields is not looked at.
pub fn outline(kind: Kind, content: &[u8]) -> Result<Outline> {
    let keys: &[&str] = match kind {
        Kind::Blob => return Ok(blob::outline()),
        Kind::Entry => &["type", "time", "parents"],
        Kind::Node => &["time", "parents"],
        Kind::Event => &["type", "time", "priors"],
        Kind::Session => &["sid", "time"],
    };
    let (mut label, mut time, mut parents) = (String::new(), None, Vec::new());
    let read = cbor::head(content, keys, |key, reader| {
        match key {
            "type" => label = reader.text()?.to_owned(),
            "sid" => drop(reader.text()?),
            "time" => time = Some(reader.integer()?),
            _ => {
                let links = 0..reader.list_begin()?;
                parents = links.map(|_| reader.link()).collect::<Result<_, _>>()?;
            }
        }
        Ok(())
    });
    read.map_err(|why| invalid(kind, why))?;
    Ok(Outline { label, parents, time: time.ok_or_else(|| invalid(kind, "time is missing"))? })
}

/// Reads the first parent of content that is known to be valid, as [`outline`] does.
pub(crate) fn first_parent(kind: Kind, content: &[u8]) -> Result<Option<Id>> {
    let key = match kind {
        Kind::Entry | Kind::Node => "parents",
        Kind::Event => "priors",
        Kind::Blob | Kind::Session => return Ok(None),
    };
    cbor::first_link(content, &["type", "time"], key).map_err(|why| invalid(kind, why))
}

/// Checks the type of an entry or event.
fn check_label(kind: Kind, label: &str) -> Result<()> {
    let why = match label {
        "" => "its type is empty",
        _ if label.len() > LABEL_BYTES_MAX => "its type is longer than 255 bytes",
        _ if label.chars().any(char::is_control) => "its type holds a control character",
        _ => return Ok(()),
    };
    Err(invalid(kind, why))
}

/// Checks how many parents or priors there are.
fn check_parents(kind: Kind, parents: &[Id]) -> Result<()> {
    match parents.len() <= PARENTS_MAX {
        true => Ok(()),
        false => Err(invalid(kind, format!("{} parents", parents.len()))),
    }
}
