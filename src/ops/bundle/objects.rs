//! The objects of a bundle, each after those it links.
//!
//! ```text
//! an objects frame        kind 1, bytes 4, content; back to back
//! a large object begins   kind 1, bytes 8; frames of type 4 with the content follow right after
//! ```
//!
//! Objects of 256 KiB and more are large. No ids are written: whoever reads makes them from the
//! contents, so no object can pass for another.

use std::io::{self, Read};

use crate::error::{Error, Result};
use crate::id::{Id, IdHasher, Kind};
use crate::object::{self, NewObject};
use crate::ops::bundle::frame::{
    End, Frame, FrameReader, FrameType, FrameWriter, PAYLOAD_BYTES_MAX,
};
use crate::ops::transfer::{Given, mismatch};
use crate::store::{OBJECT_BYTES_MAX, Streamed};

/// Objects of so many bytes, and more, have frames of their own.
const LARGE_BYTES_MIN: usize = 256 << 10;
const ROW_BYTES: usize = 5;

/// Writes objects.
#[derive(Default)]
pub(super) struct ObjectWriter {
    payload: Vec<u8>,
    pub(super) objects: u64,
    pub(super) content_bytes: u64,
}

impl ObjectWriter {
    pub(super) fn put(&mut self, out: &mut FrameWriter<'_>, given: Given) -> Result<()> {
        self.objects += 1;
        self.content_bytes += given.bytes();
        match given {
            Given::Large(id, Streamed { kind, bytes, mut content }) => {
                let mut hasher = IdHasher::new(kind, bytes);
                self.large(out, kind, bytes, &mut content, &mut |piece| hasher.update(piece))?;
                match hasher.finish() == id {
                    true => Ok(()),
                    false => Err(mismatch(&id)),
                }
            }
            Given::Object(object) if object.content().len() >= LARGE_BYTES_MIN => {
                let mut content = object.content();
                let bytes = content.len() as u64;
                self.large(out, object.kind(), bytes, &mut content, &mut |_| {})
            }
            Given::Object(object) => self.small(out, &object),
        }
    }

    fn small(&mut self, out: &mut FrameWriter<'_>, object: &NewObject) -> Result<()> {
        let content = object.content();
        if self.payload.len() + ROW_BYTES + content.len() > PAYLOAD_BYTES_MAX {
            self.flush(out)?;
        }
        self.payload.push(object.kind() as u8);
        self.payload.extend_from_slice(&(content.len() as u32).to_le_bytes());
        self.payload.extend_from_slice(content);
        Ok(())
    }

    fn large(
        &mut self,
        out: &mut FrameWriter<'_>,
        kind: Kind,
        bytes: u64,
        content: &mut dyn Read,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        self.flush(out)?;
        let mut begin = vec![kind as u8];
        begin.extend_from_slice(&bytes.to_le_bytes());
        out.write(FrameType::Large, &begin)?;
        let mut left = bytes;
        while left > 0 {
            let wanted = left.min(PAYLOAD_BYTES_MAX as u64);
            self.payload.clear();
            let read = content.take(wanted).read_to_end(&mut self.payload);
            read.map_err(Error::io("read", "a large object"))?;
            if self.payload.len() as u64 != wanted {
                let why = "it is shorter than it says";
                return Err(Error::corrupt("a large object", None, why));
            }
            see(&self.payload);
            out.write(FrameType::More, &self.payload)?;
            left -= wanted;
        }
        self.payload.clear();
        Ok(())
    }

    /// Writes what waits for its frame to be full.
    pub(super) fn flush(&mut self, out: &mut FrameWriter<'_>) -> Result<()> {
        if !self.payload.is_empty() {
            out.write(FrameType::Objects, &self.payload)?;
            self.payload.clear();
        }
        Ok(())
    }
}

/// Who gets the objects of a bundle.
pub(super) trait Sink {
    /// Takes an object.
    fn object(&mut self, object: NewObject) -> Result<()>;
    /// Takes a large object, all of which must be read.
    fn large(&mut self, kind: Kind, bytes: u64, content: &mut dyn Read) -> Result<()>;
    /// Learns that all objects up to here were given.
    fn reached(&mut self, so_far: &SoFar) -> Result<()>;
}

/// How far a bundle was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SoFar {
    pub(super) frames: u64,
    pub(super) chain: [u8; 32],
    pub(super) objects: u64,
    pub(super) content_bytes: u64,
    /// How many bytes of the bundle were read.
    pub(super) offset: u64,
}

