//! Objects packed anew: in an order in which they compress well and are walked quickly.
//!
//! What is about sessions comes first, in blocks of its own; then entries and nodes, in the order
//! in which they were written; then blobs, those that are alike next to each other. Contents are
//! read block by block; of blobs a window is held at once. What blocks share is found in a sample
//! first, and becomes the packs' dictionary.

mod kinds;
mod window;

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::id::{self, Id, Kind};
use crate::store::local::Inner;
use crate::store::local::cache::BlockCache;
use crate::store::local::halves;
use crate::store::local::likeness;
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::pack::{Pack, PackInfo, PackOptions, PackWriter};
use crate::store::local::paged::Ready;
use crate::store::local::state::State;
use crate::store::local::train;
use crate::store::{Content, Stored};
use kinds::Kinds;
use window::Window;

/// How many threads compress, beside the one that reads and writes, which does while it waits.
pub(crate) const THREADS: usize = 1;
/// A pack gets no more objects than this; then the next begins.
const OBJECTS_MAX: usize = 1 << 19;

/// What has less raw content than this gets no dictionary.
const DICTIONARY_RAW_BYTES_MIN: u64 = 1 << 20;

/// So much is looked at to make a dictionary at least: what parts share is told by some parts.
const SAMPLE_BYTES_MIN: u64 = 2 << 20;
/// Blobs of a sample hold no more than this of blocks; from then on they are copied.
const SAMPLE_HELD_BYTES_MAX: usize = 16 << 20;

/// How objects are packed anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    options: PackOptions,
    /// So much content of blobs is held at once to put together what is alike.
    alike_bytes: usize,
    /// So much of all is looked at to make a dictionary, and no more than one part in so many.
    sample_bytes: u64,
    sample_share: u64,
    /// And of that, one stretch in so many.
    sample_one_in: u8,
    /// A dictionary has no more than this, and one byte for so many of a pack.
    dictionary_bytes_max: u64,
    dictionary_share: u64,
}

impl Form {
    /// As it is always done.
    pub(crate) const TIDY: Form = Form {
        options: PackOptions {
            level: 6,
            first_level: Some(PackOptions::QUICK_LEVEL),
            dictionary_level: PackOptions::QUICK_LEVEL,
            dictionaries: true,
            is_checked: true,
            threads: THREADS,
            ..PackOptions::TIDY
        },
        alike_bytes: 32 << 20,
        sample_bytes: 8 << 20,
        sample_share: 4,
        sample_one_in: 64,
        dictionary_bytes_max: 512 << 10,
        dictionary_share: 32,
    };

    /// As small as can be, without making readers wait.
    pub(crate) const SMALL: Form = Form {
        options: PackOptions {
            level: 17,
            first_level: None,
            dictionary_level: PackOptions::TIDY.dictionary_level,
            // To hash all once more is little beside this level.
            is_checked: false,
            ..Form::TIDY.options
        },
        alike_bytes: 96 << 20,
        sample_bytes: 32 << 20,
        sample_share: 1,
        sample_one_in: 16,
        dictionary_bytes_max: 384 << 10,
        dictionary_share: 16,
    };

    /// Compresses in the thread that writes.
    pub(crate) fn alone(self) -> Form {
        Form { options: PackOptions { threads: 0, ..self.options }, ..self }
    }
}

/// What blobs are like, as far as that was found out.
type Known = HashMap<Id, likeness::Sample>;

/// What is done with an object that was read.
type Add<'a> = dyn FnMut(&Id, Stored) -> Result<()> + 'a;

/// Some rows of a pack.
pub(crate) struct Source<'s> {
    pub(crate) pack: &'s Pack,
    pub(crate) is_wanted: &'s dyn Fn(u32) -> bool,
}

/// What is packed together.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'s> {
    pub(crate) sources: &'s [Source<'s>],
    /// Loose objects that are small.
    pub(crate) loose: &'s [Id],
}

