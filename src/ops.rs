//! What people do with sessions and memory: one verb a file.
//!
//! A verb is a function `fn(&Repo, &Options, &Operation) -> Result<Outcome>`; one that only reads
//! takes a snapshot and no operation. Whatever a verb changes is one transaction, planned in
//! [`Change`](crate::session::Change)s, so it happens whole or not at all; the operation says who
//! did it and when, and stands in the operations log.
//!
//! A verb that waits for an answer from outside is two functions: one looks and says what it would
//! do, the other does it, if what was looked at is still so.

mod append;
mod label;
mod seen;
mod target;

pub use append::{AppendOutcome, Ground, append};
pub use label::{LabelOptions, LabelOutcome, label};
pub use seen::Seen;
pub use target::{Spot, Target};
