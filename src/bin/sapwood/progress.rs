//! Progress on stderr: after a moment, on a terminal only, and gone when it is done.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long nothing is shown, and how long one line stays.
const DELAY: Duration = Duration::from_millis(250);

/// A line that tells how far a command is.
pub(crate) struct Progress {
    what: &'static str,
    wanted: bool,
    next: Cell<Instant>,
    shown: Cell<bool>,
}

impl Progress {
    /// Begins to count time; `quiet` shows nothing at all.
    pub(crate) fn new(what: &'static str, quiet: bool) -> Progress {
        Progress {
            what,
            wanted: !quiet && io::stderr().is_terminal(),
            next: Cell::new(Instant::now() + DELAY),
            shown: Cell::new(false),
        }
    }

    /// Tells that so many of so many are done.
    pub(crate) fn tell(&self, done: u64, total: u64) {
        if !self.wanted || Instant::now() < self.next.get() {
            return;
        }
        self.next.set(Instant::now() + DELAY);
        self.shown.set(true);
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        // With stderr gone there is nobody left to tell.
        let _ = write!(io::stderr(), "\r{}: {percent:3}% ({done}/{total})\x1b[K", self.what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.get() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
