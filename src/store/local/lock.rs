//! The writer lock: a file that is locked, never unlinked.
//!
//! The file carries the holder's process id while it works, and zero after it gave the lock back in
//! good order. Who takes the lock and finds an id there knows that the holder died in the middle,
//! and mends what a dead holder can leave: stale mirror files. It also carries the manifest's
//! generation, so that a writer learns of a new manifest without opening it. Who keeps the lock
//! between its commits (in `lease`) is its holder all the while.
//!
//! The kernel drops the lock of a dead process, so no lock is ever stale. Nothing here is synced:
//! after a power cut the content may be anything, which costs a reload, and may leave mirror files
//! stale until all of them are written again (`pack-refs`); it never costs correctness.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk::{Bell, Disk, DiskFile, OpenMode, SharedBytes};
use crate::error::{Error, Result};

/// Process id, generation, newline: fixed width, so that it is rewritten in place.
const RECORD_BYTES: usize = 32;
const PROCESS_BYTES: usize = 10;

/// How long the lock is tried again at once where no bell rings: a holder is done within
/// microseconds, and a sleep costs a multiple of that.
const EAGER: Duration = Duration::from_micros(200);
/// How soon it is tried again after that, and how soon where the holder rotates or was stopped.
const SHORT_PAUSE: Duration = Duration::from_micros(50);
const LONG_PAUSE: Duration = Duration::from_millis(1);

/// A lock file.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// The id of this process.
    process: u32,
    /// Rung when the lock is given back.
    bell: Bell,
    /// The record, where it is mapped.
    shared: Option<SharedBytes>,
}

/// The lock, held. Dropping it gives it back; without [`release`](Guard::release), as if its holder
/// had died.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    lock: &'a LockFile,
    held: bool,
    /// Whether the holder before died while it held the lock.
    pub(crate) holder_died: bool,
    /// The manifest's generation when the lock was last given back.
    pub(crate) generation: u64,
}

impl LockFile {
    /// Opens the lock file, and makes it where there is none.
    pub(crate) fn open(disk: &dyn Disk, path: PathBuf) -> Result<LockFile> {
        let file =
            disk.open(&path, OpenMode::OpenOrCreate).map_err(Error::io("open the lock", &path))?;
        Ok(LockFile::of(path, file))
    }

    fn of(path: PathBuf, file: Box<dyn DiskFile>) -> LockFile {
        let process = std::process::id();
        LockFile { path, file, process, bell: Bell::default(), shared: None }
    }

    /// Lets those who wait for the lock be woken with a bell.
    pub(crate) fn with_bell(self, bell: Bell) -> LockFile {
        LockFile { bell, ..self }
    }

    /// Reads and writes the record without system calls, where that is possible.
    pub(crate) fn with_shared_record(self) -> LockFile {
        LockFile { shared: self.file.shared(RECORD_BYTES), ..self }
    }

    /// Takes the lock, waiting for others at most `timeout`.
    pub(crate) fn acquire(&self, timeout: Duration) -> Result<Guard<'_>> {
        self.acquire_and_meanwhile(timeout, &mut || {})
    }

    /// Takes the lock. Where another process has it, something useful is done before sleeping.
    pub(crate) fn acquire_and_meanwhile(
        &self,
        timeout: Duration,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Guard<'_>> {
        if self.seems_free()
            && let Some(guard) = self.try_acquire()?
        {
            return Ok(guard);
        }
        let begun = Instant::now();
        let mut patient = !timeout.is_zero() && !self.bell.is_silent();
        loop {
            // Also for those who were not woken: whoever was is to wake the next.
            let heard = self.bell.listen();
            // Who died left a record that looks held: after a pause the lock is tried all the same.
            let skips = std::mem::take(&mut patient) && !self.seems_free();
            if !skips && let Some(guard) = self.try_acquire()? {
                return Ok(guard);
            }
            if skips {
                meanwhile();
            }
            let waited = begun.elapsed();
            if waited >= timeout && !skips {
                let holder = self.holder();
                return Err(Error::LockTimeout { path: self.path.clone(), holder, waited });
            }
            if self.bell.is_silent() && waited < EAGER {
                std::thread::yield_now();
            } else if waited < 50 * EAGER {
                self.bell.wait(heard, SHORT_PAUSE);
            } else {
                self.bell.wait(heard, LONG_PAUSE);
            }
        }
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_acquire(&self) -> Result<Option<Guard<'_>>> {
        if !self.file.try_lock().map_err(Error::io("lock", &self.path))? {
            return Ok(None);
        }
        let (process, generation) = self.read();
        let guard = Guard { lock: self, held: true, holder_died: process != 0, generation };
        self.write(self.process, generation)?;
        Ok(Some(guard))
    }

    /// Goes on with a lock that was [kept](Guard::keep).
    pub(crate) fn resume(&self) -> Guard<'_> {
        Guard { lock: self, held: true, holder_died: false, generation: 0 }
    }

    /// Says whether somebody waits for the lock, as far as the bell knows.
    pub(crate) fn is_awaited(&self) -> bool {
        self.bell.is_awaited()
    }

    /// Says whether nobody holds the lock, as far as the record can be seen at no cost.
    fn seems_free(&self) -> bool {
        self.shared.is_none() || self.read().0 == 0
    }

    fn holder(&self) -> String {
        match self.read() {
            (0, _) => "another process".to_owned(),
            (process, _) => format!("process {process}"),
        }
    }

    /// Reads the record; anything else counts as a holder that died.
    fn read(&self) -> (u32, u64) {
        let mut record = [0u8; RECORD_BYTES];
        let read = match &self.shared {
            Some(shared) => {
                shared.read(&mut record);
                Ok(RECORD_BYTES)
            }
            None => self.file.read_full_at(&mut record, 0),
        };
        let parsed = read.ok().and_then(|bytes| {
            let (process, generation) =
                record[..bytes].strip_suffix(b"\n")?.split_at_checked(PROCESS_BYTES)?;
            Some((u32::try_from(digits(process)?).ok()?, digits(generation)?))
        });
        parsed.unwrap_or((u32::MAX, 0))
    }

    fn write(&self, process: u32, generation: u64) -> Result<()> {
        let mut record = [b' '; RECORD_BYTES];
        put_digits(u64::from(process), &mut record[..PROCESS_BYTES]);
        put_digits(generation, &mut record[PROCESS_BYTES..RECORD_BYTES - 1]);
        record[RECORD_BYTES - 1] = b'\n';
        match &self.shared {
            // Who dies between two words leaves a process id or no record at all.
            Some(shared) => shared.write(&record),
            None => self
                .file
                .write_all_at(&record, 0)
                .map_err(Error::io("write the lock", &self.path))?,
        }
        Ok(())
    }
}

