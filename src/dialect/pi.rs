//! pi.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// pi.
pub(super) struct Pi;

impl Dialect for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn title(&self) -> &'static str {
        "pi"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
