//! Whether something is left anywhere in a store.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::Result;
use crate::object::Object;
use crate::ops::redact::mend::Mender;
use crate::ops::redact::scrub::Scrubber;
use crate::ops::redact::seen::Seen;
use crate::store::local::{LocalStore, Part};

/// Literals shorter than this are not looked for in files as they lie there: compressed bytes would
/// have them by chance.
const RAW_BYTES_MIN: usize = 6;
/// Where a repair puts what it replaces.
const DAMAGED: &str = "damaged";
/// How many places are told.
const TOLD_MAX: usize = 100;

/// Searches every part of a store, and says in words where something is left.
///
/// Objects are decompressed, wherever they lie and whether anything leads to them or not; literals
/// are looked for in the bytes of all files too.
pub(super) fn search(
    store: &LocalStore,
    scrubber: &Scrubber,
    seen: &Seen<'_>,
) -> Result<Vec<String>> {
    let scrubber = Arc::new(scrubber.uncounted());
    let mender = Mender::scrubbing(&scrubber);
    let literals: Vec<&[u8]> = scrubber
        .patterns()
        .literals()
        .iter()
        .map(Vec::as_slice)
        .filter(|literal| literal.len() >= RAW_BYTES_MIN)
        .collect();
    let overlap = literals.iter().map(|literal| literal.len()).max().unwrap_or(1) - 1;
    let finders = literals.iter().map(memchr::memmem::Finder::new);
    let finders: Vec<_> = finders.collect();
    let root = store.path().to_owned();
    let mut left = BTreeSet::new();
    let is_in = |text: &str| scrubber.is_in(text.as_bytes());
    store.inspect(overlap, &mut |part| {
        let place = match part {
            Part::Object(id, kind, content) => {
                seen.one();
                let found = mender.object(&mut Object::decode(kind, content)?);
                found.then(|| format!("{kind} {id}"))
            }
            Part::Reference(name) => is_in(name.as_str()).then(|| "the name of a ref".to_owned()),
            Part::Operation(record) => {
                let operation = &record.operation;
                let found = is_in(&operation.command) || is_in(&operation.actor);
                found.then(|| format!("operation {}", record.number))
            }
            Part::File(path, bytes) => {
                let name = path.strip_prefix(&root).unwrap_or(path);
                let is_damaged = name.starts_with(DAMAGED);
                let found = finders.iter().any(|finder| finder.find(bytes).is_some());
                match is_damaged {
                    true => Some(format!("{}, perhaps: it can't be searched", name.display())),
                    false => found.then(|| format!("the file {}", name.display())),
                }
            }
        };
        if left.len() < TOLD_MAX {
            left.extend(place);
        }
        Ok(())
    })?;
    Ok(left.into_iter().collect())
}
