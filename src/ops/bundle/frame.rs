//! The frames of a bundle: what is written one after the other, and can be checked while it comes.
//!
//! ```text
//!  0  magic      8   "SAPWBNDL"
//!  8  version    4   1
//! 12  zero       4
//! 16  frames, back to back; the last one is of type 5, and nothing follows it
//!
//!  0  type       1   1 head, 2 objects, 3 a large object begins, 4 more of it, 5 end
//!  1  zero       3
//!  4  raw        4   bytes of the payload, 1 MiB at the most
//!  8  stored     4   bytes that follow the checksum
//! 12  zero       4
//! 16  checksum  32   BLAKE3 over the checksum before, the 16 bytes above, and the stored bytes
//! 48  stored bytes: the payload in one zstd frame; that of the end as it is
//! ```
//!
//! The checksum before the first frame's is the BLAKE3 of the 16 bytes at the begin. So no frame
//! can be changed, left out, moved or added, and what was read is known to be right before the rest
//! has come.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"SAPWBNDL";
const VERSION: u32 = 1;
const BEGIN_BYTES: usize = 16;
const HEAD_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 32;
const ZSTD_LEVEL: i32 = 3;

/// The longest payload.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// The most that compression can make of it.
const STORED_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + (64 << 10);

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameType {
    Head = 1,
    Objects = 2,
    Large = 3,
    More = 4,
    End = 5,
}

impl FrameType {
    const ALL: [FrameType; 5] =
        [FrameType::Head, FrameType::Objects, FrameType::Large, FrameType::More, FrameType::End];
}

/// What all frames up to some point hash to.
pub(super) type Chain = [u8; CHECKSUM_BYTES];

/// Writes frames.
pub(super) struct FrameWriter<'a> {
    out: &'a mut dyn Write,
    name: PathBuf,
    zstd: zstd::bulk::Compressor<'static>,
    chain: Chain,
    all: blake3::Hasher,
    pub(super) frames: u64,
    pub(super) bytes: u64,
}

