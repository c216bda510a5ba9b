//! Everything that a store holds, shown part by part: for who looks for bytes that must be gone.

use std::ops::ControlFlow;
use std::path::Path;

use crate::disk::{self, OpenMode};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::LocalStore;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::{OperationRecord, RefName, Snapshot};

/// Files are read in pieces of this length.
const PIECE_BYTES: usize = 1 << 20;

/// A part of what a store holds.
#[derive(Debug)]
pub enum Part<'a> {
    /// An object as it was written, in whatever container, reached or not.
    Object(&'a Id, Kind, &'a [u8]),
    /// The name of a ref.
    Reference(&'a RefName),
    /// An operation.
    Operation(&'a OperationRecord),
    /// A piece of a file, as it lies there; two neighbours share `overlap` bytes.
    File(&'a Path, &'a [u8]),
}

impl LocalStore {
    /// Shows every object of every container, every name of a ref, every operation, and the bytes
    /// of every file below the store's directory, in pieces that overlap by so many bytes.
    pub fn inspect(
        &self,
        overlap: usize,
        visit: &mut dyn FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        let inner = &self.inner;
        let state = inner.refresh()?;
        for pack in state.all_packs() {
            pack.for_each(&mut |id, kind, content| {
                visit(Part::Object(id, kind, content))?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        for segment in &state.segments {
            for (id, place) in segment.in_order() {
                visit(Part::Object(&id, place.kind, &segment.read(&id, &place)?))?;
            }
        }
        for (id, _) in inner.loose.list()? {
            if let Some(stored) = inner.loose.get(&id)? {
                visit(Part::Object(&id, stored.kind, &stored.content))?;
            }
        }
        for aside in inner.loose.list_aside()? {
            if let Some(stored) = inner.loose.get_aside(&aside.id)? {
                visit(Part::Object(&aside.id, stored.kind, &stored.content))?;
            }
        }
        let snapshot = LocalSnapshot::new(inner.clone(), state);
        for (name, _) in snapshot.references("")? {
            visit(Part::Reference(&name))?;
        }
        snapshot.operations(&mut |record| {
            visit(Part::Operation(record))?;
            Ok(ControlFlow::Continue(()))
        })?;
        for path in inner.below(self.path())?.0 {
            self.inspect_file(&path, overlap, visit)?;
        }
        Ok(())
    }

    fn inspect_file(
        &self,
        path: &Path,
        overlap: usize,
        visit: &mut dyn FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        let file = match self.inner.disk.open(path, OpenMode::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(Error::io("open", path))?,
        };
        let mut reader = disk::Reader::new(&*file);
        let (mut buffer, mut held) = (vec![0; PIECE_BYTES + overlap], 0);
        loop {
            let count = std::io::Read::read(&mut reader, &mut buffer[held..]);
            let count = count.map_err(Error::io("read", path))?;
            if count == 0 {
                return Ok(());
            }
            held += count;
            visit(Part::File(path, &buffer[..held]))?;
            let kept = held.min(overlap);
            buffer.copy_within(held - kept..held, 0);
            held = kept;
        }
    }
}
