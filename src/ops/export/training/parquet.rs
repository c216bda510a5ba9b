//! Parquet files, as little of the format as training data needs.
//!
//! ```text
//! file   = "PAR1" group* footer u32(bytes of the footer) "PAR1"
//! group  = chunk*                      one for each leaf of the columns, in order
//! chunk  = header page                 one data page, compressed with zstd
//! page   = levels levels values        how deep it repeats, how deep it is there; plain
//! levels = u32(bytes) run*             left out where nothing can repeat
//! ```
//!
//! A column is a text, a truth, a list, or fields; everything may be missing. A leaf has a value
//! for each place where its text or truth could be: the levels say which lists began anew before
//! it, and how much of the way down to it is there. Rows are held until they have [`GROUP_BYTES`]
//! and are then written as a group, so memory is bounded by that and the largest row.
//!
//! Not here: dictionaries, statistics, indexes, reading.

mod leaf;
mod thrift;

use std::io::{self, Write};

use crate::codec::Value;
use crate::ops::export::training::row::{Cell, Sink};

use leaf::{Leaf, Level, TYPE_BOOLEAN, TYPE_BYTE_ARRAY, size};
use thrift::Record;

const MAGIC: &[u8; 4] = b"PAR1";
const CREATED_BY: &str = "sapwood";

/// From how many bytes on rows are written as a group.
const GROUP_BYTES: usize = 16 << 20;
const ZSTD_LEVEL: i32 = 3;

// Numbers of the format.
const OPTIONAL: i64 = 1;
const REPEATED: i64 = 2;
const CONVERTED_UTF8: i64 = 0;
const CONVERTED_LIST: i64 = 3;
const LOGICAL_STRING: i16 = 1;
const LOGICAL_LIST: i16 = 3;
const ENCODING_PLAIN: i64 = 0;
const ENCODING_RLE: i64 = 3;
const CODEC_ZSTD: i64 = 6;
const PAGE_DATA: i64 = 0;

/// What a column, or a part of it, is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Yes or no.
    Truth,
    /// A string.
    Text,
    /// Any number of one kind.
    List(Box<Kind>),
    /// Named parts.
    Fields(Vec<(&'static str, Kind)>),
}

impl Kind {
    /// A list of this.
    pub(super) fn list(item: Kind) -> Kind {
        Kind::List(Box::new(item))
    }

    /// Counts the texts and truths that it is made of.
    fn leaves(&self) -> usize {
        match self {
            Kind::Truth | Kind::Text => 1,
            Kind::List(item) => item.leaves(),
            Kind::Fields(fields) => fields.iter().map(|(_, kind)| kind.leaves()).sum(),
        }
    }
}

/// Writes a file.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    offset: u64,
    columns: Vec<(&'static str, Kind)>,
    leaves: Vec<Leaf>,
    /// Rows that are held.
    held: u64,
    rows: u64,
    groups: Vec<Record>,
}

impl<'a> Writer<'a> {
    /// Begins a file.
    pub(super) fn new(
        out: &'a mut dyn Write,
        columns: Vec<(&'static str, Kind)>,
    ) -> io::Result<Writer<'a>> {
        let mut leaves = Vec::new();
        for (name, kind) in &columns {
            Leaf::collect(kind, Leaf::at(vec![name]), &mut leaves);
        }
        let mut writer =
            Writer { out, offset: 0, columns, leaves, held: 0, rows: 0, groups: Vec::new() };
        writer.put(MAGIC)?;
        Ok(writer)
    }

    /// Writes what is held, and the footer.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write_group()?;
        let mut schema = vec![Record::new().text(4, "schema").int32(5, self.columns.len() as i64)];
        for (name, kind) in &self.columns {
            describe(name, kind, &mut schema);
        }
        let footer = Record::new()
            .int32(1, 1)
            .records(2, schema)
            .int64(3, self.rows as i64)
            .records(4, std::mem::take(&mut self.groups))
            .text(6, CREATED_BY)
            .finish();
        self.put(&footer)?;
        self.put(&size(footer.len())?.to_le_bytes())?;
        self.put(MAGIC)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes the rows that are held.
    fn write_group(&mut self) -> io::Result<()> {
        if self.held == 0 {
            return Ok(());
        }
        let mut chunks = Vec::new();
        let mut group_bytes = 0;
        for mut leaf in std::mem::take(&mut self.leaves) {
            let offset = self.offset as i64;
            let page = leaf.page()?;
            let packed = zstd::bulk::compress(&page, ZSTD_LEVEL)?;
            let counts = Record::new()
                .int32(1, leaf.count() as i64)
                .int32(2, ENCODING_PLAIN)
                .int32(3, ENCODING_RLE)
                .int32(4, ENCODING_RLE);
            let header = Record::new()
                .int32(1, PAGE_DATA)
                .int32(2, size(page.len())?.into())
                .int32(3, size(packed.len())?.into())
                .record(5, counts)
                .finish();
            let plain_bytes = (header.len() + page.len()) as i64;
            let about = Record::new()
                .int32(1, leaf.type_number())
                .int32s(2, &[ENCODING_PLAIN, ENCODING_RLE])
                .texts(3, &leaf.path)
                .int32(4, CODEC_ZSTD)
                .int64(5, leaf.count() as i64)
                .int64(6, plain_bytes)
                .int64(7, (header.len() + packed.len()) as i64)
                .int64(9, offset);
            chunks.push(Record::new().int64(2, offset).record(3, about));
            group_bytes += plain_bytes;
            self.put(&header)?;
            self.put(&packed)?;
            leaf.clear();
            self.leaves.push(leaf);
        }
        let group = Record::new().records(1, chunks).int64(2, group_bytes);
        self.groups.push(group.int64(3, self.held as i64));
        self.rows += self.held;
        self.held = 0;
        Ok(())
    }
}

impl Sink for Writer<'_> {
    fn row(&mut self, cells: &[(&'static str, Cell<'_>)]) -> io::Result<()> {
        let mut leaves = &mut self.leaves[..];
        for (name, kind) in &self.columns {
            let (own, others) = leaves.split_at_mut(kind.leaves());
            match cells.iter().find(|(cell, _)| cell == name) {
                Some((_, Cell::Truth(truth))) => {
                    shred(kind, Some(&Value::Bool(*truth)), Level::default(), own);
                }
                Some((_, Cell::List(items))) => {
                    shred_list(kind, items, Level::default(), own);
                }
                None => shred(kind, None, Level::default(), own),
            }
            leaves = others;
        }
        self.held += 1;
        match self.leaves.iter().map(|leaf| leaf.bytes()).sum::<usize>() >= GROUP_BYTES {
            true => self.write_group(),
            false => Ok(()),
        }
    }
}

