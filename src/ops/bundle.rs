//! Bundles: sessions in one file, to be moved, kept or handed over.
//!
//! A bundle is read from the front to the end, so it may come through a pipe. Its bytes are in
//! [`frame`], [`head`] and [`objects`]. What was read and checked is kept when the rest does not
//! come: given again, it goes on from there. No ref moves before the last byte was checked.

mod frame;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod head;
mod mark;
mod objects;
mod unbundle;
mod verify;

use std::io::{Read, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::transfer::{Missing, Selection, Tell, TransferNote};
use crate::store::Snapshot;
use crate::walk;
use frame::{FrameReader, FrameWriter};
use objects::ObjectWriter;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::fuzz as fuzz_bundle;
pub use head::BundleHead;
pub use mark::{Mark, Marks, NoMarks};
pub use unbundle::{UnbundleOptions, unbundle};
pub use verify::{BundleCheck, verify_bundle};

/// What a bundle was made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bundled {
    /// How many sessions it has.
    pub sessions: u64,
    /// How many objects.
    pub objects: u64,
    /// How many bytes of content they have.
    pub content_bytes: u64,
    /// How long it is.
    pub bytes: u64,
}

/// Writes a bundle of what was selected, made at this time.
pub fn create_bundle(
    snapshot: &dyn Snapshot,
    selection: &Selection,
    out: &mut dyn Write,
    name: &Path,
    time: i64,
    tell: Tell<'_>,
) -> Result<Bundled> {
    let Selection { parcels, prerequisites } = selection.clone();
    if parcels.is_empty() {
        return Err(Error::Refused {
            why: "there is no session to bundle".to_owned(),
            hint: "'sapwood sessions' lists the sessions there are",
        });
    }
    let ids: Vec<Id> = prerequisites.iter().map(|prerequisite| prerequisite.id).collect();
    let hidden = walk::reachable(snapshot, &ids)?;
    let mut frames = FrameWriter::begin(out, name)?;
    let head = BundleHead { time, parcels, prerequisites };
    head.write(&mut frames)?;
    let mut objects = ObjectWriter::default();
    let mut missing = Missing::of(snapshot);
    for parcel in &head.parcels {
        missing.add(&parcel.roots());
        while let Some(given) = missing.next(&mut |id| Ok(hidden.contains(id)))? {
            objects.put(&mut frames, given)?;
            tell(TransferNote::Progress(objects.objects, objects.content_bytes));
        }
    }
    objects.flush(&mut frames)?;
    let ObjectWriter { objects, content_bytes, .. } = objects;
    let bytes = frames.end(objects, content_bytes)?;
    Ok(Bundled { sessions: head.parcels.len() as u64, objects, content_bytes, bytes })
}

/// Reads what a bundle says at its begin, and no further.
pub fn read_bundle_head(source: &mut dyn Read, name: &Path) -> Result<BundleHead> {
    let mut frames = FrameReader::begin(source, name)?;
    Ok(BundleHead::read(&mut frames)?.0)
}

/// Refuses a bundle that builds on what a store lacks.
fn check_prerequisites(head: &BundleHead, here: &dyn Snapshot) -> Result<()> {
    let mut lacking = Vec::new();
    for needed in &head.prerequisites {
        if !here.holds(&needed.id)? {
            lacking.push(format!("{} ({})", needed.id.short(12), needed.name));
        }
    }
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Error::Refused {
            why: format!("the bundle builds on what is not in this store: {}", lacking.join(", ")),
            hint: "fetch or unbundle that first, or have a bundle made without '..'",
        }),
    }
}
