//! Behaviour, from outside.

mod cli;
mod crash;
mod format;
mod frozen;
mod golden;
mod processes;
mod sample;
mod sim;
mod support;
mod tidy;
