//! Reading JSON.

use std::collections::HashMap;

use crate::codec::{DEPTH_MAX, Key, Value, key_twice, known_key, number};
use crate::error::{Error, Result};

use super::special;

/// How long a text is that is checked for UTF-8 with all that the processor has. Of a shorter one
/// that is not worth the question what it has, which the first to ask waits for.
const LONG_BYTES_MIN: usize = 4 << 10;

/// How many pairs the outermost map has room for at first: most messages have no more.
const PAIRS_USUAL: usize = 8;

/// Reads one JSON text; nothing but whitespace may surround it.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    let text = text_of(bytes).map_err(|place| fault("not UTF-8", place))?;
    let (value, end) = parse_first(text, Rigour::Strict)?;
    let mut rest = Parser::new(text, end, Rigour::Strict);
    match rest.peek() {
        None => Ok(value),
        Some(_) => Err(fault("more than one value", rest.at)),
    }
}

/// Gives bytes as text, or says where they cease to be UTF-8.
fn text_of(bytes: &[u8]) -> std::result::Result<&str, usize> {
    match bytes.len() < LONG_BYTES_MIN {
        true => std::str::from_utf8(bytes).map_err(|error| error.valid_up_to()),
        false => simdutf8::compat::from_utf8(bytes).map_err(|error| error.valid_up_to()),
    }
}

/// Whether a text is refused that a value could not give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rigour {
    /// It is.
    Strict,
    /// Of a key that comes twice the last counts; a lone surrogate becomes U+FFFD.
    Lenient,
}

/// Reads the first value of a text, and says where it ends.
pub fn parse_first(text: &str, rigour: Rigour) -> Result<(Value, usize)> {
    parse_noting(text, rigour).map(|first| (first.value, first.bytes))
}

/// The first value of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct First {
    /// The value.
    pub value: Value,
    /// Where it ends.
    pub bytes: usize,
    /// Whether its text is what [`write`](super::write) makes of the value.
    pub is_compact: bool,
}

/// Reads the first value of a text, and notes whether it is written as we would write it. That
/// costs less than to write it and to compare.
pub fn parse_noting(text: &str, rigour: Rigour) -> Result<First> {
    let mut parser = Parser::new(text, 0, rigour);
    let value = parser.value(DEPTH_MAX)?;
    Ok(First { value, bytes: parser.at, is_compact: parser.is_compact })
}

