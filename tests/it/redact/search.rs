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

/// Says in which files one of these strings stands, in a name, a byte, or a frame.
pub(crate) fn found_in(disk: &dyn Disk, root: &Path, needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(disk, root) {
        let bytes = read_file(disk, &path, 1 << 30).unwrap();
        let name = path.to_string_lossy().into_owned();
        let mut texts = vec![bytes.clone(), name.clone().into_bytes()];
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
    found
}

fn all_of(text: &[u8], needle: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(text, needle).collect()
}
