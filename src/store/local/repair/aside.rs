//! Where damaged files go: `damaged/<time>/`, under the names they had. Nothing is ever removed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{self, Disk, OpenMode};
use crate::error::{Error, Result};
use crate::store::local::layout::Layout;
use crate::time;

/// How much is copied at once.
const COPY_BYTES: usize = 1 << 18;
/// How many files of one name can be put aside.
const NAMES_MAX: u32 = 1000;
/// The longest list of files to be put aside.
const PENDING_BYTES_MAX: u64 = 64 << 20;

/// The directory of one repair.
#[derive(Debug)]
pub(super) struct Aside {
    disk: Arc<dyn Disk>,
    layout: Layout,
    pub(super) name: String,
    pub(super) dir: PathBuf,
    /// How many files are there.
    pub(super) files: u64,
}

impl Aside {
    pub(super) fn new(disk: Arc<dyn Disk>, layout: Layout, time_ms: i64) -> Aside {
        let name = time::format(time_ms).replace(':', "-");
        let dir = layout.damaged_dir().join(&name);
        Aside { disk, layout, name, dir, files: 0 }
    }

    /// Moves a file there, durably. One that is not there is none to move.
    pub(super) fn take(&mut self, path: &Path) -> Result<()> {
        if self.disk.len(path).is_err() {
            return Ok(());
        }
        let target = self.target(path)?;
        self.disk.rename(path, &target).map_err(Error::io("move", path))?;
        self.sync_names(path, &target)
    }

    /// Copies a file there, durably, which is about to be replaced.
    pub(super) fn copy(&mut self, path: &Path) -> Result<()> {
        if self.disk.len(path).is_err() {
            return Ok(());
        }
        let target = self.target(path)?;
        copy(&*self.disk, path, &target)?;
        self.sync_names(path, &target)
    }

    fn target(&mut self, path: &Path) -> Result<PathBuf> {
        let below = path.strip_prefix(self.layout.root()).unwrap_or(path);
        let target = self.dir.join(below);
        let parent = target.parent().expect("a file stands in a directory");
        disk::create_dir_durably(&*self.disk, parent).map_err(Error::io("create", parent))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let others = (2..NAMES_MAX).map(|number| target.with_file_name(format!("{name}~{number}")));
        let mut names = std::iter::once(target.clone()).chain(others);
        self.files += 1;
        Ok(names.find(|name| self.disk.len(name).is_err()).unwrap_or(target))
    }

    fn sync_names(&self, from: &Path, to: &Path) -> Result<()> {
        for dir in [to.parent(), from.parent()].into_iter().flatten() {
            self.disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        }
        Ok(())
    }

    /// Notes which files are about to be put aside: until it is done, nothing is swept.
    pub(super) fn announce(&self, paths: &[PathBuf]) -> Result<()> {
        let dir = self.layout.damaged_dir();
        disk::create_dir_durably(&*self.disk, &dir).map_err(Error::io("create", &dir))?;
        let root = self.layout.root();
        let names = paths.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str());
        let text: String = names.flat_map(|name| [name, "\n"]).collect();
        let path = self.layout.pending();
        disk::replace_file(&*self.disk, &path, text.as_bytes()).map_err(Error::io("write", path))
    }

    /// Takes the note away: all is done.
    pub(super) fn finish(&self) -> Result<()> {
        let (path, dir) = (self.layout.pending(), self.layout.damaged_dir());
        match self.disk.remove(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => {
                removed.and_then(|()| self.disk.sync_dir(&dir)).map_err(Error::io("remove", path))
            }
        }
    }
}

/// Lists the files that a repair was about to put aside when it was cut off.
pub(super) fn announced(disk: &dyn Disk, layout: &Layout) -> Vec<PathBuf> {
    let bytes = disk::read_file(disk, &layout.pending(), PENDING_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let names = text.lines().filter(|name| !name.is_empty() && !name.contains(".."));
    names
        .map(|name| layout.root().join(name))
        .filter(|path| path.starts_with(layout.root()))
        .collect()
}

/// Copies a file, whole and durable before it has its name. Its directory is not synced.
pub(super) fn copy(disk: &dyn Disk, from: &Path, to: &Path) -> Result<()> {
    let aside = disk::aside(disk, to).map_err(Error::io("name", to))?;
    let copied = (|| {
        let source = disk.open(from, OpenMode::Read).map_err(Error::io("open", from))?;
        let target = disk.open(&aside, OpenMode::CreateNew).map_err(Error::io("create", &aside))?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut at = 0;
        loop {
            let count = source.read_full_at(&mut buffer, at).map_err(Error::io("read", from))?;
            target.write_all_at(&buffer[..count], at).map_err(Error::io("write", &aside))?;
            at += count as u64;
            if count < buffer.len() {
                break;
            }
        }
        target.sync_data().map_err(Error::io("sync", &aside))?;
        disk.rename(&aside, to).map_err(Error::io("rename", to))
    })();
    if copied.is_err() {
        // Best effort: the error that counts is the one above.
        let _ = disk.remove(&aside);
    }
    copied
}