/// The objects of a block that one pass over the sources takes.
#[derive(Clone, Copy)]
struct Unit {
    source: usize,
    block: u32,
    kinds: Kinds,
    objects: usize,
    raw_bytes: u64,
}

impl Inner {
    /// Begins a pack.
    pub(crate) fn new_pack(&self, options: PackOptions) -> Result<PackWriter> {
        PackWriter::new(Arc::clone(&self.disk), &self.layout.pack_dir(), options)
    }

    /// Packs contents; `None` if it was told to stop.
    ///
    /// Blocks that were unpacked already are in the cache. Nobody names the new packs yet, and
    /// their files have no names.
    pub(crate) fn pack_anew(
        self: &Arc<Inner>,
        state: &Arc<State>,
        contents: &Contents<'_>,
        form: Form,
        unpacked: &BlockCache,
        go_on: &mut dyn FnMut() -> bool,
        ready: &mut Ready,
    ) -> Result<Option<Vec<PackInfo>>> {
        let Contents { sources, loose } = *contents;
        let units = units(sources)?;
        let runs = runs(&units);
        let mut done = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            // What the pack before took is not kept for long.
            ready.spent.clear();
            let loose = if number + 1 == runs.len() { loose } else { &[] };
            let mut window = Window::new(form.alike_bytes, form.options.threads);
            let blobs = || run.iter().filter(|unit| unit.kinds == Kinds::Blobs);
            // Where one window holds them all, what they are like is found out early.
            let is_early = held_bytes(sources, blobs())? < form.alike_bytes as u64;
            for unit in blobs().filter(|_| is_early) {
                if !go_on() {
                    return Ok(None);
                }
                let mut hold = |id: &Id, stored: Stored| {
                    window.hold(id, stored.content);
                    Ok(())
                };
                self.read_block(&sources[unit.source], unit, unpacked, &mut hold)?;
            }
            let begun = self.begin_run(sources, run, form, unpacked, go_on, &mut window)?;
            let Some(mut sink) = begun else {
                return Ok(None);
            };
            for kinds in Kinds::ALL {
                let mut add = |id: &Id, stored: Stored| match kinds {
                    Kinds::About | Kinds::Steps => sink.add(id, stored.kind, &stored.content),
                    Kinds::Blobs => window.add(id, stored.content, &mut sink),
                };
                let is_read = |unit: &Unit| is_early && unit.kinds == Kinds::Blobs;
                for unit in run.iter().filter(|unit| unit.kinds == kinds && !is_read(unit)) {
                    if !go_on() {
                        return Ok(None);
                    }
                    self.read_block(&sources[unit.source], unit, unpacked, &mut add)?;
                }
                self.read_loose(loose, kinds, &mut add)?;
                if kinds == Kinds::About {
                    sink.end_part()?;
                }
            }
            window.empty(&mut sink)?;
            if sink.len() > 0 {
                done.push(self.finish_pack_into(sink, state, ready)?);
            }
        }
        Ok(Some(done))
    }

    /// Packs the wanted rows of a pack as they lie, in one pack; `None` if there are none.
    ///
    /// Its dictionary is made of them alone.
    pub(crate) fn pack_again(
        self: &Arc<Inner>,
        state: &Arc<State>,
        source: &Source<'_>,
        form: Form,
    ) -> Result<Option<PackInfo>> {
        let source = std::slice::from_ref(source);
        let mut units = units(source)?;
        units.sort_by_key(|unit| unit.block);
        let mut none = Window::new(0, 0);
        let sink = self.begin_run(source, &units, form, &self.cache, &mut || true, &mut none)?;
        let mut sink = sink.expect("it was not told to stop");
        for (place, unit) in units.iter().enumerate() {
            let mut add = |id: &Id, stored: Stored| sink.add(id, stored.kind, &stored.content);
            self.read_block(&source[0], unit, &self.cache, &mut add)?;
            let is_about = |unit: &Unit| unit.kinds == Kinds::About;
            if is_about(unit) && units.get(place + 1).is_some_and(|next| !is_about(next)) {
                sink.end_part()?;
            }
        }
        match sink.len() {
            0 => Ok(None),
            _ => self.finish_pack(sink, state).map(Some),
        }
    }

    /// Begins a pack with a dictionary made for what it will get, if one would help, and notes what
    /// was found out about blobs; `None` if it was told to stop.
    fn begin_run(
        &self,
        sources: &[Source<'_>],
        run: &[Unit],
        form: Form,
        unpacked: &BlockCache,
        go_on: &mut dyn FnMut() -> bool,
        window: &mut Window,
    ) -> Result<Option<PackWriter>> {
        let raw_bytes: u64 = run.iter().map(|unit| unit.raw_bytes).sum();
        let objects = run.iter().map(|unit| unit.objects).sum();
        let sample_bytes = (raw_bytes / form.sample_share).max(SAMPLE_BYTES_MIN);
        let sample_bytes = sample_bytes.min(form.sample_bytes).min(raw_bytes);
        if raw_bytes < DICTIONARY_RAW_BYTES_MIN {
            let mut writer = self.new_pack(form.options.for_little())?;
            writer.reserve(objects);
            return Ok(Some(writer));
        }
        let mut writer = self.new_pack(form.options)?;
        writer.reserve(objects);
        let mut sample = Sample::default();
        let mut credit = 0;
        for unit in run {
            credit += sample_bytes;
            if credit < raw_bytes {
                continue;
            }
            credit -= raw_bytes;
            if !go_on() {
                return Ok(None);
            }
            let mut add = |id: &Id, stored: Stored| {
                sample.add(id, stored);
                Ok(())
            };
            self.read_block(&sources[unit.source], unit, unpacked, &mut add)?;
        }
        sample.know(form.options.threads);
        let parts = sample.parts(form.options.block_bytes);
        let bytes_max = (raw_bytes / form.dictionary_share).min(form.dictionary_bytes_max);
        let (one_in, threads) = (form.sample_one_in, form.options.threads);
        let train = || {
            let text = train::shared_text(&parts, bytes_max as usize, one_in, threads);
            writer.set_dictionary(text)
        };
        let trained = window.know_meanwhile(&sample.known, train);
        window.know(sample.known);
        trained.map(|()| Some(writer))
    }

    /// Reads the loose objects of these kinds that are small.
    fn read_loose(&self, loose: &[Id], kinds: Kinds, add: &mut Add<'_>) -> Result<()> {
        for id in loose {
            if self.loose.kind(id)?.is_some_and(|kind| kinds.has(kind))
                && let Some(stored) = self.loose.get(id)?
                && (stored.content.len() as u64) < LOOSE_BYTES_MIN
            {
                add(id, stored)?;
            }
        }
        Ok(())
    }

    /// Reads the wanted rows of a block.
    fn read_block(
        &self,
        source: &Source<'_>,
        unit: &Unit,
        unpacked: &BlockCache,
        add: &mut Add<'_>,
    ) -> Result<()> {
        let pack = source.pack;
        let mut raw = None;
        for row in pack.block_rows(unit.block)? {
            let position = pack.position(*row)?;
            if !unit.kinds.has(position.kind) || !(source.is_wanted)(*row) {
                continue;
            }
            let raw = match &mut raw {
                Some(raw) => raw,
                none => none.insert(pack.block_of(unit.block, unpacked, false)?),
            };
            let span = pack.span_at(raw, *row, &position)?;
            add(&pack.id(*row)?, span.stored(raw))?;
        }
        raw.into_iter().for_each(|raw| unpacked.done_with(raw));
        Ok(())
    }
}

