//! In which order sessions are read again, so that each is once.
//!
//! A session that hangs on another one follows it. Sessions that hang on each other are a group:
//! mostly their values don't, and the group is read until nothing moves any more. Where values do,
//! the circle is cut at the value with the lowest hash, whichever file came first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use crate::dialect::Parent;
use crate::error::Result;
use crate::ops::import::elsewhere::Elsewhere;
use crate::ops::import::tree::{Row, name_hash};

/// The places of sessions that each session hangs on.
type Graph = BTreeMap<usize, BTreeSet<usize>>;

/// A name, in the session at a place.
type Named = (usize, u64);

impl Elsewhere {
    /// Gives the sessions that may have to be read again if some have, in groups: what others hang
    /// on comes before them.
    pub(super) fn order(&self, seeds: &BTreeSet<usize>) -> Vec<Vec<usize>> {
        let mut graph = Graph::new();
        let mut hanging: HashMap<usize, Vec<usize>> = HashMap::new();
        for (place, known) in self.sessions.iter().enumerate().filter(|(_, it)| !it.is_over) {
            let hangs = known.record.hangs.iter();
            let hangs = hangs.filter_map(|hung| self.by_sid.get(&hung.session).copied());
            let orphans = known.record.orphans.iter().map(|name| name_hash(name));
            let orphans = orphans.flat_map(|name| self.register.all(name).map(|(on, _)| on));
            let on: BTreeSet<usize> = hangs.chain(orphans).filter(|on| *on != place).collect();
            for other in &on {
                hanging.entry(*other).or_default().push(place);
            }
            graph.insert(place, on);
        }
        let mut reached = seeds.clone();
        let mut next: Vec<usize> = seeds.iter().copied().collect();
        while let Some(place) = next.pop() {
            let others = hanging.get(&place).into_iter().flatten();
            next.extend(others.filter(|other| reached.insert(**other)));
        }
        graph.retain(|place, _| reached.contains(place));
        groups(&graph)
    }

    /// Cuts the circles in which values of a group hang on each other, and gives the sessions where
    /// it did so.
    pub(super) fn cut_circles(&mut self, group: &[usize]) -> Result<BTreeSet<usize>> {
        let mut cut = BTreeSet::new();
        let mut above: HashMap<Named, Named> = HashMap::new();
        let mut asked: Vec<Named> = Vec::new();
        let mut tops = HashMap::new();
        for place in group {
            tops.insert(*place, self.tops(*place)?);
            let names: Vec<String> =
                self.sessions[*place].awaits().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                if let Some(on) = self.provider(*place, &name)? {
                    above.insert((*place, name_hash(&name)), (on, name_hash(&name)));
                    asked.push((*place, name_hash(&name)));
                }
            }
        }
        // From what a session asks for, to what the path above that asks for in turn.
        let onward = |asks: &Named| -> Option<Named> {
            let (on, name) = above.get(asks)?;
            let top = *tops.get(on)?.get(name)?;
            Some((*on, top)).filter(|next| above.contains_key(next))
        };
        let mut seen: HashMap<Named, usize> = HashMap::new();
        asked.sort_by_key(|(place, name)| (*name, *place));
        for (turn, start) in asked.iter().enumerate() {
            let mut next = Some(*start);
            while let Some(at) = next.filter(|at| !seen.contains_key(at)) {
                seen.insert(at, turn);
                next = onward(&at);
            }
            let Some(entry) = next.filter(|at| seen.get(at) == Some(&turn)) else {
                continue;
            };
            let mut lowest = entry;
            let mut at = onward(&entry);
            while let Some(passed) = at.filter(|at| *at != entry) {
                lowest = if (passed.1, passed.0) < (lowest.1, lowest.0) { passed } else { lowest };
                at = onward(&passed);
            }
            if self.cuts.insert((self.sessions[lowest.0].sid.clone(), lowest.1)) {
                cut.insert(lowest.0);
            }
        }
        Ok(cut)
    }

    /// Finds for each named value of a session what the path above it hangs on in another file.
    fn tops(&self, place: usize) -> Result<HashMap<u64, u64>> {
        let mut rows: HashMap<u64, Row> = HashMap::new();
        let mut parents: BTreeMap<Row, Parent> = BTreeMap::new();
        self.steps(place, &mut |row, step| {
            rows.extend(step.id.as_deref().map(|id| (name_hash(id), row)));
            if step.parent != Parent::Beside {
                parents.insert(row, step.parent);
            }
            ControlFlow::Continue(())
        })?;
        let mut known: HashMap<Row, Option<u64>> = HashMap::new();
        for start in parents.keys() {
            let (mut way, mut next, mut top) = (Vec::new(), Some(*start), None);
            while let Some(row) = next {
                if let Some(found) = known.get(&row) {
                    top = *found;
                    break;
                }
                // Till it is known, it is the end of a circle within the file.
                known.insert(row, None);
                way.push(row);
                next = match parents.get(&row) {
                    Some(Parent::Before) => parents.range(..row).next_back().map(|(row, _)| *row),
                    Some(Parent::Id(id)) => {
                        let name = name_hash(id);
                        let own = rows.get(&name).copied();
                        top = if own.is_none() { Some(name) } else { None };
                        own
                    }
                    _ => None,
                };
            }
            known.extend(way.into_iter().map(|row| (row, top)));
        }
        let tops = rows.into_iter().filter_map(|(name, row)| Some((name, (*known.get(&row)?)?)));
        Ok(tops.collect())
    }
}

