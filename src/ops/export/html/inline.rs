//! The inside of a paragraph: code, emphasis and links.
//!
//! Takes time in proportion to the text, whatever it is. What is no markup is text; raw HTML is.
//! A link leads to the web or to mail, and nowhere else.

use std::collections::HashMap;

use crate::ops::export::html::escape::{escape, escaped};

/// How long the address of a link is at the most, in bytes.
const ADDRESS_BYTES_MAX: usize = 2048;
/// How deep parentheses are nested in an address.
const PARENTHESES_MAX: usize = 3;
/// How many marks that are open are looked at for one that closes.
const OPEN_MAX: usize = 16;

/// Appends a text, its marks as markup.
pub(super) fn inline(out: &mut String, text: &str) {
    write(out, text, false);
}

/// Says whether an address may be followed.
pub(super) fn is_safe(address: &str) -> bool {
    let starts = |scheme: &str| {
        address.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    let clean = !address.chars().any(|sign| sign.is_whitespace() || sign.is_control());
    clean && ["http://", "https://", "mailto:"].iter().any(|scheme| starts(scheme))
}

enum Piece<'a> {
    Text(&'a str),
    Code(&'a str),
    Tag(&'static str),
    /// Its text and its address.
    Link(&'a str, &'a str),
}

/// A mark that may be closed: where it stands among the pieces, its sign and how often it stands.
struct Open {
    piece: usize,
    sign: u8,
    count: usize,
}

struct Scanner<'a> {
    text: &'a str,
    /// Where the text begins that is not yet a piece.
    begin: usize,
    pieces: Vec<Piece<'a>>,
    open: Vec<Open>,
    /// Where backticks stand, by how many.
    ticks: HashMap<usize, Vec<usize>>,
    /// Where a bracket closes, by where it opens.
    brackets: HashMap<usize, usize>,
    in_link: bool,
}

fn write(out: &mut String, text: &str, in_link: bool) {
    let mut scanner = Scanner {
        text,
        begin: 0,
        pieces: Vec::new(),
        open: Vec::new(),
        ticks: ticks(text),
        brackets: if in_link { HashMap::new() } else { brackets(text) },
        in_link,
    };
    scanner.scan();
    for piece in scanner.pieces {
        match piece {
            Piece::Text(text) => escape(out, text),
            Piece::Tag(tag) => out.push_str(tag),
            Piece::Code(code) => {
                out.push_str("<code>");
                escape(out, code);
                out.push_str("</code>");
            }
            Piece::Link(text, address) => link(out, text, address),
        }
    }
}

fn link(out: &mut String, text: &str, address: &str) {
    let address_text = escaped(address);
    let end = match is_safe(address) {
        true => {
            out.push_str(&format!("<a href=\"{address_text}\" rel=\"noreferrer noopener\">"));
            "</a>"
        }
        false => {
            out.push_str(&format!("<span class=\"inert\" title=\"{address_text}\">"));
            "</span>"
        }
    };
    match text == address || text.is_empty() {
        true => out.push_str(&address_text),
        false => write(out, text, true),
    }
    out.push_str(end);
}

impl<'a> Scanner<'a> {
    fn scan(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            at = match bytes[at] {
                b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => {
                    self.flush(at);
                    self.begin = at + 1;
                    at + 2
                }
                b'`' => self.code(at),
                b'*' | b'_' | b'~' => self.emphasis(at),
                b'[' if !self.in_link => self.bracket(at),
                b'h' | b'H' if !self.in_link => self.address(at),
                _ => at + 1,
            };
        }
        self.flush(bytes.len());
    }

    /// Makes a piece of the text up to here.
    fn flush(&mut self, end: usize) {
        if self.begin < end {
            self.pieces.push(Piece::Text(&self.text[self.begin..end]));
        }
        self.begin = end;
    }

    fn push(&mut self, at: usize, piece: Piece<'a>, end: usize) -> usize {
        self.flush(at);
        self.pieces.push(piece);
        self.begin = end;
        end
    }

    fn code(&mut self, at: usize) -> usize {
        let count = run(self.text.as_bytes(), at);
        let begin = at + count;
        let closing = self.ticks.get(&count).and_then(|places| {
            let next = places.partition_point(|place| *place < begin);
            places.get(next).copied()
        });
        let Some(end) = closing else {
            return begin;
        };
        let code = &self.text[begin..end];
        let padded = code.starts_with(' ') && code.ends_with(' ') && !code.trim().is_empty();
        let code = if padded { &code[1..code.len() - 1] } else { code };
        self.push(at, Piece::Code(code), end + count)
    }

    fn emphasis(&mut self, at: usize) -> usize {
        let sign = self.text.as_bytes()[at];
        let count = run(self.text.as_bytes(), at);
        let end = at + count;
        let tags: Option<[&'static str; 2]> = match (sign, count) {
            (b'~', 2) => Some(["<del>", "</del>"]),
            (b'*' | b'_', 1) => Some(["<em>", "</em>"]),
            (b'*' | b'_', 2) => Some(["<strong>", "</strong>"]),
            (b'*' | b'_', 3) => Some(["<strong><em>", "</em></strong>"]),
            _ => None,
        };
        let Some([opening, closing]) = tags else {
            return end;
        };
        let before = self.text[..at].chars().next_back();
        let after = self.text[end..].chars().next();
        let is_word = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
        let is_space = |sign: Option<char>| sign.is_none_or(char::is_whitespace);
        // An underscore within a word is part of it.
        let goes_on = |side: Option<char>| sign == b'_' && is_word(side);
        let can_close = !is_space(before) && !goes_on(after);
        let can_open = !is_space(after) && !goes_on(before);
        let near = self.open.len().saturating_sub(OPEN_MAX);
        let found =
            self.open[near..].iter().rposition(|open| open.sign == sign && open.count == count);
        match found.filter(|_| can_close) {
            Some(found) => {
                let piece = self.open[near + found].piece;
                self.open.truncate(near + found);
                self.pieces[piece] = Piece::Tag(opening);
                self.push(at, Piece::Tag(closing), end)
            }
            None if can_open => {
                self.push(at, Piece::Text(&self.text[at..end]), end);
                self.open.push(Open { piece: self.pieces.len() - 1, sign, count });
                end
            }
            None => end,
        }
    }

    /// Reads `[text](address)`, with or without a title.
    fn bracket(&mut self, at: usize) -> usize {
        let Some(close) = self.brackets.get(&at).copied() else {
            return at + 1;
        };
        let Some((address, end)) = target(self.text, close + 1) else {
            return at + 1;
        };
        self.push(at, Piece::Link(&self.text[at + 1..close], address), end)
    }

    /// Reads an address that stands in the text.
    fn address(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let in_word = self.text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let starts = |scheme: &str| {
            rest.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
        };
        if in_word || !(starts("http://") || starts("https://")) {
            return at + 1;
        }
        let is_end = |sign: char| sign.is_whitespace() || "<>\"`|\\^{}[]".contains(sign);
        let mut address = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        while let Some(last) = address.chars().next_back() {
            let odd = last == ')' && !address.contains('(');
            if !odd && !".,;:!?'*_~".contains(last) {
                break;
            }
            address = &address[..address.len() - 1];
        }
        let end = at + address.len();
        match address.ends_with("//") || address.len() > ADDRESS_BYTES_MAX || !is_safe(address) {
            true => end.max(at + 1),
            false => self.push(at, Piece::Link(address, address), end),
        }
    }
}

/// Counts how often a byte stands in a row.
fn run(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take_while(|byte| **byte == bytes[at]).count()
}

fn ticks(text: &str) -> HashMap<usize, Vec<usize>> {
    let bytes = text.as_bytes();
    let mut ticks: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'`') {
        let count = run(bytes, at + next);
        ticks.entry(count).or_default().push(at + next);
        at += next + count;
    }
    ticks
}

