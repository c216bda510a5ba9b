//! What people do with sessions and memory: one verb a file.
//!
//! A verb is a function `fn(&Repo, &Options, &Operation) -> Result<Outcome>`; one that only reads
//! takes a snapshot and no operation. Whatever a verb changes is one transaction, planned in
//! [`Change`](crate::session::Change)s, so it happens whole or not at all; the operation says who
//! did it and when, and stands in the operations log.

mod context;
mod handoff;
mod label;
mod memory;
mod target;

pub use context::{ContextOptions, ContextOutcome, Role, RoleMap, context};
pub use handoff::{HandoffOptions, HandoffOutcome, handoff};
pub use label::{LabelOptions, LabelOutcome, label};
pub use memory::{
    MemoryCommitOptions, MemoryCommitOutcome, MemoryMergeOptions, MemoryMergeOutcome,
    memory_commit, memory_head, memory_merge,
};
pub use target::{Spot, Target};
