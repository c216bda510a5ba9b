//! What is said of refs where moves of them are lost: by mirror files, and by rows that nothing
//! vouches for.
//!
//! A power cut leaves mirrors of any age. One that says what its ref was before, by the paths of
//! the values that are known or by the log of operations, is not believed; it is a stray one then,
//! and put aside.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::store::local::mirror::Mirrors;
use crate::store::{RefName, RefValue};

use super::refs::{Values, groups};
use super::survey::Survey;

/// What is said of refs by what nothing vouches for.
#[derive(Default)]
pub(super) struct Hearsay {
    mirrors: BTreeMap<RefName, RefValue>,
    /// The refs that there may be.
    names: BTreeSet<RefName>,
}

impl Survey<'_> {
    /// Gathers which refs there may be, and the mirror files, where moves of refs are lost.
    pub(super) fn hearsay(&self) -> Hearsay {
        let mut hearsay = Hearsay::default();
        if self.knows_all_moves() {
            return hearsay;
        }
        let files = Mirrors::new(Arc::clone(&self.disk), self.layout.clone());
        hearsay.mirrors.extend(files.list());
        hearsay.names.extend(hearsay.mirrors.keys().cloned());
        // Where there are no mirrors, nothing says which names are right.
        let all = hearsay.mirrors.is_empty();
        let packed = self.snapshot.refs.iter().filter(|found| all || found.is_sound);
        hearsay.names.extend(packed.map(|found| found.name.clone()));
        let groups = groups(&self.segments).filter(|group| all || group.is_sound);
        let moved = groups.flat_map(|group| &group.moves).map(|item| item.name.clone());
        hearsay.names.extend(moved);
        hearsay
    }

    /// Says whether what nothing vouches for is likely: a ref of this name, and a value that it may
    /// have.
    pub(super) fn is_likely(
        &self,
        hearsay: &Hearsay,
        name: &RefName,
        value: Option<&RefValue>,
    ) -> bool {
        hearsay.names.contains(name)
            && match value {
                None => true,
                Some(value @ RefValue::Id(_)) => self.fits(name, value),
                Some(value @ RefValue::Symbolic(target)) => {
                    hearsay.names.contains(target) || hearsay.mirrors.get(name) == Some(value)
                }
            }
    }

    /// Takes the values of mirror files where they are newer than what is known: a power cut leaves
    /// mirrors of long ago.
    pub(super) fn ask_mirrors(&self, hearsay: &Hearsay, known: &mut BTreeMap<RefName, Values>) {
        // Operations that were sealed are older than the snapshot that a manifest names with them.
        let mut logged = match self.manifest.is_some() && self.snapshot.is_whole {
            true => self.logged(&hearsay.mirrors.keys().cloned().collect()),
            false => HashMap::new(),
        };
        for (name, value) in &hearsay.mirrors {
            let is_right = match value {
                RefValue::Id(_) => self.fits(name, value),
                // Nothing tells whether it was hit, unless what it names is there.
                RefValue::Symbolic(target) => {
                    !known.contains_key(name) && hearsay.names.contains(target)
                }
            };
            let values = known.entry(name.clone()).or_default();
            let is_removed = values.last().is_some_and(Option::is_none);
            let older = logged.remove(name).unwrap_or_default();
            let newest_first = values.iter().rev().chain(older.iter().rev());
            let is_old = is_removed || self.is_passed(newest_first, value);
            if is_right && !is_old {
                values.push(Some(value.clone()));
            }
        }
        known.retain(|_, values| !values.is_empty());
    }

    /// Says whether one of some values is another one, or has it on its path. All are asked: the
    /// path of the newest ends at what is lost.
    fn is_passed<'v>(
        &self,
        values: impl Iterator<Item = &'v Option<RefValue>>,
        value: &RefValue,
    ) -> bool {
        let mut seen = HashSet::new();
        values.flatten().any(|known| match (known, value) {
            (RefValue::Id(known), RefValue::Id(id)) => {
                let number = self.inventory.number_of(id);
                let mut path = self.inventory.path(known).take_while(|step| seen.insert(*step));
                path.any(|step| Some(step) == number)
            }
            _ => known == value,
        })
    }
}
