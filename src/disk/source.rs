//! Files of other programs: found, looked at, and read; never written.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The ending of a file that is compressed.
const COMPRESSED: &str = "zst";

/// A file of another program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceFile {
    /// Where it is, links followed.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// When it was last changed, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// What can't be looked at, and why.
#[derive(Debug)]
pub struct Unreadable {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// Finds the files at a path whose names end so: itself, or all below it, sorted by name.
///
/// Links are followed; a loop of links is an error of its own, and ends nothing else.
pub fn find_sources(
    path: &Path,
    endings: &[&str],
    found: &mut Vec<SourceFile>,
    unreadable: &mut Vec<Unreadable>,
) {
    for entry in walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name() {
        let looked = match entry {
            Err(error) => {
                let path = error.path().unwrap_or(path).to_owned();
                Err(Unreadable { path, error: error.into() })
            }
            Ok(entry) if !entry.file_type().is_file() => continue,
            Ok(entry) => {
                let name = entry.file_name().to_string_lossy();
                if entry.depth() > 0 && !endings.iter().any(|ending| name.ends_with(ending)) {
                    continue;
                }
                let path = entry.into_path();
                look_at_source(&path).map_err(|error| Unreadable { path, error })
            }
        };
        match looked {
            Ok(file) => found.push(file),
            Err(error) => unreadable.push(error),
        }
    }
}

/// Looks at one file.
pub fn look_at_source(path: &Path) -> io::Result<SourceFile> {
    let path = fs::canonicalize(path)?;
    let looked = fs::metadata(&path)?;
    let since = looked.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Ok(SourceFile { path, bytes: looked.len(), modified_ms })
}

/// Opens a file for reading, decompressed if its name says that it is compressed.
pub fn open_source(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let file = File::open(path)?;
    if path.extension().is_some_and(|ending| ending == COMPRESSED) {
        return Ok(Box::new(zstd::Decoder::new(file)?));
    }
    Ok(Box::new(file))
}
