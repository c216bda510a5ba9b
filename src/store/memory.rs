//! Memory.
