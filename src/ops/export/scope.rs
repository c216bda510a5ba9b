//! Which entries of a session are meant, and in which order they are told.

use std::collections::{HashMap, HashSet};

use crate::dialect::Dialect;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::export::Scope;
use crate::session::{Forest, View};
use crate::store::Snapshot;
use crate::walk;

/// Lists the paths of a session that lead through an entry: the branches and where they end. Where
/// none does, the path ends with the entry.
pub fn export_paths(snapshot: &dyn Snapshot, session: &str, root: Id) -> Result<Vec<(String, Id)>> {
    paths_below(&View::of(snapshot, session)?, root)
}

fn paths_below(view: &View<'_>, root: Id) -> Result<Vec<(String, Id)>> {
    let mut paths: Vec<(String, Id)> = Vec::new();
    let mut passed: HashSet<Id> = HashSet::new();
    for (name, end) in view.branches()? {
        let path = walk::path(view.snapshot, end).collect::<Result<Vec<_>>>()?;
        let Some(at) = path.iter().position(|id| *id == root) else {
            continue;
        };
        passed.extend(&path[..=at][1..]);
        if !paths.iter().any(|(_, known)| *known == end) {
            paths.push((name, end));
        }
    }
    // One that another goes on from is no path of its own.
    paths.retain(|(_, end)| !passed.contains(end));
    if paths.is_empty() {
        paths.push((root.to_string(), root));
    }
    Ok(paths)
}

/// Makes a path of what is below an entry, if the dialect has no trees.
pub(super) fn one_path(view: &View<'_>, dialect: &dyn Dialect, scope: Scope) -> Result<Scope> {
    match scope {
        Scope::Subtree(root) if !dialect.has_tree() => {
            only_path(view, dialect, root).map(Scope::Path)
        }
        scope => Ok(scope),
    }
}

/// Gives where the one path ends that leads through an entry; several are refused.
pub(super) fn only_path(view: &View<'_>, dialect: &dyn Dialect, root: Id) -> Result<Id> {
    match &paths_below(view, root)?[..] {
        [(_, end)] => Ok(*end),
        paths => Err(Error::Refused {
            why: format!(
                "a file of {} has one path, and {} lead on from there",
                dialect.title(),
                paths.len()
            ),
            hint: "name the end of one instead, or write a file for each: -o DIR",
        }),
    }
}

/// Says of each entry of a session whether it is on the way to a root, or below it.
pub(super) fn within(forest: &Forest, root: Option<Id>) -> Vec<bool> {
    let Some(root) = root else {
        return vec![true; forest.ids().len()];
    };
    let mut is_below: Vec<bool> = Vec::with_capacity(forest.ids().len());
    for (place, id) in forest.ids().iter().enumerate() {
        let above = forest.parent(place);
        is_below.push(*id == root || above.is_some_and(|above| is_below[above]));
    }
    let mut next = forest.place(&root);
    while let Some(place) = next {
        is_below[place] = true;
        next = forest.parent(place);
    }
    is_below
}

/// Lists entries, parents before children. What hangs beside the active path comes right behind
/// what it hangs on, so that the path's end comes last.
pub(super) fn active_last(forest: &Forest, is_in: &[bool], active: Option<usize>) -> Vec<Id> {
    let mut is_active = vec![false; is_in.len()];
    let mut next = active;
    while let Some(place) = next {
        is_active[place] = true;
        next = forest.parent(place);
    }
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for place in (0..is_in.len()).filter(|place| is_in[*place]) {
        children.entry(forest.parent(place)).or_default().push(place);
    }
    let mut open = vec![None];
    let mut entries = Vec::new();
    while let Some(place) = open.pop() {
        entries.extend(place.map(|place: usize| forest.ids()[place]));
        let below = children.remove(&place).unwrap_or_default();
        let (on, beside): (Vec<_>, Vec<_>) = below.into_iter().partition(|at| is_active[*at]);
        open.extend(on.into_iter().chain(beside.into_iter().rev()).map(Some));
    }
    entries
}
