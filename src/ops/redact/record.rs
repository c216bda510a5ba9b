//! What is told of what was removed for good: an event in each session that was touched.

use std::collections::{BTreeMap, BTreeSet};

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::object::{Object, Run, encode_lifted};
use crate::ops::redact::{Ledger, RedactOutcome, Scrubber};
use crate::session::Transcript;
use crate::store::local::Put;
use crate::store::{Operation, RefMove, RefName, RefValue, Snapshot};

/// What is told.
#[derive(Debug)]
pub(super) struct Recorded<'a> {
    /// The type of the event.
    pub(super) label: &'static str,
    pub(super) body: Value,
    pub(super) operation: &'a Operation,
}

/// Makes the body of an event that says what was redacted: names and numbers.
pub(super) fn body(outcome: &RedactOutcome, scrubber: Option<&Scrubber>) -> Value {
    let count = |count: u64| Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let found = scrubber.map(Scrubber::counted).unwrap_or_default();
    let found = found.into_iter().map(|(name, found)| (name, count(found)));
    Value::map([
        ("objects", count(outcome.objects_found)),
        ("rewritten", count(outcome.objects_rewritten)),
        ("patterns", Value::map(found)),
    ])
}

/// Adds an event to the transcript of each of these sessions, and gives the moves of their refs.
pub(super) fn record(
    recorded: &Recorded<'_>,
    snapshot: &dyn Snapshot,
    ledger: &Ledger,
    sessions: &BTreeSet<String>,
    rename: &mut dyn FnMut(&RefName) -> RefName,
    refs: &mut BTreeMap<RefName, RefValue>,
    put: Put<'_>,
) -> Result<Vec<RefMove>> {
    let mut moves = Vec::new();
    for session in sessions {
        let target = |rest: &str| -> Result<Option<Id>> {
            let name = RefName::of_session(session, rest)?;
            Ok(match snapshot.reference(&name)? {
                Some(RefValue::Id(id)) => Some(id),
                _ => None,
            })
        };
        let was = Transcript { tip: target("tip")?, events: target("events")? };
        let count = was.run_count(snapshot)?;
        let mender = &ledger.mender;
        let run = was.tip.and_then(|tip| mender.run(&Run { tip, count }));
        let now = Transcript {
            tip: was.tip.and_then(|tip| mender.entry(&tip)),
            events: was.events.and_then(|event| mender.id(&event)),
        };
        let count = run.map_or(0, |run| run.count);
        let body = recorded.body.clone();
        let event = now.close(count, recorded.label, now.tip, body, recorded.operation.time);
        let mut objects = Vec::new();
        let event = encode_lifted(Object::Event(event), &mut objects)?;
        objects.into_iter().try_for_each(&mut *put)?;
        let name = rename(&RefName::of_session(session, "events")?);
        let (old, new) = (now.events.map(RefValue::Id), Some(RefValue::Id(event)));
        refs.extend(new.clone().map(|value| (name.clone(), value)));
        moves.push(RefMove { name, old, new });
    }
    Ok(moves)
}
