//! Checking a whole store: every file, object, link and ref.
//!
//! Invariants:
//! - Nothing is written and no lock is taken: it works on read-only media and beside writers.
//! - Damage is a finding, never the end of the check. Every part is looked at on its own, also
//!   those of a store that [`LocalStore::open`](super::LocalStore::open) refuses.
//! - A writer beside it makes no false errors. What is read first is what later parts rely on: the
//!   mark, the manifest, the journal, then the rest. Where something was found and the manifest has
//!   changed meanwhile, the check begins anew.
//! - Memory holds ids and numbers, and one block or one object at a time.
//!
//! Not here: any repair.

mod containers;
mod cruft;
mod files;
mod full;
mod journal;
mod lists;
mod refs;
#[cfg(test)]
mod tests;

pub(crate) use containers::is_about;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{self, NewObject};
use crate::store::local::durable::{DurableMark, Position};
use crate::store::local::init;
use crate::store::local::inventory::Inventory;
use crate::store::local::layout::Layout;
use crate::store::local::manifest::Manifest;

/// How often a store that changes is checked before its changes are reported as such.
const ATTEMPTS_MAX: usize = 5;
/// How many findings are told apart; the rest is counted.
const FINDINGS_MAX: usize = 10_000;
/// After how many objects progress is told.
const PROGRESS_OBJECTS: u64 = 1024;

/// Is told how many objects are done, and of how many as far as is known yet.
pub type Progress<'a> = &'a dyn Fn(u64, u64);

/// What is checked.
#[derive(Clone, Copy, Default)]
pub struct FsckOptions<'a> {
    /// Whether only what is needed to follow links is read: no blob is hashed, no file checked as a
    /// whole.
    pub connectivity_only: bool,
    /// Whether everything is looked at that there is: also what no part of the store names, and
    /// what can be done without. Each object that links a missing one is named.
    pub full: bool,
    /// Whether a file `format` that names another version is taken for damaged.
    pub ignore_format: bool,
    /// Is told how far the check is. It begins at zero again where the store has changed.
    pub progress: Option<Progress<'a>>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FsckReport {
    /// What is wrong or odd, in the order in which it was found.
    pub findings: Vec<Finding>,
    /// How many objects there are, each counted once.
    pub objects: u64,
    /// How many refs there are.
    pub refs: u64,
    /// How many files were looked at.
    pub files: u64,
}

/// One thing that is wrong or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Its short name, in kebab-case, which stays as it is.
    pub what: &'static str,
    /// The object it is about.
    pub object: Option<Id>,
    /// The file it is about.
    pub file: Option<PathBuf>,
    /// What was found, in a sentence.
    pub why: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is wrong; a crash or a running writer leaves such things.
    Notice,
    /// What is derived differs from the truth; it can be made again.
    Warning,
    /// Something is lost or damaged.
    Error,
}

impl Severity {
    /// Gives its name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

impl fmt::Debug for FsckOptions<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FsckOptions")
            .field("connectivity_only", &self.connectivity_only)
            .field("full", &self.full)
            .finish_non_exhaustive()
    }
}

impl FsckReport {
    /// Says whether anything was found that is more than a notice.
    fn has_faults(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.severity > Severity::Notice)
    }

    /// Drops what another check of the same store did not find.
    ///
    /// Where a file was gone for one of them only, objects were missing because of that: what both
    /// say of objects may be of two files that went, and is dropped, too.
    fn keep_common(&mut self, other: &FsckReport) {
        let is_sure = !self.lost_files_beyond(other) && !other.lost_files_beyond(self);
        self.findings.retain(|found| other.has(found) && (is_sure || found.file.is_some()));
    }

    fn has(&self, finding: &Finding) -> bool {
        self.findings.iter().any(|found| {
            (found.what, found.object, &found.file) == (finding.what, finding.object, &finding.file)
        })
    }

    /// Says whether a file could not be read that the other check could.
    fn lost_files_beyond(&self, other: &FsckReport) -> bool {
        let mut lost = self.findings.iter().filter(|found| found.file.is_some());
        lost.any(|found| found.severity == Severity::Error && !other.has(found))
    }
}

