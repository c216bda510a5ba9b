//! What only a full check looks at: files that can be done without, and objects that nothing leads
//! to.

use std::time::Duration;

use crate::disk::{self, OpenMode};
use crate::error::{Error, Result};
use crate::store::local::durable::{self, MARK_BYTES};

use super::{Check, Finding, Severity};

/// How often a mark that is no mark is read before it counts as damaged, and how long a writer is
/// given in between to finish it.
const MARK_ATTEMPTS: usize = 5;
const MARK_PAUSE: Duration = Duration::from_millis(2);
/// How much of a spare segment is looked at together.
const STRETCH_BYTES: usize = 1 << 16;

impl Check<'_> {
    /// Checks the mark of what is durable. One that is missing claims nothing, and is none.
    pub(super) fn durable_mark(&mut self) {
        let path = self.layout.synced();
        for attempt in 0..MARK_ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(MARK_PAUSE);
            }
            match disk::read_file(&*self.disk, &path, MARK_BYTES as u64) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
                Ok(bytes) if bytes.is_empty() || durable::is_mark(&bytes) => return,
                _ => {}
            }
        }
        let why = "it is no mark, and vouches for nothing; the next sync writes it again";
        self.odd(Severity::Warning, "mark-damaged", &path, why);
    }

    /// Checks that the segment that is prepared for later holds nothing.
    pub(super) fn spare(&mut self) {
        let path = self.layout.spare();
        match self.is_blank(&path) {
            Ok(true) => {}
            Ok(false) => {
                let why = "it should hold nothing but zeros";
                self.odd(Severity::Warning, "spare-damaged", &path, why);
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => self.fault(Severity::Warning, "spare-damaged", None, error),
        }
    }

    fn is_blank(&self, path: &std::path::Path) -> Result<bool> {
        let file = self.disk.open(path, OpenMode::Read).map_err(Error::io("open", path))?;
        let mut stretch = vec![0u8; STRETCH_BYTES];
        let mut at = 0;
        loop {
            let count = file.read_full_at(&mut stretch, at).map_err(Error::io("read", path))?;
            if stretch[..count].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if count < stretch.len() {
                return Ok(true);
            }
            at += count as u64;
        }
    }

    /// Reports the objects that no ref leads to and nothing links: the ends of what was left.
    pub(super) fn unreferenced(&mut self) {
        self.inventory.find_open();
        for number in self.inventory.tops(true) {
            let kind = self.inventory.kind_of(number).map_or("object", |kind| kind.name());
            self.push(Finding {
                severity: Severity::Notice,
                what: "unreferenced",
                object: Some(self.inventory.id_of(number)),
                file: None,
                why: format!("no ref leads to this {kind}, and nothing links it"),
            });
        }
    }
}
