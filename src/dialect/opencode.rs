//! OpenCode.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// OpenCode.
pub(super) struct OpenCode;

impl Dialect for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
