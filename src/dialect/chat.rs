//! plain chat.

use crate::codec::Value;
use crate::dialect::{Dialect, Source, Step};

/// plain chat.
pub(super) struct Chat;

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn title(&self) -> &'static str {
        "plain chat"
    }

    fn recognise(&self, _first: &[Value]) -> bool {
        false
    }

    fn read(&self, _value: &Value, _source: &mut Source) -> Step {
        Step::beside("unknown", None)
    }
}
