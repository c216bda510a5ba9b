//! What was set aside because nothing led to it.
//!
//! It may be damaged, and what it links may be gone: then it is of no use, and nothing is lost that
//! the store promised to keep. Where something leads to it after all, the next `gc` brings it back.

use std::path::Path;

use crate::id::{Id, Kind};
use crate::store::local::loose::Loose;
use crate::store::local::manifest::Manifest;
use crate::store::local::pack::Pack;

use super::{Check, Severity};

impl Check<'_> {
    /// Checks the packs and loose files of cruft. All others were checked before.
    pub(super) fn cruft(&mut self, manifest: &Manifest) {
        let mut reached = 0;
        let dir = self.layout.pack_dir();
        for record in &manifest.cruft {
            match Pack::open_checked(self.disk.clone(), &dir, &record.pack) {
                Ok(pack) => reached += self.cruft_pack(&pack),
                Err(error) => self.fault(Severity::Warning, "cruft-damaged", None, error),
            }
        }
        reached += self.cruft_files();
        if reached > 0 {
            let why = format!(
                "{reached} objects are set aside though something leads to them; \
                 the next gc brings them back"
            );
            self.odd(Severity::Notice, "cruft-reached", &dir, why);
        }
    }

    /// Checks a pack, and counts the objects that something leads to and that are not elsewhere.
    fn cruft_pack(&mut self, pack: &Pack) -> u64 {
        if !self.options.connectivity_only {
            let mut errors = Vec::new();
            pack.verify(&mut |error| errors.push(error));
            // Its graph can be done without.
            errors.retain(|error| !error.is_not_found());
            for error in errors {
                self.fault(Severity::Warning, "cruft-damaged", None, error);
            }
        }
        let mut reached = 0;
        for row in 0..pack.len() {
            if let (Ok(id), Ok(kind)) = (pack.id(row), pack.kind(row)) {
                reached += self.cruft_object(&id, Some(kind));
            }
        }
        reached
    }

    fn cruft_files(&mut self) -> u64 {
        let (dir, mut reached) = (self.layout.cruft_dir(), 0);
        let loose = Loose::new(self.disk.clone(), self.layout.clone());
        let listed = match self.disk.len(&dir) {
            Ok(_) => self.entries(&dir),
            Err(_) => return 0,
        };
        for fan in listed {
            let path = dir.join(&fan.name);
            match fan.is_dir {
                true => self.stray_below(&path, &fan.name),
                false => self.stray(&path, false),
            }
        }
        let asides = loose.list_aside().unwrap_or_else(|error| {
            self.fault(Severity::Warning, "unreadable", None, error);
            Vec::new()
        });
        self.total += asides.len() as u64;
        for aside in asides {
            let read = match self.options.connectivity_only {
                true => loose.kind_aside(&aside.id),
                false => loose.verify_aside(&aside).map(|read| read.map(|(kind, _)| kind)),
            };
            match read {
                Ok(kind) => reached += self.cruft_object(&aside.id, kind),
                Err(error) => {
                    self.fault(Severity::Warning, "cruft-damaged", Some(aside.id), error);
                }
            }
        }
        reached
    }

    /// Reports what is no file of cruft in one of its directories.
    fn stray_below(&mut self, dir: &Path, fan: &str) {
        for entry in self.entries(dir) {
            let named = entry.name.split_once('.');
            let id = named.and_then(|(rest, _)| format!("{fan}{rest}").parse::<Id>().ok());
            if entry.is_dir || id.is_none() {
                self.stray(&dir.join(&entry.name), entry.is_dir);
            }
        }
    }

    /// Takes note of an object of cruft, and counts one if something leads to it alone.
    fn cruft_object(&mut self, id: &Id, kind: Option<Kind>) -> u64 {
        let is_needed = !self.inventory.holds(id) && self.inventory.is_linked(id);
        self.unread_object(id, kind);
        u64::from(is_needed)
    }
}
