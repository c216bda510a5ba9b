//! Markdown as people and models write it: headings, lists, quotes, tables, code, paragraphs.
//!
//! Nothing fails and nothing is lost: what is no block is a paragraph. Raw HTML is text.

use crate::ops::export::html::escape::escape;
use crate::ops::export::html::inline::inline;

/// How deep quotes and lists are nested; what is deeper is a paragraph.
const DEPTH_MAX: usize = 8;
/// How many columns a table has at the most; what has more is a paragraph.
const COLUMNS_MAX: usize = 64;
/// A text of a message stands under two headings of the page.
const HEADINGS_ABOVE: usize = 3;

/// Appends a text as what its marks make of it.
pub(super) fn prose(out: &mut String, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    blocks(out, &lines, 0);
}

/// Appends a text as it is, with what language it is in, if that is known.
pub(super) fn code(out: &mut String, language: &str, text: &str) {
    out.push_str("<div class=\"code\">");
    if !language.is_empty() {
        out.push_str("<span class=\"language\">");
        escape(out, language);
        out.push_str("</span>");
    }
    // A first empty line would be taken for none.
    out.push_str("<pre tabindex=\"0\"><code>");
    out.push_str(if text.starts_with('\n') { "\n" } else { "" });
    escape(out, text.trim_end_matches('\n'));
    out.push_str("</code></pre></div>\n");
}

fn blocks(out: &mut String, lines: &[&str], depth: usize) {
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let rest = &lines[at..];
        at += if line.trim().is_empty() {
            1
        } else if let Some(fence) = Fence::of(line) {
            fenced(out, rest, &fence)
        } else if let Some((level, title)) = heading(line) {
            let level = (level + HEADINGS_ABOVE).min(6);
            element(out, &format!("h{level}"), title);
            1
        } else if is_rule(line) {
            out.push_str("<hr>\n");
            1
        } else if line.trim_start().starts_with('>') && depth < DEPTH_MAX {
            quote(out, rest, depth)
        } else if let (Some(marker), true) = (Marker::of(line), depth < DEPTH_MAX) {
            list(out, rest, &marker, depth)
        } else if let Some(columns) = table_columns(rest) {
            table(out, rest, columns)
        } else {
            paragraph(out, rest)
        };
    }
}

fn element(out: &mut String, name: &str, text: &str) {
    out.push_str(&format!("<{name}>"));
    inline(out, text);
    out.push_str(&format!("</{name}>\n"));
}

fn paragraph(out: &mut String, lines: &[&str]) -> usize {
    let is_end = |at: &usize| {
        let line = lines[*at];
        let is_item = Marker::of(line).is_some_and(|marker| marker.number.is_none_or(|n| n == 1));
        let is_table = || table_columns(&lines[*at..]).is_some();
        line.trim().is_empty() || is_item || is_block(line) || is_table()
    };
    let count = (1..lines.len()).find(is_end).unwrap_or(lines.len());
    element(out, "p", lines[..count].join("\n").trim());
    count
}

/// Says whether a line begins something other than a paragraph, lists left out.
fn is_block(line: &str) -> bool {
    Fence::of(line).is_some()
        || heading(line).is_some()
        || is_rule(line)
        || line.trim_start().starts_with('>')
}

/// The line that begins a block of code.
struct Fence<'a> {
    sign: char,
    count: usize,
    indent: usize,
    language: &'a str,
}

impl<'a> Fence<'a> {
    fn of(line: &'a str) -> Option<Fence<'a>> {
        let text = line.trim_start();
        let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let rest = text.trim_start_matches(sign);
        let count = text.len() - rest.len();
        let language = rest.split_whitespace().next().unwrap_or_default();
        let is_fence = count >= 3 && !(sign == '`' && rest.contains('`'));
        is_fence.then(|| Fence { sign, count, indent: indent(line), language })
    }

    fn ends_with(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.count && line.chars().all(|sign| sign == self.sign)
    }
}

/// Writes a block of code. One that is not closed goes on to the end.
fn fenced(out: &mut String, lines: &[&str], fence: &Fence<'_>) -> usize {
    let end = lines[1..].iter().position(|line| fence.ends_with(line));
    let inside = &lines[1..end.map_or(lines.len(), |end| end + 1)];
    let stripped: Vec<&str> = inside.iter().map(|line| strip(line, fence.indent)).collect();
    code(out, fence.language, &stripped.join("\n"));
    inside.len() + 1 + usize::from(end.is_some())
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let title = rest.strip_prefix(' ')?.trim();
    (1..=6).contains(&level).then(|| (level, title.trim_end_matches('#').trim_end()))
}

fn is_rule(line: &str) -> bool {
    let signs = || line.chars().filter(|sign| !sign.is_whitespace());
    let first = signs().next();
    first.is_some_and(|first| "-*_".contains(first))
        && signs().all(|sign| Some(sign) == first)
        && signs().count() >= 3
}

fn quote(out: &mut String, lines: &[&str], depth: usize) -> usize {
    let inside = lines.iter().map_while(|line| line.trim_start().strip_prefix('>'));
    let inside: Vec<&str> = inside.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    out.push_str("<blockquote>\n");
    blocks(out, &inside, depth + 1);
    out.push_str("</blockquote>\n");
    inside.len()
}

/// What begins an item of a list.
struct Marker {
    /// Its number, if it has one.
    number: Option<u32>,
    indent: usize,
    /// Where its text begins, in columns.
    text: usize,
    /// How many bytes come before its text.
    bytes: usize,
}

impl Marker {
    fn of(line: &str) -> Option<Marker> {
        let trimmed = line.trim_start();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let sign = trimmed[digits..].chars().next()?;
        let is_sign = if digits > 0 { ".)" } else { "-*+" }.contains(sign);
        let rest = &trimmed[digits + sign.len_utf8()..];
        if !is_sign || digits > 9 || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return None;
        }
        let indent = indent(line);
        let number = trimmed[..digits].parse().ok();
        let bytes = line.len() - rest.trim_start().len();
        Some(Marker { number, indent, text: indent + digits + 2, bytes })
    }
}

