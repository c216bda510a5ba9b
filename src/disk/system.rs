//! What the real file system is asked for that takes more than one call.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use super::{DirEntry, Disk, DiskFile};

/// Lists a directory, sorted by name. What stands in the directories in it is not read.
pub(super) fn list(dir: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for found in fs::read_dir(dir)? {
        let found = found?;
        let Ok(name) = found.file_name().into_string() else {
            continue;
        };
        let looked = found.file_type().and_then(|kind| match kind.is_dir() {
            true => Ok((true, 0)),
            false => found.metadata().map(|metadata| (false, metadata.len())),
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

/// Syncs files and directories, each but one in a thread of its own: who waits for one sync after
/// the other waits for the disk each time, and syncs that come together share what they wait for.
pub(super) fn sync_all(disk: &dyn Disk, files: &[&dyn DiskFile], dirs: &[&Path]) -> io::Result<()> {
    let count = files.len() + dirs.len();
    let sync = |number: usize| match files.get(number) {
        Some(file) => file.sync_data(),
        None => disk.sync_dir(dirs[number - files.len()]),
    };
    thread::scope(|scope| {
        let begin = |number: usize| {
            let thread = thread::Builder::new().spawn_scoped(scope, move || sync(number));
            thread.map_err(|_| number)
        };
        let beside: Vec<_> = (1..count).map(begin).collect();
        let mut synced = if count > 0 { sync(0) } else { Ok(()) };
        for begun in beside {
            let beside = match begun {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // Where no thread can be had, this one does it.
                Err(number) => sync(number),
            };
            synced = synced.and(beside);
        }
        synced
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{OpenMode, OsDisk};

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
            for dirs in [[dir.path(), &missing], [&missing, dir.path()]] {
                let failed = sync_all(&OsDisk, &files[..count], &dirs).unwrap_err();
                assert_eq!(failed.kind(), io::ErrorKind::NotFound);
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
            let failed = sync_all(&OsDisk, &files, &[dir.path()]).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::InvalidInput, "{place}");
        }
    }
}