/// Lists what the sources have, of one part of a pack after the other, block by block.
fn units(sources: &[Source<'_>]) -> Result<Vec<Unit>> {
    let mut of_kinds = Kinds::ALL.map(|_| Vec::new());
    for (number, source) in sources.iter().enumerate() {
        for block in 0..source.pack.blocks() {
            let rows = source.pack.block_rows(block)?;
            let mut objects = Kinds::ALL.map(|_| 0);
            for row in rows.iter().filter(|row| (source.is_wanted)(**row)) {
                objects[Kinds::of(source.pack.kind(*row)?) as usize] += 1;
            }
            for (kinds, objects) in Kinds::ALL.into_iter().zip(objects) {
                if objects > 0 {
                    let all = u64::from(source.pack.block_place(block)?.raw_bytes);
                    let raw_bytes = all * objects as u64 / rows.len() as u64;
                    let unit = Unit { source: number, block, kinds, objects, raw_bytes };
                    of_kinds[kinds as usize].push(unit);
                }
            }
        }
    }
    Ok(of_kinds.concat())
}

/// Counts what is held by those who hold a part of each of these blocks.
fn held_bytes<'u>(
    sources: &[Source<'_>],
    mut units: impl Iterator<Item = &'u Unit>,
) -> Result<u64> {
    units.try_fold(0, |bytes, unit| {
        let place = sources[unit.source].pack.block_place(unit.block)?;
        Ok(bytes + u64::from(place.raw_bytes))
    })
}

/// Splits what is to be packed into packs. There is one at least, for loose objects.
fn runs(units: &[Unit]) -> Vec<&[Unit]> {
    let (mut runs, mut first, mut objects) = (Vec::new(), 0, 0);
    for (at, unit) in units.iter().enumerate() {
        if objects > 0 && objects + unit.objects > OBJECTS_MAX {
            runs.push(&units[first..at]);
            (first, objects) = (at, 0);
        }
        objects += unit.objects;
    }
    runs.push(&units[first..]);
    runs
}

/// Some of the contents that will be packed.
#[derive(Default)]
struct Sample {
    /// What follows each other in a block is one text.
    rest: Vec<Content>,
    blobs: Vec<(Id, Content)>,
    /// How long the blocks are that these hold.
    held_bytes: usize,
    known: Known,
}

impl Sample {
    fn add(&mut self, id: &Id, Stored { kind, content }: Stored) {
        let header = id::Header::new(kind, content.len() as u64);
        let (is_blob, gap) = (kind == Kind::Blob, header.bytes().len());
        if !is_blob && self.rest.last_mut().is_some_and(|last| last.join(&content, gap)) {
            return;
        }
        let last = if is_blob { self.blobs.last().map(|(_, it)| it) } else { self.rest.last() };
        let is_beside = last.is_some_and(|last| last.shares_with(&content));
        let more = if is_beside { 0 } else { content.held_bytes() };
        // A content holds its whole block, of which little may be in the sample.
        let is_held = self.held_bytes + more <= SAMPLE_HELD_BYTES_MAX;
        self.held_bytes += if is_held { more } else { 0 };
        let content = if is_held { content } else { content.to_vec().into() };
        match is_blob {
            true => self.blobs.push((*id, content)),
            false => self.rest.push(content),
        }
    }

    /// Finds out what the blobs are like.
    fn know(&mut self, threads: usize) {
        let samples = halves::map(&self.blobs, threads, |(_, content)| likeness::sample(content));
        self.known.extend(self.blobs.iter().map(|(id, _)| *id).zip(samples));
    }

    /// Gives parts as long as blocks, in the order in which all will lie: what is found within a
    /// block need not be in the dictionary.
    fn parts(&self, part_bytes: usize) -> Vec<Vec<&[u8]>> {
        let order = likeness::order(self.blobs.iter().map(|(id, _)| self.known[id].clone()));
        let blobs: Vec<&Content> = order.into_iter().map(|place| &self.blobs[place].1).collect();
        let rest: Vec<&Content> = self.rest.iter().collect();
        let mut parts = Vec::new();
        for texts in [rest, blobs] {
            let (mut part, mut bytes) = (Vec::new(), 0);
            for text in texts {
                part.push(&**text);
                bytes += text.len();
                if bytes >= part_bytes {
                    parts.push(std::mem::take(&mut part));
                    bytes = 0;
                }
            }
            parts.push(part);
        }
        parts
    }
}
