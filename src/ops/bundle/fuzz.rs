//! Bundles of any bytes, given to who reads them.

use std::io::Read;
use std::path::Path;

use super::frame::{FrameReader, FrameType, FrameWriter};
use super::head::BundleHead;
use super::objects::{Sink, SoFar, read_objects};
use super::{NoMarks, UnbundleOptions, unbundle, verify_bundle};
use crate::error::Result;
use crate::id::Kind;
use crate::object::NewObject;
use crate::repo::Repo;
use crate::store::Operation;

const NAME: &str = "fuzzed";

/// Reads these bytes as a bundle, and one with frames of these payloads, all checksums of which
/// match: for each its type, its length in two bytes, and the payload.
pub(crate) fn fuzz(data: &[u8]) {
    read(data);
    if let Ok(bundle) = framed(data) {
        read(&bundle);
    }
}

fn read(bundle: &[u8]) {
    let name = Path::new(NAME);
    let checked = verify_bundle(&mut &bundle[..], name, None, &mut |_| {});
    let repo = Repo::in_memory();
    let (actor, command) = ("fuzz".to_owned(), "unbundle".to_owned());
    let operation = Operation { time: 1, actor, command };
    for keep_going in [false, true] {
        let mut options = UnbundleOptions::default();
        options.transfer.keep_going = keep_going;
        let (source, marks) = (&mut &bundle[..], &mut NoMarks);
        let taken = unbundle(&repo, source, name, &options, marks, &operation, &mut |_| {});
        if let (Ok(taken), Ok(checked), false) = (&taken, &checked, keep_going) {
            assert_eq!(taken.objects + taken.shared, checked.objects);
        }
    }
}

/// Makes a bundle whose frames have these payloads, and whose end tells what they hold.
fn framed(data: &[u8]) -> Result<Vec<u8>> {
    let counted = framed_with(data, 0, 0)?;
    let (name, mut counter) = (Path::new(NAME), Counter::default());
    let mut source = &counted[..];
    let mut frames = FrameReader::begin(&mut source, name)?;
    if let Ok((_, first)) = BundleHead::read(&mut frames) {
        let _ = read_objects(&mut frames, first, None, &mut counter);
    }
    framed_with(data, counter.objects, counter.bytes)
}

fn framed_with(mut data: &[u8], objects: u64, bytes: u64) -> Result<Vec<u8>> {
    let mut bundle = Vec::new();
    let mut frames = FrameWriter::begin(&mut bundle, Path::new(NAME))?;
    while let Some(([what, low, high], rest)) = data.split_first_chunk::<3>() {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (payload, rest) = rest.split_at(length);
        let what = match what % 4 {
            0 => FrameType::More,
            1 => FrameType::Head,
            2 => FrameType::Objects,
            _ => FrameType::Large,
        };
        frames.write(what, payload)?;
        data = rest;
    }
    frames.end(objects, bytes)?;
    Ok(bundle)
}

#[derive(Default)]
struct Counter {
    objects: u64,
    bytes: u64,
}

impl Sink for Counter {
    fn object(&mut self, object: NewObject) -> Result<()> {
        self.objects += 1;
        self.bytes += object.content().len() as u64;
        Ok(())
    }

    fn large(&mut self, _: Kind, bytes: u64, content: &mut dyn Read) -> Result<()> {
        self.objects += 1;
        self.bytes += bytes;
        std::io::copy(content, &mut std::io::sink())
            .map(drop)
            .map_err(crate::error::Error::io("read", NAME))
    }

    fn reached(&mut self, _: &SoFar) -> Result<()> {
        Ok(())
    }
}
