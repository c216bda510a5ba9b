//! What would be invisible is shown: control characters, and signs that turn the direction of
//! writing.

/// Appends a sign: a control character as a picture of it, one that turns the direction of writing
/// by its number. Ends of lines and tabs stay.
pub(super) fn push_visible(out: &mut String, letter: char) {
    let number = u32::from(letter);
    match letter {
        '\n' | '\t' => out.push(letter),
        '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + number)),
        '\x7f' => out.push('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => out.push_str(&format!("‹U+{number:04X}›")),
        _ => out.push(letter),
    }
}

/// Gives a text of which nothing is invisible, the ends of its lines as one sign.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\r' || letters.peek() != Some(&'\n') {
            push_visible(&mut out, letter);
        }
    }
    out
}
