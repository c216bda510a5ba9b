//! One copy of a store, while it is made: files first, the manifest last.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CopyProgress, CopyReport, info_path, replace};
use crate::disk::{self, Disk, OpenMode};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::durable::DurableMark;
use crate::store::local::layout::{Layout, is_aside};
use crate::store::local::manifest::Manifest;
use crate::store::local::pack::PackFile;
use crate::store::local::seal::named_files;
use crate::store::local::snapshot::LocalSnapshot;
use crate::store::local::{Inner, init};

/// How much is copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// One copy of a store, while it is made.
pub(super) struct Copy<'a> {
    pub(super) disk: &'a dyn Disk,
    pub(super) from: &'a Layout,
    pub(super) to: &'a Layout,
    /// Whether what is copied is checked before.
    checks: bool,
    /// The packs whose graph is not copied.
    pub(super) damaged_graphs: HashSet<Id>,
    pub(super) report: CopyReport,
    tell: CopyProgress<'a>,
    /// Directories with a file of the copy that were not synced since. A file that was there
    /// counts: nobody knows whether the one who made it lived to sync its name.
    unsynced: HashSet<PathBuf>,
    /// The loose files and the manifest that the copy has.
    loose: HashSet<PathBuf>,
    manifest: Option<Manifest>,
}

