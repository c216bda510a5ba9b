//! What else followed the entry that an entry follows, and why.

use std::collections::BTreeMap;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Session;
use crate::repo::{read_session, restored};
use crate::session::View;
use crate::store::{RefValue, Snapshot};

/// One way on from a fork point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The session's id.
    pub session: String,
    /// The branch that leads there.
    pub branch: String,
    /// The first entry after the fork point; `None` if nothing was said there yet.
    pub entry: Option<Id>,
    /// Why it was made, if it was made here.
    pub reason: Option<String>,
    /// What changed with it; null if nothing is known.
    pub metadata: Value,
}

/// Lists the ways on from the entry before this one: on branches of the session, and in sessions
/// that were forked there. Those without a reason come first.
pub fn siblings(snapshot: &dyn Snapshot, session: &str, entry: Id) -> Result<Vec<Sibling>> {
    let topology = snapshot.topology(&entry)?.ok_or(Error::ObjectMissing { id: entry })?;
    let point = Point { snapshot, at: topology.parents.first().copied(), depth: topology.depth };
    let mut found = BTreeMap::new();
    let view = View::of(snapshot, session)?;
    for (branch, end) in view.branches()? {
        let Some(first) = point.leads_to(end)? else {
            continue;
        };
        let record = view.record(&branch)?.filter(|record| record.at == point.at);
        if first.is_none() && record.is_none() {
            continue;
        }
        let (reason, metadata) = match record {
            Some(record) => (record.reason, record.metadata),
            None => (None, Value::Null),
        };
        let sibling =
            Sibling { session: session.to_owned(), branch, entry: first, reason, metadata };
        keep(&mut found, sibling);
    }
    for sibling in forks(&point, session)? {
        keep(&mut found, sibling);
    }
    let mut found: Vec<Sibling> = found.into_values().collect();
    found.sort_by_key(|sibling| sibling.reason.is_some());
    Ok(found)
}

/// Keeps one branch for each way on: rather the one that was made here.
fn keep(found: &mut BTreeMap<(Option<Id>, String), Sibling>, sibling: Sibling) {
    let own = match sibling.entry {
        Some(_) => String::new(),
        None => format!("{} {}", sibling.session, sibling.branch),
    };
    let known = found.entry((sibling.entry, own)).or_insert_with(|| sibling.clone());
    if known.reason.is_none() && sibling.reason.is_some() {
        *known = sibling;
    }
}

/// Where ways part.
struct Point<'a> {
    snapshot: &'a dyn Snapshot,
    /// The entry before them; `None` for the beginning.
    at: Option<Id>,
    /// How deep the first entries after it lie.
    depth: u64,
}

impl Point<'_> {
    /// Gives the first entry after the point on the way to an entry; the inner `None` if the point
    /// itself is meant, the outer if the way does not come by.
    fn leads_to(&self, end: Id) -> Result<Option<Option<Id>>> {
        if self.at == Some(end) {
            return Ok(Some(None));
        }
        let topology = self.snapshot.topology(&end)?.ok_or(Error::ObjectMissing { id: end })?;
        let Some(steps) = topology.depth.checked_sub(self.depth) else {
            return Ok(None);
        };
        let steps = usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(2);
        let path = self.snapshot.path(&end, steps)?;
        let first = path.get(steps - 2).copied();
        Ok((path.get(steps - 1).copied() == self.at).then_some(first))
    }
}

/// Lists the sessions that were forked at the point.
fn forks(point: &Point<'_>, session: &str) -> Result<Vec<Sibling>> {
    let mut found = Vec::new();
    for (name, value) in point.snapshot.references("sessions/")? {
        let (Some((sid, "meta")), RefValue::Id(meta)) = (name.session(), &value) else {
            continue;
        };
        let Session { fork: Some(mut fork), .. } = read_session(point.snapshot, meta)? else {
            continue;
        };
        if fork.session != session || fork.entry != point.at {
            continue;
        }
        let view = View::of(point.snapshot, sid)?;
        for (branch, end) in view.branches()? {
            if let Some(entry) = point.leads_to(end)? {
                restored(point.snapshot, &mut fork.metadata)?;
                found.push(Sibling {
                    session: sid.to_owned(),
                    branch,
                    entry,
                    reason: fork.reason.clone(),
                    metadata: fork.metadata.clone(),
                });
            }
        }
    }
    Ok(found)
}
