//! Names of objects: the kind, the id, and the prefix of an id that a person types.
//!
//! An id is BLAKE3 over `"<kind> <len>\0" + content`. The kind and the length are part of what is
//! hashed, so an entry can never pass for a blob; compression is not, so it never touches an id.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::str::FromStr;

use crate::error::{Error, Result};

/// What an object is. The number is the one written on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Raw bytes: a long string, an attachment.
    Blob = 1,
    /// One step of a conversation.
    Entry = 2,
    /// One commit of the memory tree.
    Node = 3,
    /// One thing that happened to a session.
    Event = 4,
    /// A session's metadata.
    Session = 5,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 5] = [Kind::Blob, Kind::Entry, Kind::Node, Kind::Event, Kind::Session];

    /// Gives the kind's name as it stands in an object's header.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Blob => "blob",
            Kind::Entry => "entry",
            Kind::Node => "node",
            Kind::Event => "event",
            Kind::Session => "session",
        }
    }

    /// Says whether objects of this kind are about a session, not in it: who reads a little of a
    /// session asks for its metadata and its last event, which packs keep apart from messages.
    pub(crate) fn is_about_sessions(self) -> bool {
        matches!(self, Kind::Session | Kind::Event)
    }

    /// Finds the kind with this number.
    pub fn from_code(code: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| Error::InvalidName {
            what: "object kind",
            name: name.to_owned(),
            why: "expected one of blob, entry, node, event, session",
        })
    }
}

/// The longest header: the longest name, a space, twenty digits, and the zero.
pub const HEADER_BYTES_MAX: usize = 29;

/// The bytes that stand before an object's content when it is hashed or stored: `"<kind> <len>\0"`.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    buffer: [u8; HEADER_BYTES_MAX],
    start: usize,
}

impl Header {
    /// Makes the header of an object of this kind and length.
    pub fn new(kind: Kind, content_bytes: u64) -> Header {
        let mut header = Header { buffer: [0; HEADER_BYTES_MAX], start: HEADER_BYTES_MAX - 1 };
        let mut rest = content_bytes;
        loop {
            header.start -= 1;
            header.buffer[header.start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        header.start -= 1;
        header.buffer[header.start] = b' ';
        let name = kind.name().as_bytes();
        header.start -= name.len();
        header.buffer[header.start..][..name.len()].copy_from_slice(name);
        header
    }

    /// Gives its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id([u8; Id::BYTES]);

impl Hash for Id {
    /// It is a hash already: a word of it will do.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let last = self.0.last_chunk().expect("an id has more bytes");
        state.write_u64(u64::from_ne_bytes(*last));
    }
}

/// Objects by their ids, where there are no more than a segment or a transaction holds.
pub(crate) type IdMap<V> = HashMap<Id, V, BuildHasherDefault<WordHasher>>;
/// Ids, where there are no more than a segment or a transaction holds.
pub(crate) type IdSet = HashSet<Id, BuildHasherDefault<WordHasher>>;

/// Takes the word that an id gives for its hash as it is: to hash it again takes longer than all
/// else that a lookup does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Id {
    /// How many bytes an id has.
    pub const BYTES: usize = 32;
    /// How many hex digits an id has.
    pub const DIGITS: usize = 2 * Id::BYTES;

    /// Hashes an object's kind, length and content.
    pub fn of(kind: Kind, content: &[u8]) -> Id {
        const SHORT_BYTES: usize = 1024;
        const PIECE_BYTES: usize = 16 << 10;
        thread_local! {
            /// Room that is used again: to get it and give it back takes as long as to fill it.
            static PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let header = Header::new(kind, content.len() as u64);
        let header = header.bytes();
        // One piece is hashed faster than two, by more than it takes to put them together: behind
        // a header, each stretch of 1 KiB is hashed by itself until there are many. Behind a piece
        // of 16 of them there are.
        let hash = match header.len() + content.len() {
            bytes if bytes <= SHORT_BYTES => {
                let mut whole = [0; SHORT_BYTES];
                whole[..header.len()].copy_from_slice(header);
                whole[header.len()..bytes].copy_from_slice(content);
                blake3::hash(&whole[..bytes])
            }
            bytes => PIECE.with_borrow_mut(|piece| {
                let (first, rest) = content.split_at(bytes.min(PIECE_BYTES) - header.len());
                piece.clear();
                piece.extend_from_slice(header);
                piece.extend_from_slice(first);
                match rest.is_empty() {
                    true => blake3::hash(piece),
                    false => blake3::Hasher::new().update(piece).update(rest).finalize(),
                }
            }),
        };
        Id(*hash.as_bytes())
    }

    /// Takes the bytes of an id as they are.
    pub const fn from_bytes(bytes: [u8; Id::BYTES]) -> Id {
        Id(bytes)
    }

    /// Takes the bytes of an id from a slice of exactly 32.
    pub fn from_slice(bytes: &[u8]) -> Option<Id> {
        bytes.try_into().ok().map(Id)
    }

    /// Gives the id's bytes.
    pub const fn as_bytes(&self) -> &[u8; Id::BYTES] {
        &self.0
    }

    /// Gives the id's hex digits.
    pub(crate) fn digits(&self) -> [u8; Id::DIGITS] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; Id::DIGITS];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        text
    }

