//! A file read or written from the front, for code that streams.

use std::io;

use super::DiskFile;

/// Reads a file from the front.
#[derive(Debug)]
pub struct Reader<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
}

impl<'a> Reader<'a> {
    /// Begins at the first byte.
    pub fn new(file: &'a dyn DiskFile) -> Reader<'a> {
        Reader { file, offset: 0 }
    }
}

impl io::Read for Reader<'_> {
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
