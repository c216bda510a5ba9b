//! The commands that people use: one file each, of the same shape as the plumbing.

pub(crate) mod append;
pub(crate) mod ask;
pub(crate) mod compact;
pub(crate) mod edit;
pub(crate) mod label;
pub(crate) mod pop;
pub(crate) mod reconfigure;
pub(crate) mod retry;
pub(crate) mod uncompact;
mod vary;
