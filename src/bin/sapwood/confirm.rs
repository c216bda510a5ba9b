//! Questions to a person at a terminal.

use std::io::{self, IsTerminal, Write};

use crate::failure::Failure;

/// Says whether there is a person to ask.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks a question on the terminal; anything but a yes is a no.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    let mut err = io::stderr().lock();
    write!(err, "{question} [y/N] ").and_then(|()| err.flush()).map_err(Failure::Output)?;
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(Failure::Input)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
