//! What people do with sessions and memory: one verb a file.
//!
//! A verb is a function `fn(&Repo, &Options, &Operation) -> Result<Outcome>`; one that only reads
//! takes a snapshot and no operation. Whatever a verb changes is one transaction, planned in
//! [`Change`](crate::session::Change)s, so it happens whole or not at all; the operation says who
//! did it and when, and stands in the operations log.

mod create;
mod label;
mod list;
mod manage;
mod target;

pub use create::{Begin, CreateOptions, CreateOutcome, Status, create, status};
pub use label::{LabelOptions, LabelOutcome, label};
pub use list::{
    ListOptions, SessionInfo, Summaries, Summary, children_of, latest_session, list_sessions,
    root_of, session_forest,
};
pub use manage::{
    Moved, removal, remove_session, removed_sessions, rename_session, restore_session, use_session,
};
pub use target::{Spot, Target};
