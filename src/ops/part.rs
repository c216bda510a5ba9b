//! Where paths part: the last entry that they share, and what each has after it.
//!
//! Only first parents count: what was merged in is not part of a path.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::Snapshot;

/// How many entries of two paths are compared at first, and at the most.
const STRIDE_MIN: usize = 16;
const STRIDE_MAX: usize = 4096;

/// Finds the last entry that all paths share; `None` if they share nothing.
pub(super) fn fork_point(snapshot: &dyn Snapshot, ends: &[Id]) -> Result<Option<Id>> {
    let Some((first, others)) = ends.split_first() else {
        return Ok(None);
    };
    let mut point = *first;
    for other in others {
        match of_two(snapshot, point, *other)? {
            Some(found) => point = found,
            None => return Ok(None),
        }
    }
    Ok(Some(point))
}

fn of_two(snapshot: &dyn Snapshot, one: Id, other: Id) -> Result<Option<Id>> {
    let (one_depth, other_depth) = (depth(snapshot, one)?, depth(snapshot, other)?);
    let shared = one_depth.min(other_depth);
    let mut one = back(snapshot, one, one_depth - shared)?;
    let mut other = back(snapshot, other, other_depth - shared)?;
    let mut stride = STRIDE_MIN;
    loop {
        let (ones, others) = (snapshot.path(&one, stride)?, snapshot.path(&other, stride)?);
        let met = ones.iter().zip(&others).find(|(one, other)| one == other);
        if let Some((id, _)) = met {
            return Ok(Some(*id));
        }
        match (ones.last(), others.last()) {
            (Some(one_last), Some(other_last)) if ones.len() == stride => {
                (one, other) = (*one_last, *other_last);
            }
            _ => return Ok(None),
        }
        stride = (4 * stride).min(STRIDE_MAX);
    }
}

/// Goes back so many first parents.
fn back(snapshot: &dyn Snapshot, from: Id, steps: u64) -> Result<Id> {
    let limit = usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(1);
    let path = snapshot.path(&from, limit)?;
    path.last().copied().ok_or(Error::ObjectMissing { id: from })
}

/// Says whether an entry is on the path of another, or the same.
pub(super) fn is_on_path(snapshot: &dyn Snapshot, entry: Id, end: Id) -> Result<bool> {
    match depth(snapshot, end)?.checked_sub(depth(snapshot, entry)?) {
        Some(steps) => Ok(back(snapshot, end, steps)? == entry),
        None => Ok(false),
    }
}

/// Counts the first parents before an entry.
pub(super) fn depth(snapshot: &dyn Snapshot, id: Id) -> Result<u64> {
    Ok(snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?.depth)
}

/// Lists what a path has after an entry of it, or all of it, oldest first.
pub(super) fn since(snapshot: &dyn Snapshot, end: Id, point: Option<Id>) -> Result<Vec<Id>> {
    let before = point.map(|id| depth(snapshot, id)).transpose()?.map_or(0, |depth| depth + 1);
    let count = (depth(snapshot, end)? + 1).saturating_sub(before);
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let mut path = if limit == 0 { Vec::new() } else { snapshot.path(&end, limit)? };
    path.reverse();
    Ok(path)
}
