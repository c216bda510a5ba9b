//! Which packs are written again, and how.
//!
//! A pack is *tidy* if it is written in long blocks, as `gc` and `repack` do. What is not becomes
//! one tidy pack, together with the loose objects that are small, and with tidy packs that are not
//! much larger than all that: so there are few packs, and an object is packed again only when there
//! is about as much that is new. A tidy pack with a little garbage is copied without it, block by
//! block; one without any is left alone.

use std::collections::HashSet;
use std::sync::Arc;

use super::bits::Bits;
use super::mark::{Marked, Marker, Place};
use super::passing::Passing;
use super::{Collection, Step};
use crate::error::Result;
use crate::id::Id;
use crate::store::local::anew::{Contents, Form, Source};
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::manifest::{CruftRecord, Manifest};
use crate::store::local::pack::{Pack, PackInfo, PackOptions};
use crate::store::local::paged::Ready;
use crate::store::local::state::State;

/// One part in so many may be garbage before a pack is packed anew instead of copied.
const GARBAGE_SHARE: u64 = 8;
/// A pack joins others that are together at least a share of it.
const JOIN_SHARE: u64 = 2;
/// Packs do not join to more objects than this: a pack is made in memory, but for its contents.
const JOINED_OBJECTS_MAX: u64 = 1 << 19;
/// How cruft is packed: quickly, and with the blocks that are cruft as a whole.
const CRUFT_OPTIONS: PackOptions =
    PackOptions { level: PackOptions::QUICK_LEVEL, ..PackOptions::TIDY };

/// What stayed of each pack, as far as it was written again.
pub(super) type Kept = Vec<Option<Bits>>;

/// Packs that are written again together.
#[derive(Debug)]
struct Group {
    numbers: Vec<usize>,
    /// Whether their objects are put in order and compressed anew.
    is_anew: bool,
    /// Whether no other is written after them.
    is_last: bool,
}

impl Group {
    fn of(numbers: Vec<usize>, is_anew: bool) -> Group {
        Group { numbers, is_anew, is_last: false }
    }
}