/// Takes a value apart into its leaves.
fn shred(kind: &Kind, value: Option<&Value>, level: Level, leaves: &mut [Leaf]) {
    let below = Level { is_there: level.is_there + 1, ..level };
    match (kind, value) {
        (Kind::Truth, Some(Value::Bool(truth))) => leaves[0].add_truth(*truth, below),
        (Kind::Text, Some(Value::Text(text))) => leaves[0].add_text(text, below),
        (Kind::List(_), Some(Value::List(items))) => shred_list(kind, items, level, leaves),
        (Kind::Fields(fields), Some(value @ Value::Map(_))) => {
            let mut leaves = leaves;
            for (name, kind) in fields {
                let (own, others) = leaves.split_at_mut(kind.leaves());
                shred(kind, value.get(name), below, own);
                leaves = others;
            }
        }
        _ => leaves.iter_mut().for_each(|leaf| leaf.add_level(level)),
    }
}

/// Takes a list apart. An empty one is there, and nothing in it.
fn shred_list(kind: &Kind, items: &[Value], level: Level, leaves: &mut [Leaf]) {
    let Kind::List(item_kind) = kind else {
        return shred(kind, None, level, leaves);
    };
    if items.is_empty() {
        let empty = Level { is_there: level.is_there + 1, ..level };
        leaves.iter_mut().for_each(|leaf| leaf.add_level(empty));
    }
    let lists = level.lists + 1;
    for (number, item) in items.iter().enumerate() {
        let repeats = if number == 0 { level.repeats } else { lists };
        let level = Level { repeats, is_there: level.is_there + 2, lists };
        shred(item_kind, Some(item), level, leaves);
    }
}

