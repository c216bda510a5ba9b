//! Marking: what can be reached, by a bit for each row of each pack.
//!
//! Links are followed block by block, the last one first: what is written later links what was
//! written before, so nearly every block is unpacked once. Memory holds two bits for each object of
//! a pack, and the blocks that wait; not a set of ids.
//!
//! A link is looked for as its bytes, `58 20` and an id, wherever they stand: that finds all links,
//! and perhaps an id in the middle of a text, which then keeps an object that nothing leads to.
//! Where such an id is not in the store, the object is decoded, and only a true link counts.
//!
//! What a ref leads to must be there: behind something that is missing there may be more, which
//! would be taken for garbage. What operations and young files lead to may lack something; a repair
//! leaves such, and has given refs to all that is whole.
//!
//! While blocks are looked into, a thread unpacks those before them, which are looked for next.
//! Where all of them together are small, they are kept for whoever packs them next.
//!
//! Invariant: marks are only ever added. So what was written since can be marked from later.

mod blocks;
mod closed;

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::bits::Bits;
use super::passing::Passing;
use super::roots::Roots;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{self, NewObject};
use crate::store::local::Inner;
use crate::store::local::cache::BlockCache;
use crate::store::local::durable::Position;
use crate::store::local::pack::Pack;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::state::State;
use crate::store::{RefMove, RefValue, Snapshot};
use blocks::{Ahead, has_twins, is_much};
pub(super) use blocks::{keeps, new_cache, raw_bytes};

/// A pack, and which of its rows were reached.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) pack: Arc<Pack>,
    pub(super) reached: Bits,
    scanned: Bits,
}

impl Marked {
    fn none_of(pack: &Arc<Pack>) -> Marked {
        let (reached, scanned) = (Bits::below(pack.len()), Bits::below(pack.len()));
        Marked { pack: Arc::clone(pack), reached, scanned }
    }
}

/// An object in a file of its own, or in the journal.
#[derive(Debug)]
pub(super) struct Single {
    pub(super) place: Place,
    pub(super) is_reached: bool,
}

/// Where a single object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Journal,
    Loose { bytes: u64 },
    Aside,
}

/// Everything that there was when marking began, and what was reached of it.
pub(super) struct Marker<'a> {
    inner: &'a Arc<Inner>,
    /// The packs that writers see, then those of cruft.
    pub(super) packs: Vec<Marked>,
    /// How many of the packs are not cruft.
    pub(super) live: usize,
    pub(super) singles: HashMap<Id, Single>,
    pending: BTreeSet<(usize, u32)>,
    open: Vec<Id>,
    /// Where the journal ended that was looked at.
    seen: Position,
    /// Is told how many objects were looked into.
    tell: &'a dyn Fn(u64),
    looked: u64,
    /// Whether what is linked must be there.
    is_strict: bool,
    /// Whether a thread unpacks ahead, once a block is wanted that nobody has unpacked.
    is_helped: bool,
    ahead: Option<Ahead>,
    /// What was unpacked, for whoever packs it next.
    pub(super) unpacked: Arc<BlockCache>,
    /// Whether what is unpacked is kept.
    keeps: bool,
    /// Whether two of the packs that writers see may hold the same object.
    has_twins: bool,
}

/// Where an object stands that links others.
#[derive(Clone, Copy)]
struct Near {
    /// The place of its pack.
    number: usize,
    /// The row of the object before it in its block, which it probably links.
    before: Option<u32>,
}

