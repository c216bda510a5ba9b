//! Behaviour, from outside.
