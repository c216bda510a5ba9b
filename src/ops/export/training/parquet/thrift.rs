//! Records in Thrift's compact form, which Parquet describes itself in.
//!
//! A field is its number less the one before it and its type in one byte, then its value. Fields
//! are added in the order of their numbers, never more than 15 apart.

const INT32: u8 = 5;
const INT64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const RECORD: u8 = 12;

/// A record that fields are added to.
#[derive(Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    last: i16,
}

impl Record {
    pub(super) fn new() -> Record {
        Record::default()
    }

    pub(super) fn int32(self, number: i16, value: i64) -> Record {
        self.field(number, INT32, |out| zigzag(value, out))
    }

    pub(super) fn int64(self, number: i16, value: i64) -> Record {
        self.field(number, INT64, |out| zigzag(value, out))
    }

    pub(super) fn text(self, number: i16, text: &str) -> Record {
        self.field(number, BINARY, |out| binary(text, out))
    }

    pub(super) fn record(self, number: i16, record: Record) -> Record {
        self.field(number, RECORD, |out| out.extend(record.finish()))
    }

    pub(super) fn int32s(self, number: i16, values: &[i64]) -> Record {
        self.field(number, LIST, |out| {
            list(values.len(), INT32, out);
            values.iter().for_each(|value| zigzag(*value, out));
        })
    }

    pub(super) fn texts(self, number: i16, texts: &[&str]) -> Record {
        self.field(number, LIST, |out| {
            list(texts.len(), BINARY, out);
            texts.iter().for_each(|text| binary(text, out));
        })
    }

    pub(super) fn records(self, number: i16, records: Vec<Record>) -> Record {
        self.field(number, LIST, |out| {
            list(records.len(), RECORD, out);
            records.into_iter().for_each(|record| out.extend(record.finish()));
        })
    }

    /// Gives the bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn field(mut self, number: i16, kind: u8, write: impl FnOnce(&mut Vec<u8>)) -> Record {
        let step = u8::try_from(number - self.last).unwrap_or_default();
        assert!((1..=15).contains(&step), "fields in order, and near each other");
        self.bytes.push(step << 4 | kind);
        self.last = number;
        write(&mut self.bytes);
        self
    }
}

/// Writes a number seven bits at a time, the lowest first.
pub(super) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63) as u64, out);
}

fn binary(text: &str, out: &mut Vec<u8>) {
    varint(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn list(length: usize, kind: u8, out: &mut Vec<u8>) {
    match u8::try_from(length) {
        Ok(short @ 0..15) => out.push(short << 4 | kind),
        _ => {
            out.push(0xf0 | kind);
            varint(length as u64, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_steps_and_types() {
        let inner = Record::new().int64(9, -1);
        let record = Record::new().int32(1, 150).text(3, "ab").record(5, inner).int32s(6, &[0, 3]);
        let expected =
            [0x15, 0xac, 0x02, 0x28, 2, b'a', b'b', 0x2c, 0x96, 0x01, 0, 0x19, 0x25, 0, 6, 0];
        assert_eq!(record.finish(), expected);
        let long = Record::new().texts(1, &["x"; 15]).finish();
        assert_eq!(long[..4], [0x19, 0xf8, 15, 1]);
    }
}