/// Splits a graph into groups of places that lead to each other; what a group leads to comes
/// before it. (Tarjan's algorithm, without recursion.)
fn groups(graph: &Graph) -> Vec<Vec<usize>> {
    struct Open<'a> {
        place: usize,
        rest: std::collections::btree_set::Iter<'a, usize>,
    }
    let mut groups = Vec::new();
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut lowest: HashMap<usize, usize> = HashMap::new();
    let mut waiting: Vec<usize> = Vec::new();
    let mut is_waiting: BTreeSet<usize> = BTreeSet::new();
    for start in graph.keys() {
        let mut stack = Vec::new();
        let mut next = Some(*start).filter(|start| !numbers.contains_key(start));
        loop {
            if let Some(place) = next.take() {
                let number = numbers.len();
                numbers.insert(place, number);
                lowest.insert(place, number);
                waiting.push(place);
                is_waiting.insert(place);
                stack.push(Open { place, rest: graph[&place].iter() });
            }
            let Some(open) = stack.last_mut() else {
                break;
            };
            let place = open.place;
            if let Some(on) = open.rest.find(|on| graph.contains_key(on)) {
                match numbers.get(on) {
                    None => next = Some(*on),
                    Some(number) if is_waiting.contains(on) => {
                        let low = lowest.entry(place).or_insert(*number);
                        *low = (*low).min(*number);
                    }
                    Some(_) => {}
                }
                continue;
            }
            stack.pop();
            if let Some(above) = stack.last() {
                let low = lowest[&place].min(lowest[&above.place]);
                lowest.insert(above.place, low);
            }
            if lowest[&place] == numbers[&place] {
                let at = waiting.iter().rposition(|one| *one == place).unwrap_or(0);
                let mut group = waiting.split_off(at);
                for one in &group {
                    is_waiting.remove(one);
                }
                group.sort_unstable();
                groups.push(group);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(usize, &[usize])], expected: &[&[usize]]) {
        let graph = edges.iter().map(|(place, on)| (*place, on.iter().copied().collect()));
        assert_eq!(groups(&graph.collect()), expected);
    }

    #[test]
    fn what_others_lead_to_comes_first() {
        check(&[(0, &[1]), (1, &[2]), (2, &[])], &[&[2], &[1], &[0]]);
        check(&[(0, &[]), (1, &[0]), (2, &[0, 1])], &[&[0], &[1], &[2]]);
        check(&[(0, &[7]), (1, &[0])], &[&[0], &[1]]);
    }

    #[test]
    fn what_leads_to_each_other_is_one_group() {
        check(&[(0, &[1]), (1, &[0, 2]), (2, &[]), (3, &[0])], &[&[2], &[0, 1], &[3]]);
        check(&[(0, &[1]), (1, &[2]), (2, &[0, 3]), (3, &[])], &[&[3], &[0, 1, 2]]);
    }

    #[test]
    fn a_chain_may_be_long() {
        let graph: Graph = (0..100_000).map(|place| (place, BTreeSet::from([place + 1]))).collect();
        let groups = groups(&graph);
        assert_eq!((groups.len(), groups[0][0]), (100_000, 99_999));
    }
}
