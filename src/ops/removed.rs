//! Where removed sessions are: a session's refs go to `deleted/<session>/<number>`, and come back.
//!
//! Sessions of one id may be removed more than once; each time has a number, higher than those that
//! are kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::store::{Expected, OperationRecord, RefName, RefUpdate, RefValue, Snapshot};

/// Where the refs of removed sessions stand.
pub(super) const DELETED: &str = "deleted";

/// Names the place of a session that is there.
pub(super) fn home(session: &str) -> String {
    format!("sessions/{session}")
}

/// Names the place of a removed session.
pub(super) fn place(session: &str, number: u64) -> String {
    format!("{DELETED}/{session}/{number}")
}

/// Gives the numbers under which sessions of this id are kept.
pub(super) fn numbers(snapshot: &dyn Snapshot, session: &str) -> Result<BTreeSet<u64>> {
    let prefix = format!("{DELETED}/{session}/");
    let refs = snapshot.references(&prefix)?;
    let numbers = refs.iter().filter_map(|(name, _)| {
        let (number, _) = name.as_str()[prefix.len()..].split_once('/')?;
        number.parse().ok()
    });
    Ok(numbers.collect())
}

/// Names a place where a session can go.
pub(super) fn free_place(snapshot: &dyn Snapshot, session: &str) -> Result<String> {
    let last = numbers(snapshot, session)?.last().copied().unwrap_or(0);
    Ok(place(session, last.saturating_add(1)))
}

/// Gives the place of a removed session that a ref belongs to.
pub(super) fn place_of(name: &RefName) -> Option<&str> {
    let rest = name.as_str().strip_prefix(DELETED)?.strip_prefix('/')?;
    let (session, rest) = rest.split_once('/')?;
    let (number, _) = rest.split_once('/')?;
    name.as_str().get(..DELETED.len() + 1 + session.len() + 1 + number.len())
}

/// Splits the name of a session's ref, removed or not, into the session's id and the rest.
pub(super) fn parts(name: &RefName) -> Option<(&str, &str)> {
    if let Some(parts) = name.session() {
        return Some(parts);
    }
    let (session, rest) =
        name.as_str().strip_prefix(DELETED)?.strip_prefix('/')?.split_once('/')?;
    let (_, rest) = rest.split_once('/')?;
    Some((session, rest))
}

/// Gives the place of a session before an operation, of which `place` is where it was after it;
/// `None` if the operation made the session.
pub(super) fn place_before(record: &OperationRecord, session: &str, place: &str) -> Option<String> {
    let is_meta = |name: &RefName| parts(name) == Some((session, "meta"));
    let mut metas = record.moves.iter().filter(|moved| is_meta(&moved.name));
    let came = metas.clone().any(|moved| {
        below(&moved.name, place) == Some("meta") && moved.old.is_none() && moved.new.is_some()
    });
    if !came {
        return Some(place.to_owned());
    }
    let left = metas.find(|moved| moved.new.is_none())?;
    left.name.as_str().strip_suffix("/meta").map(str::to_owned)
}

/// Gives a ref's value after the refs of one place went to another.
pub(super) fn value_after(value: RefValue, from: &str, to: &str) -> Result<RefValue> {
    Ok(match value {
        RefValue::Symbolic(name) => RefValue::Symbolic(match below(&name, from) {
            Some(rest) => RefName::new(format!("{to}/{rest}"))?,
            None => name,
        }),
        id => id,
    })
}

/// Moves all refs of one place to another, as `changed` leaves them; what points among them goes
/// with them.
pub(super) fn relocate(
    snapshot: &dyn Snapshot,
    from: &str,
    to: &str,
    changed: Vec<RefUpdate>,
) -> Result<Vec<RefUpdate>> {
    let mut values = BTreeMap::new();
    let mut refs = Vec::new();
    for (name, value) in snapshot.references(&format!("{from}/"))? {
        refs.push(update(snapshot, name.clone(), None)?);
        values.insert(name, Some(value));
    }
    values.extend(changed.into_iter().map(|update| (update.name, update.new)));
    for (name, value) in values {
        if let (Some(rest), Some(value)) = (below(&name, from), value) {
            let value = value_after(value, from, to)?;
            refs.push(update(snapshot, RefName::new(format!("{to}/{rest}"))?, Some(value))?);
        }
    }
    Ok(refs)
}

/// Plans that a ref goes from where it is to a value.
pub(super) fn update(
    snapshot: &dyn Snapshot,
    name: RefName,
    new: Option<RefValue>,
) -> Result<RefUpdate> {
    let expected = snapshot.reference(&name)?.map_or(Expected::Missing, Expected::Is);
    Ok(RefUpdate { name, expected, new })
}

fn below<'a>(name: &'a RefName, place: &str) -> Option<&'a str> {
    name.as_str().strip_prefix(place)?.strip_prefix('/')
}
