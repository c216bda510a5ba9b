//! sapwood: a content-addressable object store for agent conversations and memory.

pub mod codec;
pub mod disk;
pub mod error;
pub mod id;
pub mod object;
pub mod repo;
pub mod session;
pub mod store;
pub mod time;
pub mod walk;