/// Describes a column to readers: it, then what it is made of.
fn describe(name: &str, kind: &Kind, schema: &mut Vec<Record>) {
    let logical = |number| Record::new().record(number, Record::new());
    match kind {
        Kind::Truth => {
            let leaf = Record::new().int32(1, TYPE_BOOLEAN).int32(3, OPTIONAL);
            schema.push(leaf.text(4, name));
        }
        Kind::Text => {
            let leaf = Record::new().int32(1, TYPE_BYTE_ARRAY).int32(3, OPTIONAL);
            let leaf = leaf.text(4, name).int32(6, CONVERTED_UTF8);
            schema.push(leaf.record(10, logical(LOGICAL_STRING)));
        }
        Kind::List(item) => {
            let list = Record::new().int32(3, OPTIONAL).text(4, name).int32(5, 1);
            let list = list.int32(6, CONVERTED_LIST).record(10, logical(LOGICAL_LIST));
            schema.push(list);
            schema.push(Record::new().int32(3, REPEATED).text(4, "list").int32(5, 1));
            describe("element", item, schema);
        }
        Kind::Fields(fields) => {
            let group = Record::new().int32(3, OPTIONAL).text(4, name);
            schema.push(group.int32(5, fields.len() as i64));
            fields.iter().for_each(|(name, kind)| describe(name, kind, schema));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    fn columns() -> Vec<(&'static str, Kind)> {
        let call = Kind::Fields(vec![("name", Kind::Text)]);
        let fields = vec![("role", Kind::Text), ("calls", Kind::list(call))];
        vec![("said", Kind::list(Kind::Fields(fields))), ("label", Kind::Truth)]
    }

    fn add(writer: &mut Writer<'_>, said: &str, label: bool) {
        let said = json::parse(said.as_bytes()).unwrap();
        let cells = [("said", Cell::List(said.as_list().unwrap())), ("label", Cell::Truth(label))];
        writer.row(&cells).unwrap();
    }

    #[test]
    fn levels_say_what_is_there_and_what_begins_anew() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, columns()).unwrap();
        add(
            &mut writer,
            r#"[{"role":"a","calls":[{"name":"x"},{"name":"y"}]},{"role":"b"}]"#,
            true,
        );
        add(&mut writer, "[]", false);
        add(&mut writer, r#"[{"role":null,"calls":[]},{"calls":[{},{"name":"z"}]}]"#, true);
        let [role, name, label] = &writer.leaves[..] else {
            panic!("three leaves");
        };
        assert_eq!(name.path, ["said", "list", "element", "calls", "list", "element", "name"]);
        // How many there are at the most: said, list, role; said, list, element, calls, list, ….
        assert_eq!((role.repeats_max, role.is_there_max), (1, 4));
        assert_eq!((name.repeats_max, name.is_there_max), (2, 7));
        assert_eq!(role.repeats, [0, 1, 0, 0, 1]);
        assert_eq!(role.is_there, [4, 4, 1, 3, 3]);
        assert_eq!(name.repeats, [0, 2, 1, 0, 0, 1, 2]);
        assert_eq!(name.is_there, [7, 7, 3, 1, 4, 6, 7]);
        assert_eq!(name.values, b"\x01\0\0\0x\x01\0\0\0y\x01\0\0\0z");
        // Nothing of a label repeats; three are there; the first and the last are true.
        assert_eq!(label.page().unwrap(), b"\x02\0\0\0\x06\x01\x05");
    }

    #[test]
    fn rows_are_written_in_groups() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, columns()).unwrap();
        let long = format!(r#"[{{"role":"{}"}}]"#, "x".repeat(GROUP_BYTES / 2));
        for _ in 0..5 {
            add(&mut writer, &long, true);
        }
        assert_eq!((writer.groups.len(), writer.rows, writer.held), (2, 4, 1));
        writer.finish().unwrap();
        let (rest, magic) = out.split_last_chunk::<4>().unwrap();
        let (rest, length) = rest.split_last_chunk::<4>().unwrap();
        let footer = &rest[rest.len() - u32::from_le_bytes(*length) as usize..];
        assert_eq!((&out[..4], magic), (&MAGIC[..], MAGIC));
        // Version 1, then a list of eight records: the root, and what the columns are made of.
        assert_eq!(footer[..3], [0x15, 0x02, 0x19]);
        assert!(footer.ends_with(b"sapwood\0"));
    }

    #[test]
    fn a_file_may_have_no_rows() {
        let mut out = Vec::new();
        Writer::new(&mut out, columns()).unwrap().finish().unwrap();
        assert!(out.starts_with(MAGIC) && out.ends_with(MAGIC));
    }
}
