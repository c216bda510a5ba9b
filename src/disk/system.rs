//! What the real file system is asked for that takes more than one call.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Call, DirEntry};

/// A thread is begun for each so many calls: it costs about as much as the disk takes for one, and
/// must find a processor.
const CALLS_EACH: usize = 3;
/// More threads than this share what they wait for, and gain nothing.
const THREADS_MAX: usize = 3;

/// Lists a directory, sorted by name; a length costs a call each. What stands in the directories
/// in it is not read.
pub(super) fn list(dir: &Path, with_lengths: bool) -> io::Result<Vec<DirEntry>> {
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
pub(super) fn at_once(count: usize, call: &Call<'_>) -> Result<(), (usize, io::Error)> {
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