/// Pairs the brackets that an address in parentheses follows.
fn brackets(text: &str) -> HashMap<usize, usize> {
    let mut pairs = HashMap::new();
    let mut open = Vec::new();
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'[' => open.push(at),
            b']' => {
                let begin = open.pop();
                if let (Some(begin), Some(b'(')) = (begin, bytes.get(at + 1)) {
                    pairs.insert(begin, at);
                }
            }
            _ => {}
        }
    }
    pairs
}

/// Reads an address in parentheses, and gives where they end.
fn target(text: &str, at: usize) -> Option<(&str, usize)> {
    let begin = at + 1;
    let mut depth = 0;
    let mut end = None;
    for (place, byte) in text.as_bytes()[begin..].iter().enumerate().take(ADDRESS_BYTES_MAX) {
        match byte {
            b'(' if depth == PARENTHESES_MAX => return None,
            b'(' => depth += 1,
            b')' if depth == 0 => {
                end = Some(begin + place);
                break;
            }
            b')' => depth -= 1,
            b'\n' => return None,
            _ => {}
        }
    }
    let end = end?;
    let inside = text[begin..end].trim();
    let (address, title) = inside.split_once(' ').unwrap_or((inside, ""));
    let title = title.trim();
    let is_title = title.is_empty() || title.starts_with(['"', '\'']);
    is_title.then(|| (address.trim_start_matches('<').trim_end_matches('>'), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut out = String::new();
        inline(&mut out, text);
        assert_eq!(out, expected, "{text:?}");
    }

    #[test]
    fn marks_are_markup() {
        check(
            "a **b** *c* ~~d~~ ***e***",
            "a <strong>b</strong> <em>c</em> <del>d</del> \
            <strong><em>e</em></strong>",
        );
        check("`a*b*` ``x ` y`` `", "<code>a*b*</code> <code>x ` y</code> `");
        check("snake_case_name and _word_", "snake_case_name and <em>word</em>");
        check("**a *b** c*", "<strong>a *b</strong> c*");
        check("2 * 3 * 4 \\*no\\*", "2 * 3 * 4 *no*");
        check("<b>&", "&lt;b&gt;&amp;");
    }

    #[test]
    fn only_links_to_the_web_and_to_mail_lead_anywhere() {
        let rel = "rel=\"noreferrer noopener\"";
        check(
            "[a *b*](https://x.y/z_(1) \"t\")",
            &format!("<a href=\"https://x.y/z_(1)\" {rel}>a <em>b</em></a>"),
        );
        check(
            "see https://x.y/a?b=1&c.",
            &format!("see <a href=\"https://x.y/a?b=1&amp;c\" {rel}>https://x.y/a?b=1&amp;c</a>."),
        );
        check("(HTTP://x)", &format!("(<a href=\"HTTP://x\" {rel}>HTTP://x</a>)"));
        check("[m](mailto:a@b)", &format!("<a href=\"mailto:a@b\" {rel}>m</a>"));
        let inert = [
            "javascript:alert(1)",
            "JavaScript:x",
            "data:text/html,x",
            "//x",
            "a/b.rs",
            "java\tscript:x",
            "vbscript:x",
            "file:///etc/passwd",
            "\u{1}https://x",
        ];
        for address in inert {
            let mut out = String::new();
            inline(&mut out, &format!("[t]({address})"));
            assert!(!out.contains("<a"), "{out}");
        }
        check(
            "[a](https://x\"onclick=y)",
            &format!("<a href=\"https://x&quot;onclick=y\" {rel}>a</a>"),
        );
        check(
            "[[a](https://x)](https://y)",
            &format!("<a href=\"https://y\" {rel}>[a](https://x)</a>"),
        );
    }

    #[test]
    fn hostile_text_takes_no_longer() {
        for part in ["*a ", "**", "[", "[](", "[a](b", "`", "``a`", "_a*b", "https://", "~~a "] {
            let mut out = String::new();
            let text = part.repeat(300_000 / part.len());
            inline(&mut out, &text);
            assert!(out.len() >= text.len() / 2, "{part}");
        }
    }
}
