//! Behaviour, from outside.

mod cli;
mod crash;
mod golden;
mod sim;
mod support;
