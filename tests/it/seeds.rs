//! The examples of the documents that sapwood was made from, step by step.

mod contexts;
mod memory_tree;