impl Collection<'_> {
    /// Writes packs again, without what was not reached, which becomes cruft.
    pub(super) fn write_packs(
        &mut self,
        marker: &mut Marker<'_>,
        state: &Arc<State>,
        watch: &mut dyn FnMut(Step),
    ) -> Result<Kept> {
        let none_of = |(number, marked): (usize, &Marked)| {
            (number >= marker.live).then(|| Bits::below(marked.pack.len()))
        };
        let mut kept: Kept = marker.packs.iter().enumerate().map(none_of).collect();
        if self.has_old_cruft()? && marker.is_closed(&mut || !self.is_out_of_time()) {
            // What goes makes room for the packs.
            self.settle(marker, &mut kept)?;
            self.drop_old(marker)?;
            self.inner.sweep()?;
        }
        let mut small = self.small_loose(marker)?;
        let mut groups = self.groups(marker, !small.is_empty())?;
        if let Some(last) = groups.last_mut() {
            last.is_last = true;
        }
        for group in &groups {
            if self.is_out_of_time() {
                break;
            }
            let loose = if group.is_anew { std::mem::take(&mut small) } else { Vec::new() };
            if !self.write_group(group, marker, &loose, state)? {
                break;
            }
            for number in &group.numbers {
                kept[*number] = Some(marker.packs[*number].reached.clone());
            }
            for id in &loose {
                self.inner.loose.remove(id)?;
            }
            if !group.is_last {
                // Nobody else needs what was packed again.
                self.inner.sweep()?;
                watch(Step::GroupWritten);
            }
        }
        Ok(kept)
    }

    /// Lists the loose objects that belong into a pack: those that are small.
    fn small_loose(&self, marker: &Marker<'_>) -> Result<Vec<Id>> {
        let mut small = Vec::new();
        for (id, single) in &marker.singles {
            if let Place::Loose { bytes } = single.place
                && single.is_reached
                && bytes < LOOSE_BYTES_MIN
                && let Some((_, content_bytes)) = self.inner.loose.header(id)?
                && content_bytes < LOOSE_BYTES_MIN
            {
                small.push(*id);
            }
        }
        small.sort_unstable();
        Ok(small)
    }

    /// Chooses the packs to write again.
    fn groups(&self, marker: &Marker<'_>, has_loose: bool) -> Result<Vec<Group>> {
        let (mut anew, mut tidy) = (Vec::new(), Vec::new());
        for (number, marked) in marker.packs[..marker.live].iter().enumerate() {
            let objects = u64::from(marked.pack.len());
            let garbage = objects - marked.reached.count();
            let is_spoilt = garbage * GARBAGE_SHARE > objects;
            let is_wanted = self.options.aggressive && !self.is_done(&marked.pack)?;
            match is_wanted || is_spoilt || !is_tidy(&marked.pack)? {
                true => anew.push(number),
                false => tidy.push((marked.pack.info().pack_bytes, number, garbage)),
            }
        }
        if self.cut_since.is_some() {
            return Ok(one_by_one(marker, &anew, &tidy, has_loose));
        }
        let reached = |number: usize| marker.packs[number].reached.count();
        let share = |number: usize| {
            let pack = &marker.packs[number].pack;
            pack.info().pack_bytes * reached(number) / u64::from(pack.len()).max(1)
        };
        let mut bytes: u64 = anew.iter().map(|number| share(*number)).sum();
        let mut objects: u64 = anew.iter().map(|number| reached(*number)).sum();
        let mut groups = Vec::new();
        tidy.sort_unstable();
        for (pack_bytes, number, garbage) in tidy {
            let is_joined = pack_bytes <= bytes.saturating_mul(JOIN_SHARE)
                && objects + reached(number) <= JOINED_OBJECTS_MAX;
            if is_joined {
                anew.push(number);
                bytes += share(number);
                objects += reached(number);
            } else if garbage > 0 {
                groups.push(Group::of(vec![number], false));
            }
        }
        if has_loose || !anew.is_empty() {
            anew.sort_unstable();
            groups.push(Group::of(anew, true));
        }
        Ok(groups)
    }

    /// Says whether somebody wrote to an open journal that is among these packs: who sees it before
    /// they are packed need not pack them for nothing.
    fn is_outrun_before(&mut self, packs: &HashSet<Id>) -> Result<bool> {
        let passing = self.passing.as_ref().filter(|passing| passing.is_among(packs));
        if let Some(end) = passing.and_then(Passing::open_end)
            && self.inner.refresh()?.open_segment().end() != end
        {
            (self.passing, self.is_outrun) = (None, true);
        }
        Ok(self.is_outrun)
    }

    /// Writes the packs of a group again, and publishes them; says whether there was time, and
    /// nobody wrote to a journal that is packed with them.
    fn write_group(
        &mut self,
        group: &Group,
        marker: &Marker<'_>,
        loose: &[Id],
        state: &Arc<State>,
    ) -> Result<bool> {
        let packs = || group.numbers.iter().map(|number| &marker.packs[*number]);
        let old: HashSet<Id> = packs().map(|marked| marked.pack.info().id).collect();
        if self.is_outrun_before(&old)? {
            return Ok(false);
        }
        let mut ready = Ready::default();
        let new: Vec<PackInfo> = if group.is_anew {
            let form = if self.options.aggressive { Form::SMALL } else { Form::TIDY };
            let form = if self.options.one_thread { form.alone() } else { form };
            let wanted: Vec<_> = packs().map(|marked| |row| marked.reached.has(row)).collect();
            let sources = packs().zip(&wanted);
            let sources: Vec<Source<'_>> = sources
                .map(|(marked, wanted)| Source { pack: &marked.pack, is_wanted: wanted })
                .collect();
            let contents = Contents { sources: &sources, loose };
            let (inner, unpacked) = (self.inner, &marker.unpacked);
            let mut go_on = || !self.is_out_of_time();
            match inner.pack_anew(state, &contents, form, unpacked, &mut go_on, &mut ready)? {
                Some(new) => new,
                None => return Ok(false),
            }
        } else {
            let marked = &marker.packs[group.numbers[0]];
            let is_wanted = |row| marked.reached.has(row);
            self.inner.rewrite(&marked.pack, &is_wanted, state)?.into_iter().collect()
        };
        let set_aside = self.report.set_aside;
        let cruft = self.write_cruft(group, marker, &mut ready)?;
        let passed = self.passing.take_if(|passing| passing.is_among(&old));
        let names = passed.as_ref().map(|it| self.inner.seal_names(state, it.segments, &mut ready));
        let names = names.transpose()?;
        if group.is_last {
            self.spent.append(&mut ready.spent);
        }
        let named = ready.name(&*self.inner.disk)?;
        self.hold_manifest();
        let open_end = passed.as_ref().and_then(Passing::open_end);
        let edit = |manifest: &mut Manifest| {
            if let (Some(passed), Some(names)) = (passed, names) {
                // The newest, as if it had been sealed.
                manifest.packs.push(*passed.pack.info());
                names.replace(manifest);
            }
            manifest.replace_packs(&old, &new);
            manifest.cruft.extend(cruft);
        };
        match open_end {
            None => self.inner.edit_manifest_after(&named, edit)?,
            Some(end) => self.is_outrun = !self.inner.close_journal_at(end, &named, edit)?,
        }
        if self.is_outrun {
            self.report.set_aside = set_aside;
        }
        Ok(!self.is_outrun)
    }

    /// Packs what was not reached. Where it is dropped at once, and no other group waits for the
    /// space, the old packs are the cruft, if they have files.
    fn write_cruft(
        &mut self,
        group: &Group,
        marker: &Marker<'_>,
        ready: &mut Ready,
    ) -> Result<Vec<CruftRecord>> {
        let since_ms = self.options.now_ms;
        let mut cruft = Vec::new();
        let mut writer = None;
        for marked in group.numbers.iter().map(|number| &marker.packs[*number]) {
            let garbage = u64::from(marked.pack.len()) - marked.reached.count();
            if garbage == 0 {
                continue;
            }
            for row in (0..marked.pack.len()).filter(|row| !marked.reached.has(*row)) {
                self.report.set_aside.add(marked.pack.kind(row)?);
            }
            if self.options.drops_now() && group.is_last && !marked.pack.is_held() {
                let pack = *marked.pack.info();
                self.garbage.insert(pack.id, garbage);
                cruft.push(CruftRecord { pack, since_ms });
                continue;
            }
            let writer = match &mut writer {
                Some(writer) => writer,
                none => none.insert(self.inner.new_pack(CRUFT_OPTIONS)?),
            };
            for block in 0..marked.pack.blocks() {
                writer.add_block(&marked.pack, block, &mut |row| !marked.reached.has(row))?;
            }
        }
        if let Some(writer) = writer {
            // Of what it links, much may be gone.
            let pack = writer.finish_into(&mut |_| Ok(None), ready)?;
            cruft.push(CruftRecord { pack, since_ms });
        }
        Ok(cruft)
    }
}

