//! The users' own documents, step by step.

#[path = "seeds/000_branches.rs"]
mod seed_000_branches;
#[path = "seeds/001_branches.rs"]
mod seed_001_branches;
