//! Behaviour, from outside.

mod crash;
mod fsck;
mod golden;
mod sim;
mod support;
