//! The workloads, one file each. Each has a function `run` that gives its sections.

pub mod append;
pub mod commands;
pub mod crowd;
pub mod get;
pub mod open;
pub mod walk;