fn list(out: &mut String, lines: &[&str], first: &Marker, depth: usize) -> usize {
    let end = match first.number {
        None => {
            out.push_str("<ul>\n");
            "</ul>\n"
        }
        Some(number) => {
            out.push_str(&format!("<ol start=\"{number}\">\n"));
            "</ol>\n"
        }
    };
    let mut at = 0;
    while let Some(marker) = lines.get(at).and_then(|line| Marker::of(line)) {
        if marker.number.is_some() != first.number.is_some() || is_rule(lines[at]) {
            break;
        }
        let (mut inside, count) = item(&lines[at..], &marker);
        out.push_str("<li>");
        for (mark, shown) in [("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")] {
            if let Some(rest) = inside[0].strip_prefix(mark) {
                out.push_str(shown);
                inside[0] = rest;
            }
        }
        blocks(out, &inside, depth + 1);
        out.push_str("</li>\n");
        at += count;
    }
    out.push_str(end);
    at.max(1)
}

/// Gives the lines of an item without their indent, and how many there are with the blank ones.
fn item<'a>(lines: &[&'a str], marker: &Marker) -> (Vec<&'a str>, usize) {
    let mut inside = vec![&lines[0][marker.bytes..]];
    let deeper = marker.text.min(marker.indent + 2);
    let mut at = 1;
    while at < lines.len() {
        let blanks = lines[at..].iter().take_while(|line| line.trim().is_empty()).count();
        let Some(line) = lines.get(at + blanks) else {
            break;
        };
        let columns = indent(line);
        let is_own = columns >= deeper;
        let is_lazy = blanks == 0 && Marker::of(line).is_none() && !is_block(line);
        if !is_own && !is_lazy {
            // Blank lines between items belong to the list.
            let goes_on = Marker::of(line).is_some();
            return (inside, at + if goes_on { blanks } else { 0 });
        }
        inside.extend(std::iter::repeat_n("", blanks));
        inside.push(strip(line, marker.text));
        at += blanks + 1;
    }
    (inside, at)
}

/// Gives how many columns a table has, if these lines begin with one.
fn table_columns(lines: &[&str]) -> Option<usize> {
    let [head, rule, ..] = lines else {
        return None;
    };
    let is_rule = |cell: &&str| {
        let cell = cell.trim_start_matches(':').trim_end_matches(':');
        !cell.is_empty() && cell.bytes().all(|byte| byte == b'-')
    };
    if !head.contains('|') || !rule.contains('-') || !rule.contains('|') {
        return None;
    }
    let columns = cells(rule);
    let fits = columns.len() <= COLUMNS_MAX && cells(head).len() == columns.len();
    (fits && columns.iter().all(is_rule)).then_some(columns.len())
}

fn table(out: &mut String, lines: &[&str], columns: usize) -> usize {
    let rows = lines[2..].iter().take_while(|line| line.contains('|') && !is_block(line)).count();
    out.push_str("<div class=\"table\" tabindex=\"0\"><table>\n");
    row(out, "th", lines[0], columns);
    lines[2..2 + rows].iter().for_each(|line| row(out, "td", line, columns));
    out.push_str("</table></div>\n");
    rows + 2
}

fn row(out: &mut String, name: &str, line: &str, columns: usize) {
    let cells = cells(line);
    out.push_str("<tr>");
    for number in 0..columns {
        out.push_str(&format!("<{name}>"));
        inline(out, cells.get(number).copied().unwrap_or_default());
        out.push_str(&format!("</{name}>"));
    }
    out.push_str("</tr>\n");
}

/// Cuts a line of a table at its bars, but not at `\|` or in code.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut begin, mut in_code, mut after) = (Vec::new(), 0, false, b' ');
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'`' => in_code = !in_code,
            b'|' if !in_code && after != b'\\' => {
                cells.push(line[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        after = byte;
    }
    let last = line[begin..].trim();
    cells.extend(Some(last).filter(|last| !last.is_empty()));
    cells
}

/// Counts the columns that a line is indented by.
fn indent(line: &str) -> usize {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    blanks.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
}

/// Takes so many columns of indent from a line, as far as it has them.
fn strip(line: &str, columns: usize) -> &str {
    let mut taken = 0;
    let mut rest = line;
    while let Some(byte) = rest.bytes().next().filter(|byte| matches!(byte, b' ' | b'\t')) {
        if taken >= columns {
            break;
        }
        taken += if byte == b'\t' { 4 } else { 1 };
        rest = &rest[1..];
    }
    rest
}
