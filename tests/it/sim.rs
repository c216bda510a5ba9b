//! A disk in memory that loses what a real one may lose.
//!
//! What running processes see and what is durable are kept apart. Syncing a file makes its bytes
//! and its length durable but not its name; syncing a directory makes the names in it durable. A
//! sync that fails behaves as on Linux: what was to be written counts as clean, each handle opened
//! before reports the error once, and later syncs succeed without it.
//!
//! All clones of a [`SimDisk`] are the same disk. [`SimDisk::crash`] gives the disk as it is after
//! the next start, with no locks held and no faults to come; the handles of the old one only fail.
//!
//! Not here: renaming directories, and the end of a single process (drop its store instead).

mod crash;
mod faults;
mod files;
mod handle;
mod moment;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sapwood::disk::{DirEntry, Disk, DiskFile, Mapping, OpenMode};

pub(crate) use crash::{Keep, PendingName, PendingWrite, Policy};
pub(crate) use faults::{Fault, Op, Random, is_crash};
pub(crate) use moment::Moment;

use faults::Faults;
use files::{Files, NodeId};
use handle::SimFile;

/// A simulated disk.
#[derive(Clone, Debug)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    files: Files,
    faults: Faults,
    random: Random,
    settings: Settings,
    handle_next: u64,
    /// The disk before each call since the recording began.
    moments: Option<Vec<Moment>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    read_only: bool,
    capacity_bytes: Option<u64>,
}

impl SimDisk {
    /// Makes an empty disk.
    pub(crate) fn new(seed: u64) -> SimDisk {
        SimDisk::with(Files::new(), Random(seed), Settings::default())
    }

    /// Makes a disk of the same state that goes its own way, without locks and faults.
    pub(crate) fn copy(&self) -> SimDisk {
        let state = self.state();
        SimDisk::with(state.files.clone(), state.random.clone(), state.settings)
    }

    /// Ends the disk and gives what a crash leaves of it.
    pub(crate) fn crash(&self, policy: Policy) -> SimDisk {
        self.replace(|files| files.after_crash(policy))
    }

    /// Ends the disk by a power cut that leaves exactly what the caller chooses.
    ///
    /// The closures must not use the disk.
    pub(crate) fn crash_keeping<K: Into<Keep>>(
        &self,
        keep_write: impl FnMut(&PendingWrite) -> K,
        keep_name: impl FnMut(&PendingName) -> bool,
    ) -> SimDisk {
        self.replace(|files| files.after_power_cut(keep_write, keep_name))
    }

    /// Makes the call of this number, counted from zero, or the first later one that it can strike,
    /// go wrong.
    pub(crate) fn fail_at(&self, call: u64, fault: Fault) {
        self.state().faults.add_at(call, fault);
    }

    /// Makes the first call that the predicate picks go wrong; reads are shown to it as well.
    ///
    /// The predicate must not use the disk.
    pub(crate) fn fail_when(
        &self,
        predicate: impl FnMut(Op, &Path) -> bool + Send + 'static,
        fault: Fault,
    ) {
        self.state().faults.add_when(Box::new(predicate), fault);
    }

    /// Begins to keep the disk as it is before each call that changes or syncs something.
    pub(crate) fn record(&self) {
        self.state().moments = Some(Vec::new());
    }

    /// Counts the moments that were kept.
    pub(crate) fn recorded(&self) -> usize {
        self.state().moments.as_ref().map_or(0, Vec::len)
    }

    /// Ends the recording and gives all moments; the last is now.
    pub(crate) fn take_moments(&self) -> Vec<Moment> {
        let mut state = self.state();
        let mut moments = state.moments.take().unwrap_or_default();
        moments.push(Moment::new(state.files.clone(), state.random.clone()));
        moments
    }

    /// Gives a hash of the names and the contents of the files that are picked.
    pub(crate) fn fingerprint(&self, picked: impl Fn(&Path) -> bool) -> [u8; 32] {
        self.state().files.fingerprint(picked)
    }

    /// Counts the calls so far: the number of the next one.
    pub(crate) fn calls(&self) -> u64 {
        self.state().faults.calls
    }

    /// Says whether reads and plain opens are numbered too.
    pub(crate) fn count_reads(&self, count_reads: bool) {
        self.state().faults.count_reads = count_reads;
    }

    /// Makes the disk refuse changes, or allow them again.
    pub(crate) fn set_read_only(&self, read_only: bool) {
        self.state().settings.read_only = read_only;
    }

    /// Limits the bytes of all files together.
    pub(crate) fn set_capacity(&self, capacity_bytes: Option<u64>) {
        self.state().settings.capacity_bytes = capacity_bytes;
    }

