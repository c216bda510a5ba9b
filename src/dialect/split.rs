//! Splitting the text of a file into values, whatever its writers did to it.
//!
//! A file is lines with a value each, or one document with a list of messages. Real files hold two
//! values on a line, halves of values, blank lines, and what is no JSON at all. Every byte ends up
//! in one place: in a value's text, in what stands before it, or in the tail.
//!
//! Invariants:
//! - the pieces' `before` and texts one after the other, and the tail, are the text;
//! - a piece whose `text` is `None` is written again by its value and the style, byte for byte.
//!
//! Not here: what the values mean, and reading files.

use crate::codec::Value;
use crate::codec::json::{self, First, Rigour, Spacing, Style};

/// Longer texts are not parsed: a value takes several times its text in memory.
pub const PARSED_BYTES_MAX: usize = 32 << 20;

/// Longer texts without an end are cut.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// How often the rest of a damaged line is tried as a value.
const SALVAGE_TRIES_MAX: usize = 256;
const SALVAGE_BYTES_MAX: usize = 4 << 20;

/// What may stand beside values on a line.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\u{feff}'];

/// A part of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What stands before it, from the end of the piece before.
    pub before: String,
    /// The value, if it is a map; its document too, if it is the first of its messages.
    pub value: Option<Value>,
    /// The document that begins here, with its list of messages empty.
    pub document: Option<Value>,
    /// The bytes, if value and style don't give them.
    pub text: Option<Vec<u8>>,
    /// The bytes of its text.
    pub bytes: usize,
    /// The line it begins on, from 1.
    pub line: u64,
    /// What is odd about it.
    pub odd: Option<Odd>,
}

/// What is odd about a part of a file. Nothing of it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Odd {
    /// Two values on one line.
    Welded,
    /// Half of a value.
    Torn,
    /// No JSON, or no map.
    Unreadable,
    /// No UTF-8.
    NotUtf8,
    /// A key that comes twice, or half of a character.
    Ambiguous,
    /// Too long to be looked at.
    TooLong,
}

/// Splits a file that is given in stretches.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    /// How values are written; known from the first one on.
    pub style: Option<Style>,
    /// What stands since the last value.
    pending: String,
    /// The lines that have ended.
    lines: u64,
    scratch: Vec<u8>,
}

/// What a stretch gave.
#[derive(Debug, Default)]
pub struct Split {
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// How many bytes of the stretch the pieces and what is between them take.
    pub bytes: usize,
}

impl Splitter {
    /// Goes on with a file of which so many lines were read before.
    pub fn resume(style: Style, lines: u64) -> Splitter {
        Splitter { style: Some(style), lines, ..Splitter::default() }
    }

