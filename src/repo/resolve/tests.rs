//! Revisions.
