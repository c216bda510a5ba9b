//! The order in which a session is told to people.
//!
//! Each branch is a section of its own, the active one first, the others as they began; what
//! branches share stands once, in the section of the first of them. Entries that lead to nothing
//! that was said, as progress and the results of parallel calls, are no branches: they stand with
//! the entry that they hang on, or beside everything if they hang on none.
//!
//! Bodies are read once, a few at a time, for what is counted and for whose call an answer answers.
//! Only places, names and the ids of calls stay in memory.

mod join;

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::export::Scope;
use crate::ops::export::facts::Facts;
use crate::ops::scan::scan;
use crate::ops::tree::{Marks, live};
use crate::repo::read_entry;
use crate::session::{Forest, Message, View, first_kept};
use crate::store::Snapshot;

use join::Joined;

/// A session, in order.
pub(super) struct Outline {
    pub(super) forest: Forest,
    /// The first is the path that is told first; each of the others hangs on one before it.
    pub(super) sections: Vec<Section>,
    /// What hangs on no path: headers and the like.
    pub(super) beside: Vec<usize>,
    pub(super) marks: Marks,
    pub(super) facts: Facts,
    pub(super) joined: Joined,
    /// What leads to nothing that was said, by the entry that it hangs on.
    strays: HashMap<usize, Vec<usize>>,
    /// The sections that leave at an entry.
    forks: HashMap<usize, Vec<usize>>,
    /// The section of each entry of a path.
    homes: Vec<Option<usize>>,
}

/// A stretch of a path: what a branch has of its own.
#[derive(Default)]
pub(super) struct Section {
    /// The branches that end with it.
    pub(super) names: Vec<String>,
    /// The entry that it hangs on.
    pub(super) from: Option<usize>,
    /// Its entries.
    pub(super) places: Vec<usize>,
    /// How many of them are messages.
    pub(super) messages: u64,
    /// What a person said first, else its first message.
    pub(super) opening: Option<usize>,
    /// What compactions put away, as ranges of `places`.
    folds: Vec<Range<usize>>,
}

/// A step of telling a section.
pub(super) enum Step {
    /// What a compaction put away begins, with so many entries.
    Fold(usize),
    /// An entry.
    Entry(usize),
    /// What a compaction put away ends.
    Unfold,
}

/// What is remembered of an entry while all are put in order.
#[derive(Default)]
struct Row {
    is_message: bool,
    is_only_answers: bool,
    is_from_user: bool,
    calls: Vec<String>,
    answers: Vec<String>,
    /// Its id in the program that it came from.
    foreign: Option<String>,
    /// If it is a compaction: what it keeps first.
    kept: Option<Value>,
    is_compaction: bool,
}

impl Outline {
    /// Puts a session in order.
    pub(super) fn of(snapshot: &dyn Snapshot, view: &View<'_>, scope: Scope) -> Result<Outline> {
        let forest = Forest::of(view)?;
        let marks = Marks::of(view)?;
        let mut live = live(snapshot, &forest, &marks)?;
        let nearest = restrict(&forest, scope, &mut live)?;
        let count = forest.ids().len();
        let mut outline = Outline {
            forest,
            sections: Vec::new(),
            beside: Vec::new(),
            marks,
            facts: Facts::default(),
            joined: Joined::default(),
            strays: HashMap::new(),
            forks: HashMap::new(),
            homes: vec![None; count],
        };
        outline.cut(&live);
        for place in (0..count).filter(|place| !live[*place]) {
            match nearest[place] {
                Some(on) => outline.strays.entry(on).or_default().push(place),
                None if scope == Scope::Session => outline.beside.push(place),
                None => {}
            }
        }
        let rows = outline.read(snapshot)?;
        outline.joined = Joined::of(&outline, &rows, &nearest);
        for section in &mut outline.sections {
            section.count(&rows);
        }
        outline.fold(&rows);
        Ok(outline)
    }

