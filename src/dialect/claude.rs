//! Claude Code.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// Claude Code.
pub(super) struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
