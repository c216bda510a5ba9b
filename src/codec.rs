//! Values: what bodies, cards, facts and metadata are made of, and their two encodings.
//!
//! A [`Value`] is JSON that remembers the order of its keys and the text of its numbers, and that
//! can hold a link to another object. [`json`] is how front ends speak it; CBOR is how it is kept,
//! and only `codec/cbor.rs`, with what is below it, knows that.
//!
//! Invariants of a value that may be kept, checked before writing and after reading:
//! - it nests [`DEPTH_MAX`] lists and maps at the most;
//! - no map has a key twice;
//! - no string has [`LINK_BYTES_MIN`] bytes or more: such strings are lifted into blobs;
//! - a number has one form: what can be an integer is one, what can be a float is one.
//!
//! Not here: what an entry or a node is made of (see [`crate::object`]), and the fetching of blobs.

#[cfg(test)]
pub(crate) mod arbitrary;
pub(crate) mod cbor;
pub mod json;
mod key;
mod number;

use std::borrow::Cow;

use crate::id::Id;

pub(crate) use key::known_key;

/// Strings of that many UTF-8 bytes and more are kept as blobs of their own. Part of the format.
pub const LINK_BYTES_MIN: usize = 1024;

/// How deep lists and maps may be nested in a value.
///
/// Objects wrap a value in three more levels, and serde_cbor stops at 128.
pub const DEPTH_MAX: usize = 100;

/// Up to how many keys a map is searched for twins by comparing each with each.
const KEYS_COMPARED_MAX: usize = 16;

/// A key of a map. Those that most messages have take no memory of their own.
pub type Key = Cow<'static, str>;

/// JSON, with links, the order of keys, and the text of odd numbers.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A number written in plain decimal digits that fits.
    Integer(i64),
    /// A number whose text is the shortest that reads back as this double.
    Float(f64),
    /// Any other number: its text.
    Number(Box<str>),
    /// A string.
    Text(String),
    /// Another object; mostly a blob that holds a long string.
    Link(Id),
    /// Values in order.
    List(Vec<Value>),
    /// Named values, in the order in which they were written.
    Map(Vec<(Key, Value)>),
}

