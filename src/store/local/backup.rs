//! Copies of a store: a backup that grows with it, and back again.
//!
//! A backup is a store itself, to be read: what a manifest names, the loose files, the journal up
//! to where it ended when it was looked at. Writers go on meanwhile.
//!
//! Invariants:
//! - The manifest comes last, after all that it names is durable, and what only the one before
//!   named goes after that. So a backup that is cut off leaves the one before, or the new one.
//! - Files that never change and whose names tell their contents are copied once. The rest (the
//!   journal, the snapshot of refs, operations) is compared, and replaced as a whole.
//! - What is copied is checked against its checksums before, so that damage does not take the place
//!   of what was whole; and read again and compared before it gets its name.
//! - Nothing is written to a store that is no backup, or that somebody has written to: whoever
//!   writes makes the file `lock`, and a backup has none.
//!
//! Not here: mirror files. Nobody reads them for truth; a restored store gets them again.

mod check;
mod copy;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::disk::{self, Disk};
use crate::error::{Error, Result};
use crate::store::local::layout::{Layout, is_aside};
use crate::store::local::lock::LockFile;
use crate::store::local::mirror::Mirrors;
use crate::store::local::{FsckOptions, FsckReport, LocalStore, Options, Severity, init};
use copy::Copy;

/// How often a copy is begun again because the store's files changed under it, before maintenance
/// has to wait for it.
const TRIES_MAX: usize = 5;

/// The first line of the file that makes a directory a backup.
const TITLE: &str = "sapwood backup 1";
const INFO_BYTES_MAX: u64 = 64 << 10;

/// What a backup, or a restore, has copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// How many files the copy has.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many files were copied; the others were there.
    pub files_copied: u64,
    /// How many bytes were copied.
    pub bytes_copied: u64,
    /// How many files went, because the store has them no more.
    pub files_removed: u64,
}

/// Is told how many files and bytes were copied.
pub type CopyProgress<'a> = &'a mut dyn FnMut(u64, u64);

impl LocalStore {
    /// Brings a backup of this store up to date, or makes one; `of` says which store it is of.
    ///
    /// Refuses a directory that holds anything else. With `force` the backup of another store, or
    /// one that was written to, is written over; a store that is no backup never is.
    pub fn backup(
        &self,
        dir: &Path,
        of: &str,
        force: bool,
        tell: CopyProgress<'_>,
    ) -> Result<CopyReport> {
        let inner = &self.inner;
        let to = Layout::new(dir);
        refuse_strangers(&*inner.disk, &to, of, force)?;
        let mut copy = Copy::new(&*inner.disk, &inner.layout, &to, true, tell);
        let info = info(of);
        if copy.disk.len(&to.current()).is_err() {
            // First of all: what is cut off from here on is taken up, not taken for a stranger's.
            disk::create_dir_durably(copy.disk, dir).map_err(Error::io("create", dir))?;
            for above in dir.ancestors().skip(2) {
                // One that was cut off may have made this one, and not synced its name. A
                // directory that we may not sync was made by somebody else.
                let _ = copy.disk.sync_dir(above);
            }
            replace(copy.disk, &info_path(&to), info.as_bytes())?;
        }
        for _ in 0..TRIES_MAX {
            if copy.once(inner)? {
                return copy.finish(&info);
            }
        }
        // The files change faster than they can be copied: maintenance waits this time.
        let done = match inner.options.read_only {
            true => copy.once(inner)?,
            false => inner.alone_or_wait(|inner| copy.once(inner))?,
        };
        match done {
            true => copy.finish(&info),
            false => Err(Error::Refused {
                why: "the store changed too fast to be copied".to_owned(),
                hint: "try again when less is going on; what was copied is kept",
            }),
        }
    }
}

/// Checks a backup as `fsck` checks a store. Mirror files are not part of a backup.
pub fn verify_backup(
    disk: Arc<dyn Disk>,
    dir: &Path,
    options: &FsckOptions<'_>,
) -> Result<FsckReport> {
    if !is_backup(&*disk, &Layout::new(dir))? {
        return Err(Error::Refused {
            why: format!("{} is no backup", dir.display()),
            hint: "'sapwood backup DIR' makes one; 'sapwood fsck' checks a store",
        });
    }
    let mut report = super::fsck(disk, dir, options)?;
    let info = info_path(&Layout::new(dir));
    report.findings.retain(|finding| {
        !finding.what.starts_with("mirror-") && finding.file.as_ref() != Some(&info)
    });
    Ok(report)
}

