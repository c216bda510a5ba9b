//! Bundles made and read by hand, from what docs/FORMAT.md says and nothing else.

use sapwood::id::{Id, Kind};

pub(super) const HEAD: u8 = 1;
pub(super) const OBJECTS: u8 = 2;
pub(super) const LARGE: u8 = 3;
pub(super) const MORE: u8 = 4;
pub(super) const END: u8 = 5;

/// A bundle in the making.
pub(super) struct Craft {
    pub(super) bytes: Vec<u8>,
    chain: [u8; 32],
    frames: u64,
    objects: u64,
    content_bytes: u64,
}

impl Craft {
    pub(super) fn new() -> Craft {
        let bytes = [&b"SAPWBNDL"[..], &1u32.to_le_bytes(), &[0; 4]].concat();
        let chain = *blake3::hash(&bytes).as_bytes();
        Craft { bytes, chain, frames: 0, objects: 0, content_bytes: 0 }
    }

    pub(super) fn frame(&mut self, what: u8, raw: usize, stored: &[u8]) -> &mut Craft {
        let mut head = vec![what, 0, 0, 0];
        head.extend((raw as u32).to_le_bytes());
        head.extend((stored.len() as u32).to_le_bytes());
        head.extend([0; 4]);
        self.chain = *blake3::hash(&[&self.chain[..], &head, stored].concat()).as_bytes();
        self.bytes.extend([&head[..], &self.chain, stored].concat());
        self.frames += 1;
        self
    }

    pub(super) fn payload(&mut self, what: u8, payload: &[u8]) -> &mut Craft {
        let packed = zstd::bulk::compress(payload, 3).unwrap();
        self.frame(what, payload.len(), &packed)
    }

    pub(super) fn objects(&mut self, objects: &[(Kind, &[u8])]) -> &mut Craft {
        let mut payload = Vec::new();
        for (kind, content) in objects {
            payload.push(*kind as u8);
            payload.extend((content.len() as u32).to_le_bytes());
            payload.extend(*content);
            self.objects += 1;
            self.content_bytes += content.len() as u64;
        }
        self.payload(OBJECTS, &payload)
    }

    pub(super) fn end(&mut self) -> Vec<u8> {
        let all = blake3::hash(&self.bytes);
        let mut payload = Vec::new();
        for number in [self.objects, self.content_bytes, self.frames] {
            payload.extend(number.to_le_bytes());
        }
        payload.extend(all.as_bytes());
        self.frame(END, payload.len(), &payload);
        self.bytes.clone()
    }
}

pub(super) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

pub(super) fn session(sid: &str) -> Vec<u8> {
    [&[2][..], &text(sid), &0i64.to_le_bytes()].concat()
}

pub(super) fn reference(rest: &str, id: &Id) -> Vec<u8> {
    [&[3][..], &text(rest), id.as_bytes()].concat()
}

pub(super) fn symbolic(rest: &str, target: &str) -> Vec<u8> {
    [&[4][..], &text(rest), &text(target)].concat()
}

pub(super) fn prerequisite(id: &Id, name: &str) -> Vec<u8> {
    [&[5][..], id.as_bytes(), &text(name)].concat()
}

/// Takes a bundle apart: each frame's type and payload.
pub(super) fn take_apart(bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    assert_eq!(bytes[..16], [&b"SAPWBNDL"[..], &1u32.to_le_bytes(), &[0; 4]].concat());
    let mut chain = *blake3::hash(&bytes[..16]).as_bytes();
    let mut frames = Vec::new();
    let mut at = 16;
    while at < bytes.len() {
        let number = |place: usize| {
            u32::from_le_bytes(bytes[at + place..][..4].try_into().unwrap()) as usize
        };
        let (what, raw, stored) = (bytes[at], number(4), number(8));
        let (head, body) = (&bytes[at..at + 16], &bytes[at + 48..][..stored]);
        chain = *blake3::hash(&[&chain[..], head, body].concat()).as_bytes();
        assert_eq!(bytes[at + 16..at + 48], chain);
        if what == END {
            assert_eq!(body.len(), 56);
            assert_eq!(body[16..24], (frames.len() as u64).to_le_bytes());
            assert_eq!(body[24..], *blake3::hash(&bytes[..at]).as_bytes());
            assert_eq!(at + 48 + stored, bytes.len(), "the end is the end");
            frames.push((what, body.to_vec()));
        } else {
            frames.push((what, zstd::bulk::decompress(body, raw).unwrap()));
        }
        at += 48 + stored;
    }
    frames
}
