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
mod branch;
mod bundle;
mod cherry_pick;
mod children;
mod compact;
mod compare;
mod context;
mod copy;
mod create;
mod dedup;
mod diff;
mod drop_removed;
mod edit;
mod exact;
mod expire;
mod export;
mod fork;
mod grep;
mod handoff;
mod import;
mod imported;
mod imported_tree;
mod label;
mod list;
mod log;
mod manage;
mod memory;
mod merge;
mod origin;
mod part;
mod pop;
mod rebase;
mod reconfigure;
mod redact;
mod removed;
mod reset;
mod retry;
mod scan;
mod seen;
mod session_tree;
mod siblings;
mod stats;
mod switch;
mod target;
mod transfer;
mod tree;
mod undo;
mod undo_meta;
mod variation;

pub use append::{AppendOutcome, Ground, append};
pub use attach::{AttachOptions, AttachOutcome, Attached, attach};
pub use branch::{
    BranchInfo, BranchOptions, BranchOutcome, branch, branch_contains, branches, delete_branch,
    rename_branch,
};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use bundle::fuzz_bundle;
pub use bundle::{
    BundleCheck, BundleHead, Bundled, Mark, Marks, NoMarks, UnbundleOptions, create_bundle,
    read_bundle_head, unbundle, verify_bundle,
};
pub use cherry_pick::{PickOutcome, cherry_pick};
pub use children::children;
pub use compact::{Compaction, Keep, compact, plan_compact, uncompact};
pub use compare::{CompareOptions, Comparison, Difference, Metric, Totals, compare};
pub use context::{
    ContextOptions, ContextOutcome, Role, RoleMap, context, messages_to_json, messages_to_markdown,
};
pub use create::{Begin, CreateOptions, CreateOutcome, Status, create, status};
pub use dedup::{Cause, Sharing, Survey, SurveyOptions, Waste, sharing, survey};
pub use diff::{Diff, DiffItem, DiffPair, DiffSide, DiffWords, diff};
pub use drop_removed::{drop_removed, lapsed_removals};
pub use edit::edit;
pub use expire::{ExpireOptions, Expiry, Kept, expire, plan_expire};
pub use export::{
    Scope, TrainingFilter, TrainingForm, TrainingOptions, TrainingOutcome, TrainingPart,
    TreeExported, export, export_memory_tree, export_paths, html, markdown, training,
    training_parquet, training_part,
};
pub use fork::{ForkOptions, ForkOutcome, fork};
pub use grep::{GrepOptions, Match, grep, required_texts};
pub use handoff::{HandoffOptions, HandoffOutcome, handoff};
pub use import::{
    Found, ImportChange, ImportNote, ImportOptions, ImportOutcome, Imported, Oddity, Strange,
    Tally as ImportTally, find_files, import,
};
pub use label::{LabelOptions, LabelOutcome, label};
pub use list::{
    ListOptions, SessionInfo, Summaries, Summary, children_of, latest_session, list_sessions,
    root_of, session_forest,
};
pub use log::{Filter, Logged, log, path_between};
pub use manage::{
    Moved, removal, remove_session, removed_sessions, rename_session, restore_session, use_session,
};
pub use memory::{
    MemoryCommitOptions, MemoryCommitOutcome, MemoryMergeOptions, MemoryMergeOutcome,
    memory_commit, memory_head, memory_merge,
};
pub use merge::{MergeOptions, MergeOutcome, MergeSides, merge, merge_sides};
pub use pop::{Pop, PopOutcome, SummaryKind, plan_pop, pop};
pub use rebase::{RebaseOutcome, rebase};
pub use reconfigure::reconfigure;
pub use redact::{
    ForgetOutcome, ForgetWhat, Patterns, REPLACEMENT, RedactOptions, RedactOutcome, RedactWhat,
    Redacted, Scrubber, Shortened, forget, redact,
};
pub use reset::{ResetOutcome, reset};
pub use retry::retry;
pub use seen::Seen;
pub use session_tree::{SessionNode, session_ids, session_tree};
pub use siblings::{Sibling, siblings};
pub use stats::{BranchStats, Stats, Tally, stats};
pub use switch::{Goal, SwitchOptions, SwitchOutcome, switch};
pub use target::{Spot, Target};
pub use transfer::{
    Fate, Landed, Parcel, Prerequisite, RefFate, Selection, SessionChange, Tell, TransferNote,
    TransferOptions, TransferOutcome, select, source_name, transfer,
};
pub use tree::{Tree, TreeNode, tree};
pub use undo::{Direction, UndoOutcome, UndoneRun, concerns, undo, undo_run};
pub use variation::{Variation, Varied, Way, vary};
#[cfg(test)]
mod desk;
#[cfg(test)]
mod tests;
