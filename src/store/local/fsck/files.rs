//! Directories: files that nobody names, and what exists where the manifest can't say it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::disk::DirEntry;
use crate::error::Error;
use crate::store::local::layout::{PURGE, REFUSED};
use crate::store::local::manifest::{FileRecord, LogRecord, Manifest, SegmentRecord};
use crate::store::local::seal;

use super::{Check, Severity};

impl Check<'_> {
    /// Lists a directory and counts its files; reports one that can't be listed.
    pub(super) fn entries(&mut self, dir: &Path) -> Vec<DirEntry> {
        match self.disk.list(dir).map_err(Error::io("list", dir)) {
            Ok(entries) => {
                self.files += entries.iter().filter(|entry| !entry.is_dir).count() as u64;
                entries
            }
            Err(error) => {
                self.fault(Severity::Error, "unreadable", None, error);
                Vec::new()
            }
        }
    }

    /// Makes a manifest of what stands in the directories. Packs are left out: without their
    /// records they are read as they are.
    pub(super) fn guess_manifest(&self) -> Manifest {
        let numbered = |dir: PathBuf, prefix: &str| -> Vec<FileRecord> {
            let entries = self.disk.list(&dir).unwrap_or_default().into_iter();
            let files = entries.filter(|entry| !entry.is_dir).filter_map(|entry| {
                let digits = entry.name.strip_prefix(prefix)?;
                let number = u64::from_str_radix(digits, 16).ok()?;
                (digits.len() == 16).then_some(FileRecord { number, bytes: entry.bytes })
            });
            files.collect()
        };
        let segment = |file: FileRecord| SegmentRecord { sequence: file.number, closed: None };
        let log = |file: FileRecord| LogRecord { file, operations: 0 };
        let segments = numbered(self.layout.journal_dir(), "");
        let logs = numbered(self.layout.logs_dir(), "operations-");
        Manifest {
            generation: 0,
            segments: segments.into_iter().map(segment).collect(),
            refs: numbered(self.layout.refs_dir(), "packed-").pop(),
            logs: logs.into_iter().map(log).collect(),
            refused: numbered(self.layout.objects_dir(), REFUSED).pop(),
            purge: numbered(self.layout.objects_dir(), PURGE).pop(),
            ..Manifest::new(0)
        }
    }

    /// Reports files that no part of the store names. Without a manifest, only those that can't be
    /// part of any store.
    pub(super) fn stray_files(&mut self, manifest: Option<&Manifest>) {
        let layout = self.layout.clone();
        let files = [
            layout.format(),
            layout.config(),
            layout.current(),
            layout.lock(),
            layout.maintenance_lock(),
            layout.bells(),
        ];
        let dirs = [
            layout.objects_dir(),
            layout.refs_dir(),
            layout.logs_dir(),
            layout.cache_dir(),
            layout.damaged_dir(),
        ];
        let root = layout.root().to_owned();
        for entry in self.entries(&root) {
            let path = root.join(&entry.name);
            let known = if entry.is_dir { &dirs[..] } else { &files[..] };
            if !known.contains(&path) {
                self.stray(&path, entry.is_dir);
            }
        }
        let named = manifest.map(|manifest| seal::named_files(&layout, manifest));
        for dir in [layout.pack_dir(), layout.journal_dir(), layout.logs_dir()] {
            for entry in self.entries(&dir) {
                self.check_named(&dir.join(&entry.name), entry.is_dir, named.as_ref());
            }
        }
        let mut below_refs = Vec::new();
        let refs_dir = layout.refs_dir();
        if let Err(error) = self.mirror_files(&refs_dir, 0, &mut below_refs) {
            self.fault(Severity::Warning, "unreadable", None, error);
        }
        self.files += below_refs.len() as u64;
        below_refs.retain(|path| self.layout.is_no_mirror(path));
        for path in below_refs {
            self.check_named(&path, false, named.as_ref());
        }
    }

    /// Reports a repair that was cut off before it had put everything aside.
    pub(super) fn unfinished_repair(&mut self) {
        let path = self.layout.pending();
        if self.disk.len(&path).is_ok() {
            let why = "a repair was cut off; the next one goes on with it";
            self.odd(Severity::Warning, "repair-unfinished", &path, why);
        }
    }

    fn check_named(&mut self, path: &Path, is_dir: bool, named: Option<&HashSet<PathBuf>>) {
        let left_over = path.to_string_lossy().ends_with(crate::disk::ASIDE_SUFFIX);
        if named.map_or(left_over, |named| !named.contains(path)) {
            self.stray(path, is_dir);
        }
    }
}
