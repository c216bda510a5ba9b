//! Reading CBOR, and refusing all but the form that is written.
//!
//! This is the hot path of every walk, so it reads once, straight into values, and checks as it
//! goes: lengths as short as they go and definite, no tags, no bytes left. That it accepts exactly
//! what serde_cbor writes is tested against it.
//!
//! Bounded: nesting by [`DEPTH_MAX`], allocations by the bytes that are there.

use crate::codec::{DEPTH_MAX, KEYS_COMPARED_MAX, Key, LINK_BYTES_MIN, Value, key_mark, known_key};
use crate::id::Id;

/// For how many items room is made on the word of a length.
pub(crate) const ITEMS_TRUSTED_MAX: u64 = 64;

/// What is wrong with some bytes.
pub(crate) type Fault = &'static str;

/// Bytes yet to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// Whether a value was read that may not be one to keep: see [`Reader::doubts`].
    doubts: bool,
}

/// The first bytes of an item: its major type, how its argument is written, and that.
struct Head {
    major: u8,
    info: u8,
    argument: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, doubts: false }
    }

    /// Says whether [`Value::fault`] may find something in a value that was read.
    ///
    /// Most values are made of short strings, integers and a few keys that differ, mostly in length
    /// or in their ends; that is seen in passing.
    pub(crate) fn doubts(&self) -> bool {
        self.doubts
    }

    /// Counts the items that are left, keys too, up to one that is damaged. None is built.
    pub(crate) fn count(mut self) -> u64 {
        let mut items = 0;
        while let Ok(Head { major, argument, .. }) = self.head() {
            items += 1;
            if matches!(major, 2 | 3) && self.take(argument).is_err() {
                break;
            }
        }
        items
    }

    /// Makes sure that nothing is left.
    pub(crate) fn end(&self) -> Result<(), Fault> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err("bytes are left behind the object"),
        }
    }

    /// Reads the begin of a map, and gives the number of its pairs.
    pub(crate) fn map_begin(&mut self) -> Result<u64, Fault> {
        match self.head()? {
            Head { major: 5, argument, .. } => Ok(argument),
            _ => Err("expected a map"),
        }
    }

    /// Reads the begin of a list, and gives the number of its items.
    pub(crate) fn list_begin(&mut self) -> Result<u64, Fault> {
        match self.head()? {
            Head { major: 4, argument, .. } => Ok(argument),
            _ => Err("expected a list"),
        }
    }

    /// Reads the bytes of a string, which may be no UTF-8: whoever compares them need not know.
    pub(crate) fn key(&mut self) -> Result<&'a [u8], Fault> {
        match self.head()? {
            Head { major: 3, argument, .. } => self.take(argument),
            _ => Err("expected a string"),
        }
    }

    /// Reads a string: the key of a pair, or a value that must be one.
    pub(crate) fn text(&mut self) -> Result<&'a str, Fault> {
        match self.head()? {
            Head { major: 3, argument, .. } => self.text_of(argument),
            _ => Err("expected a string"),
        }
    }

    /// Reads an integer.
    pub(crate) fn integer(&mut self) -> Result<i64, Fault> {
        match self.head()? {
            Head { major: 0, argument, .. } => integer(argument),
            Head { major: 1, argument, .. } => integer(argument).map(|integer| -1 - integer),
            _ => Err("expected an integer"),
        }
    }

    /// Reads a link.
    pub(crate) fn link(&mut self) -> Result<Id, Fault> {
        match self.head()? {
            Head { major: 2, argument, .. } => {
                Id::from_slice(self.take(argument)?).ok_or("expected a link")
            }
            _ => Err("expected a link"),
        }
    }

    /// Steps over a string or an integer. None is built.
    pub(crate) fn pass(&mut self) -> Result<(), Fault> {
        match self.head()? {
            Head { major: 0 | 1, .. } => Ok(()),
            Head { major: 3, argument, .. } => self.take(argument).map(drop),
            _ => Err("expected a string or an integer"),
        }
    }

    /// Reads any value.
    pub(crate) fn value(&mut self) -> Result<Value, Fault> {
        let mut value = Value::Null;
        self.value_into(&mut value, DEPTH_MAX)?;
        Ok(value)
    }

    /// Reads a value to the place where it stays: moving each one there costs more than reading it.
    fn value_into(&mut self, place: &mut Value, depth: usize) -> Result<(), Fault> {
        let Head { major, info, argument } = self.head()?;
        *place = match major {
            0 => Value::Integer(integer(argument)?),
            1 => Value::Integer(-1 - integer(argument)?),
            2 => {
                let value = bytes(self.take(argument)?)?;
                self.doubts |= matches!(value, Value::Number(_));
                value
            }
            3 => {
                self.doubts |= argument >= LINK_BYTES_MIN as u64;
                Value::Text(self.text_of(argument)?.to_owned())
            }
            4 | 5 if depth == 0 => return Err("nested too deep"),
            4 => {
                let mut items = Vec::with_capacity(argument.min(ITEMS_TRUSTED_MAX) as usize);
                for _ in 0..argument {
                    items.push(Value::Null);
                    let item = items.last_mut().expect("it was just pushed");
                    self.value_into(item, depth - 1)?;
                }
                Value::List(items)
            }
            5 => {
                let mut pairs = Vec::with_capacity(argument.min(ITEMS_TRUSTED_MAX) as usize);
                self.doubts |= argument > KEYS_COMPARED_MAX as u64;
                let mut marks = 0;
                for _ in 0..argument {
                    let found = self.key()?;
                    let mark = key_mark(found);
                    let mut earlier = pairs.iter().map(|(key, _): &(Key, _)| key.as_bytes());
                    self.doubts |= marks & mark != 0
                        && (argument > KEYS_COMPARED_MAX as u64 || earlier.any(|key| key == found));
                    marks |= mark;
                    // Two pushes: a key that is made first, and moved then, is waited for.
                    match known_key(found) {
                        Some(known) => pairs.push((Key::Borrowed(known), Value::Null)),
                        None => pairs.push((Key::Owned(text(found)?.to_owned()), Value::Null)),
                    }
                    let (_, value) = pairs.last_mut().expect("it was just pushed");
                    self.value_into(value, depth - 1)?;
                }
                Value::Map(pairs)
            }
            7 => {
                let value = simple(info, argument)?;
                self.doubts |= matches!(value, Value::Float(_));
                value
            }
            _ => return Err("a tag"),
        };
        Ok(())
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], Fault> {
        let count = usize::try_from(count).map_err(|_| "a length beyond the end")?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Fault> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or("it ends too early")?;
        self.rest = rest;
        Ok(*taken)
    }

    fn text_of(&mut self, count: u64) -> Result<&'a str, Fault> {
        text(self.take(count)?)
    }

    /// Reads the begin of an item.
    #[inline(always)]
    fn head(&mut self) -> Result<Head, Fault> {
        let [first] = self.array()?;
        let (major, info) = (first >> 5, first & 31);
        let argument = if info < 24 { u64::from(info) } else { self.argument(major, info)? };
        Ok(Head { major, info, argument })
    }

    /// Reads an argument that follows the first byte, and refuses one that could be shorter.
    fn argument(&mut self, major: u8, info: u8) -> Result<u64, Fault> {
        let (argument, least) = match info {
            24 => (u64::from(u8::from_be_bytes(self.array()?)), 24),
            25 => (u64::from(u16::from_be_bytes(self.array()?)), 1 << 8),
            26 => (u64::from(u32::from_be_bytes(self.array()?)), 1 << 16),
            27 => (u64::from_be_bytes(self.array()?), 1 << 32),
            _ => return Err("a length that is not definite"),
        };
        match major != 7 && argument < least {
            true => Err("an integer or a length longer than it needs to be"),
            false => Ok(argument),
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|_| "a string is not UTF-8")
}

