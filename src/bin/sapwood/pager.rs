//! Long output on a terminal goes through a pager: `core.pager` or `$PAGER`, else `less`.
//!
//! Only where standard output is a terminal. A pager that can't be run is left out: what it was
//! given is kept until it has taken more than a pipe holds, and is printed where it took nothing.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::config;

/// What is started where nothing else is wished for.
const DEFAULT: &str = "less -FRX";

/// How a shell says that a command can't be run, or is not there.
const NOT_RUN: [i32; 2] = [126, 127];

/// More than a pipe holds: who has taken so much runs.
const KEPT_BYTES_MAX: usize = 2 << 20;

/// A pager that runs. Dropping it waits until the reader has left it.
pub(crate) struct Pager {
    child: Child,
    /// Its input; `None` once it is known not to run.
    input: Option<ChildStdin>,
    /// What it was given so far, while that may have to be printed without it.
    kept: Option<Vec<u8>>,
}

impl Pager {
    /// Starts the pager, if a person is at a terminal and wants one.
    pub(crate) fn start() -> Option<Pager> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let wish = config::text("core.pager").or_else(|| env::var("PAGER").ok());
        let command = wish.unwrap_or_else(|| DEFAULT.to_owned());
        if command.trim().is_empty() || command.trim() == "cat" {
            return None;
        }
        Pager::run(&command)
    }

    fn run(command: &str) -> Option<Pager> {
        let mut child =
            Command::new("sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        Some(Pager { child, input: Some(input), kept: Some(Vec::new()) })
    }

    /// Waits for the end; gives what is to be printed after all, if the pager never ran.
    fn end(&mut self) -> Option<Vec<u8>> {
        self.input = None;
        let status = self.child.wait().ok()?;
        self.kept.take().filter(|_| status.code().is_some_and(|code| NOT_RUN.contains(&code)))
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(input) = &mut self.input else {
            return io::stdout().write(bytes);
        };
        self.kept = self.kept.take().filter(|kept| kept.len() + bytes.len() <= KEPT_BYTES_MAX);
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(bytes);
        }
        match input.write_all(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                let kept = self.end().ok_or(error)?;
                io::stdout().write_all(&kept)?;
            }
            written => written?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or_else(|| io::stdout().flush(), ChildStdin::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        if self.input.is_some()
            && let Some(kept) = self.end()
        {
            // There is nobody left to tell.
            let _ = io::stdout().write_all(&kept);
        }
        let _ = io::stdout().flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_pager_never_took_is_printed_after_all() {
        let given = |command: &str| {
            let mut pager = Pager::run(command).unwrap();
            pager.write_all(b"some words").unwrap();
            pager.end()
        };
        assert_eq!(given("cat > /dev/null"), None);
        assert_eq!(given("cat > /dev/null; exit 3"), None);
        // It reads before it fails, so that the test need not win a race.
        let missing = "cat > /dev/null; sapwood-has-no-such-pager 2> /dev/null";
        assert_eq!(given(missing), Some(b"some words".to_vec()));
    }
}
