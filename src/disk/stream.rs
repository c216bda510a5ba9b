//! A file read or written from the front, for code that streams.

use std::io;
use std::ops::Deref;

use super::DiskFile;

/// Reads a file from the front, borrowed or its own.
#[derive(Debug)]
pub struct Reader<F> {
    file: F,
    offset: u64,
}

impl<F: Deref<Target = dyn DiskFile>> Reader<F> {
    /// Begins at the first byte.
    pub fn new(file: F) -> Reader<F> {
        Reader { file, offset: 0 }
    }
}

impl<F: Deref<Target = dyn DiskFile>> io::Read for Reader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Writes a file from the front.
#[derive(Debug)]
pub struct Writer<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
}

impl<'a> Writer<'a> {
    /// Begins at the first byte.
    pub fn new(file: &'a dyn DiskFile) -> Writer<'a> {
        Writer { file, offset: 0 }
    }
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write_at(bytes, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
