//! All ancestors over several parents, children before parents.
//!
//! While only one object is open, everything left is its ancestor, so it comes next for certain and
//! is handed out at once: a history without merges streams. From the first fork on, or when some
//! ancestors are hidden, the rest is collected and sorted.

use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::error::Result;
use crate::id::Id;
use crate::store::{Snapshot, Topology};
use crate::walk::{circle, topology};

/// Walks all ancestors of `starts`, themselves included, without those of `hide`, newest first.
///
/// A child always comes before its parents; between those that may come next, the later time wins,
/// then the greater depth. Hiding looks at every ancestor of what is hidden.
pub fn ancestors<'a>(
    snapshot: &'a dyn Snapshot,
    starts: &[Id],
    hide: &[Id],
) -> Result<Ancestors<'a>> {
    let hidden = if starts.is_empty() { HashSet::new() } else { all(snapshot, hide)? };
    let mut seen = HashSet::new();
    let open = starts.iter().copied();
    let open = open.filter(|id| !hidden.contains(id) && seen.insert(*id));
    Ok(Ancestors { snapshot, open: open.collect(), hidden, steps: 0, landmark: None, sorted: None })
}

/// The ids of an ancestry, newest first.
pub struct Ancestors<'a> {
    snapshot: &'a dyn Snapshot,
    /// What comes next while the history is one line.
    open: Vec<Id>,
    hidden: HashSet<Id>,
    /// An id passed some steps ago; to meet it again is to walk in a circle.
    landmark: Option<Id>,
    steps: u64,
    sorted: Option<std::vec::IntoIter<Id>>,
}

impl Ancestors<'_> {
    fn step(&mut self) -> Result<Option<Id>> {
        if let Some(sorted) = &mut self.sorted {
            return Ok(sorted.next());
        }
        if self.open.len() > 1 {
            let starts = std::mem::take(&mut self.open);
            let sorted = sort(self.snapshot, &starts, &self.hidden)?;
            return Ok(self.sorted.insert(sorted.into_iter()).next());
        }
        let Some(id) = self.open.pop() else {
            return Ok(None);
        };
        if self.landmark == Some(id) {
            return Err(circle(&id));
        }
        self.steps += 1;
        if self.steps.is_power_of_two() {
            self.landmark = Some(id);
        }
        let parents = topology(self.snapshot, &id)?.parents;
        let mut seen = HashSet::new();
        let parents = parents.into_iter();
        self.open.extend(parents.filter(|id| !self.hidden.contains(id) && seen.insert(*id)));
        Ok(Some(id))
    }
}

impl Iterator for Ancestors<'_> {
    type Item = Result<Id>;

    fn next(&mut self) -> Option<Result<Id>> {
        let step = self.step();
        if step.is_err() {
            self.open.clear();
            self.sorted = Some(Vec::new().into_iter());
        }
        step.transpose()
    }
}

/// Collects all ancestors, themselves included.
fn all(snapshot: &dyn Snapshot, starts: &[Id]) -> Result<HashSet<Id>> {
    let mut seen: HashSet<Id> = starts.iter().copied().collect();
    let mut open: Vec<Id> = seen.iter().copied().collect();
    while let Some(id) = open.pop() {
        let parents = topology(snapshot, &id)?.parents;
        open.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
    }
    Ok(seen)
}

/// Sorts what is reached and not hidden, children before parents.
fn sort(snapshot: &dyn Snapshot, starts: &[Id], hidden: &HashSet<Id>) -> Result<Vec<Id>> {
    let graph = collect(snapshot, starts, hidden)?;
    let mut children: HashMap<Id, usize> = HashMap::with_capacity(graph.len());
    for topology in graph.values() {
        for parent in &topology.parents {
            *children.entry(*parent).or_default() += 1;
        }
    }
    let rank = |id: &Id| (graph[id].time, graph[id].depth, *id);
    let mut ready: BinaryHeap<(i64, u64, Id)> =
        starts.iter().filter(|id| !children.contains_key(id)).map(rank).collect();
    let mut sorted = Vec::with_capacity(graph.len());
    while let Some((_, _, id)) = ready.pop() {
        sorted.push(id);
        for parent in graph[&id].parents.iter().filter(|id| graph.contains_key(id)) {
            let left = children.get_mut(parent).expect("it was counted");
            *left -= 1;
            if *left == 0 {
                ready.push(rank(parent));
            }
        }
    }
    match starts.iter().find(|_| sorted.len() != graph.len()) {
        Some(id) => Err(circle(id)),
        None => Ok(sorted),
    }
}

fn collect(
    snapshot: &dyn Snapshot,
    starts: &[Id],
    hidden: &HashSet<Id>,
) -> Result<HashMap<Id, Topology>> {
    let mut graph = HashMap::new();
    let mut open = starts.to_vec();
    while let Some(id) = open.pop() {
        if hidden.contains(&id) || graph.contains_key(&id) {
            continue;
        }
        let topology = topology(snapshot, &id)?;
        open.extend(&topology.parents);
        graph.insert(id, topology);
    }
    Ok(graph)
}
