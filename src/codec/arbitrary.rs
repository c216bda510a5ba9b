//! Arbitrary values for property tests.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::codec::{Key, Value, key_twice};
use crate::id::Id;

/// Values that may be kept.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    nested(prop_oneof![9 => leaf().boxed(), 1 => id().prop_map(Value::Link).boxed()].boxed())
}

/// Values that JSON can say.
pub(crate) fn value_without_links() -> impl Strategy<Value = Value> {
    nested(leaf().boxed())
}

/// Values with strings long and short.
pub(crate) fn value_with_long_strings() -> impl Strategy<Value = Value> {
    let long = "(ab|é|日){500,700}".prop_map(Value::from);
    nested(prop_oneof![3 => leaf().boxed(), 1 => long.boxed()].boxed())
}

/// Ids.
pub(crate) fn id() -> impl Strategy<Value = Id> {
    any::<[u8; 32]>().prop_map(Id::from_bytes)
}

/// Bytes that get beyond the first character of a JSON parser.
pub(crate) fn bytes_like_json() -> impl Strategy<Value = Vec<u8>> {
    let alphabet: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"\"",
        b"\\",
        b"\\u",
        b"d83c",
        b"df32",
        b"null",
        b"true",
        b"1",
        b"-",
        b".",
        b"e",
        b" ",
        b"\"a\"",
        b"\"a\":",
        b"\xff",
        b"\xc3\xa9",
        b"\n",
    ];
    let pieces = vec(proptest::sample::select(alphabet), 0..24).prop_map(|list| list.concat());
    prop_oneof![pieces, vec(any::<u8>(), 0..64)]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        (-300i64..300).prop_map(Value::Integer),
        any::<f64>().prop_filter_map("finite", |float| Value::number(&format!("{float:?}"))),
        any::<i32>().prop_filter_map("a number", |n| Value::number(&format!("{n}.25"))),
        "-?[1-9][0-9]{30,31}".prop_filter_map("a number", |text| Value::number(&text)),
        "-?[0-9]{1,4}\\.[0-9]{1,28}e?[0-9]?".prop_filter_map("a number", |t| Value::number(&t)),
        ".{0,24}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,40}".prop_map(Value::from),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    let known = proptest::sample::select(vec!["id", "type", "content", "timestamp"]);
    prop_oneof![3 => ".{0,8}".prop_map(Key::Owned), 1 => known.prop_map(Key::Borrowed)]
}

fn nested(leaf: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::List),
            vec((key(), inner), 0..6)
                .prop_filter("no key twice", |pairs| key_twice(pairs).is_none())
                .prop_map(Value::Map),
        ]
    })
}
