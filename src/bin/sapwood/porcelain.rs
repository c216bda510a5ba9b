//! The commands that people use: one file each, of the same shape as the plumbing.

pub(crate) mod attach;
pub(crate) mod attachments;
pub(crate) mod children;
pub(crate) mod grep;
pub(crate) mod label;
pub(crate) mod log;
pub(crate) mod parents;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod transcript;
pub(crate) mod tree;
