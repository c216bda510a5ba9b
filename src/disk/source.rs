//! Files of other programs: found, looked at, and read. Written are only those of an export.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{OsDisk, create_dir_durably, replace_file};

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

/// What is found at a path.
#[derive(Debug)]
pub enum Looked {
    /// A file.
    File(SourceFile),
    /// A link that leads to a directory that it is in.
    Loop(PathBuf),
    /// What can't be looked at.
    Unreadable(Unreadable),
}

/// Finds the files at a path whose names end so: itself, or all below it, sorted by name.
///
/// Links are followed. A path that is named itself and no file is told as one that can't be read.
pub fn find_sources(path: &Path, endings: &[&str], found: &mut dyn FnMut(Looked)) {
    for entry in walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name() {
        let entry = match entry {
            Err(error) => {
                let path = error.path().unwrap_or(path).to_owned();
                found(match error.loop_ancestor() {
                    Some(_) => Looked::Loop(path),
                    None => Looked::Unreadable(Unreadable { path, error: error.into() }),
                });
                continue;
            }
            Ok(entry) => entry,
        };
        let kind = entry.file_type();
        if !kind.is_file() {
            if entry.depth() == 0 && !kind.is_dir() {
                let error = io::Error::other("neither a file nor a directory ('-' is the input)");
                found(Looked::Unreadable(Unreadable { path: entry.into_path(), error }));
            }
            continue;
        }
        let name = entry.file_name().to_string_lossy();
        if entry.depth() > 0 && !endings.iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let path = entry.into_path();
        found(match look_at_source(&path) {
            Ok(file) => Looked::File(file),
            Err(error) => Looked::Unreadable(Unreadable { path, error }),
        });
    }
}

/// Gives a path as text. Bytes that are no text are written as `\xff`, so that no two paths of them
/// are the same.
pub fn source_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
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

/// Lists all files below a directory, by their paths within it, sorted; none if it is not there.
pub fn list_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(dir).follow_links(true).sort_by_file_name() {
        match entry {
            Err(error) if is_not_found(&error) && error.depth() == 0 => break,
            Err(error) => return Err(error.into()),
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => files.extend(entry.path().strip_prefix(dir).map(Path::to_owned)),
        }
    }
    Ok(files)
}

fn is_not_found(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Writes a file of an export, and the directories above it; a crash leaves all of it or nothing.
pub fn write_export(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_dir_durably(&OsDisk, folder)?;
    }
    replace_file(&OsDisk, path, content)
}
