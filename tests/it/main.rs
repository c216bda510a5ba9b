//! Behaviour, from outside.

mod cli;
mod crash;
mod fsck;
mod golden;
mod processes;
mod sim;
mod support;
