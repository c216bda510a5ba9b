//! JSON: how front ends speak values.
//!
//! Reading is strict (RFC 8259) and bounded, and refuses what a value could not give back: a key
//! that comes twice, a lone surrogate, bytes that are not UTF-8. Numbers keep their text. Writing
//! is compact and escapes what `JSON.stringify` escapes, so most lines come back byte for byte.
//!
//! Not here: keeping the original of those that do not (an entry's `raw`).

mod parse;
mod write;

pub use parse::{First, Rigour, parse, parse_first, parse_noting};
pub use write::{Spacing, Style, pretty, to_string, write, write_styled};

/// Finds the next byte that ends or interrupts a run of plain characters in a string.
///
/// That is a quote, a backslash or a control character. Keys and most strings are short, so the
/// first eight bytes are looked at alone; then, as long as there is none, as many together as a
/// processor compares at once.
fn special(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    if let Some(word) = bytes[at..].first_chunk() {
        match special_in(word) {
            Some(place) => return at + place,
            None => at += word.len(),
        }
    }
    while let Some(chunk) = bytes[at..].first_chunk::<32>() {
        // With one bit turned, a quote stands next to the control characters, which stay below it.
        let found = chunk.iter().fold(0, |found, byte| {
            found | u8::from(*byte ^ 2 < (b'"' ^ 2) + 1) | u8::from(*byte == b'\\')
        });
        if found != 0 {
            break;
        }
        at += chunk.len();
    }
    while let Some(word) = bytes[at..].first_chunk() {
        match special_in(word) {
            Some(place) => return at + place,
            None => at += word.len(),
        }
    }
    let rest = bytes[at..].iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
    rest.map_or(bytes.len(), |more| at + more)
}

