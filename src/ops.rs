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
mod attach;
mod children;
mod compact;
mod context;
mod edit;
mod grep;
mod handoff;
mod label;
mod log;
mod memory;
mod pop;
mod reconfigure;
mod retry;
mod scan;
mod seen;
mod session_tree;
mod siblings;
mod stats;
mod target;
mod tree;
mod variation;

pub use append::{AppendOutcome, Ground, append};
pub use attach::{AttachOptions, AttachOutcome, Attached, attach};
pub use children::children;
pub use compact::{Compaction, Keep, compact, plan_compact, uncompact};
pub use context::{ContextOptions, ContextOutcome, Role, RoleMap, context};
pub use edit::edit;
pub use grep::{GrepOptions, Match, grep};
pub use handoff::{HandoffOptions, HandoffOutcome, handoff};
pub use label::{LabelOptions, LabelOutcome, label};
pub use log::{Filter, Logged, log, path_between};
pub use memory::{
    MemoryCommitOptions, MemoryCommitOutcome, MemoryMergeOptions, MemoryMergeOutcome,
    memory_commit, memory_head, memory_merge,
};
pub use pop::{Pop, PopOutcome, SummaryKind, plan_pop, pop};
pub use reconfigure::reconfigure;
pub use retry::retry;
pub use seen::Seen;
pub use session_tree::{SessionNode, session_ids, session_tree};
pub use siblings::{Sibling, siblings};
pub use stats::{BranchStats, Stats, Tally, stats};
pub use target::{Spot, Target};
pub use tree::{Tree, TreeNode, tree};
pub use variation::{Variation, Varied, Way, vary};
