//! A second reader of stores, written from the page alone. Nothing of the library is used here.
//!
//! It trusts nothing and panics at the first byte that is not as the page says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::page::{Layout, Page};

pub(crate) const KINDS: [&str; 5] = ["blob", "entry", "node", "event", "session"];
const PAGE_BYTES: usize = 4096;

/// An operation: time, actor, command, and each move as name, value before, value after.
pub(crate) type Operation = (i64, String, String, Vec<(String, String, String)>);

/// What a store holds.
#[derive(Default)]
pub(crate) struct Contents {
    /// Kind and content, by id.
    pub(crate) objects: BTreeMap<String, (String, Vec<u8>)>,
    pub(crate) refs: BTreeMap<String, String>,
    pub(crate) operations: Vec<Operation>,
    /// Where the open segment ends.
    pub(crate) journal_end: u64,
}

/// Reads a store.
pub(crate) fn read(root: &Path, page: &Page) -> Contents {
    let mut contents = Contents::default();
    let current = fs::read_to_string(root.join("current")).unwrap();
    let (body, end) = current.split_at(current.rfind("end ").unwrap());
    assert_eq!(end, format!("end {}\n", blake3::hash(body.as_bytes())));
    let mut lines = body.lines();
    assert_eq!(lines.next(), Some("sapwood manifest 1"));
    let mut segments = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["generation", _] => {}
            ["segment", sequence, ..] => segments.push((sequence, words[2..].join(" "))),
            ["moved", _] | ["expired", _] => {}
            // A reader looks into cruft last; the objects are the same ones.
            ["pack", id, pack_bytes, index_bytes, objects]
            | ["cruft", id, pack_bytes, index_bytes, objects, _] => {
                let bytes = [pack_bytes, index_bytes, objects].map(|word| word.parse().unwrap());
                super::packs::read(root, page, id, bytes, &mut contents);
            }
            ["refs", number, bytes] => {
                let name = format!("refs/packed-{:016x}", number.parse::<u64>().unwrap());
                let payload = paged(&root.join(name), page, "SAPWREFS", bytes.parse().ok());
                for line in String::from_utf8(payload).unwrap().lines() {
                    let (name, value) = line.split_once('\t').unwrap();
                    contents.refs.insert(name.to_owned(), value.to_owned());
                }
            }
            ["refused", number, bytes] => {
                let name = format!("objects/refused-{:016x}", number.parse::<u64>().unwrap());
                let payload = paged(&root.join(name), page, "SAPWRFSD", bytes.parse().ok());
                let ids: Vec<&[u8]> = payload.chunks(32).collect();
                assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == 32));
            }
            ["log", number, bytes, operations] => {
                let name = format!("logs/operations-{:016x}", number.parse::<u64>().unwrap());
                let payload = paged(&root.join(name), page, "SAPWOPER", bytes.parse().ok());
                let found = log(&payload);
                assert_eq!(found.len(), operations.parse::<usize>().unwrap());
                contents.operations.extend(found);
            }
            _ => panic!("the page knows no line '{line}'"),
        }
    }
    for (sequence, state) in segments {
        segment(root, page, sequence.parse().unwrap(), &state, &mut contents);
    }
    loose(root, &mut contents);
    contents
}

impl Contents {
    /// Adds an object whose bytes are header and content.
    pub(crate) fn add(&mut self, id: &str, raw: &[u8]) {
        assert_eq!(hex(blake3::hash(raw).as_bytes()), id);
        let zero = raw.iter().position(|byte| *byte == 0).unwrap();
        let header = std::str::from_utf8(&raw[..zero]).unwrap();
        let (kind, bytes) = header.split_once(' ').unwrap();
        let content = raw[zero + 1..].to_vec();
        assert_eq!(bytes.parse(), Ok(content.len()));
        assert!(KINDS.contains(&kind));
        self.objects.insert(id.to_owned(), (kind.to_owned(), content));
    }
}

/// Reads a paged file, every page checked.
pub(crate) fn paged(path: &Path, page: &Page, magic: &str, expected_bytes: Option<u64>) -> Vec<u8> {
    let file = fs::read(path).unwrap();
    if let Some(expected) = expected_bytes {
        assert_eq!(file.len() as u64, expected, "{path:?}");
    }
    let layout = page.layout("Footer");
    let (rest, footer) = file.split_at(file.len() - layout.bytes());
    assert_eq!(layout.get(footer, "magic"), magic.as_bytes());
    assert_eq!(layout.number(footer, "version"), 1);
    let flags = layout.number(footer, "flags");
    let (payload, table) = rest.split_at(layout.number(footer, "payload") as usize);
    let covered = [layout.before(footer, "checksum"), table].concat();
    assert_eq!(layout.get(footer, "checksum"), blake3::hash(&covered).as_bytes());
    let pages = payload.chunks(PAGE_BYTES);
    let sums: Vec<u8> = match flags {
        0 => pages.flat_map(first_8).collect(),
        1 => pages.flat_map(|page| xxh3_64(page).to_le_bytes()).collect(),
        _ => panic!("{path:?} has the flags {flags}"),
    };
    assert_eq!(sums, table);
    payload.to_vec()
}

