//! Numbers: which of the three forms a JSON number takes, such that its text comes back.
//!
//! A plain decimal that fits is an integer. A decimal with a point that is exactly how we would
//! write the nearest double is a float. Everything else keeps its text.

use std::fmt::{self, Write};

use crate::codec::Value;

/// The digits an `i64` can have without any risk of overflow; longer ones are tried with care.
const INTEGER_DIGITS_SAFE: usize = 18;

/// Reads the text of a JSON number into its one form; `None` if it is not a number.
pub(crate) fn read(text: &str) -> Option<Value> {
    let (bytes, plain) = scan(text.as_bytes())?;
    (bytes == text.len()).then(|| form(text, plain))
}

/// Measures the JSON number at the start of some bytes, and says whether it is digits only.
pub(crate) fn scan(bytes: &[u8]) -> Option<(usize, bool)> {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    at += whole;
    let mut plain = true;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
        plain = false;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
        plain = false;
    }
    Some((at, plain))
}

/// Chooses the form of a number that was scanned.
pub(crate) fn form(text: &str, plain: bool) -> Value {
    if plain {
        if text.len() <= INTEGER_DIGITS_SAFE && !text.starts_with('-') {
            let digit = |sum, byte: u8| sum * 10 + i64::from(byte - b'0');
            return Value::Integer(text.bytes().fold(0, digit));
        }
        match text.parse() {
            Ok(integer) if text != "-0" => return Value::Integer(integer),
            _ => {}
        }
    } else if let Ok(float) = text.parse::<f64>()
        && is_canonical(float)
        && is_text_of(float, text)
    {
        return Value::Float(float);
    }
    Value::Number(text.into())
}

/// Says whether a double is written as a float at all: zero, or not too small or large.
pub(crate) fn is_canonical(float: f64) -> bool {
    float == 0.0 || (1e-5..1e16).contains(&float.abs())
}

/// Writes a float: the fewest digits that read back, no exponent, `.0` for whole numbers.
pub(crate) fn write(float: f64, out: &mut impl Write) -> fmt::Result {
    write!(out, "{float}")?;
    match float.fract() == 0.0 {
        true => out.write_str(".0"),
        false => Ok(()),
    }
}

fn is_text_of(float: f64, text: &str) -> bool {
    struct Expect<'a>(&'a str);
    impl Write for Expect<'_> {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(piece).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut rest = Expect(text);
    write(float, &mut rest).is_ok() && rest.0.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_its_form() {
        let integers = ["0", "7", "-7", "9223372036854775807", "-9223372036854775808"];
        for text in integers {
            assert_eq!(read(text), Some(Value::Integer(text.parse().unwrap())), "{text}");
        }
        let floats = ["0.0", "-0.0", "1.0", "0.1", "0.00001", "1234567.875", "9007199254740993.0"];
        for text in &floats[..6] {
            assert_eq!(read(text), Some(Value::Float(text.parse().unwrap())), "{text}");
        }
        let numbers = [
            floats[6],
            "-0",
            "1e5",
            "1E5",
            "0.10",
            "1.00",
            "0.000001",
            "10000000000000000.0",
            "9223372036854775808",
            "-9223372036854775809",
            "1e999",
            "0.1000000000000000055",
            "123456789012345678901234567890",
            "1e-7",
            "-0.0e0",
        ];
        for text in numbers {
            assert_eq!(read(text), Some(Value::Number(text.into())), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_json_number_is_refused() {
        let bad = [
            "", "-", "+1", "01", "-01", ".5", "1.", "1.e5", "1e", "1e+", "0x1", "1 ", " 1", "NaN",
            "Infinity", "1_000", "--1", "1.5.5", "١",
        ];
        for text in bad {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
