//! Behaviour, from outside.

mod sim;
