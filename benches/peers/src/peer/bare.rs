//! What the system itself takes, one `pwrite` and one `fdatasync`; and what a message takes before
//! that, whoever keeps it as parsed and by its hash.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::Result;
use crate::peer::Mode;

/// What a group holds beside the message: ids, ref moves, checksums.
const EXTRA_BYTES: usize = 250;

/// Writes messages one after the other into a file that has its length already.
#[derive(Debug)]
pub struct Appender {
    file: File,
    offset: u64,
    buffer: Vec<u8>,
    mode: Mode,
}

impl Appender {
    /// Opens a file that was prepared.
    pub fn open(path: &Path, mode: Mode) -> Result<Appender> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Appender { file, offset: 0, buffer: Vec::new(), mode })
    }

    /// Appends a message; when it returns, the message is committed.
    pub fn append(&mut self, line: &str) -> Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.resize(line.len() + EXTRA_BYTES, b'.');
        self.file.write_all_at(&self.buffer, self.offset)?;
        self.offset += self.buffer.len() as u64;
        if self.mode == Mode::Durable {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// Parses a message, and hashes it and what a group holds beside it, once each.
pub fn parse_and_hash(line: &str) -> Result<()> {
    black_box(serde_json::from_str::<serde_json::Value>(line)?);
    black_box(blake3::hash(line.as_bytes()));
    black_box(blake3::keyed_hash(&[7; 32], black_box(&[b'.'; EXTRA_BYTES])));
    Ok(())
}

/// Makes a file full of zeros with room for that many messages.
pub fn prepare(path: &Path, messages: usize, message_bytes: usize) -> Result<()> {
    let mut file = File::create(path)?;
    let zeros = vec![0; (message_bytes + 2 * EXTRA_BYTES) * (messages + 1)];
    file.write_all(&zeros)?;
    file.sync_all()?;
    Ok(())
}
