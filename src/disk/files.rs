//! What is made of the calls of a disk: whole files, names beside others, trees.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, OpenMode};

/// Reads a whole file of at most `bytes_max`.
pub fn read_file(disk: &dyn Disk, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read)?;
    let bytes = file.len()?;
    if bytes > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{bytes} bytes long, expected at most {bytes_max}"),
        ));
    }
    let mut content = vec![0; bytes as usize];
    let filled = file.read_full_at(&mut content, 0)?;
    content.truncate(filled);
    Ok(content)
}

/// Makes a file durable, and what else has to be.
pub type SyncWith<'a> = dyn FnMut(&dyn DiskFile) -> io::Result<()> + 'a;

/// Puts a file under its final name, whole and durable, or not at all.
///
/// The bytes go to a name beside it first. A crash leaves the old file or the new one, and perhaps
/// the one beside it.
pub fn replace_file(disk: &dyn Disk, path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file_after(disk, path, content, &mut |file| file.sync_data())
}

/// Does as [`replace_file`], where the caller makes the new file durable, together with what else
/// has to be before it gets its name.
pub fn replace_file_after(
    disk: &dyn Disk,
    path: &Path,
    content: &[u8],
    sync: &mut SyncWith<'_>,
) -> io::Result<()> {
    let aside = aside(disk, path)?;
    let written = (|| {
        let file = disk.open(&aside, OpenMode::CreateNew)?;
        file.write_all_at(content, 0)?;
        sync(&*file)?;
        disk.rename(&aside, path)
    })();
    if written.is_err() {
        // Best effort: the error that counts is the one above.
        let _ = disk.remove(&aside);
    }
    written?;
    disk.sync_dir(path.parent().expect("a file stands in a directory"))
}

/// Makes contents of files and names in directories durable, in any order or at once, and tells
/// the first that can't be, of the files first.
pub fn sync_all(
    disk: &dyn Disk,
    files: &[&dyn DiskFile],
    dirs: &[&Path],
) -> Result<(), (usize, io::Error)> {
    let sync = |number: usize| match files.get(number) {
        Some(file) => file.sync_data(),
        None => disk.sync_dir(dirs[number - files.len()]),
    };
    disk.at_once(files.len() + dirs.len(), &sync)
}

/// Removes files, in any order or at once, and tells the first that can't be. One that is gone is
/// fine. A crash leaves some of them.
pub fn remove_all(disk: &dyn Disk, paths: &[PathBuf]) -> Result<(), (usize, io::Error)> {
    disk.at_once(paths.len(), &|number| remove_if_there(disk, &paths[number]))
}

/// So many files are held open at the most while they lose their names.
const HELD_MAX: usize = 64;

/// Removes files in turn, as [`remove_all`] does, and gives some that could be opened before: their
/// names are gone, and their room is free when they are dropped. To tell the disk what is free may
/// take far longer than to remove a name.
pub fn remove_held(
    disk: &dyn Disk,
    paths: &[PathBuf],
) -> Result<Vec<Box<dyn DiskFile>>, (usize, io::Error)> {
    let mut held = Vec::with_capacity(paths.len().min(HELD_MAX));
    for (number, path) in paths.iter().enumerate() {
        if held.len() < HELD_MAX {
            held.extend(disk.open(path, OpenMode::Read));
        }
        remove_if_there(disk, path).map_err(|error| (number, error))?;
    }
    Ok(held)
}

/// Removes a file; one that is gone is fine.
pub fn remove_if_there(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes a directory, and those above it, durably.
pub fn create_dir_durably(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let parent = match dir.parent() {
        None => return disk.create_dir(dir),
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
    };
    if disk.len(parent).is_err() {
        create_dir_durably(disk, parent)?;
    }
    disk.create_dir(dir)?;
    disk.sync_dir(parent)
}

/// The ending of names that are not final yet.
pub const ASIDE_SUFFIX: &str = ".tmp";

/// Finds a name beside a path that nobody else uses.
pub fn aside(disk: &dyn Disk, path: &Path) -> io::Result<PathBuf> {
    let mut random = [0u8; 8];
    disk.random(&mut random)?;
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    Ok(path.with_file_name(format!("{name}.{:016x}{ASIDE_SUFFIX}", u64::from_le_bytes(random))))
}

/// Lists all files and all directories below a directory, each before what is in it.
pub fn files_below(disk: &dyn Disk, dir: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut dirs, mut open) = (Vec::new(), Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        let listed = match disk.list_names(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed?,
        };
        for entry in listed {
            let path = dir.join(&entry.name);
            match entry.is_dir {
                true => {
                    open.push(path.clone());
                    dirs.push(path);
                }
                false => files.push(path),
            }
        }
    }
    Ok((files, dirs))
}

/// Removes a directory if it is empty, and says whether it was.
pub fn remove_if_empty(disk: &dyn Disk, dir: &Path) -> io::Result<bool> {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound, Unsupported};
    match disk.remove_dir(dir) {
        Err(error) if matches!(error.kind(), DirectoryNotEmpty | NotFound | Unsupported) => {
            Ok(false)
        }
        removed => removed.map(|()| true),
    }
}

/// Removes a directory with all that is in it. A crash leaves some of it.
pub fn remove_tree(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let (files, dirs) = files_below(disk, dir)?;
    remove_all(disk, &files).map_err(|(_, error)| error)?;
    for dir in dirs.iter().rev() {
        remove_if_empty(disk, dir)?;
    }
    remove_if_empty(disk, dir).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn files_that_are_held_have_lost_their_names_only() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| dir.path().join(name));
        for path in [&paths[0], &paths[2]] {
            replace_file(&OsDisk, path, b"what it holds").unwrap();
        }
        let held = remove_held(&OsDisk, &paths).unwrap();
        assert_eq!(OsDisk.list(dir.path()).unwrap(), []);
        assert_eq!(held.iter().map(|file| file.len().unwrap()).collect::<Vec<_>>(), [13, 13]);
        // Not a file.
        OsDisk.create_dir(&paths[1]).unwrap();
        assert_eq!(remove_held(&OsDisk, &paths).unwrap_err().0, 1);
    }

    #[test]
    fn replacing_a_file_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        replace_file(&OsDisk, &path, b"one").unwrap();
        replace_file(&OsDisk, &path, b"three").unwrap();
        assert_eq!(read_file(&OsDisk, &path, 10).unwrap(), b"three");
        assert_eq!(OsDisk.list(dir.path()).unwrap().len(), 1);
        assert!(read_file(&OsDisk, &path, 4).is_err());
    }
}
