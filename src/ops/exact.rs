//! A session's file, byte for byte as it was imported, as a stream.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use crate::codec::json::Style;
use crate::codec::{Value, json};
use crate::dialect::Layout;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Entry;
use crate::object::Object;
use crate::ops::imported::{self, Stretch};
use crate::repo::{Repo, read, read_entry, restored};
use crate::session::View;
use crate::store::Snapshot;

/// The bytes of the file that a session was imported from.
pub(crate) struct Exact {
    snapshot: Arc<dyn Snapshot>,
    stretches: VecDeque<Stretch>,
    entries: std::vec::IntoIter<Id>,
    layout: Layout,
    place: u64,
    buffer: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Exact {
    /// Opens the file of a session, as it is in the store now.
    pub(crate) fn of(repo: &Repo, session: &str) -> Result<Exact> {
        let snapshot = repo.snapshot()?;
        let stretches = imported::stretches(&View::of(&*snapshot, session)?)?.into();
        Ok(Exact {
            snapshot,
            stretches,
            entries: Vec::new().into_iter(),
            layout: Layout::default(),
            place: 0,
            buffer: Vec::new(),
            at: 0,
            is_over: false,
        })
    }

    /// Fills the buffer with the next value, or with what stands behind the last one.
    fn step(&mut self) -> Result<()> {
        self.buffer.clear();
        self.at = 0;
        loop {
            if let Some(id) = self.entries.next() {
                self.buffer.extend_from_slice(self.layout.before(self.place).as_bytes());
                self.place += 1;
                let mut entry = read_entry(&*self.snapshot, &id)?;
                return entry_text(
                    &*self.snapshot,
                    &mut entry,
                    self.layout.style,
                    &mut self.buffer,
                );
            }
            match self.stretches.pop_front() {
                Some(stretch) => {
                    self.entries = stretch.entries(&*self.snapshot)?.into_iter();
                    self.layout = stretch.layout;
                    self.place = 0;
                }
                None => {
                    self.is_over = true;
                    return bytes_of(&*self.snapshot, &self.layout.tail, &mut self.buffer);
                }
            }
        }
    }
}

impl Read for Exact {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.buffer.len() {
            if self.is_over {
                return Ok(0);
            }
            self.step().map_err(io::Error::other)?;
        }
        let count = buffer.len().min(self.buffer.len() - self.at);
        buffer[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Appends the text that an entry had in its file.
pub(crate) fn entry_text(
    snapshot: &dyn Snapshot,
    entry: &mut Entry,
    style: Style,
    out: &mut Vec<u8>,
) -> Result<()> {
    if let Some(raw) = &entry.raw {
        return bytes_of(snapshot, raw, out);
    }
    restored(snapshot, &mut entry.body)?;
    json::write_styled(&entry.body, style, out);
    Ok(())
}

/// Appends a text, or the bytes of the blob that a link leads to.
pub(crate) fn bytes_of(snapshot: &dyn Snapshot, value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Link(id) => match read(snapshot, id)? {
            Object::Blob(bytes) => out.extend_from_slice(&bytes),
            other => {
                return Err(Error::WrongKind {
                    id: *id,
                    expected: "blob",
                    found: other.kind().name(),
                });
            }
        },
        _ => {}
    }
    Ok(())
}