/// Checks the store in `path`.
///
/// Only where there is no store, one of an unknown format, or a directory that can't be read, there
/// is nothing to report and the answer is an error.
pub fn fsck(disk: Arc<dyn Disk>, path: &Path, options: &FsckOptions<'_>) -> Result<FsckReport> {
    let mut before = None;
    for attempt in 1.. {
        let mut check = Check::new(Arc::clone(&disk), Layout::new(path), *options);
        let changed = check.run()?;
        let mut report = check.report();
        if !changed || !report.has_faults() {
            return Ok(report);
        }
        if attempt == ATTEMPTS_MAX
            && let Some(before) = &before
        {
            report.keep_common(before);
            report.findings.push(busy(path));
            return Ok(report);
        }
        before = Some(report);
    }
    unreachable!("the last attempt returns")
}

fn busy(path: &Path) -> Finding {
    let why = format!(
        "writers changed it during each of {ATTEMPTS_MAX} checks; \
         only what the last two of them found is reported, and of missing objects nothing \
         unless they read the same files; check again when it is not being tidied"
    );
    Finding {
        severity: Severity::Warning,
        what: "store-changed",
        object: None,
        file: Some(path.to_owned()),
        why,
    }
}

/// A check under way.
struct Check<'a> {
    disk: Arc<dyn Disk>,
    layout: Layout,
    options: FsckOptions<'a>,
    findings: Vec<Finding>,
    /// How many findings were too many to keep, and how bad the worst of them was.
    left_off: Option<(u64, Severity)>,
    inventory: Inventory,
    /// The files of lists of ids that the manifest names, and the ids that a purge removes.
    lists: Vec<PathBuf>,
    purged: HashSet<Id>,
    refs: u64,
    files: u64,
    done: u64,
    total: u64,
}

impl<'a> Check<'a> {
    fn new(disk: Arc<dyn Disk>, layout: Layout, options: FsckOptions<'a>) -> Check<'a> {
        Check {
            disk,
            layout,
            options,
            findings: Vec::new(),
            left_off: None,
            inventory: Inventory::default(),
            lists: Vec::new(),
            purged: HashSet::new(),
            refs: 0,
            files: 0,
            done: 0,
            total: 0,
        }
    }

    /// Checks everything once, and says whether the manifest changed meanwhile.
    fn run(&mut self) -> Result<bool> {
        let root = self.layout.root().to_owned();
        init::refuse_unknown(&*self.disk, &self.layout, self.options.ignore_format)?;
        if let Err(error) = init::check_format(&*self.disk, &self.layout) {
            let path = self.layout.format();
            let (what, why) = match error {
                Error::NotAStore { .. } => ("file-missing", "it is missing".to_owned()),
                Error::Corrupt { why, .. } => ("format-damaged", why),
                error => ("format-damaged", error.to_string()),
            };
            self.odd(Severity::Error, what, &path, why);
        }
        self.disk.list(&root).map_err(Error::io("list", &root))?;
        let mark = self.mark();
        let named = self.manifest()?;
        let manifest = match &named {
            Some(manifest) => manifest.clone(),
            None => self.guess_manifest(),
        };
        let journal = self.journal(&manifest, named.is_some(), mark);
        let truth = self.truth(&manifest, &journal);
        if named.is_some() && truth.whole {
            self.mirrors(&journal, &truth);
        }
        self.logs(&manifest, named.is_some());
        let cruft = manifest.cruft.iter().map(|record| &record.pack);
        self.total = manifest.packs.iter().chain(cruft).map(|info| info.objects).sum();
        self.total += journal.objects();
        self.journal_objects(&journal);
        let packs = match named.is_some() {
            true => self.packs(&manifest),
            false => self.salvage_all(),
        };
        self.id_lists(&manifest);
        self.loose();
        self.cruft(&manifest);
        self.ref_targets(&truth);
        self.missing(&journal, &truth);
        self.depths(&packs);
        self.journal_depths(&journal);
        self.stray_files(named.as_ref());
        self.unfinished_repair();
        if self.options.full {
            self.durable_mark();
            self.spare();
            self.unreferenced();
        }
        self.tell_progress();
        let generation = named.map(|manifest| manifest.generation);
        let now = Manifest::read(&*self.disk, &self.layout.current());
        Ok(now.ok().map(|manifest| manifest.generation) != generation)
    }

    /// Reads the mark of what is durable. One that can't be read claims nothing.
    fn mark(&self) -> Position {
        let mark = DurableMark::open_read_only(&*self.disk, self.layout.synced());
        let position =
            mark.and_then(|mark| mark.map_or(Ok(Position::default()), |mark| mark.get()));
        position.unwrap_or_default()
    }

    /// Reads the manifest; `None` where it is damaged or missing.
    fn manifest(&mut self) -> Result<Option<Manifest>> {
        match Manifest::read(&*self.disk, &self.layout.current()) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(error @ Error::UnsupportedFormat { .. })
                if !Manifest::is_damaged(&*self.disk, &self.layout.current()) =>
            {
                Err(error)
            }
            Err(error @ Error::UnsupportedFormat { .. }) => {
                let path = self.layout.current();
                self.odd(Severity::Error, "manifest-damaged", &path, error.to_string());
                Ok(None)
            }
            Err(error) => {
                self.fault(Severity::Error, "manifest-damaged", None, error);
                Ok(None)
            }
        }
    }

