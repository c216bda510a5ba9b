//! A few bytes at the begin of a file that several processes read and write in place.
//!
//! They are mapped, so that reading and writing them is no system call. Whoever reads or writes the
//! same bytes through the file sees the same. A word is read and written at once, several words are
//! not: who reads while another writes needs a lock, or a checksum among them.
//!
//! Not mapped: what is on another machine, and a file that is too short. Touching a mapping beyond
//! the end of its file kills the process.

use std::sync::atomic::{AtomicU64, Ordering};

/// The mapped begin of a file.
#[derive(Debug)]
pub struct SharedBytes(memmap2::MmapRaw);

impl SharedBytes {
    pub(super) fn new(map: memmap2::MmapRaw) -> SharedBytes {
        SharedBytes(map)
    }

    #[allow(unsafe_code)]
    fn words(&self) -> &[AtomicU64] {
        let words = self.0.len() / size_of::<AtomicU64>();
        // SAFETY: the mapping begins with a page, has so many words, and lives as long as `self`.
        // All processes that map it touch it by atomics alone, and any value is fine. No code of
        // ours shortens such a file; a stranger who does so by hand can make a process fault, as
        // with the other mappings.
        unsafe { std::slice::from_raw_parts(self.0.as_mut_ptr().cast(), words) }
    }

    /// Reads the bytes: whole words, as many as are mapped.
    pub fn read(&self, bytes: &mut [u8]) {
        for (word, bytes) in self.words().iter().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Ordering::SeqCst).to_ne_bytes());
        }
    }

    /// Writes the bytes, whole words, the first one last.
    pub fn write(&self, bytes: &[u8]) {
        for (word, bytes) in self.words().iter().zip(bytes.chunks_exact(8)).rev() {
            let bytes = bytes.try_into().expect("eight bytes");
            word.store(u64::from_ne_bytes(bytes), Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::disk::{Disk as _, OpenMode, OsDisk};

    #[test]
    fn the_mapping_and_the_file_have_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shared");
        let file = OsDisk.open(&path, OpenMode::OpenOrCreate).unwrap();
        assert!(file.shared(16).is_none());
        file.write_all_at(b"fifteen bytes..", 0).unwrap();
        assert!(file.shared(16).is_none());
        file.write_all_at(b"sixteen bytes...", 0).unwrap();
        let again = OsDisk.open(&path, OpenMode::Write).unwrap();
        let (here, there) = (file.shared(16).unwrap(), again.shared(16).unwrap());
        drop(again);
        let mut found = [0; 16];
        here.read(&mut found);
        assert_eq!(&found, b"sixteen bytes...");
        there.write(b"something else..");
        here.read(&mut found);
        assert_eq!(&found, b"something else..");
        file.read_full_at(&mut found, 0).unwrap();
        assert_eq!(&found, b"something else..");
    }
}