/// Reads one segment: its header, and its groups up to the first that is not one.
fn segment(root: &Path, page: &Page, sequence: u64, state: &str, contents: &mut Contents) {
    let file = fs::read(root.join(format!("objects/journal/{sequence:016x}"))).unwrap();
    let layout = page.layout("Segment header");
    let header = &file[..layout.bytes()];
    layout.check_literal(header, "magic");
    assert_eq!(layout.number(header, "version"), 1);
    assert_eq!(layout.number(header, "zero"), 0);
    assert_eq!(layout.number(header, "sequence"), sequence);
    assert_eq!(layout.get(header, "checksum"), first_8(layout.before(header, "checksum")));
    let salt: [u8; 32] = layout.get(header, "salt").try_into().unwrap();
    let mut previous = *blake3::keyed_hash(&salt, header).as_bytes();
    let mut at = header.len();
    let prefix = page.layout("Group");
    let mut closed = false;
    while !closed && file[at..].starts_with(b"SWGR") {
        let length = prefix.number(&file[at..], "length") as usize;
        assert_eq!(at % 8 + length % 8, 0);
        assert_eq!(prefix.number(&file[at..], "offset"), at as u64);
        assert!(prefix.number(&file[at..], "synced") <= at as u64);
        assert_eq!(prefix.get(&file[at..], "previous"), previous);
        closed = group(&file[at..at + length], page, &prefix, &salt, contents);
        let head = prefix.number(&file[at..], "head") as usize;
        previous = file[at + head - 32..at + head].try_into().unwrap();
        at += length;
    }
    match state.split_once(' ') {
        None => assert_eq!(state, "open"),
        Some((word, rest)) => {
            assert_eq!(word, "closed");
            assert_eq!(rest, format!("{at} {}", hex(&previous)));
        }
    }
    assert!(file[at..].iter().all(|byte| *byte == 0));
    contents.journal_end = at as u64;
}

/// Reads one group, and says whether it closes the segment.
fn group(
    group: &[u8],
    page: &Page,
    prefix: &Layout,
    salt: &[u8; 32],
    contents: &mut Contents,
) -> bool {
    prefix.check_literal(group, "magic");
    assert_eq!(prefix.number(group, "zero"), 0);
    let flags = prefix.number(group, "flags");
    assert!(flags <= 3);
    let (head, mut content) = group.split_at(prefix.number(group, "head") as usize);
    let (covered, checksum) = head.split_at(head.len() - 32);
    assert_eq!(blake3::keyed_hash(salt, covered).as_bytes(), checksum);
    let mut rest = Bytes(&covered[prefix.bytes()..]);
    let row = page.layout("Object row");
    for _ in 0..prefix.number(group, "objects") {
        let record = rest.take(row.bytes());
        let kind = KINDS[row.number(record, "kind") as usize - 1];
        let (body, more) = content.split_at(row.number(record, "bytes") as usize);
        content = more;
        let header = format!("{kind} {}\0", body.len());
        let raw = [header.as_bytes(), body].concat();
        contents.add(&hex(row.get(record, "id")), &raw);
    }
    assert!(content.len() < 8 && content.iter().all(|byte| *byte == 0));
    let moves = rest.moves(prefix.number(group, "moves"));
    for (name, _, new) in &moves {
        match new.as_str() {
            "" => contents.refs.remove(name),
            value => contents.refs.insert(name.clone(), value.to_owned()),
        };
    }
    if flags & 2 != 0 {
        let (time, actor, command) = rest.operation();
        contents.operations.push((time, actor, command, moves));
    }
    assert!(rest.0.is_empty());
    flags & 1 != 0
}

fn log(payload: &[u8]) -> Vec<Operation> {
    let word = |at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().unwrap()) as usize;
    let count = word(0);
    let mut at = 8 + 8 * count;
    let mut found = Vec::new();
    for place in 0..count {
        assert_eq!(word(8 + 8 * place), at);
        let mut rest = Bytes(&payload[at..]);
        let (time, actor, command) = rest.operation();
        let moves = rest.u32();
        let moves = rest.moves(moves.into());
        found.push((time, actor, command, moves));
        at = payload.len() - rest.0.len();
    }
    assert_eq!(at, payload.len());
    found
}

fn loose(root: &Path, contents: &mut Contents) {
    for fan in fs::read_dir(root.join("objects")).unwrap() {
        let fan = fan.unwrap();
        let first = fan.file_name().into_string().unwrap();
        if first.len() != 2 {
            continue;
        }
        for file in fs::read_dir(fan.path()).unwrap() {
            let file = file.unwrap();
            let raw = zstd::decode_all(&fs::read(file.path()).unwrap()[..]).unwrap();
            let id = format!("{first}{}", file.file_name().into_string().unwrap());
            contents.add(&id, &raw);
        }
    }
}

/// Bytes yet to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let bytes = self.u32() as usize;
        String::from_utf8(self.take(bytes).to_vec()).unwrap()
    }

    fn value(&mut self) -> String {
        match self.take(1)[0] {
            0 => String::new(),
            1 => hex(self.take(32)),
            2 => format!("ref: {}", self.text()),
            other => panic!("the page knows no value {other}"),
        }
    }

    fn moves(&mut self, count: u64) -> Vec<(String, String, String)> {
        (0..count).map(|_| (self.text(), self.value(), self.value())).collect()
    }

    fn operation(&mut self) -> (i64, String, String) {
        let time = i64::from_le_bytes(self.take(8).try_into().unwrap());
        (time, self.text(), self.text())
    }
}

pub(crate) fn first_8(bytes: &[u8]) -> [u8; 8] {
    blake3::hash(bytes).as_bytes()[..8].try_into().unwrap()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
