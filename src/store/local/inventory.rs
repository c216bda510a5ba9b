//! Which objects there are, which are spoken of, what links what, and how deep each lies.
//!
//! For those who look at a whole store at once. Objects have numbers here, so that one costs its id
//! once and a few words more, and a link costs four bytes.

use crate::id::{Id, Kind};
use crate::slots::{Slots, slot_hash};

/// A number that no object has.
const NONE: u32 = u32::MAX;

/// Every object that was seen or spoken of.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    numbers: Slots,
    ids: Vec<Id>,
    rows: Vec<Row>,
    /// The links of all objects, those of one together.
    links: Vec<u32>,
    objects: u64,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The kind, where it is known.
    kind: Option<Kind>,
    /// Whether some container holds it.
    held: bool,
    /// Whether its links are known.
    described: bool,
    /// Whether an operation speaks of it.
    in_operation: bool,
    /// Whether a ref leads to it, once that was asked.
    reached: bool,
    /// Whether something that it leads to is not there, once that was asked.
    open: bool,
    /// Its first parent.
    first: u32,
    /// How many first parents lie before it, once counted.
    depth: u32,
    /// How many objects were seen to link it.
    referrers: u32,
    /// Where its links begin, and how many there are.
    links_at: u32,
    links_count: u32,
}

/// An object that something speaks of and no container holds.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) id: Id,
    /// The objects that link it, each with whether a ref leads to it; those first.
    pub(crate) linked: Vec<(Id, bool)>,
    pub(crate) in_operation: bool,
}

/// Which objects link each.
#[derive(Debug)]
struct LinkedBy {
    starts: Vec<u32>,
    from: Vec<u32>,
}

impl LinkedBy {
    fn of(&self, number: u32) -> &[u32] {
        let ends = &self.starts[number as usize..][..2];
        &self.from[ends[0] as usize..ends[1] as usize]
    }
}

impl Inventory {
    /// Counts the objects that are there.
    pub(crate) fn objects(&self) -> u64 {
        self.objects
    }

    /// Notes that an object is there, and says whether its links are still unknown.
    pub(crate) fn hold(&mut self, id: &Id, kind: Option<Kind>) -> bool {
        let number = self.number(id);
        let row = &mut self.rows[number as usize];
        self.objects += u64::from(!row.held);
        row.held = true;
        row.kind = row.kind.or(kind);
        !row.described
    }

    /// Notes what an object links, and its first parent.
    pub(crate) fn describe(&mut self, id: &Id, links: &[Id], first: Option<&Id>) {
        let number = self.number(id);
        let links_at = self.links.len() as u32;
        for link in links {
            let target = self.number(link);
            self.links.push(target);
            let row = &mut self.rows[target as usize];
            row.referrers = row.referrers.saturating_add(1);
        }
        let first = first.map_or(NONE, |first| self.number(first));
        let row = &mut self.rows[number as usize];
        row.described = true;
        row.first = first;
        (row.links_at, row.links_count) = (links_at, links.len() as u32);
    }

    /// Notes the first parent of an object that is not there, as something else tells it.
    pub(crate) fn suppose(&mut self, id: &Id, first: Option<&Id>) {
        let number = self.number(id);
        let first = first.map_or(NONE, |first| self.number(first));
        let row = &mut self.rows[number as usize];
        if !row.described && row.first == NONE {
            row.first = first;
        }
    }

    /// Notes that an operation speaks of an object.
    pub(crate) fn mention(&mut self, id: &Id) {
        let number = self.number(id);
        self.rows[number as usize].in_operation = true;
    }

