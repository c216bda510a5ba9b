//! Where an answer was replaced by another, or judged, and which one is the better.
//!
//! A branch or a session that was made by an edit or a retry replaces what its record names. What
//! has a label `winner` or `chosen` is better than all that it parted from. Several entries of a
//! session can be judged: `good-2` or `winner/fast` says the same as `good` and `winner`.
//!
//! Labels decide: `winner`, `chosen` and `good` against `rejected` and `bad`. Where they do not,
//! the side that the active branch is on has survived; else the newer one is better.

use std::collections::HashSet;

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::ops::export::Scope;
use crate::ops::export::training::answer::asks;
use crate::ops::export::training::paths::is_within;
use crate::ops::export::training::sieve::Sieve;
use crate::ops::part::{fork_point, is_on_path, since};
use crate::session::View;
use crate::walk;

/// The labels of what is better than all that it parted from.
const WINNER_LABELS: [&str; 2] = ["winner", "chosen"];
/// The label of an answer that is good by itself.
const GOOD_LABEL: &str = "good";
/// The label of an answer that is bad by itself.
const BAD_LABEL: &str = "bad";
/// The label of what lost.
const REJECTED_LABEL: &str = "rejected";

/// The keys under which an edit and a retry name what they replace.
const REPLACED_KEYS: [&str; 2] = ["edits", "retries"];

/// A place where one way on is better than another.
pub(super) struct Fork {
    /// The last entry that both share.
    pub(super) at: Option<Id>,
    pub(super) chosen: Side,
    pub(super) rejected: Side,
}

/// A way on from a fork.
pub(super) struct Side {
    pub(super) session: String,
    /// Its first entry.
    pub(super) first: Id,
    /// Where it ends.
    pub(super) end: Id,
}

/// Lists the places where one way on is better than another, each pair once.
pub(super) fn forks(view: &View<'_>, scope: Scope, sieve: &Sieve<'_>) -> Result<Vec<Fork>> {
    let mut found = Vec::new();
    for (branch, end) in view.branches()? {
        let Some(record) = view.record(&branch)? else {
            continue;
        };
        if sieve.takes_reason(record.reason.as_deref())
            && let Some(newer) = side(view, record.at, end)?
            && let Some(older) =
                replaced(view, record.at, &record.metadata, record.parent.as_deref(), &newer)?
        {
            found.push(judged(view, record.at, newer, older)?);
        }
    }
    found.extend(from_session(view, sieve)?);
    found.extend(won(view, sieve)?);
    let mut seen = HashSet::new();
    let mut within = Vec::new();
    for fork in found {
        let (chosen, rejected) = (fork.chosen.first, fork.rejected.first);
        let is_within =
            is_within(view.snapshot, chosen, scope)? || is_within(view.snapshot, rejected, scope)?;
        if is_within && seen.insert((chosen, rejected)) {
            within.push(fork);
        }
    }
    Ok(within)
}

/// Lists the answers that have a label that says whether they are good, with what they follow.
pub(super) fn labelled(
    view: &View<'_>,
    scope: Scope,
    sieve: &Sieve<'_>,
) -> Result<Vec<(Option<Id>, Side, bool)>> {
    let mut found = Vec::new();
    for (label, end) in view.labels()? {
        let is_good = is_word(&label, GOOD_LABEL);
        if !is_good && !is_word(&label, BAD_LABEL)
            || !is_within(view.snapshot, end, scope)?
            || !sieve.takes_branch(end)?
        {
            continue;
        }
        let mut first = end;
        let mut at = None;
        for id in walk::path(view.snapshot, end) {
            let id = id?;
            if asks(view.snapshot, &id, &sieve.options.roles)? {
                at = Some(id);
                break;
            }
            first = id;
        }
        let side = Side { session: view.id().to_owned(), first, end };
        found.push((at, side, is_good));
    }
    Ok(found)
}

/// Looks at what the session itself replaces in the one that it was forked from.
fn from_session(view: &View<'_>, sieve: &Sieve<'_>) -> Result<Vec<Fork>> {
    let mut found = Vec::new();
    let Some(fork) = view.meta()?.fork else {
        return Ok(found);
    };
    let parent = View::of(view.snapshot, &fork.session);
    let (true, Ok(parent)) = (sieve.takes_reason(fork.reason.as_deref()), parent) else {
        return Ok(found);
    };
    for (_, end) in view.branches()? {
        if let Some(newer) = side(view, fork.entry, end)?
            && let Some(older) = replaced(&parent, fork.entry, &fork.metadata, None, &newer)?
        {
            found.push(judged(view, fork.entry, newer, older)?);
        }
    }
    Ok(found)
}

