//! Behaviour, from outside.

mod crash;
mod sim;
mod support;
