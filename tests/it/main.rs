//! Behaviour, from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod errors;
mod faults;
mod golden;
mod sim;
mod store_laws;
mod support;
