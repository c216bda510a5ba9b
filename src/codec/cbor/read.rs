//! Reading CBOR, and refusing all but the form that is written.
//!
//! This is the hot path of every walk, so it reads once, straight into values, and checks as it
//! goes: lengths as short as they go and definite, no tags, no bytes left. That it accepts exactly
//! what serde_cbor writes is tested against it.
//!
//! Bounded: nesting by [`NESTING_MAX`], allocations by the bytes that are there.

use std::borrow::Cow;

use crate::codec::{DEPTH_MAX, Value};
use crate::id::Id;

/// How deep anything nests: the values in an object, and the lists and maps of its fields around
/// them.
const NESTING_MAX: usize = DEPTH_MAX + 8;
/// For how many items room is made on the word of a length.
const ITEMS_TRUSTED_MAX: u64 = 64;

/// What is wrong with some bytes.
pub(super) type Fault = &'static str;

/// Bytes yet to be read.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The first bytes of an item: its major type, its argument, and how many bytes that took.
struct Head {
    major: u8,
    argument: u64,
    width: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Reads a map that is all there is.
    pub(super) fn whole_map(&mut self) -> Result<Vec<(Cow<'a, str>, Value)>, Fault> {
        let count = self.map_begin()?;
        let mut pairs = Vec::with_capacity(count.min(ITEMS_TRUSTED_MAX) as usize);
        for _ in 0..count {
            pairs.push((Cow::Borrowed(self.key()?), self.value(NESTING_MAX)?));
        }
        match self.rest.is_empty() {
            true => Ok(pairs),
            false => Err("bytes are left behind the object"),
        }
    }

    /// Reads the begin of a map, and gives the number of its pairs.
    pub(super) fn map_begin(&mut self) -> Result<u64, Fault> {
        match self.head()? {
            Head { major: 5, argument, .. } => Ok(argument),
            _ => Err("expected a map"),
        }
    }

    /// Reads the key of a pair.
    pub(super) fn key(&mut self) -> Result<&'a str, Fault> {
        match self.head()? {
            Head { major: 3, argument, .. } => self.text(argument),
            _ => Err("a key is not a string"),
        }
    }

    /// Reads any value, nested no deeper than `depth`.
    pub(super) fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        let Head { major, argument, width } = self.head()?;
        match major {
            0 => integer(argument).map(Value::Integer),
            1 => integer(argument).map(|integer| Value::Integer(-1 - integer)),
            2 => bytes(self.take(argument)?),
            3 => Ok(Value::Text(self.text(argument)?.to_owned())),
            4 | 5 if depth == 0 => Err("nested too deep"),
            4 => {
                let mut items = Vec::with_capacity(argument.min(ITEMS_TRUSTED_MAX) as usize);
                for _ in 0..argument {
                    items.push(self.value(depth - 1)?);
                }
                Ok(Value::List(items))
            }
            5 => {
                let mut pairs = Vec::with_capacity(argument.min(ITEMS_TRUSTED_MAX) as usize);
                for _ in 0..argument {
                    pairs.push((self.key()?.to_owned(), self.value(depth - 1)?));
                }
                Ok(Value::Map(pairs))
            }
            7 => simple(argument, width),
            _ => Err("a tag"),
        }
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], Fault> {
        let count = usize::try_from(count).map_err(|_| "a length beyond the end")?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn text(&mut self, count: u64) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.take(count)?).map_err(|_| "a string is not UTF-8")
    }

    /// Reads the begin of an item, and refuses a length or an integer that could be shorter.
    fn head(&mut self) -> Result<Head, Fault> {
        let first = self.take(1)?[0];
        let (major, info) = (first >> 5, first & 31);
        let width = match info {
            0..24 => {
                return Ok(Head { major, argument: u64::from(info), width: 0 });
            }
            24 => 1,
            25 => 2,
            26 => 4,
            27 => 8,
            _ => return Err("a length that is not definite"),
        };
        let mut argument = [0; 8];
        argument[8 - width..].copy_from_slice(self.take(width as u64)?);
        let argument = u64::from_be_bytes(argument);
        let least = [0, 24, 1 << 8, 0, 1 << 16, 0, 0, 0, 1 << 32][width];
        if major != 7 && argument < least {
            return Err("an integer or a length longer than it needs to be");
        }
        Ok(Head { major, argument, width: width as u8 })
    }
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
fn simple(argument: u64, width: u8) -> Result<Value, Fault> {
    let float = match (width, argument) {
        (0, 20) => return Ok(Value::Bool(false)),
        (0, 21) => return Ok(Value::Bool(true)),
        (0, 22) => return Ok(Value::Null),
        (2, half) => half_to_single(half as u16).map(f64::from),
        (4, single) => {
            Some(f32::from_bits(single as u32)).filter(|single| !is_half(*single)).map(f64::from)
        }
        (8, double) => {
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
        let value = reader.value(NESTING_MAX)?;
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
        fn what_is_read_is_written_the_same(bytes in vec(any::<u8>(), 0..40)) {
            if let Ok(value) = read(&bytes) {
                prop_assert_eq!(serde_cbor::to_vec(&value).unwrap(), bytes);
            }
        }
    }
}
