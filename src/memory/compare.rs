//! What two memories know that the other does not.

use std::collections::HashMap;

use crate::codec::json;
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
    let (one_twins, other_twins) = (twins(&one), twins(&other));
    let mut differences = Vec::new();
    for fact in &one {
        match other_twins.get(&identity(fact)) {
            None => differences.push(Difference::Removed(fact.clone())),
            Some(found) if found.value != fact.value => {
                differences.push(Difference::Changed(fact.clone(), (*found).clone()));
            }
            Some(_) => {}
        }
    }
    let added = other.iter().filter(|fact| !one_twins.contains_key(&identity(fact)));
    differences.extend(added.cloned().map(Difference::Added));
    Ok(differences)
}

/// Finds facts by what makes two the same: the key, or else the value.
fn twins(facts: &[Known]) -> HashMap<(bool, String), &Known> {
    // The first of equals.
    facts.iter().rev().map(|fact| (identity(fact), fact)).collect()
}

fn identity(fact: &Known) -> (bool, String) {
    match &fact.key {
        Some(key) => (true, key.clone()),
        None => (false, json::to_string(&fact.value)),
    }
}
