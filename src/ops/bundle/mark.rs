//! How far a bundle was taken in: what lets it go on after it was cut off.

use std::str::FromStr;

use crate::id::Id;
use crate::ops::bundle::objects::SoFar;

/// How far a bundle was taken in, durably.
///
/// It is a hint: if what it speaks of is gone, nothing is moved and the bundle is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which bundle: the checksum of its head, in hex.
    pub bundle: String,
    pub(super) so_far: SoFar,
}

/// Where marks are kept.
pub trait Marks {
    /// Gives the mark of a bundle, if there is one.
    fn load(&mut self, bundle: &str) -> Option<Mark>;
    /// Keeps a mark in the place of the one before.
    fn keep(&mut self, mark: &Mark);
    /// Forgets the mark of a bundle.
    fn forget(&mut self, bundle: &str);
}

/// Keeps no marks: what was taken in is found in the store, and only read again.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMarks;

impl Marks for NoMarks {
    fn load(&mut self, _: &str) -> Option<Mark> {
        None
    }

    fn keep(&mut self, _: &Mark) {}

    fn forget(&mut self, _: &str) {}
}

impl Mark {
    /// Writes the mark as a line of text.
    pub fn to_text(&self) -> String {
        let SoFar { frames, objects, content_bytes, offset, chain } = &self.so_far;
        format!(
            "{} {frames} {} {objects} {content_bytes} {offset}\n",
            self.bundle,
            Id::from_bytes(*chain)
        )
    }

    /// Reads a mark; `None` if it is none.
    pub fn parse(text: &str) -> Option<Mark> {
        let words: Vec<&str> = text.strip_suffix('\n')?.split(' ').collect();
        let [bundle, frames, chain, objects, content_bytes, offset] = words.as_slice() else {
            return None;
        };
        let chain = *Id::from_str(chain).ok()?.as_bytes();
        let so_far = SoFar {
            frames: frames.parse().ok()?,
            chain,
            objects: objects.parse().ok()?,
            content_bytes: content_bytes.parse().ok()?,
            offset: offset.parse().ok()?,
        };
        Some(Mark { bundle: (*bundle).to_owned(), so_far })
    }
}