/// Reads all objects, from the frame behind the head on. Of what was read before, only the
/// checksums are looked at.
pub(super) fn read_objects(
    frames: &mut FrameReader<'_>,
    first: Frame,
    before: Option<&SoFar>,
    sink: &mut dyn Sink,
) -> Result<SoFar> {
    let mut so_far = SoFar::default();
    let mut frame = first;
    if let Some(before) = before {
        while frames.frames < before.frames && frame.what != FrameType::End {
            frame = frames.next()?;
        }
        if frames.chain != before.chain {
            return Err(Error::Refused {
                why: "this is not the bundle that was begun".to_owned(),
                hint: "nothing was changed; give it again, and it is read from its begin",
            });
        }
        so_far = *before;
        frame = frames.next()?;
    }
    loop {
        match frame.what {
            FrameType::Objects => small_objects(frames, &frame, &mut so_far, sink)?,
            FrameType::Large => large_object(frames, &frame, &mut so_far, sink)?,
            FrameType::End => {
                let End { objects, content_bytes } = frames.end(&frame)?;
                if (objects, content_bytes) != (so_far.objects, so_far.content_bytes) {
                    return Err(frames.damaged(frame.at, "it has another number of objects"));
                }
                so_far.offset = frames.offset;
                return Ok(so_far);
            }
            FrameType::Head | FrameType::More => {
                return Err(frames.damaged(frame.at, "a frame is not where it belongs"));
            }
        }
        (so_far.frames, so_far.chain, so_far.offset) = (frames.frames, frames.chain, frames.offset);
        sink.reached(&so_far)?;
        frame = frames.next()?;
    }
}

fn small_objects(
    frames: &mut FrameReader<'_>,
    frame: &Frame,
    so_far: &mut SoFar,
    sink: &mut dyn Sink,
) -> Result<()> {
    let payload = frames.payload(frame)?;
    let mut rest = payload.as_slice();
    while !rest.is_empty() {
        let row = row(rest).ok_or_else(|| frames.damaged(frame.at, "an object is cut off"))?;
        let (kind, content, after) = row;
        so_far.objects += 1;
        so_far.content_bytes += content.len() as u64;
        sink.object(NewObject::parse(kind, content.to_vec())?)?;
        rest = after;
    }
    Ok(())
}

fn row(bytes: &[u8]) -> Option<(Kind, &[u8], &[u8])> {
    let (row, rest) = bytes.split_at_checked(ROW_BYTES)?;
    let length = u32::from_le_bytes(row[1..].try_into().ok()?);
    let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((Kind::from_code(row[0])?, content, rest))
}

fn large_object(
    frames: &mut FrameReader<'_>,
    frame: &Frame,
    so_far: &mut SoFar,
    sink: &mut dyn Sink,
) -> Result<()> {
    let payload = frames.payload(frame)?;
    let kind = payload.first().and_then(|code| Kind::from_code(*code));
    let bytes = payload.get(1..).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (Some(kind), Some(bytes)) = (kind, bytes) else {
        return Err(frames.damaged(frame.at, "a large object does not begin as it should"));
    };
    if bytes > OBJECT_BYTES_MAX {
        let limit = OBJECT_BYTES_MAX;
        return Err(Error::TooLarge { what: "an object", found: bytes, limit });
    }
    object::check_length(kind, bytes)?;
    so_far.objects += 1;
    so_far.content_bytes += bytes;
    let mut content = LargeReader { frames, left: bytes, piece: Vec::new(), read: 0, failed: None };
    let taken = sink.large(kind, bytes, &mut content);
    if let Some(error) = content.failed.take() {
        return Err(error);
    }
    taken?;
    match content.left == 0 && content.read == content.piece.len() {
        true => Ok(()),
        false => Err(frames.damaged(frame.at, "a large object was not read to its end")),
    }
}

/// Reads a large object through, and gives its id.
pub(super) fn read_id(kind: Kind, bytes: u64, content: &mut dyn Read) -> Result<Id> {
    let mut hasher = IdHasher::new(kind, bytes);
    let mut buffer = vec![0; 1 << 17];
    loop {
        match content.read(&mut buffer).map_err(Error::io("read", "a large object"))? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&buffer[..count]),
        };
    }
}

/// The content of a large object.
struct LargeReader<'r, 'a> {
    frames: &'r mut FrameReader<'a>,
    /// How much of it stands in frames that were not read yet.
    left: u64,
    piece: Vec<u8>,
    read: usize,
    failed: Option<Error>,
}

impl LargeReader<'_, '_> {
    fn refill(&mut self) -> Result<()> {
        let frame = self.frames.next()?;
        let piece = match frame.what {
            FrameType::More => self.frames.payload(&frame)?,
            _ => return Err(self.frames.damaged(frame.at, "a large object is cut off")),
        };
        let left = self.left.checked_sub(piece.len() as u64).filter(|_| !piece.is_empty());
        self.left =
            left.ok_or_else(|| self.frames.damaged(frame.at, "a large object has another length"))?;
        (self.piece, self.read) = (piece, 0);
        Ok(())
    }
}

impl Read for LargeReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.piece.len()
            && self.left > 0
            && let Err(error) = self.refill()
        {
            let said = io::Error::other(error.to_string());
            self.failed = Some(error);
            return Err(said);
        }
        let count = buffer.len().min(self.piece.len() - self.read);
        buffer[..count].copy_from_slice(&self.piece[self.read..][..count]);
        self.read += count;
        Ok(count)
    }
}
