//! Behaviour, from outside.

mod cli;
mod crash;
mod sim;
mod support;
