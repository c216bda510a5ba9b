//! The command line of sapwood: reads arguments, calls the library, prints what it says.
//!
//! Nothing is decided here that the library could decide. What belongs to a person at a terminal
//! is here and nowhere else: the environment, the home directory, colour, hints and exit codes.

mod args;
mod background;
mod config;
mod confirm;
mod failure;
mod open;
mod output;
mod pager;
mod plumbing;
mod porcelain;
mod progress;
mod quote;
mod range;
mod reader;
mod render;
mod shown;
mod style;
mod target;
mod when;
mod with;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    match args::parse(&words) {
        Ok(arguments) => args::run(arguments),
        Err(error) => failure::usage(&error),
    }
}