impl<'a> Copy<'a> {
    pub(super) fn new(
        disk: &'a dyn Disk,
        from: &'a Layout,
        to: &'a Layout,
        checks: bool,
        tell: CopyProgress<'a>,
    ) -> Copy<'a> {
        Copy {
            disk,
            from,
            to,
            checks,
            damaged_graphs: HashSet::new(),
            report: CopyReport::default(),
            tell,
            unsynced: HashSet::new(),
            loose: HashSet::new(),
            manifest: None,
        }
    }

    /// Makes the directories.
    fn prepare(&self) -> Result<()> {
        let to = self.to;
        disk::create_dir_durably(self.disk, to.root()).map_err(Error::io("create", to.root()))?;
        let dirs =
            [to.objects_dir(), to.pack_dir(), to.journal_dir(), to.refs_dir(), to.logs_dir()];
        for dir in dirs {
            disk::create_dir_durably(self.disk, &dir).map_err(Error::io("create", dir))?;
        }
        Ok(())
    }

    /// Copies what a snapshot sees; says no if its files changed meanwhile.
    pub(super) fn once(&mut self, inner: &Arc<Inner>) -> Result<bool> {
        self.prepare()?;
        (self.report.files, self.report.bytes) = (0, 0);
        inner.reload()?;
        let snapshot = inner.snapshot()?;
        let checked = if self.checks { self.check(inner, &snapshot) } else { Ok(()) };
        match checked.and_then(|()| self.files(inner, &snapshot)) {
            // What vanished is in a file that only a newer manifest names.
            Err(error) if error.is_not_found() => return Ok(false),
            copied => copied?,
        }
        let manifest = &snapshot.state.manifest;
        let now = Manifest::read(self.disk, &self.from.current())?;
        // A loose file that was gone before it was listed is in a pack by now.
        if now.packs != manifest.packs || now.cruft != manifest.cruft {
            return Ok(false);
        }
        for dir in self.unsynced.drain() {
            self.disk.sync_dir(&dir).map_err(Error::io("sync", dir))?;
        }
        manifest.publish(self.disk, &self.to.current())?;
        // Before, it would speak of a segment that the manifest does not name.
        DurableMark::open(self.disk, self.to.synced())?.set(snapshot.position())?;
        self.manifest = Some(manifest.clone());
        Ok(true)
    }

    fn files(&mut self, inner: &Arc<Inner>, snapshot: &LocalSnapshot) -> Result<()> {
        self.loose.clear();
        for (id, bytes) in inner.loose.list()? {
            let (from, to) = (self.from.loose(&id), self.to.loose(&id));
            self.immutable(&from, &to, bytes)?;
            self.loose.insert(to);
        }
        for aside in inner.loose.list_aside()? {
            let from = self.from.cruft(&aside.id, aside.since_ms);
            let to = self.to.cruft(&aside.id, aside.since_ms);
            self.immutable(&from, &to, aside.bytes)?;
            self.loose.insert(to);
        }
        let manifest = &snapshot.state.manifest;
        let packs = manifest.packs.iter().chain(manifest.cruft.iter().map(|record| &record.pack));
        for info in packs {
            self.pack(&info.id)?;
        }
        for segment in &snapshot.state.segments {
            let is_open = segment.sequence == snapshot.state.open_segment().sequence;
            let end = if is_open { snapshot.end } else { segment.end().offset };
            let (from, to) =
                (self.from.segment(segment.sequence), self.to.segment(segment.sequence));
            self.mutable(&from, &to, end, segment.bytes())?;
        }
        let mut numbered: Vec<(PathBuf, PathBuf, u64)> = Vec::new();
        for log in &manifest.logs {
            let number = log.file.number;
            numbered.push((self.from.log(number), self.to.log(number), log.file.bytes));
        }
        if let Some(refs) = &manifest.refs {
            let (from, to) = (self.from.packed_refs(refs.number), self.to.packed_refs(refs.number));
            numbered.push((from, to, refs.bytes));
        }
        if let Some(refused) = &manifest.refused {
            let number = refused.number;
            numbered.push((self.from.refused(number), self.to.refused(number), refused.bytes));
        }
        if let Some(purge) = &manifest.purge {
            let number = purge.number;
            numbered.push((self.from.purge(number), self.to.purge(number), purge.bytes));
        }
        for (from, to, bytes) in numbered {
            self.mutable(&from, &to, bytes, bytes)?;
        }
        Ok(())
    }

    fn pack(&mut self, id: &Id) -> Result<()> {
        for file in PackFile::ALL {
            let from = file.path(&self.from.pack_dir(), id);
            let to = file.path(&self.to.pack_dir(), id);
            match self.disk.len(&from) {
                Ok(_) if file == PackFile::Graph && self.damaged_graphs.contains(id) => {}
                Ok(bytes) => self.immutable(&from, &to, bytes)?,
                // A graph can be made again, and may be missing.
                Err(error)
                    if file == PackFile::Graph && error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read", from)(error)),
            }
        }
        Ok(())
    }

    /// Copies a file whose name tells its content, unless it is there.
    fn immutable(&mut self, from: &Path, to: &Path, bytes: u64) -> Result<()> {
        self.count(to, bytes);
        match self.has(to, bytes) {
            true => Ok(()),
            false => self.copy(from, to, bytes, bytes),
        }
    }

    /// Says whether the copy has a file of this length.
    pub(super) fn has(&self, to: &Path, bytes: u64) -> bool {
        self.disk.len(to).is_ok_and(|found| found == bytes)
    }

    /// Copies the begin of a file whose name does not tell its content, unless it is the same.
    fn mutable(&mut self, from: &Path, to: &Path, bytes: u64, length: u64) -> Result<()> {
        self.count(to, bytes);
        if self.has(to, length) {
            let same = self.hash(from, bytes)? == self.hash(to, bytes)?;
            if same && self.is_zero_after(to, bytes, length)? {
                return Ok(());
            }
        }
        self.copy(from, to, bytes, length)
    }

    fn count(&mut self, to: &Path, bytes: u64) {
        self.report.files += 1;
        self.report.bytes += bytes;
        let above = to.ancestors().skip(1).take_while(|dir| dir.starts_with(self.to.root()));
        for dir in above {
            if !self.unsynced.insert(dir.to_owned()) {
                break;
            }
        }
    }

    /// Copies the begin of a file, lengthened with zeros, and compares it before it gets its name.
    fn copy(&mut self, from: &Path, to: &Path, bytes: u64, length: u64) -> Result<()> {
        let dir = to.parent().expect("a file stands in a directory");
        if self.disk.len(dir).is_err() {
            disk::create_dir_durably(self.disk, dir).map_err(Error::io("create", dir))?;
        }
        let aside = disk::aside(self.disk, to).map_err(Error::io("name", to))?;
        let copied = self
            .copy_aside(from, &aside, bytes, length)
            .and_then(|()| self.disk.rename(&aside, to).map_err(Error::io("rename", to)));
        if copied.is_err() {
            // Best effort: the error that counts is the one above.
            let _ = self.disk.remove(&aside);
        }
        copied?;
        self.report.files_copied += 1;
        self.report.bytes_copied += bytes;
        (self.tell)(self.report.files_copied, self.report.bytes_copied);
        Ok(())
    }

    fn copy_aside(&self, from: &Path, aside: &Path, bytes: u64, length: u64) -> Result<()> {
        let source = self.disk.open(from, OpenMode::Read).map_err(Error::io("open", from))?;
        let io = |action| Error::io(action, aside);
        let target = self.disk.open(aside, OpenMode::CreateNew).map_err(io("create"))?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; COPY_BYTES];
        let mut offset = 0;
        while offset < bytes {
            let wanted = (bytes - offset).min(COPY_BYTES as u64) as usize;
            let read = source.read_full_at(&mut buffer[..wanted], offset);
            if read.map_err(Error::io("read", from))? != wanted {
                return Err(Error::corrupt(from, offset, "it is shorter than it was"));
            }
            hasher.update(&buffer[..wanted]);
            target.write_all_at(&buffer[..wanted], offset).map_err(io("write"))?;
            offset += wanted as u64;
        }
        if length > bytes {
            target.set_len(length).map_err(io("write"))?;
        }
        target.sync_data().map_err(io("sync"))?;
        drop(target);
        match self.hash(aside, bytes)? == hasher.finalize() {
            true => Ok(()),
            false => Err(Error::corrupt(aside, None, "what was written is not what is read")),
        }
    }

    fn hash(&self, path: &Path, bytes: u64) -> Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        self.read(path, 0, bytes, &mut |piece| {
            hasher.update(piece);
        })?;
        Ok(hasher.finalize())
    }

    fn is_zero_after(&self, path: &Path, from: u64, to: u64) -> Result<bool> {
        let mut is_zero = true;
        self.read(path, from, to, &mut |piece| is_zero &= piece.iter().all(|byte| *byte == 0))?;
        Ok(is_zero)
    }

    fn read(&self, path: &Path, from: u64, to: u64, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        let file = self.disk.open(path, OpenMode::Read).map_err(Error::io("open", path))?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut offset = from;
        while offset < to {
            let wanted = (to - offset).min(COPY_BYTES as u64) as usize;
            let count = file.read_full_at(&mut buffer[..wanted], offset);
            let count = count.map_err(Error::io("read", path))?;
            if count == 0 {
                break;
            }
            see(&buffer[..count]);
            offset += count as u64;
        }
        Ok(())
    }

    /// Makes the copy a store, and removes what the store has no more.
    pub(super) fn finish(mut self, info: &str) -> Result<CopyReport> {
        let config = disk::read_file(self.disk, &self.from.config(), 16 << 20);
        if let Ok(config) = config {
            replace(self.disk, &self.to.config(), &config)?;
        }
        replace(self.disk, &info_path(self.to), info.as_bytes())?;
        if self.disk.len(&self.to.format()).is_err() {
            init::write_format(self.disk, self.to)?;
        }
        self.sweep()?;
        Ok(self.report)
    }

    fn sweep(&mut self) -> Result<()> {
        let to = self.to;
        let Some(manifest) = &self.manifest else {
            return Ok(());
        };
        let named = named_files(to, manifest);
        let mut dirs = vec![to.objects_dir(), to.pack_dir(), to.journal_dir()];
        dirs.extend([to.refs_dir(), to.logs_dir()]);
        for above in [to.objects_dir(), to.cruft_dir()] {
            for entry in self.disk.list(&above).unwrap_or_default() {
                if entry.is_dir && entry.name.len() == 2 {
                    dirs.push(above.join(entry.name));
                }
            }
        }
        dirs.push(to.root().to_owned());
        for dir in dirs {
            let is_root = dir == to.root();
            for entry in self.disk.list(&dir).map_err(Error::io("list", &dir))? {
                let path = dir.join(&entry.name);
                let is_kept =
                    entry.is_dir || is_root || named.contains(&path) || self.loose.contains(&path);
                if !is_kept || is_aside(&entry.name) && !entry.is_dir {
                    self.disk.remove(&path).map_err(Error::io("remove", &path))?;
                    self.report.files_removed += 1;
                }
            }
        }
        Ok(())
    }
}