    /// Gives the steps of telling a section.
    pub(super) fn steps(&self, section: usize) -> impl Iterator<Item = Step> {
        let section = &self.sections[section];
        section.places.iter().enumerate().flat_map(|(number, place)| {
            let begins = section.folds.iter().find(|fold| fold.start == number);
            let ends = section.folds.iter().any(|fold| fold.end == number + 1);
            let fold = begins.map(|fold| Step::Fold(fold.len()));
            let unfold = ends.then_some(Step::Unfold);
            fold.into_iter().chain([Step::Entry(*place)]).chain(unfold)
        })
    }

    /// Lists what hangs on an entry and leads to nothing that was said, without the results that
    /// stand with their calls.
    pub(super) fn strays(&self, place: usize) -> Vec<usize> {
        let strays = self.strays.get(&place).map(Vec::as_slice).unwrap_or_default();
        strays.iter().copied().filter(|stray| !self.joined.is_whole(*stray)).collect()
    }

    /// Lists the sections that leave at an entry.
    pub(super) fn forks(&self, place: usize) -> &[usize] {
        self.forks.get(&place).map(Vec::as_slice).unwrap_or_default()
    }

    /// Gives the section that an entry is told in, if it is on a path.
    pub(super) fn home(&self, place: usize) -> Option<usize> {
        self.homes[place]
    }

    /// Cuts what is live into sections.
    fn cut(&mut self, live: &[bool]) {
        let ids = self.forest.ids();
        let active = self.marks.active.and_then(|id| self.forest.place(&id));
        let active = active.filter(|place| live[*place]);
        let first = active.or_else(|| (0..live.len()).rev().find(|place| live[*place]));
        let mut named: Vec<usize> =
            self.marks.branches.keys().filter_map(|id| self.forest.place(id)).collect();
        named.sort_unstable();
        let rest = (0..live.len()).rev();
        for tip in first.into_iter().chain(named).chain(rest) {
            if !live[tip] || self.homes[tip].is_some() {
                continue;
            }
            let names = self.marks.branches.get(&ids[tip]).cloned().unwrap_or_default();
            let mut section = Section { names, ..Section::default() };
            let mut next = Some(tip);
            while let Some(place) = next {
                if self.homes[place].is_some() {
                    break;
                }
                self.homes[place] = Some(0);
                section.places.push(place);
                next = self.forest.parent(place);
            }
            section.from = next;
            section.places.reverse();
            self.sections.push(section);
        }
        if let Some((_, others)) = self.sections.split_first_mut() {
            others.sort_by_key(|section| section.places.first().copied());
        }
        for (number, section) in self.sections.iter().enumerate() {
            section.places.iter().for_each(|place| self.homes[*place] = Some(number));
            if let Some(from) = section.from {
                self.forks.entry(from).or_default().push(number);
            }
        }
    }

