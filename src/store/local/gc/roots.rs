//! Where marking begins: at all refs and operations, or at those that a run would find.

use crate::store::RefName;

/// Which refs and operations are followed.
#[derive(Default)]
pub(super) struct Roots<'a> {
    /// Not those below these.
    pub(super) gone: &'a [String],
    /// From this number on.
    pub(super) first_operation: u64,
}

impl Roots<'_> {
    /// Says whether a ref is followed.
    pub(super) fn has(&self, name: &RefName) -> bool {
        let is_below = |above: &String| {
            name.as_str().strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        !self.gone.iter().any(is_below)
    }
}
