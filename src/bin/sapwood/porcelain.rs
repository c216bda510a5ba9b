//! The commands that people use: one file each, of the same shape as the plumbing.

pub(crate) mod config_command;
pub(crate) mod help;
pub(crate) mod label;
pub(crate) mod new;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod status;
