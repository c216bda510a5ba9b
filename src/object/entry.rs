//! An entry: one step of a conversation.

use crate::codec::Value;
use crate::codec::cbor::record::{Fields, Record, invalid};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{NewObject, check_label, check_parents};

/// One step of a conversation: a message, an action, a summary, a config change.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its type, such as `message`.
    pub label: String,
    /// Milliseconds since 1970.
    pub time: i64,
    /// What it follows; the first is the path.
    pub parents: Vec<Id>,
    /// What it says: a map, or null.
    pub body: Value,
    /// The original text where writing the body again would give another: a string or a link.
    pub raw: Option<Value>,
}

impl Entry {
    /// The kind of an entry.
    pub const KIND: Kind = Kind::Entry;

    /// Encodes and hashes the entry, whose long strings must have been lifted.
    pub fn encode(&self) -> Result<NewObject> {
        self.check()?;
        NewObject::of_record(Entry::KIND, &self.record())
    }

    /// Decodes an entry, and refuses all but the one encoding.
    pub fn decode(content: &[u8]) -> Result<Entry> {
        let mut fields = Fields::open(Entry::KIND, content);
        let entry = Entry {
            label: fields.text("type"),
            time: fields.integer("time"),
            parents: fields.links("parents"),
            body: fields.value("body"),
            raw: fields.value_if("raw"),
        };
        fields.close()?;
        entry.check()?;
        Ok(entry)
    }

    fn check(&self) -> Result<()> {
        check_label(Entry::KIND, &self.label)?;
        check_parents(Entry::KIND, &self.parents)?;
        if !matches!(self.body, Value::Null | Value::Map(_)) {
            return Err(invalid(Entry::KIND, "its body is not a map"));
        }
        match self.raw {
            None | Some(Value::Text(_) | Value::Link(_)) => Ok(()),
            Some(_) => Err(invalid(Entry::KIND, "its raw form is not a string")),
        }
    }

    pub(super) fn record(&self) -> Record<'_> {
        Record::new()
            .text("type", &self.label)
            .integer("time", self.time)
            .links("parents", &self.parents)
            .value("body", &self.body)
            .value_if("raw", &self.raw)
    }
}