/// Says whether somebody has the lock; a holder that died has not. For who does not want it.
pub(crate) fn is_held(disk: &dyn Disk, path: &Path) -> bool {
    let Ok(file) = disk.open(path, OpenMode::Read) else {
        return false;
    };
    let lock = LockFile::of(path.to_owned(), file);
    // Who gave it back said so. Else it is tried, for a moment: who died said nothing.
    lock.read().0 != 0 && !lock.file.try_lock().is_ok_and(|taken| taken)
}

/// Reads the number at the end of a field.
fn digits(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let number = digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    });
    number.filter(|_| !digits.is_empty())
}

/// Writes a number at the end of its field, which is long enough.
fn put_digits(mut number: u64, field: &mut [u8]) {
    for digit in field.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return;
        }
    }
}

impl Guard<'_> {
    /// Gives the lock back in good order, under a manifest of this generation.
    pub(crate) fn release(mut self, generation: u64) -> Result<()> {
        self.lock.write(0, generation)?;
        self.unlock();
        Ok(())
    }

    /// Holds the lock on, until it is [resumed](LockFile::resume).
    pub(crate) fn keep(mut self) {
        self.held = false;
    }

    /// Says whether who waits for the lock can be seen, so that it may be kept.
    pub(crate) fn can_be_kept(&self) -> bool {
        self.lock.shared.is_some() && !self.lock.bell.is_silent()
    }

    /// Says whether somebody waits for the lock, as far as the bell knows.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lock.is_awaited()
    }

    fn unlock(&mut self) {
        self.held = false;
        // A lock that cannot be given back is given back when the file is closed.
        let _ = self.lock.file.unlock();
        self.lock.bell.ring_for_one();
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.held {
            self.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn a_held_lock_names_its_holder_when_the_wait_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let open = || LockFile::open(&OsDisk, dir.path().join("lock")).unwrap();
        let (one, two) = (open(), open());
        let guard = one.acquire(Duration::ZERO).unwrap();
        let error = two.acquire(Duration::from_millis(5)).unwrap_err();
        let holder = format!("process {}", std::process::id());
        assert!(matches!(&error, Error::LockTimeout { holder: found, .. } if *found == holder));
        guard.release(3).unwrap();
        let guard = two.acquire(Duration::ZERO).unwrap();
        assert!(!guard.holder_died);
        assert_eq!(guard.generation, 3);
    }

    #[test]
    fn a_holder_that_died_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let open = || LockFile::open(&OsDisk, dir.path().join("lock")).unwrap();
        let lock = open();
        drop(lock.acquire(Duration::ZERO).unwrap());
        let mapped = open().with_shared_record();
        assert!(mapped.acquire(Duration::ZERO).unwrap().holder_died);
        let guard = lock.acquire(Duration::ZERO).unwrap();
        assert!(guard.holder_died);
        guard.release(7).unwrap();
        let guard = mapped.acquire(Duration::ZERO).unwrap();
        assert_eq!((guard.holder_died, guard.generation), (false, 7));
    }

    #[test]
    fn who_only_asks_is_told_of_a_holder_that_lives() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!is_held(&OsDisk, &path));
        let lock = LockFile::open(&OsDisk, path.clone()).unwrap();
        assert!(!is_held(&OsDisk, &path));
        let guard = lock.acquire(Duration::ZERO).unwrap();
        assert!(is_held(&OsDisk, &path));
        guard.release(1).unwrap();
        assert!(!is_held(&OsDisk, &path));
        drop(lock.acquire(Duration::ZERO).unwrap());
        assert!(!is_held(&OsDisk, &path));
        let guard = lock.acquire(Duration::ZERO).unwrap();
        assert!(guard.holder_died, "to ask left no trace");
    }

    #[test]
    fn a_record_between_two_words_is_of_a_holder_that_died() {
        let dir = tempfile::tempdir().unwrap();
        let lock = LockFile::open(&OsDisk, dir.path().join("lock")).unwrap();
        let record = |process, generation| {
            lock.write(process, generation).unwrap();
            let mut record = [0; RECORD_BYTES];
            lock.file.read_full_at(&mut record, 0).unwrap();
            record
        };
        for process in [7, 120_000, 4_194_304, u32::MAX] {
            let (held, free) = (record(process, 99_999_999), record(0, 100_000_000));
            for word in 1..RECORD_BYTES / 8 {
                let (old, new) = (&held[..8 * word], &free[8 * word..]);
                if [old, new].concat() == free {
                    continue;
                }
                lock.file.write_all_at(&[old, new].concat(), 0).unwrap();
                assert_ne!(lock.read().0, 0, "{process} {word}");
            }
        }
    }
}
