//! Objects packed anew: in an order in which they compress well and are walked quickly.
//!
//! Blobs lie together, those that are alike next to each other; so does all the rest, in the order
//! in which it was written. Contents are read block by block; of blobs a window is held at once.

use std::sync::Arc;

use crate::error::Result;
use crate::id::{Id, Kind};
use crate::store::local::Inner;
use crate::store::local::likeness;
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::pack::{Pack, PackInfo, PackOptions, PackWriter, Visit};
use crate::store::local::state::State;

/// A pack gets no more objects than this; then the next begins.
const OBJECTS_MAX: usize = 1 << 19;

/// How objects are packed anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    options: PackOptions,
    /// So much content of blobs is held at once to put together what is alike.
    alike_bytes: usize,
}

impl Form {
    /// As it is always done.
    pub(crate) const TIDY: Form = Form { options: PackOptions::TIDY, alike_bytes: 32 << 20 };

    /// As small as can be, however long it takes.
    pub(crate) const SMALL: Form =
        Form { options: PackOptions { level: 19, ..PackOptions::TIDY }, alike_bytes: 96 << 20 };
}

/// Some rows of a pack.
pub(crate) struct Source<'s> {
    pub(crate) pack: &'s Pack,
    pub(crate) is_wanted: &'s dyn Fn(u32) -> bool,
}

/// What one pass over the sources takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Rest,
    Blobs,
}

impl Kinds {
    fn has(self, kind: Kind) -> bool {
        (self == Kinds::Blobs) == (kind == Kind::Blob)
    }
}

impl Inner {
    /// Begins a pack.
    pub(crate) fn new_pack(&self, options: PackOptions) -> Result<PackWriter> {
        PackWriter::new(Arc::clone(&self.disk), &self.layout.pack_dir(), options)
    }

    /// Packs rows of packs, and loose objects that are small; `None` if it was told to stop.
    ///
    /// Nobody names the new packs yet.
    pub(crate) fn pack_anew(
        self: &Arc<Inner>,
        state: &Arc<State>,
        sources: &[Source<'_>],
        loose: &[Id],
        form: Form,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<PackInfo>>> {
        let Form { options, alike_bytes } = form;
        let writer = self.new_pack(options)?;
        let mut sink = Sink { inner: self, state, options, writer, done: Vec::new() };
        let mut window = Window { blobs: Vec::new(), bytes: 0, bytes_max: alike_bytes };
        for kinds in [Kinds::Rest, Kinds::Blobs] {
            let mut add = |id: &Id, kind: Kind, content: &[u8]| match kinds {
                Kinds::Rest => sink.add(id, kind, content),
                Kinds::Blobs => window.add(id, content, &mut sink),
            };
            for source in sources {
                for block in 0..source.pack.blocks() {
                    if !go_on() {
                        return Ok(None);
                    }
                    self.read_block(source, block, kinds, &mut add)?;
                }
            }
            for id in loose {
                if self.loose.kind(id)?.is_some_and(|kind| kinds.has(kind))
                    && let Some(stored) = self.loose.get(id)?
                    && (stored.content.len() as u64) < LOOSE_BYTES_MIN
                {
                    add(id, stored.kind, &stored.content)?;
                }
            }
        }
        window.empty(&mut sink)?;
        sink.end_pack()?;
        Ok(Some(sink.done))
    }

    /// Reads the wanted rows of a block.
    fn read_block(
        &self,
        source: &Source<'_>,
        block: u32,
        kinds: Kinds,
        add: &mut Visit<'_, ()>,
    ) -> Result<()> {
        let pack = source.pack;
        let mut raw = None;
        for row in pack.block_rows(block)? {
            let position = pack.position(*row)?;
            if !kinds.has(position.kind) || !(source.is_wanted)(*row) {
                continue;
            }
            let raw = match &mut raw {
                Some(raw) => raw,
                none => none.insert(pack.block_of(block, &self.cache, false)?),
            };
            let span = pack.span_at(raw, *row, &position)?;
            add(&pack.id(*row)?, span.kind, &raw[span.content])?;
        }
        Ok(())
    }
}

/// Where objects go: one pack after the other.
struct Sink<'a> {
    inner: &'a Arc<Inner>,
    state: &'a Arc<State>,
    options: PackOptions,
    writer: PackWriter,
    done: Vec<PackInfo>,
}

impl Sink<'_> {
    fn add(&mut self, id: &Id, kind: Kind, content: &[u8]) -> Result<()> {
        if self.writer.len() >= OBJECTS_MAX {
            self.end_pack()?;
        }
        self.writer.add(id, kind, content)
    }

    fn end_pack(&mut self) -> Result<()> {
        if self.writer.len() > 0 {
            let next = self.inner.new_pack(self.options)?;
            let full = std::mem::replace(&mut self.writer, next);
            self.done.push(self.inner.finish_pack(full, self.state)?);
        }
        Ok(())
    }
}

/// Blobs on their way into a pack, held until there are enough to put together what is alike.
struct Window {
    blobs: Vec<(Id, Vec<u8>)>,
    bytes: usize,
    bytes_max: usize,
}

impl Window {
    fn add(&mut self, id: &Id, content: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        self.blobs.push((*id, content.to_vec()));
        self.bytes += content.len();
        match self.bytes >= self.bytes_max {
            true => self.empty(sink),
            false => Ok(()),
        }
    }

    fn empty(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let blobs = std::mem::take(&mut self.blobs);
        self.bytes = 0;
        for place in likeness::order(blobs.iter().map(|(_, content)| content.as_slice())) {
            let (id, content) = &blobs[place];
            sink.add(id, Kind::Blob, content)?;
        }
        Ok(())
    }
}
