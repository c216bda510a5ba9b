//! CBOR: the only file that knows it.
//!
//! One value has one encoding: integers and floats as short as they go, definite lengths, no tags.
//! serde_cbor writes that form but reads others too, so whatever was read is written again, into a
//! writer that only compares; anything but the one encoding is refused, trailing bytes included.
//!
//! A link is a byte string of 32 bytes. A number that keeps its text is a byte string of any other
//! length: a text of 32 bytes gets a space at its end.

use std::fmt;
use std::io;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_cbor::ser::IoWrite;

use crate::codec::Value;
use crate::codec::record::{Field, Record};
use crate::id::Id;

/// For how many items room is made on the word of a length that was not checked.
const ITEMS_TRUSTED_MAX: usize = 64;

/// Encodes a record.
pub(crate) fn encode(record: &Record<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    record
        .serialize(&mut serde_cbor::Serializer::new(&mut bytes))
        .expect("writing to memory does not fail");
    bytes
}

/// Decodes a value; the caller makes sure with [`is_encoding`] that it was in its one encoding.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, String> {
    let mut source = serde_cbor::Deserializer::from_slice(bytes);
    let value = Value::deserialize(&mut source).map_err(|error| error.to_string())?;
    source.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// Says at which byte the encoding of a record differs from these bytes, if it does.
pub(crate) fn is_encoding(record: &Record<'_>, bytes: &[u8]) -> Result<(), usize> {
    let mut compare = Compare { rest: bytes };
    let writer = IoWrite::new(&mut compare);
    let same = record
        .serialize(&mut serde_cbor::Serializer::new(writer))
        .is_ok();
    match same && compare.rest.is_empty() {
        true => Ok(()),
        false => Err(bytes.len() - compare.rest.len()),
    }
}

/// Reads the pairs at the start of a map for as long as their keys are among `keys`.
///
/// What follows is neither read nor checked.
pub(crate) fn head(
    bytes: &[u8],
    keys: &'static [&'static str],
) -> Result<Vec<(&'static str, Value)>, String> {
    let mut head = Head {
        keys,
        pairs: Vec::with_capacity(keys.len()),
        whole: false,
    };
    let mut source = serde_cbor::Deserializer::from_slice(bytes);
    match source.deserialize_map(&mut head) {
        Err(error) if !head.whole => Err(error.to_string()),
        _ => Ok(head.pairs),
    }
}

/// Takes bytes only if they are the next of those expected.
struct Compare<'a> {
    rest: &'a [u8],
}

impl io::Write for Compare<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.rest.strip_prefix(bytes) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => out.serialize_unit(),
            Value::Bool(truth) => out.serialize_bool(*truth),
            Value::Integer(integer) => out.serialize_i64(*integer),
            Value::Float(float) => out.serialize_f64(*float),
            Value::Number(text) if text.len() == Id::BYTES => {
                out.serialize_bytes(format!("{text} ").as_bytes())
            }
            Value::Number(text) => out.serialize_bytes(text.as_bytes()),
            Value::Text(text) => out.serialize_str(text),
            Value::Link(id) => out.serialize_bytes(id.as_bytes()),
            Value::List(items) => {
                let mut list = out.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Value::Map(pairs) => {
                let mut map = out.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.fields().len()))?;
        for (key, field) in self.fields() {
            map.serialize_entry(key, field)?;
        }
        map.end()
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Field::Text(text) => out.serialize_str(text),
            Field::Integer(integer) => out.serialize_i64(*integer),
            Field::Link(id) => out.serialize_bytes(id.as_bytes()),
            Field::Links(ids) => out.collect_seq(ids.iter().map(|id| Field::Link(*id))),
            Field::Value(value) => value.serialize(out),
            Field::Values(values) => out.collect_seq(*values),
            Field::Record(record) => record.serialize(out),
            Field::Records(records) => out.collect_seq(records),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Value, D::Error> {
        source.deserialize_any(Values)
    }
}

