//! Writing a pack.
//!
//! Objects come in the order in which they will be walked. Nothing has a final name until all three
//! files are written; a writer that is dropped before leaves nothing, one that is killed leaves
//! files beside the final names. They count when a manifest names them, which is after their sync.
//!
//! Not here: choosing the order, and telling anybody that the pack exists.

mod fill;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::graph::{GRAPH_MAGIC, GRAPH_VERSION, GraphBuilder, Order};
use super::super::index::{
    BlockPlace, INDEX_MAGIC, INDEX_VERSION, PACK_OBJECTS_MAX, Position, write_index,
};
use super::super::paged::{AsideFile, PagedWriter, Ready};
use super::block::{BLOCK_HEADER_BYTES, Block, BlockHeader, Span};
use super::dictionary::{self, Reference};
use super::options::PackOptions;
use super::press::{self, How, Placed, Press, Pressed};
use super::stored::STORED_BYTES_MAX;
use super::{
    FLAG_DICTIONARIES, FLAG_FOLDED, FLAG_SUMMED, PACK_HEADER_BYTES, PACK_MAGIC, PACK_VERSION,
};
use super::{Pack, PackFile, PackInfo};
use super::{TRAILER_BYTES, TRAILER_MAGIC};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::{self, Id, Kind};
use crate::object;
use crate::slots::{Slots, begin_of, slot_hash};

/// The largest object that a pack takes; a store keeps its large ones elsewhere anyway.
pub(crate) const PACKED_BYTES_MAX: usize = 4 << 20;

/// How hard zstd tries on guards, which look random.
const GUARD_LEVEL: i32 = 1;

/// A pack being written.
pub(crate) struct PackWriter {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    options: PackOptions,
    file: AsideFile,
    /// Where full blocks are compressed.
    press: Press,
    /// The raw content of the block being filled, and its ids.
    raw: Vec<u8>,
    raw_ids: Vec<Id>,
    /// Where blocks were that are written.
    rooms: Vec<Vec<u8>>,
    /// How many blocks were begun before that one.
    full_blocks: u32,
    /// Dictionaries that came with blocks of other packs, by their packs.
    adopted: HashMap<(Id, Reference), Reference>,
    positions: Vec<(Id, Position)>,
    /// The numbers of objects by their ids.
    numbers: Slots,
    graph: GraphBuilder,
    blocks: Vec<BlockPlace>,
    id: blake3::Hasher,
}

