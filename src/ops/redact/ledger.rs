//! The objects of a store while some of them go: which are touched, and what takes their place.
//!
//! Everything that links an object with another id gets another id itself, and so on up to the
//! refs. Everything else stays as it is. What an object becomes follows from it and from what it
//! links alone, so what was decided stays decided when more objects come.

use std::collections::{BTreeMap, BTreeSet};

use crate::codec::{Value, json};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{self, Object};
use crate::ops::redact::graph::{Graph, Row};
use crate::ops::redact::mend::{self, Fate, Mender};
use crate::store::local::{Operations, Put};
use crate::store::{RefMove, RefName, RefValue, Snapshot};

/// The objects of a store while some of them go.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) graph: Graph,
    pub(super) mender: Mender,
}

/// How an object is changed by itself, beside the links in it; says whether it was.
pub(super) type Alter<'a> = &'a dyn Fn(&Id, &mut Object) -> bool;

impl Ledger {
    /// Takes note of an object, and gives its number if it is new.
    pub(super) fn note(&mut self, id: &Id, object: &Object) -> Option<Row> {
        if self.graph.has(id) {
            return None;
        }
        let (links, parents) = mend::links(object);
        Some(self.graph.add(id, object.kind(), &links, parents))
    }

    /// Rewrites all that is marked or leads to what is marked, and is not decided yet.
    pub(super) fn rewrite(
        &mut self,
        snapshot: &dyn Snapshot,
        mut marked: Vec<bool>,
        alter: Alter<'_>,
        put: Put<'_>,
    ) -> Result<()> {
        let turned = self.graph.turned(false);
        turned.spread(&mut marked);
        for row in 0..self.graph.len() as Row {
            let is_decided = self.mender.fates.contains_key(self.graph.id(row));
            marked[row as usize] &= !is_decided && self.graph.kind(row).is_some();
        }
        for row in self.graph.in_order(&marked, &turned) {
            let id = *self.graph.id(row);
            self.rewrite_one(snapshot, &id, alter, put)?;
        }
        Ok(())
    }

    fn rewrite_one(
        &mut self,
        snapshot: &dyn Snapshot,
        id: &Id,
        alter: Alter<'_>,
        put: Put<'_>,
    ) -> Result<()> {
        let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
        let before = Object::decode(stored.kind, &stored.content)?;
        let mut now = before.clone();
        let altered = alter(id, &mut now) | self.mender.object(&mut now);
        if let (true, Object::Entry(was), Object::Entry(now)) = (altered, &before, &mut now) {
            self.keep_raw_true(snapshot, was, now)?;
        }
        let mut objects = Vec::new();
        let new = object::encode_lifted(now, &mut objects)?;
        if new == *id {
            return Ok(());
        }
        if let (Kind::Blob, Some(blob)) = (stored.kind, objects.last()) {
            self.mender.shortened(*id, &stored.content, blob.content());
        }
        objects.into_iter().try_for_each(put)?;
        self.mender.fates.insert(*id, Fate::Became(new));
        Ok(())
    }

    /// Drops the original text of an entry that no longer says what the body says.
    fn keep_raw_true(
        &self,
        snapshot: &dyn Snapshot,
        before: &object::Entry,
        now: &mut object::Entry,
    ) -> Result<()> {
        let (Some(was), Some(is)) = (&before.raw, &now.raw) else {
            return Ok(());
        };
        let text_of = |raw: &Value| match raw {
            Value::Text(text) => Ok(Some(text.clone())),
            Value::Link(id) => {
                let stored = snapshot.get(id)?;
                Ok(stored.and_then(|stored| String::from_utf8(stored.content.to_vec()).ok()))
            }
            _ => Ok(None),
        };
        let Some(was) = text_of(was)? else {
            return Ok(());
        };
        let is = match is {
            Value::Text(text) => text.clone(),
            // What was long is long still: it is replaced here as it was in its blob.
            _ => {
                let mut text = was.clone();
                if let Some(scrubber) = &self.mender.scrubber {
                    scrubber.text(&mut text);
                }
                text
            }
        };
        if agrees(&was, &before.body)? && !agrees(&is, &now.body)? {
            now.raw = None;
        }
        Ok(())
    }

    /// Gives a ref's value now; nothing if it goes.
    pub(super) fn value(&self, value: &RefValue) -> Option<RefValue> {
        match value {
            RefValue::Id(id) => self.mender.entry(id).map(RefValue::Id),
            symbolic => Some(symbolic.clone()),
        }
    }

    /// Mends the moves of operations, and says of how many something changed.
    pub(super) fn mend_operations(
        &self,
        operations: &mut Operations,
        rename: &mut dyn FnMut(&RefName) -> RefName,
    ) -> u64 {
        let mut changed = 0;
        for (operation, moves) in operations {
            let mut touched = false;
            if let Some(scrubber) = &self.mender.scrubber {
                touched |= scrubber.text(&mut operation.command);
                touched |= scrubber.text(&mut operation.actor);
            }
            for moved in moves {
                let before = moved.clone();
                let mut value = |value: &Option<RefValue>| {
                    value.as_ref().and_then(|value| match value {
                        RefValue::Symbolic(name) => Some(RefValue::Symbolic(rename(name))),
                        id => self.value(id),
                    })
                };
                let (old, new) = (value(&moved.old), value(&moved.new));
                *moved = RefMove { name: rename(&moved.name), old, new };
                touched |= *moved != before;
            }
            changed += u64::from(touched);
        }
        changed
    }
}

/// Says whether a text reads as a value whose long strings are links.
fn agrees(text: &str, body: &Value) -> Result<bool> {
    let Ok((mut read, _)) = json::parse_first(text, json::Rigour::Lenient) else {
        return Ok(false);
    };
    let (mut body, mut blobs) = (body.clone(), Vec::new());
    object::lift(&mut read, &mut blobs)?;
    object::lift(&mut body, &mut blobs)?;
    Ok(read == body)
}

/// Lists the refs that have another value now, or none.
pub(super) fn moved<'a>(
    refs: &'a BTreeMap<RefName, RefValue>,
    mended: &BTreeMap<RefName, RefValue>,
) -> Vec<&'a RefName> {
    let moved = refs.iter().filter(|(name, old)| mended.get(*name) != Some(*old));
    moved.map(|(name, _)| name).collect()
}

/// Lists the sessions whose refs are others now, by id.
pub(super) fn sessions_touched<'a>(names: impl Iterator<Item = &'a RefName>) -> BTreeSet<String> {
    names.filter_map(|name| name.session()).map(|(session, _)| session.to_owned()).collect()
}
