//! Facts as people and programs give them.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::object::Fact;

/// Reads `TEXT` or `KEY=VALUE`. A key has no blanks; what has any before its `=` is all text.
pub fn fact_from_text(text: &str) -> Fact {
    let is_key = |key: &str| !key.is_empty() && !key.contains(char::is_whitespace);
    let (key, value) = match text.split_once('=') {
        Some((key, value)) if is_key(key) => (Some(key.to_owned()), value),
        _ => (None, text),
    };
    Fact { value: value.into(), key, source: None }
}

/// Takes a JSON string or object. The field `key` of an object is the fact's key.
pub fn fact_from_json(value: Value) -> Result<Fact> {
    if !matches!(value, Value::Text(_) | Value::Map(_)) {
        return Err(Error::InvalidObject {
            kind: "fact",
            why: "it is neither a string nor an object".to_owned(),
        });
    }
    let key = value.get("key").and_then(Value::as_text).map(str::to_owned);
    Ok(Fact { value, key, source: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn a_key_is_a_word_before_an_equals_sign() {
        let cases = [
            ("optimizes=ambition", Some("optimizes"), "ambition"),
            ("a=b=c", Some("a"), "b=c"),
            ("empty=", Some("empty"), ""),
            ("=x", None, "=x"),
            ("user said 1+1=2", None, "user said 1+1=2"),
            ("plain", None, "plain"),
        ];
        for (text, key, value) in cases {
            let fact = fact_from_text(text);
            assert_eq!((fact.key.as_deref(), fact.value), (key, value.into()), "{text}");
        }
    }

    #[test]
    fn json_facts_are_strings_or_objects() {
        let read = |text: &str| fact_from_json(json::parse(text.as_bytes()).unwrap());
        assert_eq!(read(r#""a=b""#).unwrap().key, None);
        let fact = read(r#"{"key":"name","value":"Ann"}"#).unwrap();
        assert_eq!(
            (fact.key.as_deref(), fact.value.get("value")),
            (Some("name"), Some(&"Ann".into()))
        );
        for bad in ["1", "null", "[]", "true"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