/// Looks at all that parted from what has a winner's label.
fn won(view: &View<'_>, sieve: &Sieve<'_>) -> Result<Vec<Fork>> {
    let mut found = Vec::new();
    for (label, entry) in view.labels()? {
        let is_winner = WINNER_LABELS.iter().any(|word| is_word(&label, word));
        if !is_winner || !sieve.takes_branch(entry)? {
            continue;
        }
        let best = through(view, entry, None)?;
        for (_, end) in view.branches()? {
            let at = fork_point(view.snapshot, &[entry, end])?;
            let (winner, other) = (side(view, at, best)?, side(view, at, end)?);
            if let (Some(winner), Some(other)) = (winner, other)
                && winner.first != other.first
            {
                found.push(judged(view, at, winner, other)?);
            }
        }
    }
    Ok(found)
}

/// Finds the way on from an entry to an end; `None` if there is none.
fn side(view: &View<'_>, at: Option<Id>, end: Id) -> Result<Option<Side>> {
    if let Some(at) = at
        && !is_on_path(view.snapshot, at, end)?
    {
        return Ok(None);
    }
    let first = since(view.snapshot, end, at)?.first().copied();
    Ok(first.map(|first| Side { session: view.id().to_owned(), first, end }))
}

/// Finds what something newer replaces: what its metadata names, else what the branch that it came
/// from, or any other, says there.
fn replaced(
    view: &View<'_>,
    at: Option<Id>,
    metadata: &Value,
    parent: Option<&str>,
    newer: &Side,
) -> Result<Option<Side>> {
    let named = REPLACED_KEYS.iter().find_map(|key| metadata.get(key)?.as_link());
    if let Some(first) = named.filter(|first| Some(*first) != at) {
        let end = through(view, first, parent)?;
        return Ok(Some(Side { session: view.id().to_owned(), first, end }));
    }
    let mut branches = view.branches()?;
    branches.sort_by_key(|(name, _)| Some(name.as_str()) != parent);
    for (_, end) in branches {
        let older = side(view, at, end)?.filter(|older| older.first != newer.first);
        if older.is_some() {
            return Ok(older);
        }
    }
    Ok(None)
}

/// Finds the end of a branch that an entry is on: rather of this one, or of the active one; itself
/// if it is on none.
fn through(view: &View<'_>, entry: Id, rather: Option<&str>) -> Result<Id> {
    let active = view.active()?;
    let mut branches = view.branches()?;
    branches.sort_by_key(|(name, _)| {
        (Some(name.as_str()) != rather, Some(name.as_str()) != active.as_deref())
    });
    for (_, end) in branches {
        if is_on_path(view.snapshot, entry, end)? {
            return Ok(end);
        }
    }
    Ok(entry)
}

/// Decides which of two sides is the better.
fn judged(view: &View<'_>, at: Option<Id>, newer: Side, older: Side) -> Result<Fork> {
    let (one, other) = (standing(view, &newer)?, standing(view, &older)?);
    let is_newer_better = match one == other {
        true => !survives(view, &older)?,
        false => one > other,
    };
    let (chosen, rejected) = match is_newer_better {
        true => (newer, older),
        false => (older, newer),
    };
    Ok(Fork { at, chosen, rejected })
}

/// Gives what labels say of a side: it won, it lost, or nothing.
fn standing(view: &View<'_>, side: &Side) -> Result<i32> {
    let mut standing = 0;
    for (label, entry) in View::of(view.snapshot, &side.session)?.labels()? {
        let is_any = |words: &[&str]| words.iter().any(|word| is_word(&label, word));
        let says = i32::from(is_any(&WINNER_LABELS) || is_word(&label, GOOD_LABEL))
            - i32::from(is_any(&[BAD_LABEL, REJECTED_LABEL]));
        if says != 0 && is_on_path(view.snapshot, side.first, entry)? {
            standing += says;
        }
    }
    Ok(standing.signum())
}

/// Says whether the active branch of the session is on a side.
fn survives(view: &View<'_>, side: &Side) -> Result<bool> {
    if side.session != view.id() {
        return Ok(false);
    }
    let active = view.active()?.map(|branch| view.branch(&branch)).transpose()?.flatten();
    active.map_or(Ok(false), |end| is_on_path(view.snapshot, side.first, end))
}

/// Says whether a label is a word, or begins with it: `good`, `good-2`, `good/short`.
fn is_word(label: &str, word: &str) -> bool {
    label.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
