//! Checking a bundle through, without taking it in.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::ops::bundle::check_prerequisites;
use crate::ops::bundle::frame::FrameReader;
use crate::ops::bundle::head::BundleHead;
use crate::ops::bundle::objects::{Sink, SoFar, read_id, read_objects};
use crate::ops::transfer::{Tell, TransferNote, read_object};
use crate::store::{RefName, RefValue, Snapshot};

/// What was found in a bundle that is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleCheck {
    /// What it says at its begin.
    pub head: BundleHead,
    /// How many objects it has.
    pub objects: u64,
    /// How many bytes of content they have.
    pub content_bytes: u64,
    /// How long it is.
    pub bytes: u64,
    /// How many objects its objects link that are not in it.
    pub outside: u64,
}

/// Reads a bundle through, checks every object, link and ref of it, and says what it has.
///
/// Given a store, what the bundle builds on must be there. Without one, links out of a bundle that
/// builds on something can't be checked.
pub fn verify_bundle(
    source: &mut dyn Read,
    name: &Path,
    here: Option<&dyn Snapshot>,
    tell: Tell<'_>,
) -> Result<BundleCheck> {
    let mut frames = FrameReader::begin(source, name)?;
    let (head, first) = BundleHead::read(&mut frames)?;
    let mut seen = Seen { kinds: HashMap::new(), outside: HashSet::new(), tell };
    let so_far = read_objects(&mut frames, first, None, &mut seen)?;
    if let Some(here) = here {
        check_prerequisites(&head, here)?;
    }
    seen.check_refs(&head)?;
    seen.check_outside(&head, here)?;
    let SoFar { objects, content_bytes, offset, .. } = so_far;
    let outside = seen.outside.len() as u64;
    Ok(BundleCheck { head, objects, content_bytes, bytes: offset, outside })
}

struct Seen<'t> {
    kinds: HashMap<Id, Kind>,
    /// What is linked and did not come before.
    outside: HashSet<Id>,
    tell: Tell<'t>,
}

impl Sink for Seen<'_> {
    fn object(&mut self, object: NewObject) -> Result<()> {
        let outside = object.links().iter().filter(|link| !self.kinds.contains_key(link));
        self.outside.extend(outside);
        self.kinds.insert(object.id(), object.kind());
        Ok(())
    }

    fn large(&mut self, kind: Kind, bytes: u64, content: &mut dyn Read) -> Result<()> {
        if kind != Kind::Blob {
            return self.object(read_object(kind, bytes, content)?);
        }
        self.kinds.insert(read_id(kind, bytes, content)?, kind);
        Ok(())
    }

    fn reached(&mut self, so_far: &SoFar) -> Result<()> {
        (self.tell)(TransferNote::Progress(so_far.objects, so_far.content_bytes));
        Ok(())
    }
}

impl Seen<'_> {
    /// Checks that refs point to objects of their kind; those outside are noted.
    fn check_refs(&mut self, head: &BundleHead) -> Result<()> {
        for parcel in &head.parcels {
            for (rest, value) in &parcel.refs {
                let RefValue::Id(id) = value else {
                    continue;
                };
                let name = RefName::of_session(&parcel.session, rest)?;
                match (self.kinds.get(id), name.target_kind()) {
                    (None, _) => drop(self.outside.insert(*id)),
                    (Some(found), Some(expected)) if *found != expected => {
                        let (expected, found) = (expected.name(), found.name());
                        return Err(Error::WrongKind { id: *id, expected, found });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Checks what is linked and is not in the bundle, or came too late in it.
    fn check_outside(&self, head: &BundleHead, here: Option<&dyn Snapshot>) -> Result<()> {
        let ids: Vec<Id> = self.outside.iter().copied().collect();
        let dangling = |target: Id| Error::Dangling { from: "the bundle".to_owned(), target };
        if let Some(late) = ids.iter().find(|id| self.kinds.contains_key(id)) {
            return Err(dangling(*late));
        }
        if head.prerequisites.is_empty() {
            return ids.first().map_or(Ok(()), |id| Err(dangling(*id)));
        }
        if let Some(here) = here {
            for (id, kind) in ids.iter().zip(here.kinds(&ids)?) {
                if kind.is_none() {
                    return Err(dangling(*id));
                }
            }
        }
        Ok(())
    }
}
