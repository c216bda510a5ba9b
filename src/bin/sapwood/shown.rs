//! Text as it is shown to people: no control character of what somebody said reaches the terminal.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How wide a line is.
pub(crate) const COLUMNS: usize = 80;

/// Writes out control characters, as `\u{1b}`. Lines and tabs stay.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Writes out control characters, ends of lines too: for names, roles and whatever has one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
}

/// Counts the columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    match is_plain(text) {
        true => text.len(),
        false => text.width(),
    }
}

/// Says whether every byte of a text is one column: most texts are, and it is quickly seen.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Cuts a line to so many columns, and says so. Control characters become blanks.
pub(crate) fn clipped(line: &str, columns_max: usize) -> String {
    if is_plain(line) {
        return match line.get(..columns_max.saturating_sub(1)) {
            Some(kept) if line.len() > columns_max => format!("{}…", kept.trim_end()),
            _ => line.to_owned(),
        };
    }
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if width(&clean) <= columns_max {
        return clean;
    }
    let mut used = 0;
    let kept = clean.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used < columns_max
    });
    format!("{}…", kept.collect::<String>().trim_end())
}

/// Fills a text with blanks up to so many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        let text = "a\x1b[31m\u{9b}b\r\n\tü\x07";
        assert_eq!(block(text), "a\\u{1b}[31m\\u{9b}b\\r\n\tü\\u{7}");
        assert_eq!(line(text), "a\\u{1b}[31m\\u{9b}b\\r\\n\\tü\\u{7}");
        assert!(matches!(block("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(clipped("日本語です", 10), "日本語です");
        assert_eq!(clipped("日本語です", 9), "日本語で…");
        assert_eq!(clipped("a\tb c d", 5), "a b…");
        assert_eq!(padded("日本", 5), "日本 ");
    }
}
