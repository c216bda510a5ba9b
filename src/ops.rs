//! What people do with sessions and memory: one verb a file.
//!
//! A verb is a function `fn(&Repo, &Options, &Operation) -> Result<Outcome>`; one that only reads
//! takes a snapshot and no operation. Whatever a verb changes is one transaction, planned in
//! [`Change`](crate::session::Change)s, so it happens whole or not at all; the operation says who
//! did it and when, and stands in the operations log.

mod attach;
mod children;
mod grep;
mod label;
mod log;
mod scan;
mod session_tree;
mod stats;
mod target;
mod tree;

pub use attach::{AttachOptions, AttachOutcome, Attached, attach};
pub use children::children;
pub use grep::{GrepOptions, Match, grep};
pub use label::{LabelOptions, LabelOutcome, label};
pub use log::{Filter, Logged, log, path_between};
pub use session_tree::{SessionNode, session_ids, session_tree};
pub use stats::{BranchStats, Stats, Tally, stats};
pub use target::{Spot, Target};
pub use tree::{Tree, TreeNode, tree};
