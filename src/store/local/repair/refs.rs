//! What the refs are to be: each at the newest value, or the newest ancestor of one, of which
//! nothing is missing.
//!
//! The values that a ref took are gathered in their order: the snapshot's, then those of the
//! journal's groups. Where a group or the snapshot is damaged, the mirror files are asked too (in
//! `hearsay`), and where all of that leads to nothing whole, the log of operations.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::Result;
use crate::id::{Id, Kind};
use crate::object::{NewObject, Session};
use crate::store::local::segment::salvage::FoundGroup;
use crate::store::{RefName, RefValue, SYMBOLIC_DEPTH_MAX};

use super::hearsay::Hearsay;
use super::survey::{FoundSegment, Survey};

/// How many objects between a lost value and the one that took its place are named.
const LISTED_MAX: usize = 10_000;

/// The values that a ref took, oldest first; `None` where there was no such ref.
pub(super) type Values = Vec<Option<RefValue>>;

/// What the refs are to be.
#[derive(Default)]
pub(super) struct Refs {
    pub(super) values: BTreeMap<RefName, RefValue>,
    /// Those that can't stay where they were.
    pub(super) moved: Vec<MovedRef>,
    /// How many were made for what nothing leads to any more.
    pub(super) rescued: usize,
    /// Metadata of sessions that was lost, made anew.
    pub(super) made: Vec<NewObject>,
}

impl Refs {
    /// Sets a ref that has no value.
    fn come_to(&mut self, name: RefName, value: RefValue) {
        self.values.insert(name.clone(), value.clone());
        match self.moved.iter_mut().find(|item| item.name == name) {
            Some(item) => item.new = Some(value),
            None => {
                self.moved.push(MovedRef { name, old: None, new: Some(value), passed: Vec::new() });
            }
        }
    }
}

/// A ref that can't stay where it was.
pub(super) struct MovedRef {
    pub(super) name: RefName,
    pub(super) old: Option<RefValue>,
    pub(super) new: Option<RefValue>,
    /// The numbers of the objects on the path from the old value to the new one, newest first.
    pub(super) passed: Vec<u32>,
}

