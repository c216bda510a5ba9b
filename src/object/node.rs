//! A node: one commit of the memory tree.

use crate::codec::Value;
use crate::codec::cbor::record::{Fields, Record, invalid};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{NewObject, check_parents};

/// One commit of the memory tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it follows.
    pub parents: Vec<Id>,
    /// The branch it was made on.
    pub branch: String,
    /// What was learned.
    pub facts: Vec<Fact>,
    /// Remarks: strings, or links to long ones.
    pub notes: Vec<Value>,
    /// The branch's card; null if there is none.
    pub card: Value,
    /// Milliseconds since 1970.
    pub time: i64,
}

/// Something learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// A string, a link to a long one, or a map.
    pub value: Value,
    /// A later fact with the same key supersedes this one.
    pub key: Option<String>,
    /// The entry it was learned from.
    pub source: Option<Id>,
}

impl Node {
    /// The kind of a node.
    pub const KIND: Kind = Kind::Node;

    /// Encodes and hashes the node, whose long strings must have been lifted.
    pub fn encode(&self) -> Result<NewObject> {
        self.check()?;
        NewObject::of_record(Node::KIND, &self.record())
    }

    /// Decodes a node, and refuses all but the one encoding.
    pub fn decode(content: &[u8]) -> Result<Node> {
        let mut fields = Fields::open(Node::KIND, content);
        let node = Node {
            time: fields.integer("time"),
            parents: fields.links("parents"),
            branch: fields.text("branch"),
            card: fields.value("card"),
            facts: fields.records("facts", Fact::read),
            notes: fields.values("notes"),
        };
        fields.close()?;
        node.check()?;
        Ok(node)
    }

    fn check(&self) -> Result<()> {
        check_parents(Node::KIND, &self.parents)?;
        for fact in &self.facts {
            if !matches!(fact.value, Value::Text(_) | Value::Link(_) | Value::Map(_)) {
                return Err(invalid(Node::KIND, "a fact is neither a string nor a map"));
            }
        }
        match self.notes.iter().all(|note| matches!(note, Value::Text(_) | Value::Link(_))) {
            true => Ok(()),
            false => Err(invalid(Node::KIND, "a note is not a string")),
        }
    }

    pub(super) fn record(&self) -> Record<'_> {
        Record::new()
            .integer("time", self.time)
            .links("parents", &self.parents)
            .text("branch", &self.branch)
            .value("card", &self.card)
            .records("facts", self.facts.iter().map(Fact::record).collect())
            .values("notes", &self.notes)
    }
}

impl Fact {
    fn read(fields: &mut Fields<'_>) -> Fact {
        Fact {
            value: fields.value("value"),
            key: fields.text_if("key"),
            source: fields.link_if("source"),
        }
    }

    fn record(&self) -> Record<'_> {
        Record::new()
            .value("value", &self.value)
            .text_if("key", &self.key)
            .link_if("source", self.source)
    }
}
