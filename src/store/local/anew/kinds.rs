//! The parts of a pack that is written anew, each by itself.

use crate::id::Kind;

/// What one pass over the sources takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    /// What is about sessions.
    About,
    /// What is in them, but for long strings.
    Steps,
    Blobs,
}

impl Kinds {
    /// All of them, in the order in which they lie in a pack.
    pub(super) const ALL: [Kinds; 3] = [Kinds::About, Kinds::Steps, Kinds::Blobs];

    pub(super) fn of(kind: Kind) -> Kinds {
        match kind {
            Kind::Blob => Kinds::Blobs,
            kind if kind.is_about_sessions() => Kinds::About,
            _ => Kinds::Steps,
        }
    }

    pub(super) fn has(self, kind: Kind) -> bool {
        self == Kinds::of(kind)
    }
}
