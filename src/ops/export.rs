//! `export`: sessions written for others to read, whole or in part.

mod facts;
mod frame;
mod html;
mod leaving;
mod markdown;
mod memory_tree;
mod outline;
mod scope;
mod spoken;
#[cfg(test)]
mod tests;
mod told;
mod training;
mod visible;

use crate::id::Id;

pub use html::html;
pub use markdown::markdown;
pub use memory_tree::{TreeExported, export_memory_tree};
pub use scope::export_paths;
pub use spoken::export;
pub use training::{
    TrainingFilter, TrainingForm, TrainingOptions, TrainingOutcome, TrainingPart, training,
    training_parquet, training_part,
};

/// How much of a session is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    #[default]
    Session,
    /// The path from its begin to this entry.
    Path(Id),
    /// The path to this entry, and all that hangs on it.
    Subtree(Id),
}
