//! What people do with sessions and memory: one verb a file.
//!
//! A verb is a function `fn(&Repo, &Options, &Operation) -> Result<Outcome>`; one that only reads
//! takes a snapshot and no operation. Whatever a verb changes is one transaction, planned in
//! [`Change`](crate::session::Change)s, so it happens whole or not at all; the operation says who
//! did it and when, and stands in the operations log.

mod branch;
mod cherry_pick;
mod compare;
mod copy;
#[cfg(test)]
mod desk;
mod diff;
mod fork;
mod label;
mod merge;
mod origin;
mod part;
mod rebase;
mod reset;
mod switch;
mod target;
mod undo;
mod undo_meta;

pub use branch::{
    BranchInfo, BranchOptions, BranchOutcome, branch, branch_contains, branches, delete_branch,
    rename_branch,
};
pub use cherry_pick::{PickOutcome, cherry_pick};
pub use compare::{CompareOptions, Comparison, Difference, Metric, Totals, compare};
pub use diff::{Diff, DiffItem, DiffPair, DiffSide, DiffWords, diff};
pub use fork::{ForkOptions, ForkOutcome, fork};
pub use label::{LabelOptions, LabelOutcome, label};
pub use merge::{MergeOptions, MergeOutcome, MergeSides, merge, merge_sides};
pub use rebase::{RebaseOutcome, rebase};
pub use reset::{ResetOutcome, reset};
pub use switch::{Goal, SwitchOptions, SwitchOutcome, switch};
pub use target::{Spot, Target};
pub use undo::{Direction, UndoOutcome, concerns, undo};
