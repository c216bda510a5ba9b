//! Behaviour, from outside.

mod cli;
mod crash;
mod golden;
mod processes;
mod sim;
mod support;
