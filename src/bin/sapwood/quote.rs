//! Words of a line, quoted as git quotes them; and words as a shell takes them.
//!
//! A word is all up to the next space, or a C-style string: `"…"` with `\"`, `\\`, `\n` and the
//! like, and `\` with three octal digits for any byte.

/// Takes the next word off a line that begins with one.
pub(crate) fn word(line: &[u8]) -> Result<(Vec<u8>, &[u8]), &'static str> {
    match line.strip_prefix(b"\"") {
        Some(quoted) => unquote(quoted),
        None => {
            let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
            Ok((line[..end].to_vec(), &line[end..]))
        }
    }
}

/// Takes what follows an opening quote, and gives the text and what stands behind the closing one.
fn unquote(mut rest: &[u8]) -> Result<(Vec<u8>, &[u8]), &'static str> {
    let mut text = Vec::new();
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Ok((text, after)),
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', after @ ..] => {
                text.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                after
            }
            [b'\\', escape, after @ ..] => {
                text.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => *escape,
                    _ => return Err("unknown escape in a quoted word"),
                });
                after
            }
            [byte, after @ ..] => {
                text.push(*byte);
                after
            }
            [] => return Err("a quoted word has no closing quote"),
        };
    }
}

/// Quotes a word as a person would have to at a shell, if it needs it.
pub(crate) fn shell(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "_@%+=:,./~^-{}".contains(sign);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_need_it_are_quoted_for_a_shell() {
        assert_eq!(shell("s1:main~3"), "s1:main~3");
        assert_eq!(shell("The Architect"), "'The Architect'");
        assert_eq!(shell("it's"), r"'it'\''s'");
        assert_eq!(shell(""), "''");
    }

    #[test]
    fn words_end_at_a_space_or_at_the_closing_quote() {
        let cases: [(&str, &str, &str); 5] = [
            ("main rest", "main", " rest"),
            ("main", "main", ""),
            (r#""The Architect" x"#, "The Architect", " x"),
            (r#""a\"b\\c\303\274""#, "a\"b\\cü", ""),
            (r#""""#, "", ""),
        ];
        for (line, expected, rest) in cases {
            let (text, after) = word(line.as_bytes()).unwrap();
            assert_eq!((text.as_slice(), after), (expected.as_bytes(), rest.as_bytes()));
        }
        for line in [r#""open"#, r#""\q""#, r#""\"#, r#""\77""#] {
            assert!(word(line.as_bytes()).is_err(), "{line}");
        }
    }
}
