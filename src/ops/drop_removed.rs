//! Removed sessions that were removed too long ago to be brought back: their refs go.
//!
//! A session was removed by an operation. When that is too old to be undone, the session is, too;
//! garbage collection finds what only it led to. One of which no operation tells stays: nobody
//! knows when it went.
//!
//! Nothing is noted in the operations log: that would keep it all for as long again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::error::Result;
use crate::ops::removed::{self, DELETED};
use crate::repo::Repo;
use crate::store::{Durability, Snapshot, Transaction};

/// How many sessions go in one transaction.
const AT_ONCE: usize = 64;

/// Lists the removed sessions of which no operation speaks that stays if those before a time go,
/// and one that goes does: `deleted/s1/1`.
pub fn lapsed_removals(snapshot: &dyn Snapshot, before: i64) -> Result<Vec<String>> {
    let places: BTreeSet<String> = snapshot
        .references(&format!("{DELETED}/"))?
        .iter()
        .filter_map(|(name, _)| removed::place_of(name).map(str::to_owned))
        .collect();
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut last_told: BTreeMap<&str, u64> = BTreeMap::new();
    let mut first_kept = u64::MAX;
    snapshot.operations(&mut |record| {
        if record.operation.time >= before {
            first_kept = first_kept.min(record.number);
        }
        for place in record.moves.iter().filter_map(|moved| removed::place_of(&moved.name)) {
            if let Some(place) = places.get(place) {
                last_told.entry(place).or_insert(record.number);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let lapsed = last_told.into_iter().filter(|(_, number)| *number < first_kept);
    Ok(lapsed.map(|(place, _)| place.to_owned()).collect())
}

/// Drops the removed sessions that [`lapsed_removals`] lists, and says how many.
///
/// Stopped in the middle, the rest goes the next time.
pub fn drop_removed(repo: &Repo, before: i64) -> Result<u64> {
    let looked_at = repo.snapshot()?;
    let mut dropped = 0;
    for places in lapsed_removals(&*looked_at, before)?.chunks(AT_ONCE) {
        let mut gone = 0;
        repo.commit(Durability::Full, &mut |snapshot| {
            gone = 0;
            if has_changed(snapshot, &*looked_at)? {
                return Ok(Transaction::default());
            }
            gone = places.len() as u64;
            let mut refs = Vec::new();
            for place in places {
                for (name, _) in snapshot.references(&format!("{place}/"))? {
                    refs.push(removed::update(snapshot, name, None)?);
                }
            }
            Ok(Transaction { refs, ..Transaction::default() })
        })?;
        dropped += gone;
    }
    Ok(dropped)
}

/// Says whether a session was removed or brought back since a snapshot was taken.
fn has_changed(snapshot: &dyn Snapshot, looked_at: &dyn Snapshot) -> Result<bool> {
    let seen = last_number(looked_at)?;
    let mut changed = false;
    snapshot.operations(&mut |record| {
        if record.number <= seen {
            return Ok(ControlFlow::Break(()));
        }
        changed |= record.moves.iter().any(|moved| removed::place_of(&moved.name).is_some());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(changed)
}

fn last_number(snapshot: &dyn Snapshot) -> Result<u64> {
    let mut last = 0;
    snapshot.operations(&mut |record| {
        last = record.number;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::desk::say;
    use crate::ops::{remove_session, removed_sessions, restore_session};
    use crate::store::Operation;

    fn operation(time: i64) -> Operation {
        Operation { time, actor: "tester".to_owned(), command: "session rm".to_owned() }
    }

    fn left(repo: &Repo) -> Vec<String> {
        removed_sessions(&*repo.snapshot().unwrap()).unwrap()
    }

    #[test]
    fn what_was_removed_goes_when_its_removal_can_not_be_undone() {
        let repo = Repo::in_memory();
        for (session, removed) in [("a", 100), ("b", 200), ("c", 300)] {
            say(&repo, session, 10);
            remove_session(&repo, session, &operation(removed)).unwrap();
        }
        assert_eq!(drop_removed(&repo, i64::MIN).unwrap(), 0);
        assert_eq!(drop_removed(&repo, 100).unwrap(), 0);
        assert_eq!(drop_removed(&repo, 201).unwrap(), 2);
        assert_eq!(left(&repo), ["c/1"]);
        assert!(repo.snapshot().unwrap().references("deleted/a/").unwrap().is_empty());
        assert_eq!(drop_removed(&repo, i64::MAX).unwrap(), 1);
        assert!(left(&repo).is_empty());
    }

    #[test]
    fn what_came_back_or_went_again_is_as_young_as_that() {
        let repo = Repo::in_memory();
        for session in ["a", "b"] {
            say(&repo, session, 10);
            remove_session(&repo, session, &operation(100)).unwrap();
            restore_session(&repo, session, &operation(110)).unwrap();
        }
        remove_session(&repo, "a", &operation(500)).unwrap();
        assert_eq!(drop_removed(&repo, 400).unwrap(), 0);
        assert_eq!(left(&repo), ["a/1"]);
        assert_eq!(drop_removed(&repo, 501).unwrap(), 1);
        assert!(repo.snapshot().unwrap().references("sessions/b/").unwrap().len() > 1);
    }

    #[test]
    fn one_that_no_operation_tells_of_stays() {
        let repo = Repo::in_memory();
        say(&repo, "a", 10);
        repo.commit(Durability::Full, &mut |snapshot| {
            let refs = removed::relocate(snapshot, "sessions/a", "deleted/a/1", Vec::new())?;
            Ok(Transaction { refs, ..Transaction::default() })
        })
        .unwrap();
        assert_eq!(drop_removed(&repo, i64::MAX).unwrap(), 0);
        assert_eq!(left(&repo), ["a/1"]);
    }
}
