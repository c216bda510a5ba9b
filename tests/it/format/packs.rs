//! Packs, read from the page alone: the pack, its index and its graph.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use super::page::Page;
use super::reader::{Contents, KINDS, hex, paged};

/// The bit of `raw` that says that a frame is folded.
const FOLDED: u64 = 1 << 31;

/// The bit of `raw` that says that a frame has a dictionary, whose place it begins with.
const WITH_DICTIONARY: u64 = 1 << 30;

/// The bit of `raw` that says that a frame goes into the checksum by its XXH3.
const SUMMED: u64 = 1 << 29;
/// Offset and length.
const PLACE_BYTES: usize = 8 + 4;

/// An object as the pack says: id, kind, block, offset in the block's raw content.
type Row = (String, u64, u64, u64);

/// Reads a pack whole, and checks its index and graph against it.
pub(crate) fn read(root: &Path, page: &Page, id: &str, bytes: [u64; 3], contents: &mut Contents) {
    let [pack_bytes, index_bytes, objects] = bytes;
    let path = |ending: &str| root.join(format!("objects/pack/pack-{id}.{ending}"));
    let file = fs::read(path("pack")).unwrap();
    assert_eq!(file.len() as u64, pack_bytes);
    let header = page.layout("Pack header");
    header.check_literal(&file, "magic");
    assert_eq!(header.number(&file, "version"), 1);
    let flags = header.number(&file, "flags");
    assert!(flags <= 7);
    let trailer = page.layout("Trailer");
    let (body, end) = file.split_at(file.len() - trailer.bytes());
    trailer.check_literal(end, "magic");
    assert_eq!(trailer.number(end, "objects"), objects);
    let block = page.layout("Block");
    let mut covered = body[..header.bytes()].to_vec();
    let (mut at, mut blocks) = (header.bytes(), Vec::new());
    let mut rows: Vec<Row> = Vec::new();
    // Dictionaries by their places, and the length of the one whose guard comes next.
    let (mut texts, mut guarded) = (BTreeMap::<Vec<u8>, Vec<u8>>::new(), 0);
    while at < body.len() {
        let record = &body[at..at + block.bytes()];
        let frame_at = at + block.bytes();
        let frame = &body[frame_at..frame_at + block.number(record, "frame") as usize];
        let said = block.number(record, "raw");
        let content = match said & SUMMED != 0 {
            true => xxh3_128(frame).to_le_bytes().to_vec(),
            false => frame.to_vec(),
        };
        assert!(said & SUMMED == 0 || flags & 4 != 0);
        let sum = [block.before(record, "checksum"), &content].concat();
        assert_eq!(block.get(record, "checksum"), blake3::hash(&sum).as_bytes());
        let (place, packed) = match said & WITH_DICTIONARY != 0 {
            true => frame.split_at(PLACE_BYTES),
            false => (&[][..], frame),
        };
        let dictionary = texts.get(place).map_or(&[][..], Vec::as_slice);
        assert!(place.is_empty() || flags & 2 != 0 && !dictionary.is_empty());
        let mut raw = decompress(packed, dictionary);
        if said & FOLDED != 0 {
            assert_eq!(flags & 1, 1);
            raw = unfold(&raw);
        }
        assert_eq!(said & !(FOLDED | WITH_DICTIONARY | SUMMED), raw.len() as u64);
        let found = match block.number(record, "objects") {
            0 => {
                if guarded > 0 {
                    check_guard(&raw, &body[at - guarded..at]);
                    guarded = 0;
                } else {
                    guarded = block.bytes() + frame.len();
                    let place = [&(at as u64).to_le_bytes()[..], &(guarded as u32).to_le_bytes()];
                    texts.insert(place.concat(), raw.clone());
                }
                Vec::new()
            }
            _ => objects_of(&raw, blocks.len() as u64, contents),
        };
        assert_eq!(block.number(record, "objects"), found.len() as u64);
        let ids: Vec<u8> = found.iter().flat_map(|row| unhex(&row.0)).collect();
        assert_eq!(block.get(record, "ids"), blake3::hash(&ids).as_bytes());
        rows.extend(found);
        covered.extend_from_slice(record);
        let sum = block.get(record, "checksum")[..8].to_vec();
        blocks.push((at as u64, frame.len() as u64, raw.len() as u64, sum));
        at = frame_at + frame.len();
    }
    covered.extend_from_slice(trailer.before(end, "id"));
    assert_eq!(trailer.number(end, "blocks"), blocks.len() as u64);
    assert_eq!(hex(trailer.get(end, "id")), id);
    assert_eq!(hex(blake3::hash(&covered).as_bytes()), id);
    rows.sort();
    let index = paged(&path("idx"), page, "SAPWPIDX", Some(index_bytes));
    check_index(&index, page, id, pack_bytes, &rows, &blocks);
    let graph = paged(&path("graph"), page, "SAPWGRPH", None);
    check_graph(&graph, page, id, &rows, contents);
}

fn decompress(frame: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let mut decoder = zstd::stream::read::Decoder::with_dictionary(frame, dictionary).unwrap();
    let mut raw = Vec::new();
    decoder.read_to_end(&mut raw).unwrap();
    raw
}

/// Checks that a guard says of a dictionary what the page says.
fn check_guard(guard: &[u8], guarded: &[u8]) {
    let (parity, checksums) = guard.split_at(guarded.len().next_multiple_of(512).min(16_384));
    for (at, said) in parity.iter().enumerate() {
        let column = guarded.iter().skip(at).step_by(parity.len());
        assert_eq!(column.fold(0, |sum, byte| sum ^ byte), *said);
    }
    let sums = guarded.chunks(512).flat_map(|cell| blake3::hash(cell).as_bytes()[..8].to_vec());
    assert!(sums.eq(checksums.iter().copied()));
}

