//! A session's metadata; its refs are what make it a session.

use crate::codec::Value;
use crate::codec::cbor::record::{Fields, Record, invalid};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::NewObject;

/// A session's metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its own id, as front ends name it.
    pub sid: String,
    /// When it began, in milliseconds since 1970.
    pub time: i64,
    /// What a person calls it.
    pub name: Option<String>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Who serves the model.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Its state, in the words of its front end.
    pub status: Option<String>,
    /// The foreign format it came from.
    pub dialect: Option<String>,
    /// The file it came from.
    pub source: Option<String>,
    /// Where it was forked from, and why.
    pub fork: Option<Fork>,
    /// Everything else that its front end keeps; null if nothing.
    pub meta: Value,
}

/// Where a session was forked from, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Fork {
    /// The other session.
    pub session: String,
    /// The entry at which.
    pub entry: Option<Id>,
    /// Why.
    pub reason: Option<String>,
    /// Any more; null if nothing.
    pub metadata: Value,
}

impl Session {
    /// The kind of a session.
    pub const KIND: Kind = Kind::Session;

    /// The metadata of a session of which only id and time are known.
    pub fn new(sid: impl Into<String>, time: i64) -> Session {
        Session {
            sid: sid.into(),
            time,
            name: None,
            cwd: None,
            provider: None,
            model: None,
            status: None,
            dialect: None,
            source: None,
            fork: None,
            meta: Value::Null,
        }
    }

    /// Encodes and hashes the session, whose long strings must have been lifted.
    pub fn encode(&self) -> Result<NewObject> {
        self.check()?;
        NewObject::of_record(Session::KIND, &self.record())
    }

    /// Decodes a session, and refuses all but the one encoding.
    pub fn decode(content: &[u8]) -> Result<Session> {
        let mut fields = Fields::open(Session::KIND, content);
        let session = Session {
            sid: fields.text("sid"),
            time: fields.integer("time"),
            name: fields.text_if("name"),
            cwd: fields.text_if("cwd"),
            provider: fields.text_if("provider"),
            model: fields.text_if("model"),
            status: fields.text_if("status"),
            dialect: fields.text_if("dialect"),
            source: fields.text_if("source"),
            fork: fields.record_if("fork", Fork::read),
            meta: fields.value("meta"),
        };
        fields.close()?;
        session.check()?;
        Ok(session)
    }

    fn check(&self) -> Result<()> {
        match self.sid.is_empty() {
            true => Err(invalid(Session::KIND, "its id is empty")),
            false => Ok(()),
        }
    }

    pub(super) fn record(&self) -> Record<'_> {
        Record::new()
            .text("sid", &self.sid)
            .integer("time", self.time)
            .text_if("name", &self.name)
            .text_if("cwd", &self.cwd)
            .text_if("provider", &self.provider)
            .text_if("model", &self.model)
            .text_if("status", &self.status)
            .text_if("dialect", &self.dialect)
            .text_if("source", &self.source)
            .record_if("fork", self.fork.as_ref().map(Fork::record))
            .value("meta", &self.meta)
    }
}

impl Fork {
    fn read(fields: &mut Fields<'_>) -> Fork {
        Fork {
            session: fields.text("session"),
            entry: fields.link_if("entry"),
            reason: fields.text_if("reason"),
            metadata: fields.value("metadata"),
        }
    }

    fn record(&self) -> Record<'_> {
        Record::new()
            .text("session", &self.session)
            .link_if("entry", self.entry)
            .text_if("reason", &self.reason)
            .value("metadata", &self.metadata)
    }
}