/// Makes a store of a backup. The store appears when it is whole; one that is there is refused, or
/// moved aside, and then its new place is given.
///
/// A crash leaves a directory beside it whose name ends in `.tmp`, and nothing else; the next one
/// to the same place removes it, unless it is still being written.
pub fn restore(
    disk: &Arc<dyn Disk>,
    from: &Path,
    to: &Path,
    replace: bool,
    tell: CopyProgress<'_>,
) -> Result<(CopyReport, Option<PathBuf>)> {
    if !is_backup(&**disk, &Layout::new(from))? {
        return Err(Error::Refused {
            why: format!("{} is no backup", from.display()),
            hint: "'sapwood backup DIR' makes one",
        });
    }
    let taken = disk.len(to).is_ok();
    if taken && !replace {
        return Err(is_taken(to));
    }
    let options = Options { read_only: true, background: false, ..Options::default() };
    let source = LocalStore::open(Arc::clone(disk), from, options)?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        disk::create_dir_durably(&**disk, parent).map_err(Error::io("create", parent))?;
    }
    remove_abandoned(&**disk, to)?;
    let aside = disk::aside(&**disk, to).map_err(Error::io("name", to))?;
    let report = copy_checked(disk, &source, &aside, tell).inspect_err(|_| {
        // Best effort: the error that counts is the one above.
        let _ = disk::remove_tree(&**disk, &aside);
    })?;
    let mut moved = None;
    if taken {
        let place = free_beside(&**disk, to);
        disk.rename(to, &place).map_err(Error::io("rename", to))?;
        moved = Some(place);
    }
    if let Err(error) = disk.rename(&aside, to) {
        let _ = disk::remove_tree(&**disk, &aside);
        return Err(match disk.len(to) {
            // Somebody else was quicker.
            Ok(_) => is_taken(to),
            Err(_) => Error::io("rename", &aside)(error),
        });
    }
    let parent = parent.unwrap_or(Path::new("."));
    disk.sync_dir(parent).map_err(Error::io("sync", parent))?;
    Ok((report, moved))
}

fn is_taken(path: &Path) -> Error {
    Error::Refused {
        why: format!("there is a store at {} already", path.display()),
        hint: "name another place; --force moves it aside, and keeps it",
    }
}

/// Makes a store of a backup under a name that nobody looks for.
fn copy_checked(
    disk: &Arc<dyn Disk>,
    source: &LocalStore,
    to: &Path,
    tell: CopyProgress<'_>,
) -> Result<CopyReport> {
    let layout = Layout::new(to);
    // Held while it is written, so that nobody takes it for abandoned.
    disk::create_dir_durably(&**disk, to).map_err(Error::io("create", to))?;
    let lock = LockFile::open(&**disk, layout.maintenance_lock())?;
    let held = lock.acquire(Duration::ZERO)?;
    // What is restored is checked as a whole.
    let mut copy = Copy::new(&**disk, &source.inner.layout, &layout, false, tell);
    if !copy.once(&source.inner)? {
        return Err(Error::Refused {
            why: "the backup changed while it was read".to_owned(),
            hint: "try again when nobody backs up",
        });
    }
    let report = copy.report;
    init::write_format(&**disk, &layout)?;
    check_restored(disk, to, source.path())?;
    write_mirrors(disk, source, &layout)?;
    held.release(0)?;
    Ok(report)
}

