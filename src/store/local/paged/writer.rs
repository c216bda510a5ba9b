//! Writing files that have their final name only when they are whole.
//!
//! An [`AsideFile`] collects bytes under a name beside the final one, and takes the final one after
//! all was written. A crash, or dropping it, leaves at most the file beside. A [`PagedWriter`] is
//! one that also collects the checksums of a paged file.
//!
//! Files that get their names together are [`Ready`] together: what is synced at once is waited for
//! once. Short ones are [`Named`] first, and synced with their directories: a file counts when a
//! manifest names it, so a crash before that leaves one that is swept, whatever is in it. Where a
//! name is taken, the file that has it may count; it is replaced by one that was synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sum::{FLAG_XXH3, footer_checksum, xxh3_sum};
use super::{FOOTER_BYTES, FOOTER_FIELDS_BYTES, Magic, PAGE_BYTES};
use crate::disk::{self, Disk, DiskFile, OpenMode};
use crate::error::{Error, Result};

/// How many bytes are collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Files that have no more than this together get their names before they are synced: whoever
/// names them in a manifest holds the lock meanwhile.
const UNSYNCED_BYTES_MAX: u64 = 1 << 20;

/// A file that has no final name yet.
#[derive(Debug)]
pub(crate) struct AsideFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    buffer: Vec<u8>,
    flushed_bytes: u64,
    published: bool,
}

impl AsideFile {
    /// Creates a file beside `near`.
    pub(crate) fn create(disk: Arc<dyn Disk>, near: &Path) -> Result<AsideFile> {
        let path = disk::aside(disk.as_ref(), near).map_err(Error::io("create", near))?;
        let file = disk.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
        Ok(AsideFile {
            disk,
            path,
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            flushed_bytes: 0,
            published: false,
        })
    }