/// Says whether a character can only be written by this escape: a control character that has no
/// short one.
fn is_needed(escape: &[u8]) -> bool {
    match escape {
        [b'\\', b'u', b'0', b'0', b'0', last] => matches!(last, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'\\', b'u', b'0', b'0', b'1', last] => matches!(last, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

fn fault(what: &str, at: usize) -> Error {
    Error::InvalidObject { kind: "JSON", why: format!("{what} at byte {at}") }
}

/// Keeps the last value of each key, where the key first stood.
fn last_of_each(pairs: Vec<(Key, Value)>) -> Vec<(Key, Value)> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut kept: Vec<(Key, Value)> = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        match places.get(&key) {
            Some(place) => kept[*place].1 = value,
            None => {
                places.insert(key.clone(), kept.len());
                kept.push((key, value));
            }
        }
    }
    kept
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    rigour: Rigour,
    /// Whether all up to here is what we would write. Numbers always are: they keep their text.
    is_compact: bool,
}

impl Parser<'_> {
    fn new(text: &str, at: usize, rigour: Rigour) -> Parser<'_> {
        Parser { text, at, rigour, is_compact: true }
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'{' | b'[') if depth == 0 => {
                Err(fault(&format!("nested more than {DEPTH_MAX} deep"), self.at))
            }
            Some(b'{') => self.map(depth - 1),
            Some(b'[') => self.list(depth - 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(fault("expected a value", self.at)),
            None => Err(fault("the text ends where a value is expected,", self.at)),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value> {
        let start = self.at;
        self.at += 1;
        let mut pairs = Vec::new();
        if !self.skip(b'}') {
            pairs.reserve(if depth + 1 == DEPTH_MAX { PAIRS_USUAL } else { 0 });
            loop {
                if self.peek() != Some(b'"') {
                    return Err(fault("expected a key", self.at));
                }
                let key = self.key()?;
                self.expect(b':', "expected ':'")?;
                pairs.push((key, self.value(depth)?));
                if !self.skip(b',') {
                    break;
                }
            }
            self.expect(b'}', "expected ',' or '}'")?;
        }
        match key_twice(&pairs) {
            Some(_) if self.rigour == Rigour::Lenient => {
                self.is_compact = false;
                Ok(Value::Map(last_of_each(pairs)))
            }
            Some(key) => {
                let key: String = key.chars().take(40).collect();
                let what = format!("the key \"{}\" comes twice in the map", key.escape_debug());
                Err(fault(&what, start))
            }
            None => Ok(Value::Map(pairs)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut items = Vec::new();
        if !self.skip(b']') {
            loop {
                items.push(self.value(depth)?);
                if !self.skip(b',') {
                    break;
                }
            }
            self.expect(b']', "expected ',' or ']'")?;
        }
        Ok(Value::List(items))
    }

    fn key(&mut self) -> Result<Key> {
        let start = self.at + 1;
        let end = special(self.text.as_bytes(), start);
        match known_key(&self.text.as_bytes()[start..end]) {
            Some(known) if self.text.as_bytes().get(end) == Some(&b'"') => {
                self.at = end + 1;
                Ok(Key::Borrowed(known))
            }
            _ => self.string().map(Key::Owned),
        }
    }

    fn string(&mut self) -> Result<String> {
        self.at += 1;
        let start = self.at;
        self.at = special(self.text.as_bytes(), start);
        if self.byte() == Some(b'"') {
            let text = self.text[start..self.at].to_owned();
            self.at += 1;
            return Ok(text);
        }
        let mut text = String::with_capacity(self.closing_quote() - start);
        text.push_str(&self.text[start..self.at]);
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(fault("a control character", self.at)),
                None => return Err(fault("the text ends within a string,", self.at)),
            }
            let run = self.at;
            self.at = special(self.text.as_bytes(), run);
            text.push_str(&self.text[run..self.at]);
        }
    }

    /// Finds where the string ends that goes on here: it is no longer than its text, so room for it
    /// that is made at once need not grow.
    fn closing_quote(&self) -> usize {
        let bytes = self.text.as_bytes();
        let is_free = |quote: &usize| {
            let slashes = bytes[self.at..*quote].iter().rev().take_while(|byte| **byte == b'\\');
            slashes.count() % 2 == 0
        };
        let mut quotes = memchr::memchr_iter(b'"', &bytes[self.at..]).map(|more| self.at + more);
        quotes.find(is_free).unwrap_or(bytes.len())
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        let letter = self.text.as_bytes().get(start + 1).copied();
        self.at += 2;
        Ok(match letter {
            Some(b'n') => '\n',
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => {
                self.is_compact = false;
                '/'
            }
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => return self.escape_unicode(start),
            _ => return Err(fault("an unknown escape", start)),
        })
    }

    fn escape_unicode(&mut self, start: usize) -> Result<char> {
        let first = self.four_digits(start)?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && self.text.as_bytes()[self.at..].starts_with(b"\\u")
        {
            let before = self.at;
            self.at += 2;
            let second = self.four_digits(start)?;
            match (0xdc00..0xe000).contains(&second) {
                true => code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                false => self.at = before,
            }
        }
        self.is_compact &= is_needed(&self.text.as_bytes()[start..self.at]);
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None if self.rigour == Rigour::Lenient => Ok(char::REPLACEMENT_CHARACTER),
            None => Err(fault("a lone surrogate", start)),
        }
    }

    fn four_digits(&mut self, start: usize) -> Result<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let code = digits.and_then(|digits| {
            digits.iter().try_fold(0, |code, byte| Some(code << 4 | digit(byte)?))
        });
        self.at += 4;
        code.ok_or_else(|| fault("an incomplete escape", start))
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        let (bytes, plain) = number::scan(&self.text.as_bytes()[start..])
            .ok_or_else(|| fault("not a number", start))?;
        self.at += bytes;
        Ok(number::form(&self.text[start..self.at], plain))
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(fault("expected a value", self.at));
        }
        self.at += word.len();
        Ok(value)
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<()> {
        match self.skip(byte) {
            true => Ok(()),
            false => Err(fault(what, self.at)),
        }
    }

    /// Steps over this byte if it comes next, whitespace aside.
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Steps over whitespace and shows the byte after it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
            self.is_compact = false;
        }
        self.byte()
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