impl PackWriter {
    /// Begins a pack in the directory of packs.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        dir: &Path,
        mut options: PackOptions,
    ) -> Result<PackWriter> {
        options.block_bytes = options.block_bytes.min(PACKED_BYTES_MAX);
        options.tail_bytes = options.tail_bytes.min(STORED_BYTES_MAX);
        let near = dir.join("pack-new");
        let PackOptions { level, first_level, fold, is_checked, is_little, threads, .. } = options;
        let dictionary = None;
        let how = How { level, first_level, fold, dictionary, is_checked, is_little, threads };
        let mut writer = PackWriter {
            file: AsideFile::create(Arc::clone(&disk), &near)?,
            disk,
            dir: dir.to_owned(),
            options,
            press: Press::new(how),
            raw: Vec::new(),
            raw_ids: Vec::new(),
            rooms: Vec::new(),
            full_blocks: 0,
            adopted: HashMap::new(),
            positions: Vec::new(),
            numbers: Slots::default(),
            graph: GraphBuilder::default(),
            blocks: Vec::new(),
            id: blake3::Hasher::new(),
        };
        let mut header = [0; PACK_HEADER_BYTES];
        header[..8].copy_from_slice(PACK_MAGIC);
        header[8..12].copy_from_slice(&PACK_VERSION.to_le_bytes());
        let flags = FLAG_SUMMED
            | if options.fold { FLAG_FOLDED } else { 0 }
            | if options.dictionaries { FLAG_DICTIONARIES } else { 0 };
        header[12..].copy_from_slice(&flags.to_le_bytes());
        writer.id.update(&header);
        writer.file.write(&header)?;
        Ok(writer)
    }

    /// Puts a dictionary at the begin of the pack, which all blocks that are filled will use.
    ///
    /// Where the text can't be one, or the pack may not have any, there is none.
    pub(crate) fn set_dictionary(&mut self, text: Vec<u8>) -> Result<()> {
        if !self.options.dictionaries || !dictionary::is_usable(&text) {
            return Ok(());
        }
        let record = press::press_text(&text, self.options.dictionary_level)?;
        let reference = self.put_dictionary(&record)?;
        self.press.set_dictionary(Placed { reference, text: Arc::new(text) });
        Ok(())
    }

    /// Makes room for so many objects at once, where that is known: lists that grow bit by bit
    /// take more memory.
    pub(crate) fn reserve(&mut self, objects: usize) {
        self.positions.reserve_exact(objects);
        self.numbers.reserve(self.positions.len() + objects);
        self.graph.reserve(objects);
    }

    /// Gives the number of objects up to now.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Adds an object; one that is there already is passed over.
    ///
    /// It is hashed once more, unless it is known to be checked: what a pack replaces may be gone
    /// soon.
    pub(crate) fn add(&mut self, id: &Id, kind: Kind, content: &[u8]) -> Result<()> {
        if content.len() > PACKED_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "an object for a pack",
                found: content.len() as u64,
                limit: PACKED_BYTES_MAX as u64,
            });
        }
        if self.number(id).is_some() {
            return Ok(());
        }
        let header = id::Header::new(kind, content.len() as u64);
        let header = header.bytes();
        let object_bytes = header.len() + content.len();
        // What may become the tail is held back.
        let room_bytes = self.options.block_bytes + self.options.tail_bytes;
        while !self.raw.is_empty() && self.raw.len() + object_bytes > room_bytes {
            self.end_block(self.fitting(), false)?;
        }
        let start = self.raw.len();
        self.raw.extend_from_slice(header);
        self.raw.extend_from_slice(content);
        let span = Span { kind, start, content: start + header.len()..self.raw.len() };
        let added = self.note(id, &span, content);
        if added.is_err() {
            self.raw.truncate(start);
        }
        added
    }

    /// Copies the wanted rows of a block of another pack, the whole block as it is.
    ///
    /// Where one of its objects is not wanted, or is here already, the others are added one by one;
    /// so are all where the block is folded and this pack may not be, or is not compressed.
    pub(crate) fn add_block(
        &mut self,
        pack: &Pack,
        block: u32,
        is_wanted: &mut dyn FnMut(u32) -> bool,
    ) -> Result<()> {
        let all = pack.block_rows(block)?;
        let rows: Vec<u32> = all.iter().copied().filter(|row| is_wanted(*row)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let ids = rows.iter().map(|row| pack.id(*row));
        let ids = ids.collect::<Result<Vec<Id>>>()?;
        if let Some(held) = &pack.held {
            return self.add_rows(pack, &held[block as usize], &rows, &ids);
        }
        let found = pack.block(block)?;
        if rows.len() < all.len()
            || ids.iter().any(|id| self.number(id).is_some())
            || found.header.form.is_folded && !self.options.fold
            || found.header.form.has_dictionary && !self.options.dictionaries
            || found.stored().is_some()
        {
            return self.add_rows(pack, &pack.load(block)?, &rows, &ids);
        }
        let mut hasher = blake3::Hasher::new();
        ids.iter().for_each(|id| {
            hasher.update(id.as_bytes());
        });
        if *hasher.finalize().as_bytes() != found.header.ids_hash {
            return Err(Error::corrupt(
                &pack.path,
                pack.index.block(block)?.offset,
                "a block does not hold the objects that the index says",
            ));
        }
        self.end_blocks(0)?;
        self.flush(true)?;
        let adopted = self.adopt(pack, &found)?;
        for (row, id) in rows.iter().zip(&ids) {
            let said = pack.outline(*row)?;
            self.chart(said.kind, &said.label, said.time, &said.parents)?;
            let position = pack.index.position(*row)?;
            self.place(id, position.kind, position.offset as usize)?;
        }
        self.full_blocks += 1;
        match adopted {
            Some((header, frame)) => self.put_block(&header, &frame),
            None => self.put_block(&found.header, found.frame),
        }
    }

    /// Adds rows of a block one by one.
    fn add_rows(&mut self, pack: &Pack, raw: &[u8], rows: &[u32], ids: &[Id]) -> Result<()> {
        for (row, id) in rows.iter().zip(ids) {
            let span = pack.span(raw, *row, &pack.index.position(*row)?)?;
            self.add(id, span.kind, &raw[span.content])?;
        }
        Ok(())
    }

    /// Copies the dictionary of another pack's block, once, and gives the block as it is here.
    fn adopt(&mut self, pack: &Pack, found: &Block<'_>) -> Result<Option<(BlockHeader, Vec<u8>)>> {
        let Some(named) = found.dictionary() else {
            return Ok(None);
        };
        let key = (pack.info.id, named);
        let here = match self.adopted.get(&key) {
            Some(here) => *here,
            None => {
                let text = pack.dictionary_of(found)?.expect("it names one");
                let record = press::press_text(&text, self.options.dictionary_level)?;
                let here = self.put_dictionary(&record)?;
                self.adopted.insert(key, here);
                here
            }
        };
        let frame = [&here.encode()[..], &found.frame[Reference::BYTES..]].concat();
        let BlockHeader { raw_bytes, form, objects, ids_hash, .. } = found.header;
        Ok(Some((BlockHeader::new(raw_bytes, form, objects, ids_hash, &frame), frame)))
    }

    /// Finishes the pack: all three files durable under their names.
    ///
    /// `depth_of` is asked for the depths of objects outside the pack; where it has no answer, the
    /// graph leaves the depth open. A crash leaves files that nobody names.
    pub(crate) fn finish(
        self,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
    ) -> Result<PackInfo> {
        self.finish_after(depth_of, &mut |_| Ok(()))
    }

    /// Finishes the pack, whose files get their names with others.
    pub(crate) fn finish_into(
        mut self,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
        ready: &mut Ready,
    ) -> Result<PackInfo> {
        self.end_blocks(self.options.tail_bytes)?;
        self.flush(true)?;
        let pack_id = self.end_pack()?;
        let pack_bytes = self.file.len();
        let order = self.order();
        let index = self.write_index(&pack_id, pack_bytes, &order)?;
        let graph = self.write_graph(&pack_id, &order, depth_of)?;
        let info = PackInfo {
            id: pack_id,
            pack_bytes,
            index_bytes: index.len(),
            objects: order.len() as u64,
        };
        ready.add(graph, PackFile::Graph.path(&self.dir, &pack_id));
        ready.add(index, PackFile::Index.path(&self.dir, &pack_id));
        ready.add(self.file, PackFile::Pack.path(&self.dir, &pack_id));
        ready.spent.push(Box::new((self.press, self.rooms)));
        Ok(info)
    }

    /// Finishes the pack, but tells its id before any file gets its name: one that is there already
    /// is replaced.
    pub(crate) fn finish_after(
        self,
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
        before: &mut dyn FnMut(&Id) -> Result<()>,
    ) -> Result<PackInfo> {
        let (disk, mut ready) = (Arc::clone(&self.disk), Ready::default());
        let info = self.finish_into(depth_of, &mut ready)?;
        before(&info.id)?;
        ready.publish(&*disk)?;
        Ok(info)
    }

    /// Notes an object that was just put at the end of the block being filled.
    fn note(&mut self, id: &Id, span: &Span, content: &[u8]) -> Result<()> {
        if !self.press.hashes() && span.id(&self.raw) != *id {
            return Err(press::not_its_id(span.kind, id));
        }
        let said = object::outline(span.kind, content)?;
        self.chart(span.kind, &said.label, said.time, &said.parents)?;
        self.place(id, span.kind, span.start)?;
        self.raw_ids.push(*id);
        Ok(())
    }

    /// Notes an object's place in the history.
    fn chart(&mut self, kind: Kind, label: &str, time: i64, parents: &[Id]) -> Result<()> {
        let (numbers, positions) = (&self.numbers, &self.positions);
        let number_of = |id: &Id| number_of(numbers, positions, id);
        self.graph.add(kind, label, time, parents, &number_of)
    }

    fn number(&self, id: &Id) -> Option<u32> {
        number_of(&self.numbers, &self.positions, id)
    }

    /// Notes where an object will be: in the next block that is put.
    fn place(&mut self, id: &Id, kind: Kind, offset: usize) -> Result<()> {
        let number = self.positions.len();
        if number >= PACK_OBJECTS_MAX {
            return Err(Error::TooLarge {
                what: "the number of objects in a pack",
                found: number as u64,
                limit: PACK_OBJECTS_MAX as u64,
            });
        }
        let position = Position { block: self.full_blocks, kind, offset: offset as u32 };
        self.positions.push((*id, position));
        self.numbers.push(|number| slot_hash(&self.positions[number as usize].0));
        Ok(())
    }

    /// Writes the blocks that are compressed; all of them, if it is to wait for them.
    fn flush(&mut self, all: bool) -> Result<()> {
        while let Some(pressed) = self.press.take(all) {
            let Pressed { header, frame, mut room } = pressed?;
            self.put_block(&header, &frame)?;
            room.clear();
            self.rooms.push(room);
        }
        Ok(())
    }

    /// Writes a dictionary and its guard, and says where it is.
    fn put_dictionary(&mut self, text: &Pressed) -> Result<Reference> {
        let record = [&text.header.encode()[..], &text.frame].concat();
        let reference = Reference { offset: self.file.len(), bytes: record.len() as u32 };
        self.put_block(&text.header, &text.frame)?;
        let guard = press::press_text(&dictionary::guard(&record), GUARD_LEVEL)?;
        self.put_block(&guard.header, &guard.frame)?;
        self.full_blocks += 2;
        Ok(reference)
    }

    fn put_block(&mut self, header: &BlockHeader, frame: &[u8]) -> Result<()> {
        self.blocks.push(header.place(self.file.len()));
        let header: [u8; BLOCK_HEADER_BYTES] = header.encode();
        self.id.update(&header);
        self.file.write(&header)?;
        self.file.write(frame)
    }

    /// Writes the trailer and gives the pack's id, which ends it.
    fn end_pack(&mut self) -> Result<Id> {
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(TRAILER_MAGIC);
        trailer.extend_from_slice(&(self.blocks.len() as u32).to_le_bytes());
        trailer.extend_from_slice(&(self.positions.len() as u64).to_le_bytes());
        self.id.update(&trailer);
        let pack_id = Id::from_bytes(*self.id.finalize().as_bytes());
        trailer.extend_from_slice(pack_id.as_bytes());
        self.file.write(&trailer)?;
        Ok(pack_id)
    }

    /// Gives the numbers of the objects in the order of their ids.
    fn order(&self) -> Vec<u32> {
        let begins = self.positions.iter().map(|(id, _)| begin_of(id));
        let mut order: Vec<(u64, u32)> = begins.zip(0..).collect();
        let id = |number: u32| &self.positions[number as usize].0;
        order.sort_unstable_by(|one, two| one.0.cmp(&two.0).then_with(|| id(one.1).cmp(id(two.1))));
        order.into_iter().map(|(_, number)| number).collect()
    }

    fn write_index(&self, pack_id: &Id, pack_bytes: u64, order: &[u32]) -> Result<AsideFile> {
        let near = PackFile::Index.path(&self.dir, pack_id);
        let mut writer = PagedWriter::create(Arc::clone(&self.disk), &near)?;
        let rows = order.iter().map(|number| {
            let (id, position) = &self.positions[*number as usize];
            (id, *position)
        });
        let mut out = |bytes: &[u8]| writer.write(bytes);
        write_index(&mut out, pack_id, pack_bytes, rows, &self.blocks)?;
        writer.seal(INDEX_MAGIC, INDEX_VERSION)
    }

    fn write_graph(
        &self,
        pack_id: &Id,
        order: &[u32],
        depth_of: &mut dyn FnMut(&Id) -> Result<Option<u64>>,
    ) -> Result<AsideFile> {
        let mut rows = vec![0u32; order.len()];
        for (row, number) in (0..).zip(order) {
            rows[*number as usize] = row;
        }
        let mut row_of = |id: &Id| Ok(self.number(id).map(|number| rows[number as usize]));
        let near = PackFile::Graph.path(&self.dir, pack_id);
        let mut writer = PagedWriter::create(Arc::clone(&self.disk), &near)?;
        let order = Order { numbers: order, rows: &rows };
        self.graph
            .build(pack_id, &order, &mut row_of, depth_of, &mut |bytes| writer.write(bytes))?;
        writer.seal(GRAPH_MAGIC, GRAPH_VERSION)
    }
}

/// Finds the number of an object by its id.
fn number_of(numbers: &Slots, positions: &[(Id, Position)], id: &Id) -> Option<u32> {
    numbers.find(slot_hash(id), |number| positions[number as usize].0 == *id)
}

impl std::fmt::Debug for PackWriter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PackWriter({} objects)", self.positions.len())
    }
}
