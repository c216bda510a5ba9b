//! The commands that people use: one file each, of the same shape as the plumbing.

pub(crate) mod append;
pub(crate) mod ask;
pub(crate) mod attach;
pub(crate) mod attachments;
pub(crate) mod children;
pub(crate) mod compact;
pub(crate) mod context;
pub(crate) mod edit;
pub(crate) mod grep;
pub(crate) mod handoff;
pub(crate) mod label;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod parents;
pub(crate) mod pop;
pub(crate) mod reconfigure;
pub(crate) mod retry;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod transcript;
pub(crate) mod tree;
pub(crate) mod uncompact;
mod vary;