impl PartialEq for Value {
    /// Compares floats by their bits: `0.0` and `-0.0` differ in their text.
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Integer(left), Value::Integer(right)) => left == right,
            (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
            (Value::Number(left), Value::Number(right)) => left == right,
            (Value::Text(left), Value::Text(right)) => left == right,
            (Value::Link(left), Value::Link(right)) => left == right,
            (Value::List(left), Value::List(right)) => left == right,
            (Value::Map(left), Value::Map(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Value {}

/// Making.
impl Value {
    /// Makes a map of pairs in this order.
    pub fn map<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Value {
        let mut pairs = pairs.into_iter().map(|(key, value)| (Key::Owned(key.into()), value));
        Value::map_of(&mut pairs)
    }

    /// Collects pairs, in one place for all who make maps.
    fn map_of(pairs: &mut dyn Iterator<Item = (Key, Value)>) -> Value {
        Value::Map(pairs.collect())
    }

    /// Reads the text of a JSON number; `None` if it is not one.
    pub fn number(text: &str) -> Option<Value> {
        number::read(text)
    }
}

/// Looking inside.
impl Value {
    /// Finds what a map has under this key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Gives the text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Gives an integer.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    /// Gives any number as the nearest double.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(integer) => Some(*integer as f64),
            Value::Float(float) => Some(*float),
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Gives a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Gives the object that a link points to.
    pub fn as_link(&self) -> Option<Id> {
        match self {
            Value::Link(id) => Some(*id),
            _ => None,
        }
    }

    /// Gives the items of a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Gives the pairs of a map.
    pub fn as_map(&self) -> Option<&[(Key, Value)]> {
        match self {
            Value::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Says whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Adds every link to `links`, in order of appearance, repetitions included.
    pub fn links(&self, links: &mut Vec<Id>) {
        match self {
            Value::Link(id) => links.push(*id),
            Value::List(items) => items.iter().for_each(|item| item.links(links)),
            Value::Map(pairs) => pairs.iter().for_each(|(_, value)| value.links(links)),
            _ => {}
        }
    }

    /// Says what keeps this value from being kept, if anything does.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault_within(DEPTH_MAX)
    }

    fn fault_within(&self, depth: usize) -> Option<String> {
        match self {
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Link(_) => None,
            Value::Float(float) => (!number::is_canonical(*float))
                .then(|| format!("the float {float:?} has another form")),
            Value::Number(text) => match number::read(text) {
                Some(Value::Number(_)) => None,
                Some(_) => Some(format!("the number {text} has another form")),
                None => Some(format!("'{}' is not a number", text.escape_debug())),
            },
            Value::Text(text) => (text.len() >= LINK_BYTES_MIN)
                .then(|| format!("a string of {} bytes was not lifted", text.len())),
            Value::List(_) | Value::Map(_) if depth == 0 => {
                Some(format!("nested more than {DEPTH_MAX} deep"))
            }
            Value::List(items) => items.iter().find_map(|item| item.fault_within(depth - 1)),
            Value::Map(pairs) => match key_twice(pairs) {
                Some(key) => Some(format!("the key \"{}\" comes twice", key.escape_debug())),
                None => pairs.iter().find_map(|(_, value)| value.fault_within(depth - 1)),
            },
        }
    }
}

/// Finds a key that comes twice, in less than quadratic time.
fn key_twice(pairs: &[(Key, Value)]) -> Option<&str> {
    if pairs.len() <= KEYS_COMPARED_MAX {
        let mut marks = 0u64;
        for (place, (key, _)) in pairs.iter().enumerate() {
            // A key whose mark no other has set is no other's twin.
            let mark = key_mark(key.as_bytes());
            let is_marked = marks & mark != 0;
            marks |= mark;
            if is_marked && pairs[..place].iter().any(|(earlier, _)| earlier == key) {
                return Some(key);
            }
        }
        return None;
    }
    let mut keys: Vec<&str> = pairs.iter().map(|(key, _)| &**key).collect();
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Gives one of 64 marks to a key: those of equal keys are equal.
fn key_mark(key: &[u8]) -> u64 {
    let (first, last) = (key.first().unwrap_or(&0), key.last().unwrap_or(&0));
    1 << ((key.len() + 7 * usize::from(*first) + 13 * usize::from(*last)) % 64)
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Value {
        Value::Integer(integer)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<Id> for Value {
    fn from(id: Id) -> Value {
        Value::Link(id)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::List(items)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_equal_by_bits() {
        assert_ne!(Value::Float(0.0), Value::Float(-0.0));
        assert_eq!(Value::Float(f64::NAN), Value::Float(f64::NAN));
    }

    #[test]
    fn a_key_that_comes_twice_is_found_in_small_and_large_maps() {
        for count in [2, KEYS_COMPARED_MAX, KEYS_COMPARED_MAX + 1, 1000] {
            let mut pairs: Vec<_> =
                (0..count).map(|n| (format!("k{n}").into(), Value::Null)).collect();
            assert_eq!(key_twice(&pairs), None);
            pairs[count - 1].0 = "k0".into();
            assert_eq!(key_twice(&pairs), Some("k0"));
        }
    }

    #[test]
    fn what_may_not_be_kept_is_named() {
        let nested = |depth| (0..depth).fold(Value::Null, |value, _| Value::List(vec![value]));
        let cases = [
            (nested(DEPTH_MAX + 1), "nested"),
            (Value::Text("x".repeat(LINK_BYTES_MIN)), "not lifted"),
            (Value::map([("a", Value::Null), ("a", Value::Null)]), "twice"),
            (Value::Float(f64::INFINITY), "another form"),
            (Value::Float(1e300), "another form"),
            (Value::Number("17".into()), "another form"),
            (Value::Number("1.5".into()), "another form"),
            (Value::Number("1x".into()), "not a number"),
        ];
        for (value, why) in cases {
            assert!(value.fault().unwrap().contains(why), "{why}");
            assert!(Value::List(vec![value]).fault().is_some(), "{why}");
        }
        assert_eq!(nested(DEPTH_MAX).fault(), None);
        assert_eq!(Value::Text("x".repeat(LINK_BYTES_MIN - 1)).fault(), None);
    }
}
