//! Codex.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// Codex.
pub(super) struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