    /// Lists all files, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.state().files.paths()
    }

    /// Gives a file's content, whatever state the disk is in.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let mut state = self.state();
        let node = state.files.find_file(path.as_ref()).expect("the file is there");
        state.files.file(node).content.to_vec()
    }

    /// Sets a file's content, durable at once. A new file and its directories get durable names.
    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        let path = path.as_ref();
        let mut state = self.state();
        let files = &mut state.files;
        let node = files.find_file(path).unwrap_or_else(|_| {
            let parent = path.parent().expect("a file stands in a directory");
            files.create_dir(parent).expect("no file is in the way");
            let node = files.create(path).expect("the directory is there");
            for dir in parent.ancestors() {
                files.sync_dir(dir).expect("the directory is there");
            }
            node
        });
        files.file(node).set(bytes.into());
    }

    /// Flips the lowest bit of a byte, durable at once.
    pub(crate) fn flip(&self, path: impl AsRef<Path>, offset: usize) {
        let mut bytes = self.read(&path);
        bytes[offset] ^= 1;
        self.write(path, bytes);
    }

    /// Cuts a file, durable at once.
    pub(crate) fn truncate(&self, path: impl AsRef<Path>, bytes_left: usize) {
        let mut bytes = self.read(&path);
        bytes.truncate(bytes_left);
        self.write(path, bytes);
    }

    fn with(mut files: Files, random: Random, settings: Settings) -> SimDisk {
        for file in files.files.values_mut() {
            file.lock = None;
        }
        SimDisk(Arc::new(Mutex::new(State {
            files,
            faults: Faults::default(),
            random,
            settings,
            handle_next: 0,
            moments: None,
        })))
    }

    fn replace(&self, left: impl FnOnce(&Files) -> Files) -> SimDisk {
        let mut state = self.state();
        state.faults.crashed = true;
        SimDisk::with(left(&state.files), state.random.clone(), state.settings)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Begins a call: fails it, or gives the fault that it must act out itself.
    fn begin(&mut self, op: Op, path: &Path) -> io::Result<Option<Fault>> {
        if !op.is_read()
            && let Some(moments) = &mut self.moments
        {
            moments.push(Moment::new(self.files.clone(), self.random.clone()));
        }
        self.faults.begin(op, path)
    }

    /// Begins a call that changes the disk.
    fn begin_change(&mut self, op: Op, path: &Path) -> io::Result<Option<Fault>> {
        let fault = self.begin(op, path)?;
        self.check_writable()?;
        Ok(fault)
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.settings.read_only {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        Ok(())
    }

    /// Says how many bytes there is room for.
    fn free_bytes(&self) -> u64 {
        let capacity = self.settings.capacity_bytes;
        capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.files.bytes()))
    }

    fn begin_file(&mut self, op: Op, node: NodeId) -> io::Result<Option<Fault>> {
        let path = self.files.file(node).path.clone();
        match op {
            Op::Write | Op::SetLen => self.begin_change(op, &path),
            _ => self.begin(op, &path),
        }
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let op = match mode {
            OpenMode::Read | OpenMode::Write => Op::Open,
            OpenMode::CreateNew | OpenMode::OpenOrCreate => Op::Create,
        };
        state.begin(op, path)?;
        if mode != OpenMode::Read {
            state.check_writable()?;
        }
        let node = match state.files.find_file(path) {
            Ok(_) if mode == OpenMode::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound && op == Op::Create => {
                state.files.create(path)?
            }
            found => found?,
        };
        state.handle_next += 1;
        let is_writable = mode != OpenMode::Read;
        let sync_failures = state.files.file(node).sync_failures;
        let handle = state.handle_next;
        Ok(Box::new(SimFile::new(self, node, handle, is_writable, sync_failures)))
    }

    fn map(&self, path: &Path) -> io::Result<Mapping> {
        let mut state = self.state();
        state.begin(Op::Read, path)?;
        let node = state.files.find_file(path)?;
        Ok(Mapping::new(state.files.file(node).content.to_vec()))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let mut state = self.state();
        state.begin(Op::Read, path)?;
        let node = state.files.find(path)?;
        Ok(state.files.files.get(&node).map_or(0, |file| file.content.len() as u64))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut state = self.state();
        state.begin(Op::Read, dir)?;
        let node = state.files.find_dir(dir)?;
        let entries = state.files.dirs[&node].entries.iter();
        Ok(entries
            .map(|(name, node)| {
                let file = state.files.files.get(node);
                DirEntry {
                    name: name.clone(),
                    is_dir: file.is_none(),
                    bytes: file.map_or(0, |file| file.content.len() as u64),
                }
            })
            .collect())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.begin(Op::CreateDir, dir)?;
        if state.files.find_dir(dir).is_ok() {
            return Ok(());
        }
        state.check_writable()?;
        state.files.create_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.begin_change(Op::Rename, to)?;
        state.files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.begin_change(Op::Remove, path)?;
        state.files.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.begin(Op::SyncDir, dir)?;
        state.files.sync_dir(dir)
    }

    fn network_filesystem(&self, _path: &Path) -> Option<String> {
        None
    }

    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        state.faults.check()?;
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&state.random.next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
