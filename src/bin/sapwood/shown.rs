//! Text as it is shown to people: no control character of what somebody said reaches the terminal.

use std::borrow::Cow;

/// Writes out control characters, as `\u{1b}`. Lines and tabs stay.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Writes out control characters, ends of lines too: for names, roles and whatever has one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
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
}
