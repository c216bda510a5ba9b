//! A text as it reads with its JSON escapes undone, and where each byte of it came from.
//!
//! A secret stands in a store in more than one spelling: in a string of a body as it is, in a raw
//! line with its quotes and newlines escaped, in the arguments of a tool escaped twice. So a text
//! is looked at again and again with one level of escapes undone, as long as there are any. What is
//! no escape stays as it is: the text need not be JSON.

use std::ops::Range;

/// An escape: where it stands in the text, and where what it means stands in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Escape {
    from: usize,
    from_bytes: usize,
    to: usize,
    to_bytes: usize,
}

/// A text with one level of escapes undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unescaped {
    pub(super) text: Vec<u8>,
    escapes: Vec<Escape>,
}

impl Unescaped {
    /// Undoes the escapes of a text; `None` if there are none.
    pub(super) fn of(text: &[u8]) -> Option<Unescaped> {
        let mut view = Unescaped::default();
        let mut rest = 0;
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'\\', &text[from..]).map(|at| at + from) {
            let Some((from_bytes, meaning)) = escape(&text[at..]) else {
                from = at + 1;
                continue;
            };
            view.text.extend_from_slice(&text[rest..at]);
            let mut buffer = [0; 4];
            let meaning = meaning.encode_utf8(&mut buffer).as_bytes();
            let (to, to_bytes) = (view.text.len(), meaning.len());
            view.escapes.push(Escape { from: at, from_bytes, to, to_bytes });
            view.text.extend_from_slice(meaning);
            from = at + from_bytes;
            rest = from;
        }
        view.text.extend_from_slice(&text[rest..]);
        (!view.escapes.is_empty()).then_some(view)
    }

    /// Gives the part of the text that a part of the view came from. An escape goes as a whole.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        if part.is_empty() {
            let at = self.place(part.start).0;
            return at..at;
        }
        self.place(part.start).0..self.place(part.end - 1).1
    }

    /// Gives where in the text a byte of the view came from: the begin and the end of that.
    fn place(&self, at: usize) -> (usize, usize) {
        let before = self.escapes.partition_point(|escape| escape.to <= at);
        let Some(escape) = before.checked_sub(1).map(|last| self.escapes[last]) else {
            return (at, at + 1);
        };
        match at - escape.to {
            within if within < escape.to_bytes => (escape.from, escape.from + escape.from_bytes),
            behind => {
                let from = escape.from + escape.from_bytes + behind - escape.to_bytes;
                (from, from + 1)
            }
        }
    }
}

/// Reads an escape at the begin of a text: its length, and what it means.
fn escape(text: &[u8]) -> Option<(usize, char)> {
    let meaning = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        _ => return None,
    };
    Some((2, meaning))
}

/// Reads `\u` and four digits, or two of them that are one character.
fn unicode(text: &[u8]) -> Option<(usize, char)> {
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(text)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((6, letter));
    }
    let second = unit(&text[6..]).filter(|second| (0xdc00..0xe000).contains(second))?;
    let joined = (first.checked_sub(0xd800)? << 10) + (second - 0xdc00) + 0x1_0000;
    Some((12, char::from_u32(joined)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_what_is_none_stays() {
        let cases: [(&str, Option<&str>); 9] = [
            ("plain", None),
            (r"C:\dir \x \u12 \", None),
            (r#"a\"b"#, Some("a\"b")),
            (r"\\n", Some(r"\n")),
            (r"x\n\t\/\b\f\r", Some("x\n\t/\u{8}\u{c}\r")),
            (r"\u0041\u00e9\u65e5", Some("Aé日")),
            (r"\ud83c\udf32 \ud83c\n", Some("🌲 \\ud83c\n")),
            (r"\d\n", Some("\\d\n")),
            ("é\\\"日", Some("é\"日")),
        ];
        for (text, expected) in cases {
            let found = Unescaped::of(text.as_bytes()).map(|view| view.text);
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn every_part_leads_back_to_where_it_came_from() {
        let text = r#"ab\"cd\u00e9\\n\ud83c\udf32z"#;
        let view = Unescaped::of(text.as_bytes()).unwrap();
        let whole = String::from_utf8(view.text.clone()).unwrap();
        let find = |part: &str| {
            let at = whole.find(part).unwrap();
            &text[view.origin(&(at..at + part.len()))]
        };
        assert_eq!(find("ab"), "ab");
        assert_eq!(find("b\"c"), "b\\\"c");
        assert_eq!(find("d"), "d");
        assert_eq!(find("é"), "\\u00e9");
        assert_eq!(find("dé\\n"), "d\\u00e9\\\\n");
        assert_eq!(find("🌲z"), "\\ud83c\\udf32z");
        assert_eq!(find(&whole), text);
        // A part of what an escape means is all of the escape.
        let tree = whole.find('🌲').unwrap();
        assert_eq!(&text[view.origin(&(tree + 1..tree + 2))], "\\ud83c\\udf32");
        assert_eq!(view.origin(&(3..3)), 4..4);
    }
}