impl<'a> FrameWriter<'a> {
    /// Begins a bundle.
    pub(super) fn begin(out: &'a mut dyn Write, name: &Path) -> Result<FrameWriter<'a>> {
        let zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(Error::io("write", name))?;
        let begin = begin_bytes();
        let mut writer = FrameWriter {
            out,
            name: name.to_owned(),
            zstd,
            chain: *blake3::hash(&begin).as_bytes(),
            all: blake3::Hasher::new(),
            frames: 0,
            bytes: 0,
        };
        writer.put(&begin)?;
        Ok(writer)
    }

    /// Writes a frame.
    pub(super) fn write(&mut self, what: FrameType, payload: &[u8]) -> Result<()> {
        let packed = self.zstd.compress(payload).map_err(Error::io("write", &self.name))?;
        self.frame(what, payload.len(), &packed)
    }

    /// Writes the last frame: how many objects there were, and how many bytes of content.
    pub(super) fn end(mut self, objects: u64, content_bytes: u64) -> Result<u64> {
        let mut payload = Vec::with_capacity(56);
        for number in [objects, content_bytes, self.frames] {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        payload.extend_from_slice(self.all.finalize().as_bytes());
        self.frame(FrameType::End, payload.len(), &payload)?;
        self.out.flush().map_err(Error::io("write", &self.name))?;
        Ok(self.bytes)
    }

    fn frame(&mut self, what: FrameType, raw: usize, stored: &[u8]) -> Result<()> {
        assert!(raw <= PAYLOAD_BYTES_MAX && stored.len() <= STORED_BYTES_MAX, "a frame is short");
        let mut head = [0; HEAD_BYTES];
        head[0] = what as u8;
        head[4..8].copy_from_slice(&(raw as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        self.chain = next_chain(&self.chain, &head, stored);
        let chain = self.chain;
        self.put(&head)?;
        self.put(&chain)?;
        self.put(stored)?;
        self.frames += 1;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.all.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(Error::io("write", &self.name))
    }
}

fn begin_bytes() -> [u8; BEGIN_BYTES] {
    let mut begin = [0; BEGIN_BYTES];
    begin[..8].copy_from_slice(MAGIC);
    begin[8..12].copy_from_slice(&VERSION.to_le_bytes());
    begin
}

fn next_chain(before: &Chain, head: &[u8; HEAD_BYTES], stored: &[u8]) -> Chain {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(head).update(stored);
    *hasher.finalize().as_bytes()
}

/// Reads frames, each checked.
pub(super) struct FrameReader<'a> {
    source: &'a mut dyn Read,
    name: PathBuf,
    zstd: zstd::bulk::Decompressor<'static>,
    /// The checksum of the last frame, which stands for all before it.
    pub(super) chain: Chain,
    all: blake3::Hasher,
    /// How many frames were read.
    pub(super) frames: u64,
    /// How many bytes were read.
    pub(super) offset: u64,
    stored: Vec<u8>,
}

/// A frame as it is stored, checked and not unpacked.
pub(super) struct Frame {
    pub(super) what: FrameType,
    raw: usize,
    /// Where it begins.
    pub(super) at: u64,
}

/// What the last frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) objects: u64,
    pub(super) content_bytes: u64,
}

impl<'a> FrameReader<'a> {
    /// Reads the begin of a bundle.
    pub(super) fn begin(source: &'a mut dyn Read, name: &Path) -> Result<FrameReader<'a>> {
        let zstd = zstd::bulk::Decompressor::new().map_err(Error::io("read", name))?;
        let mut reader = FrameReader {
            source,
            name: name.to_owned(),
            zstd,
            chain: [0; CHECKSUM_BYTES],
            all: blake3::Hasher::new(),
            frames: 0,
            offset: 0,
            stored: Vec::new(),
        };
        let mut begin = [0; BEGIN_BYTES];
        let filled = reader.fill(&mut begin)?;
        if filled < MAGIC.len() || begin[..8] != *MAGIC {
            return Err(Error::Refused {
                why: format!("{} is not a bundle", name.display()),
                hint: "'sapwood bundle create' makes bundles; 'import' takes other programs' files",
            });
        }
        let version = u32::from_le_bytes([begin[8], begin[9], begin[10], begin[11]]);
        if filled == BEGIN_BYTES && version != VERSION {
            return Err(Error::UnsupportedFormat {
                path: name.to_owned(),
                found: format!("bundle version {version}"),
                supported: "version 1",
            });
        }
        if begin != begin_bytes() {
            return Err(reader.damaged(0, "its first bytes are not those of a bundle"));
        }
        reader.all.update(&begin);
        reader.chain = *blake3::hash(&begin).as_bytes();
        Ok(reader)
    }

    /// Reads the next frame and checks it.
    pub(super) fn next(&mut self) -> Result<Frame> {
        let at = self.offset;
        let mut head = [0; HEAD_BYTES];
        self.fill_whole(&mut head)?;
        let number = |place: usize| {
            u32::from_le_bytes([head[place], head[place + 1], head[place + 2], head[place + 3]])
        };
        let what = FrameType::ALL.into_iter().find(|what| *what as u8 == head[0]);
        let (raw, stored) = (number(4) as usize, number(8) as usize);
        let is_plain = head[1..4] == [0; 3] && number(12) == 0;
        let Some(what) = what.filter(|_| is_plain) else {
            return Err(self.damaged(at, "no frame begins like this"));
        };
        if raw > PAYLOAD_BYTES_MAX || stored > STORED_BYTES_MAX {
            return Err(self.damaged(at, "a frame is longer than any may be"));
        }
        let mut checksum = [0; CHECKSUM_BYTES];
        self.fill_whole(&mut checksum)?;
        let mut bytes = std::mem::take(&mut self.stored);
        bytes.resize(stored, 0);
        self.fill_whole(&mut bytes)?;
        self.stored = bytes;
        let chain = next_chain(&self.chain, &head, &self.stored);
        if chain != checksum {
            return Err(self.damaged(at, "a frame's checksum does not match"));
        }
        self.chain = chain;
        self.frames += 1;
        if what != FrameType::End {
            self.all.update(&head).update(&checksum).update(&self.stored);
        }
        Ok(Frame { what, raw, at })
    }

    /// Unpacks the payload of the frame that was read last.
    pub(super) fn payload(&mut self, frame: &Frame) -> Result<Vec<u8>> {
        match self.zstd.decompress(&self.stored, frame.raw) {
            Ok(payload) if payload.len() == frame.raw => Ok(payload),
            _ => Err(self.damaged(frame.at, "a frame does not unpack to what it says")),
        }
    }

    /// Reads what the last frame says, and that nothing follows it.
    pub(super) fn end(&mut self, frame: &Frame) -> Result<End> {
        let number = |place: usize| {
            let bytes = self.stored.get(place..place + 8)?;
            bytes.try_into().ok().map(u64::from_le_bytes)
        };
        let all = self.all.finalize();
        let is_right = self.stored.len() == 56
            && frame.raw == 56
            && number(16) == Some(self.frames - 1)
            && self.stored[24..] == *all.as_bytes();
        let (Some(objects), Some(content_bytes), true) = (number(0), number(8), is_right) else {
            return Err(self.damaged(frame.at, "its end is not of what stands before it"));
        };
        if self.fill(&mut [0])? != 0 {
            return Err(self.damaged(self.offset, "something follows its end"));
        }
        Ok(End { objects, content_bytes })
    }

    /// Says that the bundle is damaged.
    pub(super) fn damaged(&self, at: u64, why: &str) -> Error {
        Error::corrupt(&self.name, at, why)
    }

    fn fill_whole(&mut self, buffer: &mut [u8]) -> Result<()> {
        match self.fill(buffer)? == buffer.len() {
            true => Ok(()),
            false => Err(self.damaged(self.offset, "it ends in the middle")),
        }
    }

    /// Reads until the buffer is full or there is no more.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.name)(error)),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }
}
