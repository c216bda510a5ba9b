//! Gemini CLI.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// Gemini CLI.
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