/// Finds the first such byte of eight, which are compared together.
fn special_in(bytes: &[u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES * 0x80;
    // The lowest byte flagged is truly below the limit; borrows only disturb those above it.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGHS;
    let word = u64::from_le_bytes(*bytes);
    let quote = below(word ^ (ONES * u64::from(b'"')), 1);
    let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
    let found = below(word, 0x20) | quote | backslash;
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{DEPTH_MAX, Value, arbitrary};
    use proptest::prelude::*;

    #[test]
    fn texts_come_back_byte_for_byte() {
        let texts = [
            r#"{"b":1,"a":[1.0,1e5,-0,0.10,123456789012345678901234567890],"":null}"#,
            r#"["\"\\\b\f\n\r\t\u0000\u001f/é日🌲",true,false,{},[],"",-1,-0.0]"#,
            "\"\u{7f}\u{2028}\"",
            "12345678901234567890123456789.12",
        ];
        for text in texts {
            assert_eq!(to_string(&parse(text.as_bytes()).unwrap()), text);
        }
    }

    #[test]
    fn escapes_and_whitespace_are_understood() {
        let value = parse(b" [ \"\\u00e9\\/\\ud83c\\udf32\" ,\t1 ]\r\n").unwrap();
        assert_eq!(value, Value::List(vec!["é/🌲".into(), Value::Integer(1)]));
    }

    #[test]
    fn errors_say_what_and_where() {
        let cases: [(&[u8], &str); 26] = [
            (b"", "byte 0"),
            (b"[1,2", "byte 4"),
            (b"[1,]", "byte 3"),
            (b"[1 2]", "byte 3"),
            (b"{\"a\":1,}", "byte 7"),
            (b"{\"a\" 1}", "byte 5"),
            (b"{a:1}", "byte 1"),
            (b"{\"a\":1,\"b\":2,\"a\":3}", "twice"),
            (b"{\"a\":{\"k\":1,\"\\u006b\":2}}", "twice"),
            (b"1 1", "byte 2"),
            (b"01", "not a number at byte 0"),
            (b"-", "not a number at byte 0"),
            (b"[1.]", "not a number at byte 1"),
            (b"nul", "byte 0"),
            (b"NaN", "byte 0"),
            (b"\"a", "byte 2"),
            (b"\"a\nb\"", "control character at byte 2"),
            (b"\"\\x\"", "escape at byte 1"),
            (b"\"\\u12g4\"", "escape at byte 1"),
            (b"\"\\u12", "escape at byte 1"),
            (b"\"\\ud800\"", "surrogate at byte 1"),
            (b"\"\\ud800\\u0041\"", "surrogate at byte 1"),
            (b"\"\\udc00\"", "surrogate at byte 1"),
            (b"\"ab\xff\"", "UTF-8 at byte 3"),
            (b"\xef\xbb\xbf1", "byte 0"),
            (b"'a'", "byte 0"),
        ];
        for (text, expected) in cases {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}, expected {expected}");
        }
    }

    #[test]
    fn what_is_refused_can_be_read_with_less_rigour() {
        let read = |text| parse_first(text, Rigour::Lenient).unwrap();
        let cases = [
            (r#"{"a":1,"b":2,"a":3} tail"#, r#"{"a":3,"b":2}"#),
            (r#""\ud800x\udc00""#, "\"\u{fffd}x\u{fffd}\""),
            (r#""\ud800\u0041""#, "\"\u{fffd}A\""),
            ("17{", "17"),
        ];
        for (text, expected) in cases {
            assert_eq!(to_string(&read(text).0), expected, "{text}");
        }
        assert_eq!(read(r#"{"a":1}{"b":2}"#).1, 7);
        assert!(parse_first("{\"a\":", Rigour::Lenient).is_err());
    }

    #[test]
    fn it_is_noted_whether_a_text_is_written_as_we_would() {
        let noted = |text: &str| parse_noting(text, Rigour::Lenient).unwrap();
        let mut texts: Vec<String> = [
            r#"{"b":1,"a":[1.0,1E5,-0,0.10,{}],"":null,"c":{"d":[]}}"#,
            r#"{"a": 1}"#,
            r#"{"a":1 }"#,
            r#"[1,2] "#,
            r#"[1, 2]"#,
            r#"[ ]"#,
            r#""\/""#,
            r#""\u00e9""#,
            r#"{"a":1,"a":2}"#,
            r#""\ud800""#,
            r#""\ud83c\udf32""#,
            r#""\"\\\b\f\n\r\t\u0000\u001f/é日🌲""#,
        ]
        .map(str::to_owned)
        .to_vec();
        for code in 0..0x100 {
            texts.push(format!("\"\\u{code:04x}\""));
            texts.push(format!("\"\\u{code:04X}\""));
        }
        for text in texts {
            let First { value, bytes, is_compact } = noted(&text);
            assert_eq!(is_compact, to_string(&value) == text[..bytes], "{text}");
        }
    }

    #[test]
    fn every_style_is_written_as_it_was_read() {
        let texts = [
            (r#"{"a": [1, 2, {}], "b": "\u00e9\ud83c\udf32 x"}"#, Spacing::Spaced, true),
            (r#"{"a": [1, []], "b": "é"}"#, Spacing::Spaced, false),
            (r#"{"a":"\u65e5\n"}"#, Spacing::Compact, true),
            ("{\n      \"a\": [\n        1\n      ]\n    }", Spacing::Lines(2), false),
        ];
        for (text, spacing, ascii) in texts {
            let mut out = Vec::new();
            write_styled(&parse(text.as_bytes()).unwrap(), Style { spacing, ascii }, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        parse(nested(DEPTH_MAX).as_bytes()).unwrap();
        assert!(parse(nested(DEPTH_MAX + 1).as_bytes()).is_err());
        assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
        assert!(parse("{\"a\":".repeat(1_000_000).as_bytes()).is_err());
    }

    #[test]
    fn a_special_byte_is_found_at_every_place() {
        for length in 0..40 {
            for place in 0..length {
                for byte in [b'"', b'\\', 0, 0x1f] {
                    let mut bytes = vec![0xc3; length];
                    bytes[place] = byte;
                    bytes[length - 1] = b'"';
                    assert_eq!(special(&bytes, 0), place);
                }
            }
            assert_eq!(special(&vec![0x20; length], length / 2), length);
        }
    }

    #[test]
    fn pretty_is_indented() {
        let value = parse(br#"{"a":[1,{}],"b":[],"c":{"d":"e"}}"#).unwrap();
        let lines = [
            "{",
            "  \"a\": [",
            "    1,",
            "    {}",
            "  ],",
            "  \"b\": [],",
            "  \"c\": {",
            "    \"d\": \"e\"",
            "  }",
            "}",
        ];
        assert_eq!(pretty(&value), lines.join("\n"));
    }

    #[test]
    fn every_byte_is_special_or_not_wherever_it_stands() {
        let naive = |bytes: &[u8]| {
            let place = bytes.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
            place.unwrap_or(bytes.len())
        };
        for length in [1, 7, 8, 9, 31, 32, 40, 41, 71, 72, 73, 104, 140] {
            for place in 0..length {
                for byte in 0..=0xff {
                    let mut bytes = vec![b'!'; length];
                    bytes[place] = byte;
                    assert_eq!(special(&bytes, 0), naive(&bytes), "{byte} at {place} of {length}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_long_text_that_is_not_utf8_is_refused_where_a_short_one_is(
            text in proptest::collection::vec("[a-z]{0,9}[é日🌲]{0,3}", 1200),
            place in 0..9000usize,
            byte in 0x80..=0xffu8,
            cut in 0..40usize,
        ) {
            let mut bytes = format!("\"{}\"", text.concat()).into_bytes();
            prop_assert!(bytes.len() > 8 << 10 && parse(&bytes).is_ok());
            let last = bytes.len() - 1;
            bytes[place.min(last)] = byte;
            bytes.truncate(last - cut);
            if let Err(error) = std::str::from_utf8(&bytes) {
                let said = parse(&bytes).unwrap_err().to_string();
                let expected = format!("not UTF-8 at byte {}", error.valid_up_to());
                prop_assert!(said.ends_with(&expected), "{}, expected {}", said, expected);
            }
        }

        #[test]
        fn what_is_special_is_found_from_everywhere(
            places in proptest::collection::vec(0..14usize, 0..200),
            from in 0..200usize,
        ) {
            let bytes: Vec<u8> =
                places.iter().map(|place| b" !#[]~\x7f\x80\xa2\xff\"\\\x1f\0"[*place]).collect();
            let from = from.min(bytes.len());
            let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
            let place = bytes[from..].iter().position(is_special);
            prop_assert_eq!(special(&bytes, from), place.map_or(bytes.len(), |more| from + more));
        }

        #[test]
        fn values_come_back_from_their_text(value in arbitrary::value_without_links()) {
            let text = to_string(&value);
            prop_assert!(parse_noting(&text, Rigour::Strict).unwrap().is_compact);
            prop_assert_eq!(&parse(text.as_bytes()).unwrap(), &value);
            prop_assert_eq!(&parse(pretty(&value).as_bytes()).unwrap(), &value);
        }

        #[test]
        fn numbers_keep_their_text(
            whole in "-?(0|[1-9][0-9]{0,40})",
            fraction in "(\\.[0-9]{1,30})?",
            exponent in "([eE][+-]?[0-9]{1,4})?",
        ) {
            let text = whole + &fraction + &exponent;
            prop_assert_eq!(to_string(&parse(text.as_bytes()).unwrap()), text);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in arbitrary::bytes_like_json()) {
            if let Ok(value) = parse(&bytes) {
                prop_assert_eq!(parse(to_string(&value).as_bytes()).unwrap(), value);
            }
            if let Ok(text) = std::str::from_utf8(&bytes)
                && let Ok(first) = parse_noting(text, Rigour::Lenient)
            {
                let is_compact = to_string(&first.value) == text[..first.bytes];
                prop_assert_eq!(first.is_compact, is_compact);
            }
        }
    }
}
