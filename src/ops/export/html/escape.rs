//! Text as text: nothing that somebody said is markup, and nothing of it is invisible.

/// Appends a text so that it is the same in an element and in a quoted attribute.
///
/// Control characters are shown as pictures, signs that turn the direction of writing by their
/// numbers. Ends of lines and tabs stay.
pub(super) fn escape(out: &mut String, text: &str) {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + u32::from(letter))),
            '\x7f' => out.push('\u{2421}'),
            _ if letter.is_control() || is_turning(letter) => {
                out.push_str(&format!("‹U+{:04X}›", u32::from(letter)));
            }
            _ => out.push(letter),
        }
    }
}

/// Gives a text escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(&mut out, text);
    out
}

/// Says whether a sign turns the direction of what follows, or ends a line without showing it.
fn is_turning(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
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
