//! Writing JSON.

use std::fmt::{self, Write};

use crate::codec::{Value, number};

use super::special;

/// How a text of JSON is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// What stands between its parts.
    pub spacing: Spacing,
    /// Whether all but ASCII is escaped.
    pub ascii: bool,
}

/// What stands between the parts of a text of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Nothing, as `JSON.stringify` does it.
    #[default]
    Compact,
    /// A space after each comma and colon, as Python's `json.dumps` does it.
    Spaced,
    /// A line for each item, indented by two spaces a level; the text itself is so deep already.
    Lines(usize),
}

/// Appends a value as compact JSON. A link is written as `{"$link":"<hex>"}`.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    write_styled(value, Style::default(), out);
}

/// Appends a value as JSON in a style.
pub fn write_styled(value: &Value, style: Style, out: &mut Vec<u8>) {
    let indent = match style.spacing {
        Spacing::Lines(level) => Some(level),
        _ => None,
    };
    let spaced = style.spacing != Spacing::Compact;
    Writer { out, indent, spaced, ascii: style.ascii }.value(value);
}

/// Gives a value as compact JSON.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    write(value, &mut out);
    String::from_utf8(out).expect("JSON of UTF-8 strings is UTF-8")
}

/// Gives a value as JSON with a line for each item, indented by two spaces a level.
pub fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    write_styled(value, Style { spacing: Spacing::Lines(0), ascii: false }, &mut out);
    String::from_utf8(out).expect("JSON of UTF-8 strings is UTF-8")
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    indent: Option<usize>,
    spaced: bool,
    ascii: bool,
}

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.plain("null"),
            Value::Bool(true) => self.plain("true"),
            Value::Bool(false) => self.plain("false"),
            Value::Integer(integer) => {
                write!(self, "{integer}").expect("writing to memory does not fail");
            }
            Value::Float(float) if float.is_finite() => {
                number::write(*float, self).expect("writing to memory does not fail");
            }
            Value::Float(_) => self.plain("null"),
            Value::Number(text) => self.plain(text),
            Value::Text(text) => self.string(text),
            Value::Link(id) => {
                self.plain("{\"$link\":\"");
                write!(self, "{id}").expect("writing to memory does not fail");
                self.plain("\"}");
            }
            Value::List(items) => self.group(b"[]", items, |out, item| out.value(item)),
            Value::Map(pairs) => self.group(b"{}", pairs, |out, (key, value)| {
                out.string(key);
                out.plain(if out.spaced { ": " } else { ":" });
                out.value(value);
            }),
        }
    }

    fn group<T>(&mut self, brackets: &[u8; 2], items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push(brackets[0]);
        self.indent = self.indent.map(|level| level + 1);
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.plain(if self.spaced && self.indent.is_none() { ", " } else { "," });
            }
            self.line();
            write(self, item);
        }
        self.indent = self.indent.map(|level| level - 1);
        if !items.is_empty() {
            self.line();
        }
        self.out.push(brackets[1]);
    }

    fn line(&mut self) {
        if let Some(level) = self.indent {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * level, b' ');
        }
    }

    fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.out.push(b'"');
        let mut start = 0;
        loop {
            let end = special(bytes, start);
            self.run(&text[start..end]);
            let Some(byte) = bytes.get(end) else {
                break;
            };
            self.escape(*byte);
            start = end + 1;
        }
        self.out.push(b'"');
    }

    /// Writes characters that need no escape, unless only ASCII may stand in the text.
    fn run(&mut self, text: &str) {
        if !self.ascii || text.is_ascii() {
            return self.plain(text);
        }
        for character in text.chars() {
            match character.is_ascii() {
                true => self.out.push(character as u8),
                false => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        write!(self, "\\u{unit:04x}").expect("writing to memory does not fail");
                    }
                }
            }
        }
    }

    fn escape(&mut self, byte: u8) {
        match byte {
            b'"' => self.plain("\\\""),
            b'\\' => self.plain("\\\\"),
            b'\n' => self.plain("\\n"),
            b'\r' => self.plain("\\r"),
            b'\t' => self.plain("\\t"),
            0x08 => self.plain("\\b"),
            0x0c => self.plain("\\f"),
            _ => write!(self, "\\u{byte:04x}").expect("writing to memory does not fail"),
        }
    }

    fn plain(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