    /// Says whether an object is there.
    pub(crate) fn holds(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| row.held)
    }

    /// Says whether another object links an object.
    pub(crate) fn is_linked(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| row.referrers > 0)
    }

    /// Gives the kind of an object, where it is known.
    pub(crate) fn kind(&self, id: &Id) -> Option<Kind> {
        self.row(id)?.kind
    }

    /// Gives the kind of an object by its number, where it is known.
    pub(crate) fn kind_of(&self, number: u32) -> Option<Kind> {
        self.rows[number as usize].kind
    }

    /// Lists what is spoken of and not there, in order.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        let lost = |row: &Row| !row.held && (row.in_operation || row.referrers > 0);
        if !self.rows.iter().any(lost) {
            return Vec::new();
        }
        let (ids, linked_by) = (&self.ids, self.linked_by());
        let rows = (0..).zip(&self.rows).filter(|(_, row)| lost(row));
        let mut missing: Vec<Missing> = rows
            .map(|(number, row)| {
                let from = linked_by.of(number).iter().map(|from| *from as usize);
                let mut linked: Vec<(bool, Id)> =
                    from.map(|from| (!self.rows[from].reached, ids[from])).collect();
                linked.sort_unstable();
                let linked = linked.into_iter().map(|(aside, from)| (from, !aside)).collect();
                Missing { id: ids[number as usize], linked, in_operation: row.in_operation }
            })
            .collect();
        missing.sort_unstable_by_key(|missing| missing.id);
        missing
    }

    /// Gives the id of an object that is there or spoken of, by its number.
    pub(crate) fn id_of(&self, number: u32) -> Id {
        self.ids[number as usize]
    }

    /// Gives the number of an object that is there or spoken of.
    pub(crate) fn number_of(&self, id: &Id) -> Option<u32> {
        self.numbers.find(slot_hash(id), |number| self.ids[number as usize] == *id)
    }

    /// Says whether an object is there, by its number.
    pub(crate) fn is_held(&self, number: u32) -> bool {
        self.rows[number as usize].held
    }

    /// Lists the objects that are there and that nothing links and no ref leads to, with all that
    /// they lead to there (`closed`) or not.
    pub(crate) fn tops(&self, closed: bool) -> Vec<u32> {
        let rows = (0..).zip(&self.rows);
        let found = rows.filter(|(_, row)| {
            row.held && row.referrers == 0 && !row.reached && row.open != closed
        });
        found.map(|(number, _)| number).collect()
    }

    /// Counts the objects that are there, but lead to something that is not.
    pub(crate) fn hanging(&self) -> u64 {
        self.rows.iter().filter(|row| row.held && row.open).count() as u64
    }

    /// Counts the first parents before an object; `None` where its path can't be followed.
    pub(crate) fn depth(&mut self, id: &Id) -> Option<u32> {
        let mut number = self.number_of(id)?;
        let mut path = Vec::new();
        let mut depth = loop {
            let row = &self.rows[number as usize];
            if row.depth != NONE {
                break row.depth.checked_add(1)?;
            }
            if !row.described || path.len() > self.rows.len() {
                return None;
            }
            path.push(number);
            match row.first {
                NONE => break 0,
                first => number = first,
            }
        };
        for number in path.into_iter().rev() {
            self.rows[number as usize].depth = depth;
            depth = depth.checked_add(1)?;
        }
        depth.checked_sub(1)
    }

    /// Finds what the given objects lead to, themselves included.
    pub(crate) fn reach<'a>(&mut self, roots: impl IntoIterator<Item = &'a Id>) {
        let mut open: Vec<u32> = roots.into_iter().map(|id| self.number(id)).collect();
        while let Some(number) = open.pop() {
            let row = &mut self.rows[number as usize];
            if !std::mem::replace(&mut row.reached, true) {
                let links = row.links_at as usize..(row.links_at + row.links_count) as usize;
                open.extend_from_slice(&self.links[links]);
            }
        }
    }

    /// Says whether [`reach`](Inventory::reach) came to an object.
    pub(crate) fn is_reached(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| row.reached)
    }

    /// Finds the objects that lead to something that is not there, or can't be read.
    pub(crate) fn find_open(&mut self) {
        let lost = |row: &Row| !row.held || !row.described;
        let mut open: Vec<u32> =
            (0..).zip(&self.rows).filter(|(_, row)| lost(row)).map(|(number, _)| number).collect();
        self.rows.iter_mut().for_each(|row| row.open = lost(row));
        if open.iter().all(|number| self.rows[*number as usize].referrers == 0) {
            return;
        }
        let linked_by = self.linked_by();
        while let Some(number) = open.pop() {
            for from in linked_by.of(number) {
                if !std::mem::replace(&mut self.rows[*from as usize].open, true) {
                    open.push(*from);
                }
            }
        }
    }

    /// Says whether an object is there, and all that it leads to; after
    /// [`find_open`](Inventory::find_open).
    pub(crate) fn is_closed(&self, id: &Id) -> bool {
        self.row(id).is_some_and(|row| row.held && !row.open)
    }

    /// Follows first parents from an object, itself included, as far as they are known.
    pub(crate) fn path(&self, id: &Id) -> impl Iterator<Item = u32> {
        let first =
            |number: &u32| Some(self.rows[*number as usize].first).filter(|first| *first != NONE);
        // A circle can't be hashed; supposed parents could lie.
        std::iter::successors(self.number_of(id), first).take(self.rows.len())
    }

    fn linked_by(&self) -> LinkedBy {
        let mut starts = vec![0u32; self.rows.len() + 1];
        let links = |row: &Row| row.links_at as usize..(row.links_at + row.links_count) as usize;
        for target in self.rows.iter().flat_map(|row| &self.links[links(row)]) {
            starts[*target as usize + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut from = vec![0u32; self.links.len()];
        for (number, row) in (0..).zip(&self.rows) {
            for target in &self.links[links(row)] {
                let place = &mut next[*target as usize];
                from[*place as usize] = number;
                *place += 1;
            }
        }
        LinkedBy { starts, from }
    }

    fn row(&self, id: &Id) -> Option<&Row> {
        self.number_of(id).map(|number| &self.rows[number as usize])
    }

    fn number(&mut self, id: &Id) -> u32 {
        if let Some(number) = self.number_of(id) {
            return number;
        }
        let number = self.rows.len() as u32;
        assert!(number < NONE, "fewer objects than memory has room for");
        self.ids.push(*id);
        self.numbers.push(|number| slot_hash(&self.ids[number as usize]));
        self.rows.push(Row {
            kind: None,
            held: false,
            described: false,
            in_operation: false,
            first: NONE,
            depth: NONE,
            referrers: 0,
            reached: false,
            open: false,
            links_at: 0,
            links_count: 0,
        });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> Id {
        Id::from_bytes([byte; 32])
    }

    #[test]
    fn depths_are_counted_from_the_root_whatever_is_asked_first() {
        let mut inventory = Inventory::default();
        for byte in [3u8, 1, 2] {
            inventory.hold(&id(byte), Some(Kind::Entry));
            let parents: Vec<Id> = (byte > 1).then(|| id(byte - 1)).into_iter().collect();
            inventory.describe(&id(byte), &parents, parents.first());
        }
        assert_eq!(inventory.depth(&id(2)), Some(1));
        assert_eq!(inventory.depth(&id(3)), Some(2));
        assert_eq!(inventory.depth(&id(1)), Some(0));
        assert_eq!(inventory.depth(&id(9)), None);
    }

    #[test]
    fn what_is_spoken_of_and_not_there_is_missing() {
        let mut inventory = Inventory::default();
        assert!(inventory.hold(&id(1), Some(Kind::Entry)));
        inventory.describe(&id(1), &[id(2), id(3)], Some(&id(2)));
        assert!(!inventory.hold(&id(1), None));
        inventory.hold(&id(3), None);
        inventory.mention(&id(4));
        let missing = inventory.missing();
        assert_eq!(missing.len(), 2);
        assert_eq!((missing[0].id, &*missing[0].linked), (id(2), &[(id(1), false)][..]));
        assert_eq!((missing[1].id, &*missing[1].linked), (id(4), &[][..]));
        inventory.reach([&id(1)]);
        assert_eq!(inventory.missing()[0].linked, [(id(1), true)]);
        assert_eq!(inventory.objects(), 2);
        assert_eq!(inventory.depth(&id(1)), None);
    }
    #[test]
    fn what_leads_to_something_lost_is_open_however_far_it_is() {
        let mut inventory = Inventory::default();
        for (byte, links) in
            [(1, vec![]), (2, vec![1, 9]), (3, vec![2]), (4, vec![1]), (5, vec![3])]
        {
            inventory.hold(&id(byte), Some(Kind::Entry));
            let links: Vec<Id> = links.into_iter().map(id).collect();
            inventory.describe(&id(byte), &links, links.first());
        }
        inventory.find_open();
        let closed: Vec<u8> = (1..=9).filter(|byte| inventory.is_closed(&id(*byte))).collect();
        assert_eq!(closed, [1, 4]);
        assert_eq!(inventory.hanging(), 3);
        let named = |inventory: &Inventory, numbers: Vec<u32>| -> Vec<Id> {
            numbers.into_iter().map(|number| inventory.id_of(number)).collect()
        };
        assert_eq!(named(&inventory, inventory.tops(true)), [id(4)]);
        assert_eq!(named(&inventory, inventory.tops(false)), [id(5)]);
        assert_eq!(
            named(&inventory, inventory.path(&id(5)).collect()),
            [id(5), id(3), id(2), id(1)]
        );
        inventory.suppose(&id(9), Some(&id(1)));
        assert_eq!(named(&inventory, inventory.path(&id(9)).collect()), [id(9), id(1)]);
    }
}
