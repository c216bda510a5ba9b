//! The paths of a session that are conversations.

use std::collections::HashSet;

use crate::error::Result;
use crate::id::Id;
use crate::ops::export::Scope;
use crate::ops::part::is_on_path;
use crate::session::View;
use crate::store::Snapshot;
use crate::walk;

/// Lists the ends of the branches that no other branch goes on from, by the branches' names.
pub(super) fn ends(view: &View<'_>, scope: Scope) -> Result<Vec<Id>> {
    if let Scope::Path(end) = scope {
        return Ok(vec![end]);
    }
    let mut found = leaves(view)?;
    if let Scope::Subtree(root) = scope {
        let mut within = Vec::new();
        for end in found {
            if is_on_path(view.snapshot, root, end)? {
                within.push(end);
            }
        }
        found = if within.is_empty() { vec![root] } else { within };
    }
    Ok(found)
}

/// Lists the entries before each compaction on a path: where more was shown than is now.
pub(super) fn before_compactions(snapshot: &dyn Snapshot, end: Id) -> Result<Vec<Id>> {
    let path = snapshot.labels(&end, usize::MAX)?;
    let pairs = path.windows(2).rev();
    Ok(pairs.filter(|pair| &*pair[0].1 == "compaction").map(|pair| pair[1].0).collect())
}

/// Says whether an entry is within a scope.
pub(super) fn is_within(snapshot: &dyn Snapshot, entry: Id, scope: Scope) -> Result<bool> {
    match scope {
        Scope::Session => Ok(true),
        Scope::Path(end) => is_on_path(snapshot, entry, end),
        Scope::Subtree(root) => {
            Ok(is_on_path(snapshot, entry, root)? || is_on_path(snapshot, root, entry)?)
        }
    }
}

/// Passes each entry once, and forgets the ends that others go on from.
fn leaves(view: &View<'_>) -> Result<Vec<Id>> {
    let mut passed: HashSet<Id> = HashSet::new();
    let mut leaves: Vec<Id> = Vec::new();
    for (_, end) in view.branches()? {
        if passed.contains(&end) {
            continue;
        }
        for id in walk::path(view.snapshot, end) {
            let id = id?;
            if !passed.insert(id) {
                leaves.retain(|leaf| *leaf != id);
                break;
            }
        }
        leaves.push(end);
    }
    Ok(leaves)
}
