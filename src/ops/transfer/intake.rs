//! Writing what comes in: in batches of objects that no ref points to yet.

use std::io::Read;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{self, NewObject};
use crate::ops::transfer::{Given, is_about_a_session};
use crate::repo::Repo;
use crate::store::{Durability, Snapshot, Streamed, Transaction};

/// When a batch is written: at so many bytes, or so many objects.
const BATCH_BYTES: usize = 2 << 20;
const BATCH_OBJECTS: usize = 2048;

/// Objects on their way into a store.
pub(in crate::ops) struct Intake<'a> {
    repo: &'a Repo,
    objects: Vec<NewObject>,
    bytes: usize,
    /// What is asked where nothing is written.
    dry: Option<Arc<dyn Snapshot>>,
    /// Whether objects that the store refuses are left out, and why they were.
    pub(in crate::ops) is_lenient: bool,
    pub(in crate::ops) refused: Vec<Error>,
}

impl<'a> Intake<'a> {
    pub(in crate::ops) fn of(repo: &'a Repo, is_dry: bool) -> Result<Intake<'a>> {
        let (objects, refused) = (Vec::new(), Vec::new());
        let dry = is_dry.then(|| repo.snapshot()).transpose()?;
        Ok(Intake { repo, objects, bytes: 0, dry, is_lenient: false, refused })
    }

    /// Takes an object, all of whose links were taken before or are in the store.
    pub(in crate::ops) fn put(&mut self, given: Given) -> Result<()> {
        match given {
            Given::Large(id, Streamed { kind, bytes, mut content }) => {
                if self.is_dry() {
                    return self.look(&id, kind);
                }
                match self.put_large(kind, bytes, &mut content)? == id {
                    true => Ok(()),
                    false => Err(mismatch(&id)),
                }
            }
            Given::Object(object) => self.put_object(object),
        }
    }

    fn is_dry(&self) -> bool {
        self.dry.is_some()
    }

    /// Notes whether an object would be refused.
    pub(in crate::ops) fn look(&mut self, id: &Id, kind: Kind) -> Result<()> {
        let admitted = self.dry.as_ref().map_or(Ok(()), |here| here.admit(id, kind));
        match admitted {
            Err(error @ Error::Removed { .. }) => self.refused.push(error),
            admitted => admitted?,
        }
        Ok(())
    }

    /// Takes an object that is whole in memory.
    pub(in crate::ops) fn put_object(&mut self, object: NewObject) -> Result<()> {
        if self.is_dry() {
            return self.look(&object.id(), object.kind());
        }
        self.bytes += object.content().len();
        self.objects.push(object);
        match self.bytes >= BATCH_BYTES || self.objects.len() >= BATCH_OBJECTS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Takes a large object from a stream, and gives its id. A blob is never whole in memory.
    pub(in crate::ops) fn put_large(
        &mut self,
        kind: Kind,
        bytes: u64,
        content: &mut dyn Read,
    ) -> Result<Id> {
        if kind == Kind::Blob {
            return self.repo.store().put_blob(content, bytes);
        }
        let object = read_object(kind, bytes, content)?;
        let id = object.id();
        self.put_object(object)?;
        Ok(id)
    }

    /// Writes what was taken, or refuses what would be.
    pub(in crate::ops) fn flush(&mut self) -> Result<()> {
        if self.is_dry() && !self.is_lenient {
            return self.refused.drain(..).next().map_or(Ok(()), Err);
        }
        self.bytes = 0;
        let objects = std::mem::take(&mut self.objects);
        match self.write(&objects) {
            Err(error) if self.is_lenient && is_about_a_session(&error) => {
                for object in objects {
                    match self.write(&[object]) {
                        Err(error) if is_about_a_session(&error) => self.refused.push(error),
                        written => written?,
                    }
                }
                Ok(())
            }
            written => written,
        }
    }

    fn write(&self, objects: &[NewObject]) -> Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        self.repo.commit(Durability::Relaxed, &mut |_| {
            Ok(Transaction { objects: objects.to_vec(), ..Transaction::default() })
        })
    }
}

/// Reads an object from a stream that has as many bytes as it says.
pub(in crate::ops) fn read_object(
    kind: Kind,
    bytes: u64,
    content: &mut dyn Read,
) -> Result<NewObject> {
    let mut whole = Vec::new();
    let read = content.take(bytes.saturating_add(1)).read_to_end(&mut whole);
    read.map_err(Error::io("read", "a large object"))?;
    object::check_size(kind, &whole)?;
    NewObject::parse(kind, whole)
}

/// Says that an object is not what its id says.
pub(in crate::ops) fn mismatch(id: &Id) -> Error {
    Error::corrupt(format!("object {id}"), None, "its content does not match its id")
}
