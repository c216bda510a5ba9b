//! Writing JSON.

use std::fmt::{self, Write};

use crate::codec::{Value, number};

use super::special;

/// Appends a value as compact JSON. A link is written as `{"$link":"<hex>"}`.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    Writer { out, indent: None }.value(value);
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
    Writer { out: &mut out, indent: Some(0) }.value(value);
    String::from_utf8(out).expect("JSON of UTF-8 strings is UTF-8")
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    indent: Option<usize>,
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
                out.plain(if out.indent.is_some() { ": " } else { ":" });
                out.value(value);
            }),
        }
    }

    fn group<T>(&mut self, brackets: &[u8; 2], items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push(brackets[0]);
        self.indent = self.indent.map(|level| level + 1);
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
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
            self.out.extend_from_slice(&bytes[start..end]);
            let Some(byte) = bytes.get(end) else {
                break;
            };
            self.escape(*byte);
            start = end + 1;
        }
        self.out.push(b'"');
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