    /// Splits a stretch of whole lines. Only the last may lack its end; if it is no value, it is
    /// left, unless it is so long that it is cut.
    pub fn lines(&mut self, text: &[u8], is_cut: bool) -> Split {
        let mut split = Split::default();
        let mut at = 0;
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map(|more| at + more);
            let line = &text[at..end.unwrap_or(text.len())];
            let known = split.pieces.len();
            let pending = self.pending.len();
            self.line(line, &mut split.pieces);
            let is_whole = split.pieces[known..].iter().all(|piece| piece.value.is_some());
            if end.is_none() && !is_whole && !is_cut {
                // Perhaps somebody is just writing it.
                let left = split.pieces.drain(known..).next();
                self.pending = left.map(|piece| piece.before).unwrap_or_default();
                self.pending.truncate(pending);
                break;
            }
            at += line.len();
            if end.is_some() {
                self.pending.push('\n');
                self.lines += 1;
                at += 1;
            }
        }
        split.bytes = at;
        split
    }

    /// Gives how many bytes stand behind the last value, of those that were split.
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    fn line(&mut self, line: &[u8], pieces: &mut Vec<Piece>) {
        let Ok(text) = std::str::from_utf8(line) else {
            return self.unread(line, Odd::NotUtf8, pieces);
        };
        if line.len() > PARSED_BYTES_MAX {
            return self.unread(line, Odd::TooLong, pieces);
        }
        let mut rest = self.skip_blank(text);
        let mut is_first = true;
        while !rest.is_empty() {
            rest = self.value(rest, is_first, pieces);
            rest = self.skip_blank(rest);
            is_first = false;
        }
    }

    /// Puts blanks aside that stand before a value.
    fn skip_blank<'a>(&mut self, text: &'a str) -> &'a str {
        let rest = text.trim_start_matches(BLANKS);
        self.pending.push_str(&text[..text.len() - rest.len()]);
        rest
    }

    /// Takes the first value of a text, or what stands in its place, and gives the rest.
    fn value<'a>(&mut self, text: &'a str, is_first: bool, pieces: &mut Vec<Piece>) -> &'a str {
        let (read, odd) = match json::parse_noting(text, Rigour::Strict) {
            Ok(read) => (Some(read), None),
            Err(_) => (json::parse_noting(text, Rigour::Lenient).ok(), Some(Odd::Ambiguous)),
        };
        let Some(First { value, bytes: end, is_compact }) = read else {
            let end = salvage(text).unwrap_or(text.len());
            let is_torn = end < text.len() || text.starts_with('{');
            let odd = if is_torn { Odd::Torn } else { Odd::Unreadable };
            // No blank stands at the begin, so something is left of it.
            let (damaged, rest) = text.split_at(text[..end].trim_end_matches(BLANKS).len());
            self.unread(damaged.as_bytes(), odd, pieces);
            return rest;
        };
        let (text, rest) = text.split_at(end);
        if value.as_map().is_none() {
            self.unread(text.as_bytes(), Odd::Unreadable, pieces);
            return rest;
        }
        let is_welded = !is_first || !rest.trim().is_empty();
        let odd = odd.or(is_welded.then_some(Odd::Welded));
        match conversation(text, &value).filter(|_| odd != Some(Odd::Ambiguous)) {
            Some(spans) => self.conversation(text, value, &spans, pieces),
            None => self.read(text, Read { value, is_compact, odd }, pieces),
        }
        rest
    }

    /// Takes a document with a list of messages apart.
    pub fn document(&mut self, text: &[u8]) -> Option<Split> {
        let text = std::str::from_utf8(text).ok()?;
        let start = text.len() - self.skip_blank_lines(text).len();
        let mut split = Split::default();
        let (value, end) = json::parse_first(&text[start..], Rigour::Strict).ok()?;
        let body = &text[start..start + end];
        if !text[start + end..].trim().is_empty() {
            return None;
        }
        let spans = conversation(body, &value)?;
        self.conversation(body, value, &spans, &mut split.pieces);
        self.pending.push_str(&text[start + end..]);
        split.bytes = text.len();
        Some(split)
    }

    /// Takes a document apart that is a list, or a map with one under some key. An item that is no
    /// map is kept as text.
    pub fn list(&mut self, text: &[u8], keys: &[&str]) -> Option<Split> {
        let text = std::str::from_utf8(text).ok()?;
        let start = text.len() - self.skip_blank_lines(text).len();
        let (value, end) = json::parse_first(&text[start..], Rigour::Lenient).ok()?;
        let body = &text[start..start + end];
        let key = keys.iter().find(|key| value.get(key).is_some_and(|it| it.as_list().is_some()));
        let (items, open) = match key {
            Some(key) => (value.get(key)?.as_list()?, list_under(key, body)?),
            None => (value.as_list()?, 0),
        };
        let mut split = Split::default();
        let mut at = 0;
        for (span, item) in spans(body, open, items.len())?.into_iter().zip(items) {
            self.pending.push_str(&body[at..span.start]);
            self.lines += newlines(&body[at..span.start]);
            at = span.end;
            match item.as_map() {
                Some(_) => {
                    let read = Read::of(item.clone());
                    self.read(&body[span.clone()], read, &mut split.pieces);
                }
                None => {
                    let text = body[span.clone()].as_bytes();
                    self.unread(text, Odd::Unreadable, &mut split.pieces);
                }
            }
            self.lines += newlines(&body[span]);
        }
        self.pending.push_str(&body[at..]);
        self.pending.push_str(&text[start + end..]);
        split.bytes = text.len();
        Some(split)
    }

    fn skip_blank_lines<'a>(&mut self, text: &'a str) -> &'a str {
        let rest = text.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']);
        self.pending.push_str(&text[..text.len() - rest.len()]);
        rest
    }

    fn conversation(
        &mut self,
        text: &str,
        value: Value,
        spans: &[std::ops::Range<usize>],
        pieces: &mut Vec<Piece>,
    ) {
        let (document, messages) = apart(value);
        let mut document = Some(document);
        let mut at = 0;
        for (span, message) in spans.iter().zip(messages) {
            self.pending.push_str(&text[at..span.start]);
            self.lines += newlines(&text[at..span.start]);
            at = span.end;
            self.read(&text[span.clone()], Read::of(message), pieces);
            self.lines += newlines(&text[span.clone()]);
            if let Some(piece) = pieces.last_mut() {
                piece.document = document.take();
            }
        }
        self.pending.push_str(&text[at..]);
    }

    fn read(&mut self, text: &str, read: Read, pieces: &mut Vec<Piece>) {
        let Read { value, is_compact, odd } = read;
        let column = self.pending.rsplit('\n').next().map_or(0, |blank| blank.len());
        let style = *self.style.get_or_insert_with(|| style_of(text, &value, column));
        let is_exact = (is_compact && style == Style::default()) || {
            self.scratch.clear();
            json::write_styled(&value, style, &mut self.scratch);
            self.scratch == text.as_bytes()
        };
        pieces.push(Piece {
            before: std::mem::take(&mut self.pending),
            value: Some(value),
            document: None,
            text: (!is_exact).then(|| text.as_bytes().to_vec()),
            bytes: text.len(),
            line: self.lines + 1,
            odd,
        });
    }

    fn unread(&mut self, text: &[u8], odd: Odd, pieces: &mut Vec<Piece>) {
        pieces.push(Piece {
            before: std::mem::take(&mut self.pending),
            value: None,
            document: None,
            text: Some(text.to_vec()),
            bytes: text.len(),
            line: self.lines + 1,
            odd: Some(odd),
        });
    }
}