/// Puts back what was left out of a folded block.
fn unfold(folded: &[u8]) -> Vec<u8> {
    let distances_bytes = u32::from_le_bytes(folded[..4].try_into().unwrap()) as usize;
    let (distances, mut rest) = folded[4..].split_at(distances_bytes);
    let mut distances = distances.iter();
    let mut next_distance = || {
        let (mut distance, mut shift) = (0, 0);
        loop {
            let byte = *distances.next().unwrap();
            distance |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return distance;
            }
        }
    };
    let (mut raw, mut ids) = (Vec::new(), Vec::<[u8; 32]>::new());
    while !rest.is_empty() {
        let begin = raw.len();
        let zero = rest.iter().position(|byte| *byte == 0).unwrap();
        let header = std::str::from_utf8(&rest[..zero]).unwrap();
        let (kind, bytes) = header.split_once(' ').unwrap();
        let end = begin + zero + 1 + bytes.parse::<usize>().unwrap();
        raw.extend_from_slice(&rest[..=zero]);
        rest = &rest[zero + 1..];
        while raw.len() < end {
            let is_mark = kind != "blob" && rest.starts_with(b"\x58\x20") && raw.len() + 34 <= end;
            let taken = if is_mark { 2 } else { 1 };
            raw.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            match if is_mark { next_distance() } else { 0 } {
                0 => {}
                distance => raw.extend_from_slice(&ids[ids.len() - distance]),
            }
        }
        ids.push(*blake3::hash(&raw[begin..]).as_bytes());
    }
    assert!(distances.next().is_none());
    raw
}

/// Splits the raw content of a block into its objects.
fn objects_of(raw: &[u8], block: u64, contents: &mut Contents) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let zero = at + raw[at..].iter().position(|byte| *byte == 0).unwrap();
        let header = std::str::from_utf8(&raw[at..zero]).unwrap();
        let (kind, bytes) = header.split_once(' ').unwrap();
        let end = zero + 1 + bytes.parse::<usize>().unwrap();
        let id = hex(blake3::hash(&raw[at..end]).as_bytes());
        contents.add(&id, &raw[at..end]);
        let kind = KINDS.iter().position(|name| *name == kind).unwrap() as u64 + 1;
        rows.push((id, kind, block, at as u64));
        at = end;
    }
    rows
}

fn check_index(
    payload: &[u8],
    page: &Page,
    id: &str,
    pack_bytes: u64,
    rows: &[Row],
    blocks: &[(u64, u64, u64, Vec<u8>)],
) {
    let layout = page.layout(".idx");
    assert_eq!(hex(layout.get(payload, "pack")), id);
    assert_eq!(layout.number(payload, "objects"), rows.len() as u64);
    assert_eq!(layout.number(payload, "blocks"), blocks.len() as u64);
    assert_eq!(layout.number(payload, "bytes"), pack_bytes);
    let mut expected = payload[..layout.bytes()].to_vec();
    for byte in 0..=255u8 {
        let upto = rows.iter().filter(|row| unhex(&row.0)[0] <= byte).count();
        expected.extend_from_slice(&(upto as u32).to_le_bytes());
    }
    for row in rows {
        expected.extend(unhex(&row.0));
    }
    for (_, kind, block, offset) in rows {
        expected.extend_from_slice(&(*block as u32).to_le_bytes());
        expected.extend_from_slice(&((kind << 28 | offset) as u32).to_le_bytes());
    }
    for (offset, frame, raw, sum) in blocks {
        expected.extend_from_slice(&offset.to_le_bytes());
        expected.extend_from_slice(&(*frame as u32).to_le_bytes());
        expected.extend_from_slice(&(*raw as u32).to_le_bytes());
        expected.extend_from_slice(sum);
    }
    assert!(expected == payload, "the index is not as the page says");
}

/// Checks each row of the graph against the parents that the object's own bytes hold.
fn check_graph(payload: &[u8], page: &Page, id: &str, rows: &[Row], contents: &Contents) {
    const NONE: u64 = 0xffff_ffff;
    const OUTSIDE: u64 = 0x8000_0000;
    let layout = page.layout(".graph");
    let row_layout = page.layout("Graph row");
    assert_eq!(hex(layout.get(payload, "pack")), id);
    assert_eq!(layout.number(payload, "rows"), rows.len() as u64);
    let rows_at = layout.bytes();
    let outside_at = rows_at + row_layout.bytes() * rows.len();
    for (place, (id, kind, ..)) in rows.iter().enumerate() {
        let record = &payload[rows_at + row_layout.bytes() * place..][..row_layout.bytes()];
        assert_eq!(row_layout.number(record, "kind"), *kind);
        assert_eq!(row_layout.number(record, "zero"), 0);
        let parent = match row_layout.number(record, "parent") {
            NONE => continue,
            at if at & OUTSIDE != 0 => {
                hex(&payload[outside_at + 32 * (at ^ OUTSIDE) as usize..][..32])
            }
            at => rows[at as usize].0.clone(),
        };
        let (_, content) = &contents.objects[id];
        let parent = unhex(&parent);
        assert!(content.windows(32).any(|bytes| bytes == parent));
        assert!(row_layout.number(record, "time") > 0);
        assert_ne!(row_layout.number(record, "depth"), 0);
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
