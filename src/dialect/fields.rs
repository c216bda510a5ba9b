//! Looking into foreign values: short strings and times, whatever else stands there.

use crate::codec::Value;
use crate::time;

/// Gives the text under a key; `None` if it is long, and so a link.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_text)
}

/// Reads a time: as text, in UTC where it names no zone, or in milliseconds since 1970.
pub(super) fn time(value: &Value, key: &str) -> Option<i64> {
    match value.get(key)? {
        Value::Text(text) => time::parse(text).or_else(|| time::parse(&format!("{text}Z"))),
        other => other.as_i64(),
    }
}

/// Notes the newest word on something, which mostly is what was known already.
pub(super) fn note(known: &mut Option<String>, word: Option<&str>) {
    if let Some(word) = word.filter(|word| known.as_deref() != Some(word)) {
        *known = Some(word.to_owned());
    }
}
