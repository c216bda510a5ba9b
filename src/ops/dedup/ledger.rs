//! Entries and the long strings that they use, each looked at once.
//!
//! What is kept is a few dozen bytes for each different entry and string, whatever their length.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::Entry;
use crate::ops::scan::scan;
use crate::store::Snapshot;

/// How images begin that are written in base64: PNG, JPEG, GIF, WebP; or any, with its type.
const IMAGES: [&[u8]; 5] = [b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UklGR", b"data:image/"];

/// An entry: a line of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Its bytes, and those of the strings it uses, each time that it does.
    pub(super) bytes: u64,
    /// How often it uses a long string.
    pub(super) strings: u32,
    /// How many of these are images, and their bytes.
    pub(super) images: u32,
    pub(super) image_bytes: u64,
    /// The first session that has it.
    pub(super) first: u32,
}

/// A long string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) bytes: u64,
    /// How often different entries use it.
    pub(super) uses: u64,
    pub(super) is_image: bool,
}

/// All entries and long strings of some sessions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    lines: HashMap<Id, Line>,
    /// What entries link to; no text where it is not a blob.
    texts: HashMap<Id, Option<Text>>,
}

impl Ledger {
    /// Takes in the entries of a session.
    pub(super) fn add(
        &mut self,
        snapshot: &dyn Snapshot,
        entries: &[Id],
        session: u32,
    ) -> Result<()> {
        let fresh: Vec<Id> =
            entries.iter().copied().filter(|id| !self.lines.contains_key(id)).collect();
        let read = |id: &Id| read(snapshot, id);
        scan(&fresh, &read, &mut |id, (bytes, links)| {
            if !self.lines.contains_key(id) {
                let line = self.line_of(snapshot, bytes, &links, session)?;
                self.lines.insert(*id, line);
            }
            Ok(ControlFlow::Continue(()))
        })
        .map(drop)
    }

    fn line_of(
        &mut self,
        snapshot: &dyn Snapshot,
        bytes: u64,
        links: &[Id],
        first: u32,
    ) -> Result<Line> {
        let mut line = Line { bytes, first, ..Line::default() };
        for link in links {
            if !self.texts.contains_key(link) {
                self.texts.insert(*link, text(snapshot, link)?);
            }
            if let Some(Some(text)) = self.texts.get_mut(link) {
                text.uses += 1;
                line.bytes += text.bytes;
                line.strings += 1;
                line.images += u32::from(text.is_image);
                line.image_bytes += if text.is_image { text.bytes } else { 0 };
            }
        }
        Ok(line)
    }

    /// Gives what is known of an entry.
    pub(super) fn line(&self, id: &Id) -> Option<&Line> {
        self.lines.get(id)
    }

    /// Gives how many different entries there are.
    pub(super) fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Lists the different strings.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&Id, &Text)> {
        self.texts.iter().filter_map(|(id, text)| Some((id, text.as_ref()?)))
    }
}

/// Reads how long an entry is, and what it links to but its parents.
fn read(snapshot: &dyn Snapshot, id: &Id) -> Result<(u64, Vec<Id>)> {
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    let entry = Entry::decode(&stored.content)?;
    let mut links = Vec::new();
    entry.body.links(&mut links);
    entry.raw.iter().for_each(|raw| raw.links(&mut links));
    Ok((stored.content.len() as u64, links))
}

fn text(snapshot: &dyn Snapshot, id: &Id) -> Result<Option<Text>> {
    let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    let is_image = IMAGES.iter().any(|begin| stored.content.starts_with(begin));
    let text = Text { bytes: stored.content.len() as u64, uses: 0, is_image };
    Ok((stored.kind == Kind::Blob).then_some(text))
}
