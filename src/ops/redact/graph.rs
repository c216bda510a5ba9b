//! Every object of a store and what it links, in numbers: what is touched when some of them go.
//!
//! An object costs its id once and a few words more, so that a store of millions fits into memory.

use std::collections::HashMap;

use crate::id::{Id, Kind};

/// An object's number.
pub(super) type Row = u32;

/// Every object that was seen or spoken of.
#[derive(Debug, Default)]
pub(super) struct Graph {
    rows: HashMap<Id, Row>,
    ids: Vec<Id>,
    /// The kind of those that were seen.
    kinds: Vec<Option<Kind>>,
    /// Where the links of each begin, how many they are, and how many of the first are parents.
    spans: Vec<(u64, u32, u32)>,
    links: Vec<Row>,
}

impl Graph {
    /// Gives how many objects there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Says whether an object was seen.
    pub(super) fn has(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| self.kinds[row as usize].is_some())
    }

    /// Gives the number of an object that was seen or spoken of.
    pub(super) fn row(&self, id: &Id) -> Option<Row> {
        self.rows.get(id).copied()
    }

    /// Gives an object's id.
    pub(super) fn id(&self, row: Row) -> &Id {
        &self.ids[row as usize]
    }

    /// Gives the kind of an object that was seen.
    pub(super) fn kind(&self, row: Row) -> Option<Kind> {
        self.kinds[row as usize]
    }

    /// Gives what an object links; its parents come first.
    pub(super) fn links(&self, row: Row) -> &[Row] {
        let (begin, count, _) = self.spans[row as usize];
        &self.links[begin as usize..][..count as usize]
    }

    /// Gives an object's parents.
    pub(super) fn parents(&self, row: Row) -> &[Row] {
        let (begin, _, parents) = self.spans[row as usize];
        &self.links[begin as usize..][..parents as usize]
    }

    /// Adds an object with its links, of which the first so many are its parents.
    pub(super) fn add(&mut self, id: &Id, kind: Kind, links: &[Id], parents: usize) -> Row {
        let row = self.number(id);
        let begin = self.links.len() as u64;
        for link in links {
            let target = self.number(link);
            self.links.push(target);
        }
        self.kinds[row as usize] = Some(kind);
        self.spans[row as usize] = (begin, links.len() as u32, parents as u32);
        row
    }

    fn number(&mut self, id: &Id) -> Row {
        let next = Row::try_from(self.ids.len()).expect("a store has fewer objects than 2^32");
        let row = *self.rows.entry(*id).or_insert(next);
        if row == next {
            self.ids.push(*id);
            self.kinds.push(None);
            self.spans.push((0, 0, 0));
        }
        row
    }

    /// Turns links around: who links an object, or has it as a parent.
    pub(super) fn turned(&self, parents_only: bool) -> Turned {
        let of = |row| if parents_only { self.parents(row) } else { self.links(row) };
        let rows = 0..self.len() as Row;
        let mut begins = vec![0u64; self.len() + 1];
        for row in rows.clone() {
            of(row).iter().for_each(|link| begins[*link as usize + 1] += 1);
        }
        for place in 1..begins.len() {
            begins[place] += begins[place - 1];
        }
        let mut next = begins.clone();
        let mut from = vec![0; *begins.last().unwrap_or(&0) as usize];
        for row in rows {
            for link in of(row) {
                from[next[*link as usize] as usize] = row;
                next[*link as usize] += 1;
            }
        }
        Turned { begins, from }
    }

    /// Puts some objects in an order in which each comes after those of them that it links.
    pub(super) fn in_order(&self, wanted: &[bool], turned: &Turned) -> Vec<Row> {
        let among = |row: &Row| wanted[*row as usize];
        let mut waiting = vec![0u32; self.len()];
        let mut order: Vec<Row> = Vec::new();
        for row in (0..self.len() as Row).filter(among) {
            let links = self.links(row).iter().filter(|link| among(link)).count();
            waiting[row as usize] = links as u32;
            if links == 0 {
                order.push(row);
            }
        }
        let mut done = 0;
        while let Some(row) = order.get(done).copied() {
            done += 1;
            for from in turned.of(row).iter().filter(|from| among(from)) {
                waiting[*from as usize] -= 1;
                if waiting[*from as usize] == 0 {
                    order.push(*from);
                }
            }
        }
        order
    }
}

/// Links turned around.
#[derive(Debug)]
pub(super) struct Turned {
    begins: Vec<u64>,
    from: Vec<Row>,
}

impl Turned {
    /// Gives who links an object, each as often as it does.
    pub(super) fn of(&self, row: Row) -> &[Row] {
        let row = row as usize;
        &self.from[self.begins[row] as usize..self.begins[row + 1] as usize]
    }

    /// Marks all that lead to what is marked.
    pub(super) fn spread(&self, marked: &mut [bool]) {
        let mut open: Vec<Row> =
            (0..marked.len() as Row).filter(|row| marked[*row as usize]).collect();
        while let Some(row) = open.pop() {
            for from in self.of(row) {
                if !std::mem::replace(&mut marked[*from as usize], true) {
                    open.push(*from);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> Id {
        Id::from_bytes([number; 32])
    }

    #[test]
    fn what_leads_to_a_mark_is_found_and_put_in_order() {
        let mut graph = Graph::default();
        // 4 -> 3 -> 1, 4 -> 2, 5 alone; the first link of each is its parent.
        graph.add(&id(4), Kind::Entry, &[id(3), id(2)], 1);
        graph.add(&id(3), Kind::Entry, &[id(1), id(1)], 1);
        graph.add(&id(5), Kind::Blob, &[], 0);
        assert!(graph.has(&id(4)) && !graph.has(&id(1)) && graph.row(&id(9)).is_none());
        graph.add(&id(1), Kind::Blob, &[], 0);
        graph.add(&id(2), Kind::Blob, &[], 0);
        let row = |number| graph.row(&id(number)).unwrap();
        let turned = graph.turned(false);
        let mut marked = vec![false; graph.len()];
        marked[row(1) as usize] = true;
        turned.spread(&mut marked);
        let ids: Vec<Id> =
            graph.in_order(&marked, &turned).iter().map(|row| *graph.id(*row)).collect();
        assert_eq!(ids, [id(1), id(3), id(4)]);
        let parents = graph.turned(true);
        assert_eq!(parents.of(row(2)), []);
        assert_eq!(parents.of(row(3)), [row(4)]);
        assert_eq!((graph.kind(row(5)), graph.parents(row(4))), (Some(Kind::Blob), &[row(3)][..]));
    }
}