/// Takes each pack by itself, the smallest first.
fn one_by_one(
    marker: &Marker<'_>,
    anew: &[usize],
    tidy: &[(u64, usize, u64)],
    has_loose: bool,
) -> Vec<Group> {
    let anew = anew.iter().map(|number| (*number, true));
    let copied = tidy.iter().filter(|(_, _, garbage)| *garbage > 0);
    let mut each: Vec<(usize, bool)> =
        anew.chain(copied.map(|(_, number, _)| (*number, false))).collect();
    each.sort_by_key(|(number, _)| marker.packs[*number].pack.info().pack_bytes);
    let groups = each.into_iter().map(|(number, is_anew)| Group::of(vec![number], is_anew));
    let mut groups: Vec<Group> = groups.collect();
    if has_loose && !groups.iter().any(|group| group.is_anew) {
        groups.push(Group::of(Vec::new(), true));
    }
    groups
}

/// Says whether a pack has long blocks.
pub(super) fn is_tidy(pack: &Pack) -> Result<bool> {
    let blocks = pack.blocks();
    let mut raw_bytes = 0;
    for block in 0..blocks {
        raw_bytes += u64::from(pack.block_place(block)?.raw_bytes);
    }
    let usual = PackOptions::TIDY.block_bytes as u64 / 2;
    Ok(pack.may_be_folded()? && (blocks <= 1 || raw_bytes / u64::from(blocks) >= usual))
}
