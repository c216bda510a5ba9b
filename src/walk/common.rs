//! Common ancestors.
//!
//! Two colours run down the history from two starts. What gets both is common; what lies below
//! something common is stale, and no longer of interest. The walk goes on while anything of one
//! colour only is open. Times merely decide what is looked at first, so a wrong clock costs steps,
//! never a wrong answer: a best common ancestor is reached from either side through objects of one
//! colour only, and those are all walked.

use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::error::Result;
use crate::id::Id;
use crate::store::Snapshot;
use crate::walk::topology;

const FROM_ONE: u8 = 1;
const FROM_OTHER: u8 = 2;
const COMMON: u8 = FROM_ONE | FROM_OTHER;
const STALE: u8 = 4;

/// Finds the best common ancestors: those that are no ancestor of another common one.
///
/// An object counts as its own ancestor. The ids are sorted; there may be several, or none.
pub fn merge_bases(snapshot: &dyn Snapshot, one: &Id, other: &Id) -> Result<Vec<Id>> {
    let mut bases = paint(snapshot, one, other)?;
    if bases.len() > 1 {
        drop_ancestors(snapshot, &mut bases)?;
    }
    bases.sort_unstable();
    Ok(bases)
}

/// Says whether `ancestor` is reached from `descendant` by any parents, or is the same.
pub fn is_ancestor(snapshot: &dyn Snapshot, ancestor: &Id, descendant: &Id) -> Result<bool> {
    Ok(is_on_path(snapshot, ancestor, descendant)?
        || paint(snapshot, ancestor, descendant)?.contains(ancestor))
}

/// Says whether first parents alone lead to an ancestor, which costs no look at what lies between.
pub fn is_on_path(snapshot: &dyn Snapshot, ancestor: &Id, descendant: &Id) -> Result<bool> {
    let (above, below) = (topology(snapshot, ancestor)?, topology(snapshot, descendant)?);
    let Some(steps) = below.depth.checked_sub(above.depth) else {
        return Ok(false);
    };
    let limit = usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(1);
    Ok(snapshot.path(descendant, limit)?.last() == Some(ancestor))
}

/// Finds all best common ancestors, and perhaps some that are not the best.
fn paint(snapshot: &dyn Snapshot, one: &Id, other: &Id) -> Result<Vec<Id>> {
    let mut walk = Painting { snapshot, marks: HashMap::new(), open: BinaryHeap::new(), fresh: 0 };
    walk.mark(*one, FROM_ONE)?;
    walk.mark(*other, FROM_OTHER)?;
    let mut candidates = Vec::new();
    while walk.fresh > 0
        && let Some((_, _, id)) = walk.open.pop()
    {
        let mark = walk.marks.get_mut(&id).expect("what is open has a mark");
        mark.open = false;
        let mut colours = mark.colours;
        if colours & STALE == 0 {
            walk.fresh -= 1;
        }
        if colours == COMMON {
            candidates.push(id);
            colours |= STALE;
        }
        for parent in topology(snapshot, &id)?.parents {
            walk.mark(parent, colours)?;
        }
    }
    candidates.retain(|id| walk.marks[id].colours & STALE == 0);
    Ok(candidates)
}

struct Painting<'a> {
    snapshot: &'a dyn Snapshot,
    marks: HashMap<Id, Mark>,
    /// Newest first, by time, then depth.
    open: BinaryHeap<(i64, u64, Id)>,
    /// How many of the open ones are not stale.
    fresh: usize,
}

struct Mark {
    colours: u8,
    open: bool,
    time: i64,
    depth: u64,
}

impl Painting<'_> {
    /// Adds colours to an object, and opens it if it had not all of them.
    fn mark(&mut self, id: Id, colours: u8) -> Result<()> {
        if !self.marks.contains_key(&id) {
            let topology = topology(self.snapshot, &id)?;
            let mark = Mark { colours: 0, open: false, time: topology.time, depth: topology.depth };
            self.marks.insert(id, mark);
        }
        let mark = self.marks.get_mut(&id).expect("it was just put there");
        if mark.colours & colours == colours {
            return Ok(());
        }
        let was_fresh = mark.open && mark.colours & STALE == 0;
        mark.colours |= colours;
        let is_fresh = mark.colours & STALE == 0;
        if !mark.open {
            mark.open = true;
            self.open.push((mark.time, mark.depth, id));
        }
        match (was_fresh, is_fresh) {
            (false, true) => self.fresh += 1,
            (true, false) => self.fresh -= 1,
            _ => {}
        }
        Ok(())
    }
}

/// Drops the candidates that another one descends from.
fn drop_ancestors(snapshot: &dyn Snapshot, candidates: &mut Vec<Id>) -> Result<()> {
    let mut seen: HashSet<Id> = HashSet::new();
    let mut open = candidates.clone();
    while let Some(id) = open.pop() {
        let parents = topology(snapshot, &id)?.parents;
        open.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
    }
    candidates.retain(|id| !seen.contains(id));
    Ok(())
}
