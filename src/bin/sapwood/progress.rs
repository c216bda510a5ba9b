//! Progress on stderr: after a moment, on a terminal only, and gone when it is done.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::plumbing::human;

/// How long nothing is shown, and how long one line stays.
const DELAY: Duration = Duration::from_millis(250);

/// How many characters a bar has.
const BAR_WIDTH: u64 = 20;

/// A line that tells how far a command is.
pub(crate) struct Progress {
    what: &'static str,
    wanted: bool,
    begun: Instant,
    next: Cell<Instant>,
    shown: Cell<bool>,
}

impl Progress {
    /// Begins to count time; `quiet` shows nothing at all.
    pub(crate) fn new(what: &'static str, quiet: bool) -> Progress {
        Progress {
            what,
            wanted: !quiet && io::stderr().is_terminal(),
            begun: Instant::now(),
            next: Cell::new(Instant::now() + DELAY),
            shown: Cell::new(false),
        }
    }

    /// Tells that so many bytes of so many are done, how fast, and how long the rest may take.
    pub(crate) fn tell_bytes(&self, done: u64, total: u64) {
        if !self.wanted || Instant::now() < self.next.get() {
            return;
        }
        let seconds = self.begun.elapsed().as_secs_f64().max(0.001);
        let rate = done as f64 / seconds;
        let left = (total.saturating_sub(done) as f64 / rate.max(1.0)).ceil() as u64;
        let width = (done * BAR_WIDTH).checked_div(total).unwrap_or(0).min(BAR_WIDTH) as usize;
        let bar = format!("{:<20}", "#".repeat(width));
        let line = format!(
            "[{bar}] {} of {}, {}/s, {} left",
            human(done),
            human(total),
            human(rate as u64),
            clock(left),
        );
        self.show(&line);
    }

    /// Tells that so many of so many are done.
    pub(crate) fn tell(&self, done: u64, total: u64) {
        if !self.wanted || Instant::now() < self.next.get() {
            return;
        }
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        self.show(&format!("{percent:3}% ({done}/{total})"));
    }

    /// Tells that so many objects and bytes were moved, of nobody knows how many.
    pub(crate) fn tell_moved(&self, objects: u64, bytes: u64) {
        if !self.wanted || Instant::now() < self.next.get() {
            return;
        }
        let seconds = self.begun.elapsed().as_secs_f64().max(0.001);
        let rate = human((bytes as f64 / seconds) as u64);
        self.show(&format!("{objects} objects, {}, {rate}/s", human(bytes)));
    }

    fn show(&self, text: &str) {
        self.next.set(Instant::now() + DELAY);
        self.shown.set(true);
        // With stderr gone there is nobody left to tell.
        let _ = write!(io::stderr(), "\r{}: {text}\x1b[K", self.what);
    }

    /// Takes the line away, so that something else can be said.
    pub(crate) fn clear(&self) {
        if self.shown.replace(false) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Writes a time as a clock shows it.
fn clock(seconds: u64) -> String {
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}
