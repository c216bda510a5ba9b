//! The real file system.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Bell, Call, DirEntry, Disk, DiskFile, Mapping, OpenMode, SharedBytes, network};

/// A thread is begun for each so many calls: it costs about as much as the disk takes for one, and
/// must find a processor.
const CALLS_EACH: usize = 3;
/// More threads than this share what they wait for, and gain nothing.
const THREADS_MAX: usize = 3;

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

#[derive(Debug)]
struct OsFile(File);

impl Disk for OsDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => &mut options,
            OpenMode::Write => options.write(true),
            OpenMode::CreateNew => options.write(true).create_new(true),
            OpenMode::OpenOrCreate => options.write(true).create(true).truncate(false),
        };
        Ok(Box::new(OsFile(options.open(path)?)))
    }

    fn map(&self, path: &Path) -> io::Result<Mapping> {
        Mapping::of_file(&File::open(path)?)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        list(dir, true)
    }

    fn list_names(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        list(dir, false)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn at_once(&self, count: usize, call: &Call<'_>) -> Result<(), (usize, io::Error)> {
        at_once(count, call)
    }

    fn modified(&self, path: &Path) -> io::Result<Option<i64>> {
        let since = fs::metadata(path)?.modified()?.duration_since(std::time::UNIX_EPOCH);
        Ok(Some(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))))
    }

    fn network_filesystem(&self, path: &Path) -> Option<String> {
        let path = (!network::is_surely_local(path)).then(|| fs::canonicalize(path).ok())??;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        network::network_mount(&mounts, &path)
    }

    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        getrandom::fill(buffer).map_err(io::Error::other)
    }

    fn bells(&self, path: &Path) -> (Bell, Bell) {
        // Where it can't be mapped, those who wait look again by themselves.
        map_bells(path).unwrap_or_default()
    }
}

impl DiskFile for OsFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Linux begins to write what it is told will not be needed; until then it stays in memory.
    #[cfg(target_os = "linux")]
    fn begin_sync(&self, offset: u64, bytes: u64) {
        if let Some(bytes) = std::num::NonZeroU64::new(bytes) {
            let advice = rustix::fs::Advice::DontNeed;
            let _ = rustix::fs::fadvise(&self.0, offset, Some(bytes), advice);
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        let contended = fs2::lock_contended_error().raw_os_error();
        match fs2::FileExt::try_lock_exclusive(&self.0) {
            Err(error) if error.raw_os_error() == contended => Ok(false),
            locked => locked.map(|()| true),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        fs2::FileExt::unlock(&self.0)
    }

    #[cfg(target_os = "linux")]
    fn shared(&self, bytes: usize) -> Option<SharedBytes> {
        let long_enough = self.len().is_ok_and(|found| found >= bytes as u64);
        let map = || memmap2::MmapOptions::new().len(bytes).map_raw(&self.0);
        long_enough.then(|| map().ok())?.map(SharedBytes::new)
    }
}

/// Maps the file of two bells, and makes it where there is none.
#[cfg(target_os = "linux")]
fn map_bells(path: &Path) -> io::Result<(Bell, Bell)> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
    let found = file.metadata()?.len();
    if let Some(missing) = (Bell::PAIR_BYTES as u64).checked_sub(found) {
        // Written, not only made long: touching a hole of a full disk kills the process.
        file.write_all_at(&[0; Bell::PAIR_BYTES][..missing as usize], found)?;
    }
    let map = memmap2::MmapOptions::new().len(Bell::PAIR_BYTES).map_raw(&file)?;
    Ok(Bell::pair(map))
}

#[cfg(not(target_os = "linux"))]
fn map_bells(_: &Path) -> io::Result<(Bell, Bell)> {
    Ok(Default::default())
}

