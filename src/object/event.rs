//! An event: one thing that happened to a session and is not a step of a conversation.

use crate::codec::Value;
use crate::codec::cbor::record::{Fields, Record, invalid};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{NewObject, check_label, check_parents};

/// One thing that happened to a session: a switch, a fork, a label, an undo, a deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its type, such as `switch`.
    pub label: String,
    /// Milliseconds since 1970.
    pub time: i64,
    /// The events before it.
    pub priors: Vec<Id>,
    /// The runs of entries that it closes, in order.
    pub runs: Vec<Run>,
    /// The entry that the next run hangs on, then others it speaks of.
    pub links: Vec<Id>,
    /// What else there is to say; null if nothing.
    pub body: Value,
}

/// Entries that were written one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The last of them.
    pub tip: Id,
    /// How many there are, back along first parents.
    pub count: u64,
}

impl Event {
    /// The kind of an event.
    pub const KIND: Kind = Kind::Event;

    /// Encodes and hashes the event, whose long strings must have been lifted.
    pub fn encode(&self) -> Result<NewObject> {
        self.check()?;
        NewObject::of_record(Event::KIND, &self.record())
    }

    /// Decodes an event, and refuses all but the one encoding.
    pub fn decode(content: &[u8]) -> Result<Event> {
        let mut fields = Fields::open(Event::KIND, content);
        let event = Event {
            label: fields.text("type"),
            time: fields.integer("time"),
            priors: fields.links("priors"),
            runs: fields.records("runs", Run::read),
            links: fields.links("links"),
            body: fields.value("body"),
        };
        fields.close()?;
        event.check()?;
        Ok(event)
    }

    fn check(&self) -> Result<()> {
        check_label(Event::KIND, &self.label)?;
        check_parents(Event::KIND, &self.priors)?;
        match self.runs.iter().all(|run| i64::try_from(run.count).is_ok()) {
            true => Ok(()),
            false => Err(invalid(Event::KIND, "a run is too long")),
        }
    }

    pub(super) fn record(&self) -> Record<'_> {
        Record::new()
            .text("type", &self.label)
            .integer("time", self.time)
            .links("priors", &self.priors)
            .records("runs", self.runs.iter().map(Run::record).collect())
            .links("links", &self.links)
            .value("body", &self.body)
    }
}

impl Run {
    fn read(fields: &mut Fields<'_>) -> Run {
        let tip = fields.link("tip");
        let count = u64::try_from(fields.integer("count")).unwrap_or_else(|_| {
            fields.fail("a run has a negative count");
            0
        });
        Run { tip, count }
    }

    fn record(&self) -> Record<'_> {
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        Record::new().link("tip", self.tip).integer("count", count)
    }
}