impl<'a> Marker<'a> {
    /// Takes stock of a state, of which some may be unpacked. Nothing is reached yet.
    pub(super) fn new(
        inner: &'a Arc<Inner>,
        state: &State,
        unpacked: &Arc<BlockCache>,
        tell: &'a dyn Fn(u64),
        is_alone: bool,
    ) -> Result<Marker<'a>> {
        let mut marker = Marker {
            inner,
            packs: state.all_packs().map(Marked::none_of).collect(),
            live: state.packs.len(),
            singles: HashMap::new(),
            pending: BTreeSet::new(),
            open: Vec::new(),
            seen: Position::default(),
            tell,
            looked: 0,
            is_strict: true,
            is_helped: !is_alone && is_much(state)?,
            ahead: None,
            unpacked: Arc::clone(unpacked),
            keeps: keeps(state)?,
            has_twins: has_twins(&state.packs)?,
        };
        for (id, bytes) in inner.loose.list()? {
            marker.single(id, Place::Loose { bytes });
        }
        for aside in inner.loose.list_aside()? {
            marker.single(aside.id, Place::Aside);
        }
        Ok(marker)
    }

    /// Takes segments that are held as a pack. Nothing of it is reached yet.
    pub(super) fn take(&mut self, passing: &Passing) {
        self.packs.insert(self.live, Marked::none_of(&passing.pack));
        self.live += 1;
        self.seen = passing.end;
    }

    /// Notes an object outside packs. Of two places the one that writers see counts.
    fn single(&mut self, id: Id, place: Place) {
        self.singles.entry(id).or_insert(Single { place, is_reached: false });
    }

    /// Marks what refs and operations lead to. Comes before young files, so that nothing of what
    /// refs lead to was passed with less rigour.
    pub(super) fn mark_named(&mut self, snapshot: &LocalSnapshot) -> Result<()> {
        self.mark_roots(snapshot, &Roots::default())
    }

    /// Marks what some of the refs and operations lead to.
    pub(super) fn mark_roots(&mut self, snapshot: &LocalSnapshot, roots: &Roots<'_>) -> Result<()> {
        for (name, value) in snapshot.references("")? {
            if let RefValue::Id(id) = value
                && roots.has(&name)
                && !self.mark(&id, None)?
            {
                return Err(Error::Dangling { from: format!("ref '{name}'"), target: id });
            }
        }
        self.follow()?;
        let mut moved = Vec::new();
        snapshot.operations(&mut |record| {
            if record.number < roots.first_operation {
                return Ok(ControlFlow::Break(()));
            }
            moved.extend(record.moves.iter().flat_map(values));
            Ok(ControlFlow::Continue(()))
        })?;
        for id in moved {
            // What an operation speaks of may be gone; it can't be undone then.
            self.mark(&id, None)?;
        }
        self.follow_leniently()
    }

    /// Marks all that was written after some time, and what that leads to.
    pub(super) fn mark_young(&mut self, young_after_ms: i64) -> Result<()> {
        let is_young = |path: &std::path::Path| {
            let modified = self.inner.disk.modified(path).map_err(Error::io("look at", path));
            Ok::<bool, Error>(modified?.is_some_and(|at| at > young_after_ms))
        };
        let mut young = Vec::new();
        for (number, marked) in self.packs[..self.live].iter().enumerate() {
            if is_young(marked.pack.file())? {
                young.push(number);
            }
        }
        let mut loose = Vec::new();
        for (id, single) in &self.singles {
            if matches!(single.place, Place::Loose { .. })
                && is_young(&self.inner.layout.loose(id)).or_else(if_missing)?
            {
                loose.push(*id);
            }
        }
        for number in young {
            let marked = &mut self.packs[number];
            for row in 0..marked.pack.len() {
                marked.reached.add(row);
            }
            self.pending.extend((0..marked.pack.blocks()).map(|block| (number, block)));
        }
        for id in loose {
            self.mark(&id, None)?;
        }
        self.follow_leniently()
    }

    fn follow_leniently(&mut self) -> Result<()> {
        self.is_strict = false;
        let followed = self.follow();
        self.is_strict = true;
        followed
    }

    /// Marks all that the journal has got since it was last looked at, and what that leads to.
    pub(super) fn mark_journal(&mut self, snapshot: &LocalSnapshot) -> Result<()> {
        for segment in &snapshot.state.segments {
            if segment.sequence < self.seen.sequence {
                continue;
            }
            let seen = if segment.sequence == self.seen.sequence { self.seen.offset } else { 0 };
            let table = segment.table();
            let new = table.objects.iter().filter(|(_, location)| location.group_end > seen);
            let new: Vec<_> = new.map(|(id, location)| (*id, *location)).collect();
            drop(table);
            for (id, location) in new {
                let place = match self.singles.get(&id) {
                    Some(Single { place: place @ Place::Loose { .. }, .. }) => *place,
                    _ => Place::Journal,
                };
                self.singles.insert(id, Single { place, is_reached: true });
                self.scan(location.kind, &segment.read(&id, &location)?, None)?;
            }
        }
        self.seen = snapshot.position();
        self.follow()
    }

    /// Counts what was reached.
    pub(super) fn reached(&self) -> u64 {
        let singles = self.singles.values().filter(|single| single.is_reached).count() as u64;
        singles + self.packs.iter().map(|marked| marked.reached.count()).sum::<u64>()
    }

    /// Counts what was reached of a pack of cruft.
    pub(super) fn back_of(&self, pack: &Id) -> u64 {
        let known = self.packs[self.live..].iter().find(|it| it.pack.info().id == *pack);
        known.map_or(0, |marked| marked.reached.count())
    }

    /// Notes that a loose file was set aside.
    pub(super) fn is_aside(&mut self, id: &Id) {
        self.singles.insert(*id, Single { place: Place::Aside, is_reached: false });
    }

    /// Takes stock of the journal without taking it for reached.
    pub(super) fn list_journal(&mut self, state: &State) {
        for segment in &state.segments {
            for id in segment.table().objects.keys() {
                self.single(*id, Place::Journal);
            }
        }
    }

    /// Marks what was written, and what was pointed to, since the last time.
    pub(super) fn mark_since(&mut self, snapshot: &LocalSnapshot) -> Result<()> {
        self.mark_journal(snapshot)?;
        for (id, bytes) in self.inner.loose.list()? {
            if !self.is_live_single(&id) {
                self.singles
                    .insert(id, Single { place: Place::Loose { bytes }, is_reached: false });
                self.mark(&id, None)?;
            }
        }
        self.mark_named(snapshot)
    }

    /// Marks an object wherever it is, and says whether it is anywhere; `near` is what links it.
    fn mark(&mut self, id: &Id, near: Option<Near>) -> Result<bool> {
        let mut is_found = self.mark_near(id, near)?;
        for number in 0..self.packs.len() {
            if is_found && !self.has_twins
                || number == self.live && (is_found || self.is_live_single(id))
            {
                // Cruft is wanted back only where there is no other.
                break;
            }
            if let Some(row) = self.packs[number].pack.find(id)? {
                is_found = true;
                self.reach(number, row)?;
            }
        }
        if let Some(single) = self.singles.get_mut(id)
            && !(is_found && single.place == Place::Aside)
        {
            is_found = true;
            if !std::mem::replace(&mut single.is_reached, true) {
                self.open.push(*id);
            }
        }
        Ok(is_found)
    }

    /// Marks an object where it probably is: before the one that links it, or in the same pack.
    fn mark_near(&mut self, id: &Id, near: Option<Near>) -> Result<bool> {
        let Some(near) = near.filter(|near| near.number < self.live) else {
            return Ok(false);
        };
        let marked = &mut self.packs[near.number];
        if let Some(row) = near.before
            && marked.pack.id(row)? == *id
        {
            // Its block is being looked into.
            marked.reached.add(row);
            return Ok(true);
        }
        match marked.pack.find(id)? {
            Some(row) => self.reach(near.number, row).map(|()| true),
            None => Ok(false),
        }
    }

    /// Marks a row, whose block is to be looked into then.
    fn reach(&mut self, number: usize, row: u32) -> Result<()> {
        let marked = &mut self.packs[number];
        if marked.reached.add(row) {
            let position = marked.pack.position(row)?;
            if position.kind != Kind::Blob {
                self.pending.insert((number, position.block));
            }
        }
        Ok(())
    }

    fn is_live_single(&self, id: &Id) -> bool {
        self.singles.get(id).is_some_and(|single| single.place != Place::Aside)
    }

    /// Follows all links that were not followed yet.
    fn follow(&mut self) -> Result<()> {
        loop {
            if let Some(id) = self.open.pop() {
                self.scan_single(&id)?;
            } else if let Some((number, block)) = self.pending.last().copied() {
                self.scan_block(number, block)?;
                self.pending.remove(&(number, block));
            } else {
                return Ok(());
            }
        }
    }

    fn scan_block(&mut self, number: usize, block: u32) -> Result<()> {
        let pack = Arc::clone(&self.packs[number].pack);
        let raw = self.unpacked(&pack, number, block)?;
        let rows = pack.block_rows(block)?;
        loop {
            let mut is_done = true;
            // What stands later in a block links what stands before.
            for (place, row) in rows.iter().enumerate().rev() {
                let marked = &mut self.packs[number];
                if marked.reached.has(*row) && marked.scanned.add(*row) {
                    is_done = false;
                    let span = pack.span_at(&raw, *row, &pack.position(*row)?)?;
                    let before = place.checked_sub(1).map(|before| rows[before]);
                    let near = Near { number, before };
                    self.scan(span.kind, &raw[span.content], Some(near))?;
                }
            }
            if is_done {
                self.unpacked.done_with(raw);
                return Ok(());
            }
        }
    }

    fn scan_single(&mut self, id: &Id) -> Result<()> {
        let loose = &self.inner.loose;
        let is_blob = |kind: Option<Kind>| kind == Some(Kind::Blob);
        let stored = match self.singles[id].place {
            Place::Loose { .. } if is_blob(loose.kind(id)?) => return Ok(()),
            Place::Loose { .. } => loose.get(id)?,
            Place::Aside if is_blob(loose.kind_aside(id)?) => return Ok(()),
            Place::Aside => loose.get_aside(id)?,
            Place::Journal => self.inner.snapshot()?.get(id)?,
        };
        // A loose file that is gone is in a pack by now, or was brought back.
        match stored {
            Some(stored) => self.scan(stored.kind, &stored.content, None),
            None => Ok(()),
        }
    }

    /// Marks what an object links.
    fn scan(&mut self, kind: Kind, content: &[u8], near: Option<Near>) -> Result<()> {
        self.looked += 1;
        if self.looked.is_multiple_of(1024) {
            (self.tell)(self.looked);
        }
        if kind == Kind::Blob {
            return Ok(());
        }
        let mut links = None;
        for id in object::possible_links(content) {
            if self.mark(&id, near)? || !self.is_strict {
                continue;
            }
            if links.is_none() {
                links = Some(NewObject::parse(kind, content.to_vec())?);
            }
            if let Some(from) = links.as_ref().filter(|object| object.links.contains(&id))
                && !self.inner.snapshot()?.kinds(&[id])?.iter().all(Option::is_some)
            {
                return Err(Error::Dangling { from: from.id.to_string(), target: id });
            }
        }
        Ok(())
    }
}

fn values(moved: &RefMove) -> impl Iterator<Item = Id> {
    let ids = [&moved.old, &moved.new].map(|value| match value {
        Some(RefValue::Id(id)) => Some(*id),
        _ => None,
    });
    ids.into_iter().flatten()
}

/// A file that is gone is not young.
fn if_missing(error: Error) -> Result<bool> {
    if error.is_not_found() { Ok(false) } else { Err(error) }
}