    fn report(self) -> FsckReport {
        let mut findings = self.findings;
        findings.extend(self.left_off.map(|(count, severity)| Finding {
            severity,
            what: "more-findings",
            object: None,
            file: None,
            why: format!("{count} more findings are not listed"),
        }));
        FsckReport {
            findings,
            objects: self.inventory.objects(),
            refs: self.refs,
            files: self.files,
        }
    }
}

/// What the parts of a check share.
impl Check<'_> {
    fn push(&mut self, finding: Finding) {
        if self.findings.last() == Some(&finding) {
            return;
        }
        if self.findings.len() < FINDINGS_MAX {
            return self.findings.push(finding);
        }
        let (count, severity) = self.left_off.unwrap_or((0, Severity::Notice));
        self.left_off = Some((count + 1, severity.max(finding.severity)));
    }

    /// Reports something about a file.
    fn odd(&mut self, severity: Severity, what: &'static str, file: &Path, why: impl Into<String>) {
        self.push(Finding {
            severity,
            what,
            object: None,
            file: Some(file.to_owned()),
            why: why.into(),
        });
    }

    /// Reports an error that reading ended in.
    fn fault(&mut self, severity: Severity, what: &'static str, object: Option<Id>, error: Error) {
        let (what, file, why) = match error {
            Error::Corrupt { path, offset, why } => {
                let place = offset.map_or(String::new(), |at| format!("at byte {at}: "));
                (what, Some(path), format!("{place}{why}"))
            }
            Error::Io { action, path, source } => match source.kind() {
                std::io::ErrorKind::NotFound => {
                    ("file-missing", Some(path), "it is missing".to_owned())
                }
                _ => ("unreadable", Some(path), format!("cannot {action} it: {source}")),
            },
            Error::UnsupportedFormat { path, found, supported } => {
                let why = format!("it has {found}; this program reads {supported}");
                ("unsupported", Some(path), why)
            }
            error => (what, None, error.to_string()),
        };
        self.push(Finding { severity, what, object, file, why });
    }

    /// Takes note of an object whose content matches its id, and checks what it says.
    fn object(&mut self, id: &Id, kind: Kind, content: &[u8], file: &Path) {
        self.step();
        if !self.inventory.hold(id, Some(kind)) {
            return;
        }
        if kind == Kind::Blob {
            return self.inventory.describe(id, &[], None);
        }
        let parsed = NewObject::parse(kind, content.to_vec());
        let outlined = object::outline(kind, content);
        match parsed.and_then(|object| Ok((object, outlined?))) {
            Ok((object, outline)) => {
                let first = outline.parents.first();
                self.inventory.describe(id, &object.links, first);
            }
            Err(error) => self.push(Finding {
                severity: Severity::Error,
                what: "object-invalid",
                object: Some(*id),
                file: Some(file.to_owned()),
                why: error.to_string(),
            }),
        }
    }

    /// Takes note of an object that is there, but whose content was not read.
    fn unread_object(&mut self, id: &Id, kind: Option<Kind>) {
        self.step();
        self.inventory.hold(id, kind);
    }

    /// Says whether an object of this kind need not be read.
    fn passes_over(&self, kind: Kind) -> bool {
        self.options.connectivity_only && kind == Kind::Blob
    }

    fn step(&mut self) {
        self.done += 1;
        if self.done.is_multiple_of(PROGRESS_OBJECTS) {
            self.tell_progress();
        }
    }

    fn tell_progress(&self) {
        if let Some(progress) = self.options.progress {
            progress(self.done, self.total.max(self.done));
        }
    }
}
