//! Dash.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// Dash.
pub(super) struct Dash;

impl Dialect for Dash {
    fn name(&self) -> &'static str {
        "dash"
    }

    fn title(&self) -> &'static str {
        "Dash"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
