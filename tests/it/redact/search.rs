//! A search that knows nothing of the format: every byte of every file, and of every zstd frame
//! that begins anywhere in one.

use std::io::Read;
use std::path::Path;

use sapwood::disk::{Disk, read_file};

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Lists the files below a directory of a disk.
pub(super) fn files(disk: &dyn Disk, root: &Path) -> Vec<std::path::PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in disk.list(&dir).unwrap() {
            let path = dir.join(&entry.name);
            if entry.is_dir { open.push(path) } else { files.push(path) }
        }
    }
    files
}

/// Lists the directories below a directory of a disk.
fn dirs(disk: &dyn Disk, root: &Path) -> Vec<std::path::PathBuf> {
    let mut dirs = vec![root.to_owned()];
    let mut at = 0;
    while at < dirs.len() {
        let listed = disk.list(&dirs[at]).unwrap();
        let below = listed.iter().filter(|entry| entry.is_dir);
        let below: Vec<_> = below.map(|entry| dirs[at].join(&entry.name)).collect();
        dirs.extend(below);
        at += 1;
    }
    dirs
}

/// Undoes what names of mirror files are written with: `%4b` is `K`.
fn plain_name(path: &Path) -> Vec<u8> {
    let text = path.to_string_lossy().into_owned();
    let mut parts = text.split('%');
    let mut plain = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(byte.unwrap_or(b'%'));
        plain.extend_from_slice(&part.as_bytes()[if byte.is_some() { 2 } else { 0 }..]);
    }
    plain
}

/// Says in which files one of these strings stands, in a name, a byte, or a frame; and which
/// directories are named so.
pub(crate) fn found_in(disk: &dyn Disk, root: &Path, needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(disk, root) {
        let bytes = read_file(disk, &path, 1 << 30).unwrap();
        let name = path.to_string_lossy().into_owned();
        let mut texts = vec![bytes.clone(), plain_name(&path)];
        for at in all_of(&bytes, &ZSTD_MAGIC) {
            let mut text = Vec::new();
            if let Ok(mut frame) = zstd::stream::read::Decoder::new(&bytes[at..]) {
                // What can't be decompressed to its end is searched as far as it goes.
                let _ = frame.by_ref().take(1 << 26).read_to_end(&mut text);
            }
            texts.push(text);
        }
        let is_in = |text: &Vec<u8>| {
            needles.iter().any(|needle| !all_of(text, needle.as_bytes()).is_empty())
        };
        if texts.iter().any(is_in) {
            found.push(name);
        }
    }
    for dir in dirs(disk, root) {
        if needles.iter().any(|needle| !all_of(&plain_name(&dir), needle.as_bytes()).is_empty()) {
            found.push(dir.to_string_lossy().into_owned());
        }
    }
    found
}

fn all_of(text: &[u8], needle: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(text, needle).collect()
}
