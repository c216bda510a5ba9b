//! Text as text: nothing that somebody said is markup, and nothing of it is invisible.

use crate::ops::export::visible::push_visible;

/// Appends a text so that it is the same in an element and in a quoted attribute.
pub(super) fn escape(out: &mut String, text: &str) {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\r' if letters.peek() == Some(&'\n') => {}
            _ => push_visible(out, letter),
        }
    }
}

/// Gives a text escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_and_nothing_is_hidden() {
        let cases = [
            ("<a href=\"x\" b='y'>&amp;", "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;"),
            ("a\r\nb\tc\rd", "a\nb\tc␍d"),
            ("\0\x1b[31m\x7f\u{85}", "␀␛[31m␡‹U+0085›"),
            ("\u{202e}gpj.exe\u{2066}", "‹U+202E›gpj.exe‹U+2066›"),
            ("é 日本 👩\u{200d}🔬", "é 日本 👩\u{200d}🔬"),
        ];
        for (text, expected) in cases {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }
}