fn integer(argument: u64) -> Result<i64, Fault> {
    i64::try_from(argument).map_err(|_| "an integer does not fit 64 bits with a sign")
}

/// Reads a byte string: a link, or the text of a number.
fn bytes(bytes: &[u8]) -> Result<Value, Fault> {
    if let Some(id) = Id::from_slice(bytes) {
        return Ok(Value::Link(id));
    }
    let text = match bytes.strip_suffix(b" ") {
        Some(text) if text.len() == Id::BYTES => text,
        _ => bytes,
    };
    let text = std::str::from_utf8(text).ok();
    match text.filter(|text| Value::number(text).is_some()) {
        Some(text) => Ok(Value::Number(text.into())),
        None => Err("bytes that are neither a link nor a number"),
    }
}

/// Reads a truth, a null, or a float that is as short as it goes.
fn simple(info: u8, argument: u64) -> Result<Value, Fault> {
    let float = match (info, argument) {
        (20, _) => return Ok(Value::Bool(false)),
        (21, _) => return Ok(Value::Bool(true)),
        (22, _) => return Ok(Value::Null),
        (25, half) => half_to_single(half as u16).map(f64::from),
        (26, single) => {
            Some(f32::from_bits(single as u32)).filter(|single| !is_half(*single)).map(f64::from)
        }
        (27, double) => {
            Some(f64::from_bits(double)).filter(|double| f64::from(*double as f32) != *double)
        }
        _ => None,
    };
    match float {
        Some(float) if float.is_finite() => Ok(Value::Float(float)),
        _ => Err("a float or simple value that is not written so"),
    }
}

