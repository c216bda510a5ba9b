//! Copilot CLI.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// Copilot CLI.
pub(super) struct Copilot;

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "Copilot CLI"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