/// Builds a value from what serde_cbor finds.
struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::Integer(integer))
    }

    fn visit_u64<E: serde::de::Error>(self, integer: u64) -> Result<Value, E> {
        match i64::try_from(integer) {
            Ok(integer) => Ok(Value::Integer(integer)),
            Err(_) => Err(E::custom("an integer does not fit 64 bits with a sign")),
        }
    }

    fn visit_f64<E>(self, float: f64) -> Result<Value, E> {
        Ok(Value::Float(float))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Value, E> {
        if let Some(id) = Id::from_slice(bytes) {
            return Ok(Value::Link(id));
        }
        let text = match bytes.strip_suffix(b" ") {
            Some(text) if text.len() == Id::BYTES => text,
            _ => bytes,
        };
        let text = std::str::from_utf8(text)
            .ok()
            .filter(|text| Value::number(text).is_some());
        let text = text.ok_or_else(|| E::custom("bytes that are neither a link nor a number"))?;
        Ok(Value::Number(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let room = source.size_hint().unwrap_or(0).min(ITEMS_TRUSTED_MAX);
        let mut items = Vec::with_capacity(room);
        while let Some(item) = source.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let room = source.size_hint().unwrap_or(0).min(ITEMS_TRUSTED_MAX);
        let mut pairs = Vec::with_capacity(room);
        while let Some(pair) = source.next_entry()? {
            pairs.push(pair);
        }
        Ok(Value::Map(pairs))
    }
}

/// Collects the first pairs of a map.
struct Head {
    keys: &'static [&'static str],
    pairs: Vec<(&'static str, Value)>,
    whole: bool,
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<(), A::Error> {
        while let Some(found) = source.next_key_seed(KeyAmong(self.keys))? {
            match found {
                Some(key) => self.pairs.push((key, source.next_value()?)),
                None => break,
            }
        }
        self.whole = true;
        Ok(())
    }
}

/// Reads a key, if it is one of these.
struct KeyAmong(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for KeyAmong {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        let key = <&str>::deserialize(source).map_err(D::Error::custom)?;
        Ok(self.0.iter().find(|name| **name == key).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::arbitrary;
    use proptest::prelude::*;

    fn encode_value(value: &Value) -> Vec<u8> {
        serde_cbor::to_vec(value).unwrap()
    }

    #[test]
    fn encodings_are_as_short_as_they_go() {
        let cases: [(Value, &[u8]); 12] = [
            (Value::Null, b"\xf6"),
            (Value::Integer(23), b"\x17"),
            (Value::Integer(24), b"\x18\x18"),
            (Value::Integer(-256), b"\x38\xff"),
            (
                Value::Integer(i64::MIN),
                b"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff",
            ),
            (Value::Float(-0.0), b"\xf9\x80\x00"),
            (Value::Float(1.5), b"\xf9\x3e\x00"),
            (Value::Float(100_000.0), b"\xfa\x47\xc3\x50\x00"),
            (Value::Float(0.1), b"\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a"),
            (Value::Number("1e5".into()), b"\x43\x31\x65\x35"),
            (Value::from("é"), b"\x62\xc3\xa9"),
            (
                Value::map([("b", Value::List(vec![])), ("a", true.into())]),
                b"\xa2ab\x80aa\xf5",
            ),
        ];
        for (value, bytes) in cases {
            assert_eq!(encode_value(&value), bytes);
            assert_eq!(decode(bytes).unwrap(), value);
        }
    }

    #[test]
    fn a_number_never_looks_like_a_link() {
        let digits = "1234567890123456789012345678901.5";
        for length in [31, 32, 33] {
            let value = Value::number(&digits[digits.len() - length..]).unwrap();
            let bytes = encode_value(&value);
            assert_eq!(bytes.len(), 2 + length + usize::from(length == 32));
            assert_eq!(decode(&bytes).unwrap(), value);
        }
        assert!(decode(b"\x44\x31\x65\x35\x20").is_err(), "a stray space");
        assert!(decode(b"\x40").is_err(), "no number at all");
    }

    #[test]
    fn absurd_lengths_allocate_nothing() {
        for start in [0x5b, 0x7b, 0x9b, 0xbb] {
            let mut bytes = vec![start];
            bytes.extend([0xff; 8]);
            assert!(decode(&bytes).is_err());
            bytes[1] = 0;
            assert!(decode(&bytes.repeat(200)).is_err());
        }
    }

    proptest! {
        #[test]
        fn values_come_back(value in arbitrary::value()) {
            prop_assert_eq!(value.fault(), None);
            let bytes = encode_value(&value);
            prop_assert_eq!(decode(&bytes).unwrap(), value);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes);
            let _ = head(&bytes, &["a", "b"]);
        }
    }
}
