//! Behaviour, from outside.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]
#![allow(unreachable_pub, reason = "nobody imports a test binary")]

mod backup;
mod cli;
mod damage;
mod depth;
mod errors;
mod faults;
mod format;
mod frozen;
mod fsck;
mod gc;
mod golden;
mod import;
mod model;
mod processes;
mod redact;
mod repair;
mod sample;
mod seeds;
mod sim;
mod store_laws;
mod support;
mod tidy;
mod torture;
mod tour;
mod transfer;
mod verbs;
mod walks;
