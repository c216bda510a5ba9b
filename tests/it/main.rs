//! Behaviour, from outside.

mod crash;
mod golden;
mod sim;
mod support;
