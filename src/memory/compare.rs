//! What two memories know that the other does not.

use crate::error::Result;
use crate::id::Id;
use crate::memory::resolve::{Known, latest, resolve};
use crate::store::Snapshot;

/// A difference between two memories.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Only the first knows it.
    Removed(Known),
    /// Only the second knows it.
    Added(Known),
    /// Both have the key, with other values.
    Changed(Known, Known),
}

/// Compares the latest facts at two nodes: first what changed or is gone, then what came.
pub fn diff(
    snapshot: &dyn Snapshot,
    one: Option<Id>,
    other: Option<Id>,
) -> Result<Vec<Difference>> {
    let one = latest(resolve(snapshot, one)?);
    let other = latest(resolve(snapshot, other)?);
    let twin = |fact: &Known, among: &[Known]| -> Option<usize> {
        among.iter().position(|found| match (&fact.key, &found.key) {
            (Some(key), Some(found)) => key == found,
            (None, None) => fact.value == found.value,
            _ => false,
        })
    };
    let mut differences = Vec::new();
    for fact in &one {
        match twin(fact, &other).map(|place| &other[place]) {
            None => differences.push(Difference::Removed(fact.clone())),
            Some(found) if found.value != fact.value => {
                differences.push(Difference::Changed(fact.clone(), found.clone()));
            }
            Some(_) => {}
        }
    }
    let added = other.iter().filter(|fact| twin(fact, &one).is_none());
    differences.extend(added.cloned().map(Difference::Added));
    Ok(differences)
}
