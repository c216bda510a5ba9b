//! Sessions as markdown.

use std::io::Write;

use crate::error::Result;
use crate::ops::export::Scope;
use crate::store::Snapshot;

/// Writes a session as markdown.
pub fn markdown(
    _snapshot: &dyn Snapshot,
    _session: &str,
    _scope: Scope,
    _out: &mut dyn Write,
) -> Result<()> {
    Ok(())
}