/// Lists a directory, sorted by name; a length costs a call each. What stands in the directories
/// in it is not read.
fn list(dir: &Path, with_lengths: bool) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for found in fs::read_dir(dir)? {
        let found = found?;
        let Ok(name) = found.file_name().into_string() else {
            continue;
        };
        let looked = found.file_type().and_then(|kind| match !kind.is_dir() && with_lengths {
            false => Ok((kind.is_dir(), 0)),
            true => found.metadata().map(|metadata| (false, metadata.len())),
        });
        match looked {
            Ok((is_dir, bytes)) => entries.push(DirEntry { name, is_dir, bytes }),
            // Removed or renamed since its name was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    entries.sort_unstable();
    Ok(entries)
}

/// Makes calls that wait for the disk, some of them in threads: who makes one after the other waits
/// each time, and those that come together share what they wait for.
fn at_once(count: usize, call: &Call<'_>) -> Result<(), (usize, io::Error)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failed = None;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return failed;
            }
            if let Err(error) = call(number) {
                failed.get_or_insert((number, error));
            }
        }
    };
    thread::scope(|scope| {
        // Where no thread can be had, this one makes all calls.
        let begin = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let threads = count.saturating_sub(1).div_ceil(CALLS_EACH).min(THREADS_MAX);
        let beside: Vec<_> = (0..threads).filter_map(begin).collect();
        let mut failed = vec![work()];
        for thread in beside {
            failed.push(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        failed.into_iter().flatten().min_by_key(|(number, _)| *number).map_or(Ok(()), Err)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, DiskFile, OpenMode, OsDisk, remove_all, sync_all};

    #[test]
    fn each_call_is_made_once_and_the_first_that_fails_is_told() {
        for count in 0..12 {
            for first in 0..=count {
                let made: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let told = at_once(count, &|number| {
                    made[number].fetch_add(1, Ordering::Relaxed);
                    match number < first {
                        true => Ok(()),
                        false => Err(io::Error::other(number.to_string())),
                    }
                });
                let failed = told.err().map(|(number, error)| (number, error.to_string()));
                assert_eq!(failed, (first < count).then(|| (first, first.to_string())));
                assert!(made.iter().all(|made| made.load(Ordering::Relaxed) == 1), "{made:?}");
            }
        }
    }

    #[test]
    fn all_files_are_removed_but_those_that_can_not_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = |number: usize| dir.path().join(number.to_string());
        let paths: Vec<_> = (0..9).map(path).collect();
        for (number, path) in paths.iter().enumerate() {
            match number {
                // Gone already.
                2 => {}
                // Not a file.
                3 | 6 => fs::create_dir(path).unwrap(),
                _ => fs::write(path, "x").unwrap(),
            }
        }
        assert_eq!(remove_all(&OsDisk, &paths).unwrap_err().0, 3);
        let left = OsDisk.list(dir.path()).unwrap().into_iter().map(|entry| entry.name);
        assert_eq!(left.collect::<Vec<_>>(), ["3", "6"]);
    }

    #[test]
    fn each_is_synced_and_whichever_fails_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str| OsDisk.open(&dir.path().join(name), OpenMode::CreateNew).unwrap();
        let opened = ["a", "b", "c"].map(open);
        let files: Vec<&dyn DiskFile> = opened.iter().map(|file| &**file).collect();
        let missing = dir.path().join("missing");
        for count in 0..=files.len() {
            sync_all(&OsDisk, &files[..count], &[]).unwrap();
            sync_all(&OsDisk, &files[..count], &[dir.path()]).unwrap();
            for (place, dirs) in [[&missing, dir.path()], [dir.path(), &missing]].iter().enumerate()
            {
                let (number, error) = sync_all(&OsDisk, &files[..count], dirs).unwrap_err();
                assert_eq!((number, error.kind()), (count + place, io::ErrorKind::NotFound));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_can_not_be_synced_is_told_wherever_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str| OsDisk.open(&dir.path().join(name), OpenMode::CreateNew).unwrap();
        let opened = ["a", "b"].map(open);
        let odd = OsDisk.open(Path::new("/dev/null"), OpenMode::Write).unwrap();
        for place in 0..=opened.len() {
            let mut files: Vec<&dyn DiskFile> = opened.iter().map(|file| &**file).collect();
            files.insert(place, &*odd);
            let (number, error) = sync_all(&OsDisk, &files, &[dir.path()]).unwrap_err();
            assert_eq!((number, error.kind()), (place, io::ErrorKind::InvalidInput));
        }
    }
}
