//! The head of a bundle: which sessions, their refs, and what the receiver must have.
//!
//! ```text
//! records, back to back, in one frame or more; the head ends with the first other frame
//!
//! 1  made           time 8
//! 2  session        id text, when its metadata was changed 8
//! 3  ref            of the session before: name text, object 32
//! 4  symbolic ref   of the session before: name text, target text
//! 5  prerequisite   object 32, what it was called text
//!
//! text: length 2, then UTF-8; a ref's name without sessions/<sid>/ before it
//! ```
//!
//! A record does not go over the end of a frame.

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::bundle::frame::{FrameReader, FrameType, FrameWriter, PAYLOAD_BYTES_MAX};
use crate::ops::transfer::{Parcel, Prerequisite, check_parcel};
use crate::store::{RefName, RefValue};

/// How long all of a head may be.
const HEAD_BYTES_MAX: usize = 64 << 20;

const MADE: u8 = 1;
const SESSION: u8 = 2;
const REF: u8 = 3;
const SYMBOLIC: u8 = 4;
const PREREQUISITE: u8 = 5;

/// What a bundle says at its begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleHead {
    /// When it was made, in milliseconds since 1970.
    pub time: i64,
    /// The sessions and their refs.
    pub parcels: Vec<Parcel>,
    /// What the receiver must have.
    pub prerequisites: Vec<Prerequisite>,
}

impl BundleHead {
    pub(super) fn write(&self, out: &mut FrameWriter<'_>) -> Result<()> {
        let mut payload = vec![MADE];
        payload.extend_from_slice(&self.time.to_le_bytes());
        for prerequisite in &self.prerequisites {
            let mut record = vec![PREREQUISITE];
            record.extend_from_slice(prerequisite.id.as_bytes());
            put_text(&mut record, &prerequisite.name)?;
            add(out, &mut payload, &record)?;
        }
        for parcel in &self.parcels {
            let mut record = vec![SESSION];
            put_text(&mut record, &parcel.session)?;
            record.extend_from_slice(&parcel.meta_time.to_le_bytes());
            add(out, &mut payload, &record)?;
            for (rest, value) in &parcel.refs {
                let mut record = Vec::new();
                match value {
                    RefValue::Id(id) => {
                        record.push(REF);
                        put_text(&mut record, rest)?;
                        record.extend_from_slice(id.as_bytes());
                    }
                    RefValue::Symbolic(target) => {
                        record.push(SYMBOLIC);
                        put_text(&mut record, rest)?;
                        put_text(&mut record, target.as_str())?;
                    }
                }
                add(out, &mut payload, &record)?;
            }
        }
        out.write(FrameType::Head, &payload)
    }

    /// Reads the head, and gives the first frame behind it.
    pub(super) fn read(
        frames: &mut FrameReader<'_>,
    ) -> Result<(BundleHead, crate::ops::bundle::frame::Frame)> {
        let mut head = BundleHead::default();
        let mut bytes = 0;
        loop {
            let frame = frames.next()?;
            if frame.what != FrameType::Head {
                return match bytes {
                    0 => Err(frames.damaged(frame.at, "it does not begin with its head")),
                    _ => head.checked().map(|head| (head, frame)),
                };
            }
            let payload = frames.payload(&frame)?;
            bytes += payload.len();
            if bytes > HEAD_BYTES_MAX {
                let (found, limit) = (bytes as u64, HEAD_BYTES_MAX as u64);
                return Err(Error::TooLarge { what: "the head of a bundle", found, limit });
            }
            let mut cursor = Cursor { rest: &payload };
            while !cursor.rest.is_empty() {
                let record = head.take(&mut cursor)?;
                record
                    .ok_or_else(|| frames.damaged(frame.at, "a record of its head is cut off"))?;
            }
        }
    }

    /// Reads one record; `None` if it is none.
    fn take(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<()>> {
        let Some(what) = cursor.bytes(1).map(|bytes| bytes[0]) else {
            return Ok(None);
        };
        Ok(match what {
            MADE => cursor.integer().map(|time| self.time = time),
            PREREQUISITE => cursor.id().zip(cursor.text()).map(|(id, name)| {
                self.prerequisites.push(Prerequisite { id, name });
            }),
            SESSION => cursor.text().zip(cursor.integer()).map(|(session, meta_time)| {
                self.parcels.push(Parcel { session, meta_time, ..Parcel::default() });
            }),
            REF => {
                let found = cursor.text().zip(cursor.id());
                found.and_then(|(rest, id)| self.set(rest, RefValue::Id(id)))
            }
            SYMBOLIC => match cursor.text().zip(cursor.text()) {
                Some((rest, target)) => self.set(rest, RefValue::Symbolic(RefName::new(target)?)),
                None => None,
            },
            _ => None,
        })
    }

    fn set(&mut self, rest: String, value: RefValue) -> Option<()> {
        let refs = &mut self.parcels.last_mut()?.refs;
        refs.insert(rest, value).is_none().then_some(())
    }

    /// Refuses sessions and refs that could not be any.
    fn checked(self) -> Result<BundleHead> {
        let mut sessions = std::collections::HashSet::new();
        for parcel in &self.parcels {
            check_parcel(parcel)?;
            if !sessions.insert(&parcel.session) {
                return Err(Error::Refused {
                    why: format!("the bundle has session '{}' twice", parcel.session),
                    hint: "whatever made it mixed up sessions",
                });
            }
        }
        Ok(self)
    }
}

/// Adds a record, and begins another frame where this one is full.
fn add(out: &mut FrameWriter<'_>, payload: &mut Vec<u8>, record: &[u8]) -> Result<()> {
    if payload.len() + record.len() > PAYLOAD_BYTES_MAX {
        out.write(FrameType::Head, payload)?;
        payload.clear();
    }
    payload.extend_from_slice(record);
    Ok(())
}

fn put_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    let limit = u64::from(u16::MAX);
    let found = text.len() as u64;
    let length = u16::try_from(text.len());
    let length = length.map_err(|_| Error::TooLarge { what: "a name in bytes", found, limit })?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    fn integer(&mut self) -> Option<i64> {
        self.bytes(8)?.try_into().ok().map(i64::from_le_bytes)
    }

    fn id(&mut self) -> Option<Id> {
        Id::from_slice(self.bytes(Id::BYTES)?)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.bytes(2)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }
}