/// Removes what restores to the same place have left that were killed.
fn remove_abandoned(disk: &dyn Disk, to: &Path) -> Result<()> {
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for entry in disk.list(parent).map_err(Error::io("list", parent))? {
        let is_ours = entry.is_dir
            && is_aside(&entry.name)
            && entry.name.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'));
        let path = parent.join(&entry.name);
        let lock = Layout::new(&path).maintenance_lock();
        if is_ours && disk.len(&lock).is_err() {
            // One that begins is empty; of this one, the removal was cut off.
            if disk.list(&path).is_ok_and(|listed| !listed.is_empty()) {
                disk::remove_tree(disk, &path).map_err(Error::io("remove", &path))?;
            }
        } else if is_ours {
            let file = LockFile::open(disk, lock)?;
            match file.acquire(Duration::ZERO) {
                Ok(_held) => {
                    disk::remove_tree(disk, &path).map_err(Error::io("remove", &path))?;
                }
                Err(Error::LockTimeout { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Follows every link of what was restored, before it gets its name.
fn check_restored(disk: &Arc<dyn Disk>, path: &Path, from: &Path) -> Result<()> {
    let options = FsckOptions { connectivity_only: true, ..FsckOptions::default() };
    let report = super::fsck(Arc::clone(disk), path, &options)?;
    match report.findings.iter().find(|finding| finding.severity == Severity::Error) {
        Some(finding) => {
            let file = finding.file.as_ref().and_then(|file| file.strip_prefix(path).ok());
            let why = format!("what is restored from it is not whole: {}", finding.why);
            Err(Error::corrupt(from.join(file.unwrap_or(Path::new(""))), None, why))
        }
        None => Ok(()),
    }
}

fn write_mirrors(disk: &Arc<dyn Disk>, source: &LocalStore, to: &Layout) -> Result<()> {
    let snapshot = source.inner.snapshot()?;
    let mut mirrors = Mirrors::new(Arc::clone(disk), to.clone());
    let state = &snapshot.state;
    for (name, value) in state.references(state.segments.len(), snapshot.end, "")? {
        mirrors.write(&name, Some(&value))?;
    }
    Ok(())
}

/// Finds a name for a store that makes room for another.
fn free_beside(disk: &dyn Disk, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut places =
        (1u64..).map(|number| path.with_file_name(format!("{name}.replaced-{number}")));
    places.find(|place| disk.len(place).is_err()).expect("there are numbers enough")
}

fn info_path(layout: &Layout) -> PathBuf {
    layout.root().join("backup")
}

fn info(of: &str) -> String {
    format!("{TITLE}\nof {of}\n")
}

fn is_backup(disk: &dyn Disk, layout: &Layout) -> Result<bool> {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound};
    let path = info_path(layout);
    match disk::read_file(disk, &path, INFO_BYTES_MAX) {
        Ok(found) => Ok(found.starts_with(TITLE.as_bytes())),
        Err(error) => match error.kind() {
            NotFound | IsADirectory | NotADirectory | InvalidData => Ok(false),
            _ => Err(Error::io("read", path)(error)),
        },
    }
}

/// Refuses to write where something else is.
fn refuse_strangers(disk: &dyn Disk, to: &Layout, of: &str, force: bool) -> Result<()> {
    let dir = to.root();
    let refused = |why: String, hint| Err(Error::Refused { why, hint });
    let listed = match disk.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed.map_err(Error::io("list", dir))?,
    };
    if listed.iter().all(|entry| !entry.is_dir && is_aside(&entry.name)) {
        return Ok(());
    }
    if !is_backup(disk, to)? {
        let why = format!("{} is not empty, and no backup", dir.display());
        return refused(why, "name a new directory, or one that holds a backup");
    }
    let found = disk::read_file(disk, &info_path(to), INFO_BYTES_MAX)
        .map_err(Error::io("read", info_path(to)))?;
    if found != info(of).as_bytes() && !force {
        let why = format!("{} is the backup of another store", dir.display());
        return refused(why, "its file 'backup' says of which; --force writes this store over it");
    }
    if disk.len(&to.lock()).is_ok() {
        if !force {
            let why = format!("somebody has written to the backup at {}", dir.display());
            let hint = "'sapwood fetch' takes out what was written; --force writes over it";
            return refused(why, hint);
        }
        disk.remove(&to.lock()).map_err(Error::io("remove", to.lock()))?;
    }
    Ok(())
}

fn replace(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<()> {
    disk::replace_file(disk, path, content).map_err(Error::io("write", path))
}