/// A value that was read.
struct Read {
    value: Value,
    /// Whether it is known to be written as we would write it.
    is_compact: bool,
    odd: Option<Odd>,
}

impl Read {
    fn of(value: Value) -> Read {
        Read { value, is_compact: false, odd: None }
    }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Finds where a whole value begins in the rest of a damaged line.
fn salvage(text: &str) -> Option<usize> {
    if text.len() > SALVAGE_BYTES_MAX {
        return None;
    }
    let starts = text.match_indices("{\"").map(|(at, _)| at).filter(|at| *at > 0);
    let mut tries = starts.take(SALVAGE_TRIES_MAX);
    tries.find(|at| {
        let read = json::parse_first(&text[*at..], Rigour::Lenient);
        read.is_ok_and(|(value, _)| value.as_map().is_some_and(|pairs| pairs.len() > 1))
    })
}

/// Guesses how a file's values are written from the first of them.
fn style_of(text: &str, value: &Value, column: usize) -> Style {
    let spacings = [Spacing::Compact, Spacing::Spaced, Spacing::Lines(column / 2)];
    let styles = spacings
        .into_iter()
        .flat_map(|spacing| [false, true].map(|ascii| Style { spacing, ascii }));
    let mut scratch = Vec::new();
    let found = styles.into_iter().find(|style| {
        scratch.clear();
        json::write_styled(value, *style, &mut scratch);
        scratch == text.as_bytes()
    });
    found.unwrap_or_default()
}

/// Finds the messages of a document, if it is one: a list of them, or a map with one.
fn conversation(text: &str, value: &Value) -> Option<Vec<std::ops::Range<usize>>> {
    let messages = value.get("messages").unwrap_or(value).as_list()?;
    let is_message =
        |item: &Value| ["role", "info", "type", "from"].iter().any(|key| item.get(key).is_some());
    if messages.is_empty() || !messages.iter().all(is_message) {
        return None;
    }
    let open = match value {
        Value::Map(_) => list_under("messages", text)?,
        _ => 0,
    };
    spans(text, open, messages.len())
}

/// Finds the items of a list, by where it opens and how many there are.
fn spans(text: &str, open: usize, count: usize) -> Option<Vec<std::ops::Range<usize>>> {
    let mut spans = Vec::with_capacity(count);
    let mut at = open + 1;
    for _ in 0..count {
        at += text[at..].find(|letter: char| !is_blank(letter) && letter != ',')?;
        let (_, bytes) = json::parse_first(&text[at..], Rigour::Lenient).ok()?;
        spans.push(at..at + bytes);
        at += bytes;
    }
    Some(spans)
}

/// Finds where the list under a key of a map begins.
fn list_under(wanted: &str, text: &str) -> Option<usize> {
    let skip = |at: usize| Some(at + text[at..].find(|letter: char| !is_blank(letter))?);
    let mut at = skip(0)? + 1;
    loop {
        at = skip(at)?;
        let (key, bytes) = json::parse_first(&text[at..], Rigour::Strict).ok()?;
        at = skip(skip(at + bytes)? + 1)?;
        if key.as_text() == Some(wanted) {
            return Some(at);
        }
        let (_, bytes) = json::parse_first(&text[at..], Rigour::Strict).ok()?;
        at = skip(at + bytes)? + 1;
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

/// Takes the messages out of a document.
fn apart(document: Value) -> (Value, Vec<Value>) {
    match document {
        Value::List(messages) => (Value::Map(Vec::new()), messages),
        Value::Map(mut pairs) => {
            let list = pairs.iter_mut().find(|(key, _)| key == "messages");
            let list = list.map(|(_, value)| std::mem::replace(value, Value::List(Vec::new())));
            let messages = match list {
                Some(Value::List(messages)) => messages,
                _ => Vec::new(),
            };
            (Value::Map(pairs), messages)
        }
        other => (other, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_apart_and_put_together_again() {
        let cases = [
            ("[]", 0, 0),
            ("[{\"a\":1},{\"a\":2}]", 2, 0),
            ("\u{feff} [\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]\n", 2, 0),
            ("{\"v\":1,\"turns\":[{\"a\":1} , 17,{\"b\":1e5,\"b\":2}],\"w\":[]} ", 3, 2),
        ];
        for (text, count, texts) in cases {
            let mut splitter = Splitter::default();
            let split = splitter.list(text.as_bytes(), &["turns"]).unwrap();
            assert_eq!((split.pieces.len(), split.bytes), (count, text.len()), "{text}");
            let kept = split.pieces.iter().filter(|piece| piece.text.is_some()).count();
            assert_eq!(kept, texts, "{text}");
            let style = splitter.style.unwrap_or_default();
            let mut again = Vec::new();
            for piece in &split.pieces {
                again.extend_from_slice(piece.before.as_bytes());
                match (&piece.text, &piece.value) {
                    (Some(text), _) => again.extend_from_slice(text),
                    (None, value) => {
                        json::write_styled(value.as_ref().unwrap(), style, &mut again);
                    }
                }
            }
            again.extend_from_slice(&text.as_bytes()[text.len() - splitter.pending_bytes()..]);
            assert_eq!(String::from_utf8(again).unwrap(), text);
        }
        for none in ["", "{}", "17", "{\"turns\":{}}", "[{\"a\":1}"] {
            assert!(Splitter::default().list(none.as_bytes(), &["turns"]).is_none(), "{none}");
        }
    }
}
