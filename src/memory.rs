//! The memory tree: what was learned, commit by commit, along each branch of a conversation.
//!
//! A commit is a [`Node`](crate::object::Node): facts, notes, a card. It follows the node that was
//! known where it was made, and stands on the conversation's path (see
//! [`remember`](crate::session::remember)), so every entry has a memory of its own: that of the
//! nearest commit up its path. To resolve it is to walk from there to the root and to collect the
//! facts, those of the root first.
//!
//! A fact is a string or a map. A later fact with the same key supersedes an earlier one where only
//! the latest are wanted; nothing is ever deleted.
//!
//! A merge is a node with two parents that repeats what the other side learned, so that the path of
//! first parents alone holds everything; where a fact was first written is found again.

mod compare;
mod fact;
mod merge;
mod resolve;
#[cfg(test)]
mod tests;
mod tree;

pub use compare::{Difference, diff};
pub use fact::{fact_from_json, fact_from_text};
pub use merge::{Conflict, Merge, merge, merge_into};
pub use resolve::{Known, blame, latest, log, memory_of_revision, resolve, sentence};
pub use tree::{MemoryBranch, MemoryTree, branches};
