//! Encoding.
