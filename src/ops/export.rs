//! `export`: sessions written for others to read, whole or in part.

mod facts;
mod html;
mod markdown;
mod memory_tree;
mod outline;
#[cfg(test)]
mod tests;
mod told;
mod training;
mod visible;

use std::io::{self, Write};

use crate::dialect::memory_tree::MEMORY_TREE;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::exact::Exact;
use crate::repo::Repo;
use crate::session::View;

pub use html::html;
pub use markdown::markdown;
pub use memory_tree::{TreeExported, export_memory_tree};
pub use training::{
    TrainingFilter, TrainingForm, TrainingOptions, TrainingOutcome, TrainingPart, training,
    training_parquet, training_part,
};

/// Writes the file that a session was imported from.
pub fn export(repo: &Repo, session: &str, out: &mut dyn Write) -> Result<()> {
    let dialect = View::of(&*repo.snapshot()?, session)?.meta()?.dialect;
    if dialect.as_deref() == Some(MEMORY_TREE) {
        return Err(Error::Refused {
            why: format!("session '{session}' came from a directory, not from a file"),
            hint: "write the directory again: --to memory-tree -o DIR",
        });
    }
    let mut exact = Exact::of(repo, session)?;
    io::copy(&mut exact, out).map(drop).map_err(Error::io("write", "the export"))
}

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