    /// Reads all that is told, and counts it.
    fn read(&mut self, snapshot: &dyn Snapshot) -> Result<Vec<Row>> {
        let mut told: Vec<usize> =
            (0..self.homes.len()).filter(|place| self.homes[*place].is_some()).collect();
        told.extend(self.strays.values().flatten().chain(&self.beside));
        told.sort_unstable();
        let ids: Vec<Id> = told.iter().map(|place| self.forest.ids()[*place]).collect();
        let mut rows: Vec<Row> = Vec::new();
        rows.resize_with(self.homes.len(), Row::default);
        let facts = &mut self.facts;
        let mut places = told.into_iter();
        let read = |id: &Id| {
            // Long strings are not needed to count and to tell what it is.
            let entry = read_entry(snapshot, id)?;
            let message = Message::read(&entry.label, &entry.body);
            Ok((Row::of(&entry.label, &entry.body, message.as_ref()), entry.time, message))
        };
        let _ = scan(&ids, &read, &mut |_, (row, time, message)| {
            facts.add(time, message.as_ref(), row.is_compaction);
            if let Some(place) = places.next() {
                rows[place] = row;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    /// Finds what compactions put away.
    fn fold(&mut self, rows: &[Row]) {
        let foreign: HashMap<&str, usize> = rows
            .iter()
            .enumerate()
            .filter_map(|(place, row)| Some((row.foreign.as_deref()?, place)))
            .collect();
        let forest = &self.forest;
        let kept = |value: &Value| match value {
            Value::Link(id) => forest.place(id),
            Value::Text(text) => {
                let own = text.parse().ok().and_then(|id| forest.place(&id));
                own.or_else(|| foreign.get(text.as_str()).copied())
            }
            _ => None,
        };
        for section in &mut self.sections {
            let mut begin = 0;
            for number in 0..section.places.len() {
                let row = &rows[section.places[number]];
                if !row.is_compaction {
                    continue;
                }
                let first = row.kept.as_ref().and_then(kept);
                // What was kept from before the section leaves all of it open.
                let end = first.map_or(number, |first| {
                    section.places[..number].partition_point(|place| *place < first)
                });
                if end > begin {
                    section.folds.push(begin..end);
                }
                begin = number + 1;
            }
        }
    }
}

impl Section {
    /// Counts its messages.
    fn count(&mut self, rows: &[Row]) {
        let messages = self.places.iter().copied().filter(|place| rows[*place].is_message);
        self.messages = messages.clone().count() as u64;
        let said = messages.clone().find(|place| rows[*place].is_from_user);
        self.opening = said.or_else(|| messages.clone().next());
    }
}

impl Row {
    fn of(label: &str, body: &Value, message: Option<&Message>) -> Row {
        let foreign = ["id", "uuid"].iter().find_map(|key| body.get(key)?.as_text());
        let is_compaction = label == "compaction";
        Row {
            is_message: message.is_some(),
            is_from_user: message.is_some_and(Message::is_from_user),
            is_only_answers: message.is_some_and(|m| m.blocks.len() == m.answers().count()),
            calls: message.iter().flat_map(|m| m.calls()).map(|call| call.id.clone()).collect(),
            answers: message.iter().flat_map(|m| m.answers()).map(|a| a.call.clone()).collect(),
            foreign: foreign.map(str::to_owned),
            kept: first_kept(body).filter(|_| is_compaction).cloned(),
            is_compaction,
        }
    }
}

/// Takes what is out of scope from what is live, and gives the nearest live entry at or before
/// each.
fn restrict(forest: &Forest, scope: Scope, live: &mut [bool]) -> Result<Vec<Option<usize>>> {
    let (Scope::Path(end) | Scope::Subtree(end)) = scope else {
        return Ok(nearest(forest, live));
    };
    let end = forest.place(&end).ok_or_else(|| Error::RevisionUnknown {
        revision: end.to_string(),
        why: "the session has no such entry".to_owned(),
    })?;
    let mut within = vec![false; live.len()];
    let mut next = Some(end);
    while let Some(place) = next {
        within[place] = true;
        live[place] = true;
        next = forest.parent(place);
    }
    if matches!(scope, Scope::Subtree(_)) {
        for place in end + 1..within.len() {
            let parent = forest.parent(place);
            within[place] |= parent.is_some_and(|parent| parent >= end && within[parent]);
        }
    }
    let mut nearest = nearest(forest, live);
    for place in 0..live.len() {
        nearest[place] = nearest[place].filter(|on| within[*on]);
        // What is left out must not pass for something that hangs on nothing.
        live[place] &= within[place];
    }
    Ok(nearest)
}

/// Gives the nearest live entry at or before each.
fn nearest(forest: &Forest, live: &[bool]) -> Vec<Option<usize>> {
    let mut nearest: Vec<Option<usize>> = Vec::with_capacity(live.len());
    for (place, is_live) in live.iter().enumerate() {
        nearest.push(match is_live {
            true => Some(place),
            false => forest.parent(place).and_then(|parent| nearest[parent]),
        });
    }
    nearest
}
