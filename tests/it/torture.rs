//! The torture suite: what a disk, another process or a crash can do, tried systematically.
//!
//! Each test has a short form that runs with all others, and a long form that `SAPWOOD_TORTURE=1`
//! asks for. Both print what they tried and found; `docs/RELIABILITY.md` has the commands and the
//! figures of the long forms.

mod failing;
mod histories;
mod images;
mod interleave;
mod kills;
mod sight;
mod workload;

/// Says whether the long form of the tests is wanted.
pub(crate) fn long() -> bool {
    std::env::var_os("SAPWOOD_TORTURE").is_some()
}

/// Tells what was tried and found; it is seen with `--nocapture`, and when a test fails.
#[allow(clippy::print_stdout, reason = "a long run is to say what it did")]
pub(crate) fn tell(what: impl std::fmt::Display) {
    println!("torture: {what}");
}
