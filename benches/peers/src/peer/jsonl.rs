//! A file for each branch, a line for each message: what agents do today.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::peer::{Key, Mode, Peer, Visit, key_of};

struct Jsonl {
    dir: PathBuf,
    mode: Mode,
    files: HashMap<String, File>,
}

/// Opens a folder.
pub fn open(dir: &Path, mode: Mode) -> Result<Box<dyn Peer>> {
    Ok(Box::new(Jsonl { dir: dir.to_owned(), mode, files: HashMap::new() }))
}

impl Jsonl {
    fn file_of(&self, branch: &str) -> PathBuf {
        self.dir.join(format!("{branch}.jsonl"))
    }

    fn file(&mut self, branch: &str) -> Result<&mut File> {
        if !self.files.contains_key(branch) {
            let path = self.file_of(branch);
            let file = OpenOptions::new().create(true).append(true).read(true).open(path)?;
            self.files.insert(branch.to_owned(), file);
        }
        Ok(self.files.get_mut(branch).expect("it was just opened"))
    }

    fn sync_if_durable(&self, file: &File) -> Result<()> {
        match self.mode {
            Mode::Durable => Ok(file.sync_data()?),
            Mode::Relaxed => Ok(()),
        }
    }
}

impl Peer for Jsonl {
    fn append(&mut self, branch: &str, body: &str) -> Result<()> {
        let line = format!("{body}\n");
        let mode = self.mode;
        let file = self.file(branch)?;
        file.write_all(line.as_bytes())?;
        if mode == Mode::Durable {
            file.sync_data()?;
        }
        Ok(())
    }

    fn fill(&mut self, branch: &str, bodies: &mut dyn Iterator<Item = String>) -> Result<()> {
        let mut out = BufWriter::with_capacity(1 << 18, self.file(branch)?.try_clone()?);
        for body in bodies {
            out.write_all(body.as_bytes())?;
            out.write_all(b"\n")?;
        }
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        self.sync_if_durable(&file)
    }

    fn fork(&mut self, branch: &str, name: &str) -> Result<()> {
        std::fs::copy(self.file_of(branch), self.file_of(name))?;
        let file = self.file(name)?.try_clone()?;
        self.files.remove(name);
        self.sync_if_durable(&file)
    }

    fn switch(&mut self, session: &str, to_other: bool) -> Result<()> {
        let mut file = File::create(self.dir.join(format!("{session}.current")))?;
        write!(file, "{to_other}")?;
        self.sync_if_durable(&file)
    }

    fn branches(&mut self) -> Result<usize> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            names.push(entry?.file_name());
        }
        Ok(names.len())
    }

    fn path(&mut self, branch: &str) -> Result<Vec<Key>> {
        let text = std::fs::read(self.file_of(branch))?;
        let mut keys = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let place = [offset as u64, line.len() as u64].map(u64::to_be_bytes);
            keys.push(key_of(place.as_flattened()));
            offset += line.len();
        }
        keys.reverse();
        Ok(keys)
    }

    fn walk(&mut self, branch: &str, visit: Visit<'_>) -> Result<()> {
        let text = std::fs::read(self.file_of(branch))?;
        for line in text.trim_ascii_end().rsplit(|byte| *byte == b'\n') {
            if !visit(line)? {
                break;
            }
        }
        Ok(())
    }

    fn get(&mut self, branch: &str, key: &Key) -> Result<usize> {
        let number = |at: usize| u64::from_be_bytes(key[at..at + 8].try_into().expect("8 bytes"));
        let (offset, bytes) = (number(0), number(8));
        let file = self.file(branch)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut body = vec![0; bytes as usize];
        file.read_exact(&mut body)?;
        Ok(body.len())
    }

    fn maintain(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        for file in self.files.values() {
            file.sync_data()?;
        }
        Ok(File::open(&self.dir)?.sync_all()?)
    }
}