    /// Gives the first `digits` hex digits, 64 at the most.
    pub fn short(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits);
        text
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(std::str::from_utf8(&self.digits()).expect("hex digits are ASCII"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Id({})", self.short(12))
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Id> {
        let invalid = |why| Error::InvalidName { what: "object id", name: text.to_owned(), why };
        if text.len() != Id::DIGITS {
            return Err(invalid("expected 64 hex digits"));
        }
        let mut bytes = [0u8; Id::BYTES];
        let mut all = 0;
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let (high, low) = (HEX_VALUES[usize::from(pair[0])], HEX_VALUES[usize::from(pair[1])]);
            *byte = high << 4 | low & 15;
            all |= high | low;
        }
        match all & NOT_HEX {
            0 => Ok(Id(bytes)),
            _ => Err(invalid("expected hex digits only")),
        }
    }
}

/// The value of each hex digit, and a bit that no value has for every other byte.
const HEX_VALUES: [u8; 256] = {
    let mut values = [NOT_HEX; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};
const NOT_HEX: u8 = 0x80;

/// Hashes content that arrives in pieces.
pub struct IdHasher(blake3::Hasher);

impl IdHasher {
    /// Begins an object of this kind and length.
    pub fn new(kind: Kind, content_bytes: u64) -> IdHasher {
        let mut hasher = blake3::Hasher::new();
        hasher.update(Header::new(kind, content_bytes).bytes());
        IdHasher(hasher)
    }

    /// Adds the next piece of content.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Gives the id of all that was added.
    pub fn finish(&self) -> Id {
        Id(*self.0.finalize().as_bytes())
    }
}

/// The first digits of an id: a range of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    low: Id,
    high: Id,
}

impl Prefix {
    /// How many digits a prefix needs at least.
    pub const DIGITS_MIN: usize = 4;

    /// Gives the smallest id with this prefix.
    pub fn low(&self) -> &Id {
        &self.low
    }

    /// Gives the largest id with this prefix.
    pub fn high(&self) -> &Id {
        &self.high
    }

    /// Says whether an id begins with this prefix.
    pub fn matches(&self, id: &Id) -> bool {
        self.low <= *id && *id <= self.high
    }
}

impl FromStr for Prefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Prefix> {
        let invalid = |why| Error::InvalidName { what: "object id", name: text.to_owned(), why };
        if !(Prefix::DIGITS_MIN..=Id::DIGITS).contains(&text.len()) {
            return Err(invalid("expected 4 to 64 hex digits"));
        }
        let (mut low, mut high) = ([0u8; Id::BYTES], [0xffu8; Id::BYTES]);
        for (place, digit) in text.bytes().enumerate() {
            let value = HEX_VALUES[usize::from(digit)];
            if value == NOT_HEX {
                return Err(invalid("expected hex digits only"));
            }
            let (shift, keep) = if place % 2 == 0 { (4, 0x0f) } else { (0, 0xf0) };
            low[place / 2] |= value << shift;
            high[place / 2] = (high[place / 2] & keep) | (value << shift);
        }
        Ok(Prefix { low: Id(low), high: Id(high) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_hash_of_header_and_content() {
        let expected = *blake3::hash(b"blob 5\0hello").as_bytes();
        assert_eq!(Id::of(Kind::Blob, b"hello"), Id::from_bytes(expected));
        assert_ne!(Id::of(Kind::Entry, b"hello"), Id::from_bytes(expected));
    }

    #[test]
    fn short_and_long_content_is_hashed_alike() {
        for bytes in [0, 1, 1013, 1014, 2048, 100_000, 131_058, 131_059, 200_000] {
            let content = vec![7; bytes];
            let whole = [format!("event {bytes}\0").as_bytes(), &content].concat();
            assert_eq!(Id::of(Kind::Event, &content).0, *blake3::hash(&whole).as_bytes());
        }
        let longest = format!("session {}\0", u64::MAX);
        assert_eq!(Header::new(Kind::Session, u64::MAX).bytes(), longest.as_bytes());
    }

    #[test]
    fn an_id_reads_back_from_its_digits() {
        let id = Id::of(Kind::Blob, b"");
        assert_eq!(id.to_string().parse::<Id>().unwrap(), id);
        assert_eq!(id.to_string().to_uppercase().parse::<Id>().unwrap(), id);
        assert!(id.short(63).parse::<Id>().is_err());
    }

    #[test]
    fn a_prefix_of_odd_length_spans_sixteen_bytes_values() {
        let prefix: Prefix = "abcde".parse().unwrap();
        assert_eq!(prefix.low().short(6), "abcde0");
        assert_eq!(prefix.high().short(6), "abcdef");
        assert!(prefix.matches(&"abcde5".repeat(11)[..64].parse().unwrap()));
    }

    #[test]
    fn bad_prefixes_are_refused() {
        for text in ["", "abc", "xyz12", "abcdé", &"a".repeat(65)] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