/// Widens a float of two bytes; `None` for what is not finite.
fn half_to_single(half: u16) -> Option<f32> {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (half >> 10 & 31, f32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 => return None,
        _ => (1024.0 + fraction) * 2f32.powi(i32::from(exponent) - 25),
    };
    Some(sign * magnitude)
}

/// Says whether a float of four bytes fits into two.
fn is_half(single: f32) -> bool {
    let (exponent, fraction) = ((single.to_bits() >> 23 & 255) as i32 - 127, single.to_bits());
    let dropped = match exponent {
        -14..=15 => 13,
        -24..-14 => -1 - exponent,
        _ => return single == 0.0,
    };
    (fraction & 0x7f_ffff | 0x80_0000).trailing_zeros() as i32 >= dropped
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Value, Fault> {
        let mut reader = Reader::new(bytes);
        let value = reader.value()?;
        reader.rest.is_empty().then_some(value).ok_or("bytes are left")
    }

    #[test]
    fn every_half_is_read_as_serde_cbor_writes_it() {
        for half in 0..=u16::MAX {
            let [high, low] = half.to_be_bytes();
            let Ok(Value::Float(float)) = read(&[0xf9, high, low]) else {
                assert_eq!(half >> 10 & 31, 31, "{half:#x} is finite");
                continue;
            };
            assert_eq!(serde_cbor::to_vec(&float).unwrap(), [0xf9, high, low]);
        }
    }

    proptest! {
        #[test]
        fn a_float_is_read_in_its_shortest_form_only(bits: u64, narrow: u32) {
            for float in [f64::from_bits(bits), f64::from(f32::from_bits(narrow))] {
                prop_assume!(float.is_finite());
                let written = serde_cbor::to_vec(&float).unwrap();
                prop_assert_eq!(read(&written), Ok(Value::Float(float)));
                let mut wide = vec![0xfb];
                wide.extend(float.to_bits().to_be_bytes());
                prop_assert_eq!(read(&wide).is_ok(), wide == written);
            }
        }

        #[test]
        fn what_is_not_doubted_has_no_fault(
            keys in vec("[ab]{0,2}", 0..20),
            number in any::<f64>(),
            text_bytes in prop_oneof![0..4usize, 1022..1026usize],
        ) {
            let text = Value::Text("x".repeat(text_bytes));
            let values = [Value::Null, Value::Float(number), text, Value::Number("1e5".into())];
            let pairs = keys.iter().cloned().zip(values.iter().cloned().cycle());
            for value in values.iter().cloned().chain([Value::map(pairs)]) {
                let written = serde_cbor::to_vec(&Value::List(vec![value.clone()])).unwrap();
                let mut reader = Reader::new(&written);
                if let Ok(read) = reader.value() {
                    prop_assert!(reader.doubts() || read.fault().is_none(), "{:?}", value);
                }
            }
        }

        #[test]
        fn what_is_read_is_written_the_same(bytes in vec(any::<u8>(), 0..40)) {
            if let Ok(value) = read(&bytes) {
                prop_assert_eq!(serde_cbor::to_vec(&value).unwrap(), bytes);
            }
        }
    }
}
