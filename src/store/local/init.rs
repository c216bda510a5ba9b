//! What makes a directory a store, and what keeps one from being made or opened.

use std::path::Path;

use crate::disk::{self, Disk};
use crate::error::{Error, Result};
use crate::store::local::durable::DurableMark;
use crate::store::local::layout::Layout;
use crate::store::local::manifest::Manifest;
use crate::store::local::segment::{Segment, Zeros};
use crate::store::local::{Options, rotate, state};

/// The content of the file `format`.
const FORMAT: &str = "sapwood store\nversion 1\nhash blake3\ncodec cbor zstd\nlink-bytes 1024\n";
const CONFIG: &str = "# Settings of this store; 'sapwood config' lists and changes them.
";
const FIRST_SEQUENCE: u64 = 1;

/// Makes the directories and files of an empty store, all but `format`. The manifest comes last.
pub(super) fn lay_out(disk: &dyn Disk, layout: &Layout, options: &Options) -> Result<()> {
    let dirs = [layout.objects_dir(), layout.pack_dir(), layout.journal_dir()];
    for dir in dirs.iter().chain(&[layout.refs_dir(), layout.logs_dir()]) {
        disk.create_dir(dir).map_err(Error::io("create", dir))?;
    }
    let path = layout.segment(FIRST_SEQUENCE);
    rotate::allocate(disk, &path, options.segment_bytes_min, Zeros::Written)?;
    Segment::begin(disk, &path, FIRST_SEQUENCE)?;
    for dir in &dirs {
        disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    }
    // The directories of this directory become durable with the files below.
    let write = |path: std::path::PathBuf, text: &str| {
        disk::replace_file(disk, &path, text.as_bytes()).map_err(Error::io("write", &path))
    };
    if disk.len(&layout.config()).is_err() {
        write(layout.config(), CONFIG)?;
    }
    DurableMark::open(disk, layout.synced())?.set(state::begin_of(FIRST_SEQUENCE))?;
    Manifest::new(FIRST_SEQUENCE).publish(disk, &layout.current())
}

/// Makes a directory a store: what was laid out counts from now on.
pub(super) fn write_format(disk: &dyn Disk, layout: &Layout) -> Result<()> {
    let path = layout.format();
    disk::replace_file(disk, &path, FORMAT.as_bytes()).map_err(Error::io("write", &path))
}

/// Refuses to lay out a store over what is left of one whose manifest is gone.
pub(super) fn refuse_remains(disk: &dyn Disk, layout: &Layout) -> Result<()> {
    let first = layout.segment(FIRST_SEQUENCE);
    let mut remains = match Segment::open(disk, &first, FIRST_SEQUENCE, true) {
        Ok(segment) => segment.read_on(u64::MAX, u64::MAX).is_err() || !segment.is_new(),
        Err(_) => false,
    };
    for dir in [layout.pack_dir(), layout.journal_dir(), layout.refs_dir(), layout.logs_dir()] {
        for entry in disk.list(&dir).unwrap_or_default() {
            let path = dir.join(&entry.name);
            let fresh = [&first, &layout.synced(), &layout.spare()].contains(&&path)
                || entry.name.ends_with(disk::ASIDE_SUFFIX);
            remains |= !fresh;
        }
    }
    match remains {
        true => Err(Error::corrupt(layout.current(), None, "it is missing, but its store is not")),
        false => Ok(()),
    }
}

/// Says whether a directory without `format` was a store.
pub(super) fn is_remains(disk: &dyn Disk, layout: &Layout) -> bool {
    disk.len(&layout.current()).is_ok() && disk.list(&layout.journal_dir()).is_ok()
        || refuse_remains(disk, layout).is_err()
}

/// Says of a `format` that is not ours that it is damaged, and no other version's: that would name
/// its number.
pub(super) fn is_format_damaged(disk: &dyn Disk, layout: &Layout) -> bool {
    let found = disk::read_file(disk, &layout.format(), 4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&found);
    let mut versions = text.lines().filter_map(|line| line.strip_prefix("version "));
    !text.starts_with("sapwood store\n")
        || !versions.any(|version| version.parse::<u32>().is_ok_and(|number| number != 1))
}

/// Refuses what is no store, and one of another version; not one whose `format` is damaged.
pub(super) fn refuse_unknown(disk: &dyn Disk, layout: &Layout, ignore_format: bool) -> Result<()> {
    match check_format(disk, layout) {
        Err(Error::Corrupt { .. }) => Ok(()),
        Err(Error::UnsupportedFormat { .. })
            if ignore_format || is_format_damaged(disk, layout) =>
        {
            Ok(())
        }
        Err(Error::NotAStore { .. }) if is_remains(disk, layout) => Ok(()),
        checked => checked,
    }
}

/// Refuses a store of a version that this program does not know.
pub(super) fn check_format(disk: &dyn Disk, layout: &Layout) -> Result<()> {
    let path = layout.format();
    let found = match disk::read_file(disk, &path, 4096) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NotAStore { path: layout.root().to_owned() });
        }
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    if found == FORMAT.as_bytes() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&found);
    let mut lines = text.lines();
    if lines.next() != Some("sapwood store") {
        return Err(Error::corrupt(path, 0, "it does not begin with 'sapwood store'"));
    }
    let odd =
        lines.find(|line| !FORMAT.lines().any(|known| known == *line)).unwrap_or("a line missing");
    Err(Error::UnsupportedFormat {
        path,
        found: format!("'{}'", odd.escape_debug()),
        supported: "version 1 (blake3, cbor, zstd)",
    })
}

pub(super) fn refuse_network(disk: &dyn Disk, path: &Path, options: &Options) -> Result<()> {
    match disk.network_filesystem(path) {
        Some(filesystem) if !options.allow_network => {
            Err(Error::NetworkFilesystem { path: path.to_owned(), filesystem })
        }
        _ => Ok(()),
    }
}
