//! Long output on a terminal goes through a pager: `core.pager` or `$PAGER`, else `less`.
//!
//! Only where standard output is a terminal. A pager that can't be started is left out.

use std::env;
use std::io::{self, IsTerminal};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::config;

/// What is started where nothing else is wished for.
const DEFAULT: &str = "less -FRX";

/// A pager that runs. Dropping it waits until the reader has left it.
pub(crate) struct Pager {
    child: Child,
}

impl Pager {
    /// Starts the pager and gives its input, if a person is at a terminal and wants one.
    pub(crate) fn start() -> Option<(Pager, ChildStdin)> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let wish = config::text("core.pager").or_else(|| env::var("PAGER").ok());
        let command = wish.unwrap_or_else(|| DEFAULT.to_owned());
        if command.trim().is_empty() || command.trim() == "cat" {
            return None;
        }
        let mut child =
            Command::new("sh").arg("-c").arg(&command).stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        Some((Pager { child }, input))
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // However it ended, there is nobody left to tell.
        let _ = self.child.wait();
    }
}
