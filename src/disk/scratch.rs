//! A directory for work that is thrown away.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Disk, OsDisk};

/// How the names of scratch directories begin.
const PREFIX: &str = "sapwood-scratch-";
/// The file in one that its process locks.
const LOCK: &str = "lock";

/// A directory that is removed, with all that is in it, when this is dropped.
///
/// A process that is killed leaves it; the next one that needs a scratch directory at the same
/// place removes those that nobody holds any more.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held as long as the directory is used.
    _lock: File,
}

impl Scratch {
    /// Makes a directory below `parent`.
    pub fn below(parent: &Path) -> io::Result<Scratch> {
        clear(parent);
        let mut random = [0u8; 8];
        OsDisk.random(&mut random)?;
        let path = parent.join(format!("{PREFIX}{:016x}", u64::from_le_bytes(random)));
        fs::create_dir(&path)?;
        let lock = File::create_new(path.join(LOCK)).and_then(|lock| {
            fs2::FileExt::lock_exclusive(&lock)?;
            Ok(lock)
        });
        match lock {
            Ok(lock) => Ok(Scratch { path, _lock: lock }),
            Err(error) => {
                // Best effort: the error that counts is the one above.
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// Gives its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what stays is removed by the next one.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of processes that are gone. One that has no lock yet is being made.
fn clear(parent: &Path) {
    for found in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = found.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let lock = is_ours.then(|| File::open(found.path().join(LOCK)));
        if let Some(Ok(lock)) = lock
            && fs2::FileExt::try_lock_exclusive(&lock).is_ok()
        {
            let _ = fs::remove_dir_all(found.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_all_that_is_in_it_and_takes_along_what_the_dead_left() {
        let parent = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(parent.path()).unwrap().count();
        let dead = parent.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(parent.path().join("of somebody else"), "").unwrap();
        let one = Scratch::below(parent.path()).unwrap();
        assert!(!dead.exists());
        let two = Scratch::below(parent.path()).unwrap();
        assert_eq!(names(), 3);
        fs::create_dir_all(one.path().join("a/b")).unwrap();
        drop(one);
        assert_eq!(names(), 2);
        drop(two);
        assert_eq!(names(), 1);
    }
}
