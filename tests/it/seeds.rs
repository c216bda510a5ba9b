//! The examples of the documents that sapwood was made from, step by step.

mod contexts;
mod loom;
mod memory_tree;
mod selves;
mod session_tree;
mod tree_format;
