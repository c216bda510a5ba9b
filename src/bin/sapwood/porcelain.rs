//! The commands that people use: one file each, of the same shape as the plumbing.

pub(crate) mod context;
pub(crate) mod handoff;
pub(crate) mod label;
pub(crate) mod memory;
