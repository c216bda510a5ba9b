//! Behaviour, from outside.

mod golden;