impl Survey<'_> {
    /// Says whether every move of a ref that was durable is known.
    pub(super) fn knows_all_moves(&self) -> bool {
        let segments = self.segments.iter();
        let mut segments = segments.map(|segment| segment.remains.as_ref());
        self.manifest.is_some()
            && self.snapshot.is_whole
            && segments.all(|remains| remains.is_some_and(|remains| remains.damage.is_empty()))
    }

    /// Works out what the refs are to be.
    pub(super) fn refs(&self, time: i64) -> Result<Refs> {
        let hearsay = self.hearsay();
        let mut known = self.values(&hearsay);
        self.ask_mirrors(&hearsay, &mut known);
        let broken = known.iter().filter(|(name, values)| {
            let newest = values.last().cloned().flatten();
            newest.is_some_and(|value| !self.fits(name, &value))
        });
        let broken: BTreeSet<RefName> = broken.map(|(name, _)| name.clone()).collect();
        let logged = self.logged(&broken);
        let mut refs = Refs::default();
        for (name, values) in &known {
            let Some(newest) = values.last().cloned().flatten() else {
                continue;
            };
            if !broken.contains(name) {
                refs.values.insert(name.clone(), newest);
                continue;
            }
            let older = logged.get(name).map_or(&[][..], Vec::as_slice);
            let found = self.newest_whole(name, values, older);
            refs.values.extend(found.as_ref().map(|(value, _)| (name.clone(), value.clone())));
            let (new, passed) = match found {
                Some((value, passed)) => (Some(value), passed),
                None => (None, self.passed(&newest)),
            };
            refs.moved.push(MovedRef { name: name.clone(), old: Some(newest), new, passed });
        }
        self.settle_sessions(&mut refs, time)?;
        self.complete_sessions(&mut refs, time)?;
        drop_circles(&mut refs);
        Ok(refs)
    }

    /// Says whether a ref may have a value: nothing that it leads to is missing.
    pub(super) fn fits(&self, name: &RefName, value: &RefValue) -> bool {
        match value {
            RefValue::Symbolic(_) => true,
            RefValue::Id(id) => self.inventory.is_closed(id) && self.is_of_kind(name, id),
        }
    }

    fn is_of_kind(&self, name: &RefName, id: &Id) -> bool {
        let expected = name.target_kind();
        expected.is_none() || self.inventory.kind(id) == expected
    }

    /// Gathers the values that refs took.
    fn values(&self, hearsay: &Hearsay) -> BTreeMap<RefName, Values> {
        let mut known: BTreeMap<RefName, Values> = BTreeMap::new();
        let before = if self.manifest.is_some() { 0 } else { self.sealed_segments() };
        let (sealed, journal) = self.segments.split_at(before);
        groups(sealed).for_each(|group| self.apply(group, hearsay, &mut known));
        if self.snapshot.is_whole {
            known.values_mut().for_each(|values| values.push(None));
        }
        for found in &self.snapshot.refs {
            if found.is_sound || self.is_likely(hearsay, &found.name, Some(&found.value)) {
                known.entry(found.name.clone()).or_default().push(Some(found.value.clone()));
            }
        }
        groups(journal).for_each(|group| self.apply(group, hearsay, &mut known));
        known
    }

    fn apply(&self, group: &FoundGroup, hearsay: &Hearsay, known: &mut BTreeMap<RefName, Values>) {
        for item in &group.moves {
            let values = known.get(&item.name);
            let now = values.and_then(|values| values.last().cloned().flatten());
            let is_likely = || self.is_likely(hearsay, &item.name, item.new.as_ref());
            if !(group.is_sound || now == item.old && is_likely()) {
                continue;
            }
            let values = known.entry(item.name.clone()).or_default();
            if item.old.is_some() && now != item.old {
                // What led from the one to the other is lost.
                values.push(item.old.clone());
            }
            values.push(item.new.clone());
        }
    }

    /// Finds how many segments the snapshot covers already, where no manifest says it: those after
    /// which refs are what the snapshot says, and before which others begin with that.
    fn sealed_segments(&self) -> usize {
        let refs = self.snapshot.refs.iter().map(|found| (&found.name, &found.value));
        let refs: HashMap<&RefName, &RefValue> = refs.collect();
        let mut best = (i64::MIN, 0);
        for count in 0..=self.segments.len() {
            let (sealed, journal) = self.segments.split_at(count);
            let (mut last, mut first) = (HashMap::new(), HashMap::new());
            for item in groups(sealed).flat_map(|group| &group.moves) {
                last.insert(&item.name, &item.new);
            }
            for item in groups(journal).flat_map(|group| &group.moves) {
                first.entry(&item.name).or_insert(&item.old);
            }
            let score = last.iter().chain(&first).map(|(name, value)| {
                if refs.get(*name).copied() == value.as_ref() { 1 } else { -1 }
            });
            best = best.max((score.sum(), count));
        }
        best.1
    }

    /// Gathers what the log of operations says of some refs, oldest first.
    pub(super) fn logged(&self, names: &BTreeSet<RefName>) -> HashMap<RefName, Values> {
        let mut logged: HashMap<RefName, Values> = HashMap::new();
        if names.is_empty() {
            return logged;
        }
        let operations = self.logs.iter().flat_map(|log| &log.operations);
        for item in operations.flat_map(|operation| &operation.moves) {
            if names.contains(&item.name) {
                let values = logged.entry(item.name.clone()).or_default();
                values.extend([item.old.clone(), item.new.clone()]);
            }
        }
        logged
    }

    /// Finds the newest value of a ref, or its newest ancestor, of which nothing is missing; with
    /// what lies between the newest of all and that.
    fn newest_whole(
        &self,
        name: &RefName,
        values: &[Option<RefValue>],
        logged: &[Option<RefValue>],
    ) -> Option<(RefValue, Vec<u32>)> {
        let (mut passed, mut seen) = (Vec::new(), HashSet::new());
        for value in values.iter().rev().chain(logged.iter().rev()) {
            let id = match value {
                // Before this, it was another ref of the same name.
                None => break,
                Some(RefValue::Symbolic(target)) => {
                    return Some((RefValue::Symbolic(target.clone()), passed));
                }
                Some(RefValue::Id(id)) => id,
            };
            for number in self.inventory.path(id) {
                let step = self.inventory.id_of(number);
                if self.fits(name, &RefValue::Id(step)) {
                    return Some((RefValue::Id(step), passed));
                }
                if !seen.insert(number) {
                    // From here on it was walked before.
                    break;
                }
                if passed.len() < LISTED_MAX {
                    passed.push(number);
                }
            }
        }
        None
    }

    /// Lists what lies before a value on its path.
    fn passed(&self, value: &RefValue) -> Vec<u32> {
        match value {
            RefValue::Id(id) => self.inventory.path(id).take(LISTED_MAX).collect(),
            RefValue::Symbolic(_) => Vec::new(),
        }
    }

    /// Makes the refs of each session fit each other where one of them has moved.
    fn settle_sessions(&self, refs: &mut Refs, time: i64) -> Result<()> {
        let moved = refs.moved.iter().filter_map(|item| item.name.session());
        let moved: BTreeSet<(String, String)> =
            moved.map(|(session, rest)| (session.to_owned(), rest.to_owned())).collect();
        for (session, rest) in &moved {
            if let Some(branch) = rest.strip_prefix("heads/") {
                // A shortcut to what was known where the branch ended.
                let name = RefName::of_session(session, &format!("memory/{branch}"))?;
                if let Some(old) = refs.values.remove(&name) {
                    let (old, new, passed) = (Some(old), None, Vec::new());
                    refs.moved.push(MovedRef { name, old, new, passed });
                }
            }
            if rest == "meta" {
                self.make_metadata(refs, session, time)?;
            }
        }
        let sessions: BTreeSet<&String> = moved.iter().map(|(session, _)| session).collect();
        sessions.into_iter().try_for_each(|session| self.settle_tip(refs, session))
    }

    /// Finds metadata for a session that has none, or makes some: without, the session would be
    /// gone.
    fn make_metadata(&self, refs: &mut Refs, session: &str, time: i64) -> Result<()> {
        let name = RefName::of_session(session, "meta")?;
        if refs.values.contains_key(&name) {
            return Ok(());
        }
        let logged = self.logged(&BTreeSet::from([name.clone()])).remove(&name).unwrap_or_default();
        let any = self.metadata.get(session).map(|id| Some(RefValue::Id(*id)));
        let values: Values = any.into_iter().chain(logged).collect();
        let value = match self.newest_whole(&name, &values, &[]) {
            Some((known, _)) => known,
            None => {
                let object = Session::new(session, time).encode()?;
                refs.made.push(object.clone());
                RefValue::Id(object.id())
            }
        };
        refs.come_to(name, value);
        Ok(())
    }

    /// Gives sessions whose metadata is there what they can't do without, where nobody knows which
    /// refs there were.
    fn complete_sessions(&self, refs: &mut Refs, time: i64) -> Result<()> {
        if self.knows_all_moves() {
            return Ok(());
        }
        let mut branches: BTreeMap<String, Option<RefName>> = BTreeMap::new();
        for name in refs.values.keys() {
            let Some((session, rest)) = name.session() else {
                continue;
            };
            if !self.metadata.contains_key(session) {
                continue;
            }
            let branch = branches.entry(session.to_owned()).or_default();
            if rest == "heads/main" || branch.is_none() && rest.starts_with("heads/") {
                *branch = Some(name.clone());
            }
        }
        for (session, branch) in branches {
            self.make_metadata(refs, &session, time)?;
            let head = RefName::of_session(&session, "HEAD")?;
            if let Some(branch) = branch
                && !refs.values.contains_key(&head)
            {
                refs.come_to(head, RefValue::Symbolic(branch));
            }
        }
        Ok(())
    }

    /// Lets the transcript go on from where its latest event says, if its tip is elsewhere.
    fn settle_tip(&self, refs: &mut Refs, session: &str) -> Result<()> {
        let name = RefName::of_session(session, "tip")?;
        let events = refs.values.get(&RefName::of_session(session, "events")?);
        let Some(RefValue::Id(event)) = events else {
            return Ok(());
        };
        let Some(Some(begin)) = self.hangs_on.get(event) else {
            return Ok(());
        };
        let begin_number = self.inventory.number_of(begin);
        let follows = match refs.values.get(&name) {
            Some(RefValue::Id(tip)) => {
                self.inventory.path(tip).any(|step| Some(step) == begin_number)
            }
            _ => false,
        };
        if !follows && self.inventory.kind(begin) == Some(Kind::Entry) {
            let old = refs.values.insert(name.clone(), RefValue::Id(*begin));
            match refs.moved.iter_mut().find(|item| item.name == name) {
                Some(item) => item.new = Some(RefValue::Id(*begin)),
                None => {
                    let (new, passed) = (Some(RefValue::Id(*begin)), Vec::new());
                    refs.moved.push(MovedRef { name, old, new, passed });
                }
            }
        }
        Ok(())
    }
}

/// Gives the groups of segments, in order.
pub(super) fn groups(segments: &[FoundSegment]) -> impl Iterator<Item = &FoundGroup> {
    let remains = segments.iter().filter_map(|segment| segment.remains.as_ref());
    remains.flat_map(|remains| &remains.groups)
}

/// Drops symbolic refs that lead nowhere.
fn drop_circles(refs: &mut Refs) {
    let symbolic = refs.values.iter().filter(|(_, value)| matches!(value, RefValue::Symbolic(_)));
    let names: Vec<RefName> = symbolic.map(|(name, _)| name.clone()).collect();
    for name in names {
        let mut now = &name;
        let mut steps = 0;
        while let Some(RefValue::Symbolic(next)) = refs.values.get(now)
            && steps <= SYMBOLIC_DEPTH_MAX
        {
            (now, steps) = (next, steps + 1);
        }
        if steps > SYMBOLIC_DEPTH_MAX {
            let old = refs.values.remove(&name);
            refs.moved.push(MovedRef { name, old, new: None, passed: Vec::new() });
        }
    }
}
