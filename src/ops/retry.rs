//! Trying again: a branch at what was answered, for another answer.

use crate::codec::Value;
use crate::error::Result;
use crate::ops::Target;
use crate::ops::variation::{Variation, refused};
use crate::session::{Message, restored_entry};
use crate::store::Snapshot;

/// Says where a retry would begin: at a user's message, or before an answer.
pub fn retry(
    snapshot: &dyn Snapshot,
    target: &Target,
    revision: &str,
    force: bool,
) -> Result<Variation> {
    let (from, entry_id) = Variation::find(snapshot, target, revision)?;
    let entry = restored_entry(snapshot, &entry_id)?;
    let asks = Message::read(&entry.label, &entry.body).is_some_and(|said| said.is_from_user());
    let at = match asks {
        true => Some(entry_id),
        false => entry.parents.first().copied(),
    };
    if at.is_none() {
        let why = format!("entry {} answers nothing", entry_id.short(8));
        return Err(refused(why, "name the answer to try again, or the message it answers"));
    }
    let variation = Variation {
        from,
        at,
        drafts: Vec::new(),
        reason: "retry",
        metadata: Value::map([("retries", Value::Link(entry_id))]),
        stem: "retry".to_owned(),
    };
    variation.check(snapshot, force)?;
    Ok(variation)
}
