//! The examples of the documents that sapwood was made from, step by step.

mod loom;
mod tree_format;
