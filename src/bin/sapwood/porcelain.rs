//! The commands that people use: one file each, of the same shape as the plumbing.

pub(crate) mod branch;
pub(crate) mod cherry_pick;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod fork;
pub(crate) mod label;
pub(crate) mod merge;
pub(crate) mod rebase;
pub(crate) mod redo;
pub(crate) mod reset;
pub(crate) mod spoken;
pub(crate) mod switch;
pub(crate) mod undo;