    /// Adds bytes at the end.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.put(bytes)
    }

    /// Gives the length of all that was added.
    pub(crate) fn len(&self) -> u64 {
        self.flushed_bytes + self.buffer.len() as u64
    }

    /// Writes what is still in memory and makes it all durable.
    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        let synced = self.file.sync_data();
        synced.map_err(Error::io("sync", &self.path))
    }

    /// Gives the file its final name; all of it must have been written.
    fn publish(&mut self, path: &Path) -> Result<()> {
        assert!(self.buffer.is_empty(), "a file is written before it is published");
        self.disk.rename(&self.path, path).map_err(Error::io("rename", &self.path))?;
        self.published = true;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let put = self.put(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        put
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all_at(bytes, self.flushed_bytes)
            .map_err(Error::io("write", &self.path))?;
        self.flushed_bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Drop for AsideFile {
    fn drop(&mut self) {
        if !self.published {
            // Best effort: whatever failed before this is the error that counts.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Files that are whole and wait for their final names.
#[derive(Default)]
pub(crate) struct Ready {
    files: Vec<(AsideFile, PathBuf)>,
    /// What it took to make them, for who can drop it beside other work.
    pub(crate) spent: Vec<Box<dyn Send>>,
}

impl Ready {
    /// Adds a file that is to get a name.
    pub(crate) fn add(&mut self, file: AsideFile, path: PathBuf) {
        self.files.push((file, path));
    }

    /// Gives each file its name, in order, and makes all files and their names durable.
    pub(crate) fn publish(self, disk: &dyn Disk) -> Result<()> {
        let named = self.name(disk)?;
        let first = named.dirs.first().map_or(Path::new(""), PathBuf::as_path);
        let synced = named.sync_with(disk, &[], &[]);
        synced.map_err(|(_, error)| Error::io("sync", first)(error))
    }

    /// Gives each file its name, in order; the names are not durable yet, and short files neither.
    pub(crate) fn name(mut self, disk: &dyn Disk) -> Result<Named> {
        let mut bytes = 0;
        for (file, _) in &mut self.files {
            file.flush()?;
            bytes += file.len();
        }
        let is_taken = |(_, path): &(AsideFile, PathBuf)| {
            !disk.len(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        let is_synced = bytes > UNSYNCED_BYTES_MAX || self.files.iter().any(is_taken);
        if is_synced {
            let files: Vec<&dyn DiskFile> = self.files.iter().map(|(it, _)| &*it.file).collect();
            let first = self.files.first().map_or(Path::new(""), |(_, path)| path);
            let synced = disk::sync_all(disk, &files, &[]);
            synced.map_err(|(_, error)| Error::io("sync", first)(error))?;
        }
        let mut named = Named::default();
        for (mut file, path) in self.files {
            let dir = path.parent().expect("a file stands in a directory");
            if !named.dirs.iter().any(|known| known == dir) {
                named.dirs.push(dir.to_owned());
            }
            file.publish(&path)?;
            if !is_synced {
                named.files.push(file);
            }
        }
        Ok(named)
    }
}

/// Files that have their final names, and what of that is not durable yet: a manifest that names
/// them must not be before it is.
#[derive(Debug, Default)]
pub(crate) struct Named {
    files: Vec<AsideFile>,
    dirs: Vec<PathBuf>,
}

impl Named {
    /// Makes all of it durable, together with other files and directories, and tells the first that
    /// can't be, of these files first.
    pub(crate) fn sync_with(
        &self,
        disk: &dyn Disk,
        files: &[&dyn DiskFile],
        dirs: &[&Path],
    ) -> Result<(), (usize, std::io::Error)> {
        // Who waits for one of them waits for the others, too, once all are begun.
        self.files.iter().for_each(|aside| aside.file.begin_sync(0, aside.len()));
        let short = self.files.iter().map(|aside| &*aside.file);
        let files: Vec<&dyn DiskFile> = files.iter().copied().chain(short).collect();
        let known = self.dirs.iter().map(PathBuf::as_path);
        let dirs: Vec<&Path> = known.chain(dirs.iter().copied()).collect();
        disk::sync_all(disk, &files, &dirs)
    }
}

/// A paged file being written.
#[derive(Debug)]
pub(crate) struct PagedWriter {
    file: AsideFile,
    page: Vec<u8>,
    table: Vec<u8>,
}

impl PagedWriter {
    /// Begins a file beside `near`.
    pub(crate) fn create(disk: Arc<dyn Disk>, near: &Path) -> Result<PagedWriter> {
        Ok(PagedWriter {
            file: AsideFile::create(disk, near)?,
            page: Vec::with_capacity(PAGE_BYTES),
            table: Vec::new(),
        })
    }

    /// Adds bytes to the payload.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(PAGE_BYTES - self.page.len());
            self.page.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.page.len() == PAGE_BYTES {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Adds the table and the footer, and gives the file, which is not durable yet.
    pub(crate) fn seal(mut self, magic: &Magic, version: u32) -> Result<AsideFile> {
        let payload_bytes = self.file.len() + self.page.len() as u64;
        self.end_page()?;
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend_from_slice(magic);
        footer.extend_from_slice(&version.to_le_bytes());
        footer.extend_from_slice(&FLAG_XXH3.to_le_bytes());
        footer.extend_from_slice(&payload_bytes.to_le_bytes());
        debug_assert_eq!(footer.len(), FOOTER_FIELDS_BYTES);
        footer.extend_from_slice(&footer_checksum(&footer, &self.table));
        self.file.write(&self.table)?;
        self.file.write(&footer)?;
        Ok(self.file)
    }

    /// Seals the file, gives it its final name, and says how long it is.
    ///
    /// The name is durable once the directory was synced.
    pub(crate) fn finish(self, magic: &Magic, version: u32, path: &Path) -> Result<u64> {
        let mut file = self.seal(magic, version)?;
        let bytes = file.len();
        file.sync()?;
        file.publish(path)?;
        Ok(bytes)
    }

    /// Seals the file, gives it its final name, durably, and says how long it is.
    pub(crate) fn finish_durably(self, magic: &Magic, version: u32, path: &Path) -> Result<u64> {
        let (disk, mut ready) = (Arc::clone(&self.file.disk), Ready::default());
        let bytes = self.finish_into(magic, version, path, &mut ready)?;
        ready.publish(&*disk)?;
        Ok(bytes)
    }

    /// Seals the file, puts it to those that wait for their names, and says how long it is.
    pub(crate) fn finish_into(
        self,
        magic: &Magic,
        version: u32,
        path: &Path,
        ready: &mut Ready,
    ) -> Result<u64> {
        let file = self.seal(magic, version)?;
        let bytes = file.len();
        ready.add(file, path.to_owned());
        Ok(bytes)
    }

    fn end_page(&mut self) -> Result<()> {
        if self.page.is_empty() {
            return Ok(());
        }
        self.table.extend_from_slice(&xxh3_sum(&self.page));
        self.file.write(&self.page)?;
        self.page.clear();
        Ok(())
    }
}
