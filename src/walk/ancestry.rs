//! All ancestors over several parents, children before parents.
//!
//! While only one object is open, everything left is its ancestor, so it comes next for certain and
//! is handed out at once: a history without merges streams. Where several are open, what lies above
//! the object in which all of them come together is collected and sorted; when some ancestors are
//! hidden, all that is left.

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
    #[inline(never)]
    fn step(&mut self) -> Result<Option<Id>> {
        if let Some(sorted) = &mut self.sorted {
            match sorted.next() {
                Some(id) => return Ok(Some(id)),
                None => self.sorted = None,
            }
        }
        if self.open.len() > 1 {
            let starts = std::mem::take(&mut self.open);
            let (graph, rest) = collect(self.snapshot, &starts, &self.hidden)?;
            self.open.extend(rest);
            let sorted = sort(&graph, &starts)?;
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
            self.sorted = None;
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

/// Sorts what was collected, children before parents.
fn sort(graph: &HashMap<Id, Topology>, starts: &[Id]) -> Result<Vec<Id>> {
    let mut children: HashMap<Id, usize> = HashMap::with_capacity(graph.len());
    for topology in graph.values() {
        for parent in &topology.parents {
            *children.entry(*parent).or_default() += 1;
        }
    }
    let rank = |id: &Id| (graph[id].time, graph[id].depth, *id);
    let mut ready: BinaryHeap<(i64, u64, Id)> = starts
        .iter()
        .filter(|id| graph.contains_key(id) && !children.contains_key(id))
        .map(rank)
        .collect();
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

/// Collects what is reached and not hidden, down to the one object in which all of it comes
/// together; that is given apart, and is not in the graph.
///
/// The deepest come first. So when a single object is open and no root was met, what was collected
/// leads there by first parents: all of it descends from that object. Where something is hidden, or
/// a path has ended, there may be no such object, and everything is collected.
fn collect(
    snapshot: &dyn Snapshot,
    starts: &[Id],
    hidden: &HashSet<Id>,
) -> Result<(HashMap<Id, Topology>, Option<Id>)> {
    let mut graph = HashMap::new();
    let mut found: HashMap<Id, Topology> = HashMap::new();
    let mut open: BinaryHeap<(u64, Id)> = BinaryHeap::new();
    let mut fresh = starts.to_vec();
    let mut has_root = false;
    loop {
        for id in fresh.drain(..) {
            if !hidden.contains(&id) && !graph.contains_key(&id) && !found.contains_key(&id) {
                let topology = topology(snapshot, &id)?;
                open.push((topology.depth, id));
                found.insert(id, topology);
            }
        }
        if hidden.is_empty() && open.len() == 1 && !has_root {
            return Ok((graph, open.pop().map(|(_, id)| id)));
        }
        let Some((_, id)) = open.pop() else {
            return Ok((graph, None));
        };
        let topology = found.remove(&id).expect("what is open was found");
        has_root |= topology.parents.is_empty();
        fresh.extend(&topology.parents);
        graph.insert(id, topology);
    }
}
