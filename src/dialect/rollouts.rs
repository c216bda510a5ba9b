//! rollouts.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// rollouts.
pub(super) struct Rollouts;

impl Dialect for Rollouts {
    fn name(&self) -> &'static str {
        "rollouts"
    }

    fn title(&self) -> &'static str {
        "rollouts"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
