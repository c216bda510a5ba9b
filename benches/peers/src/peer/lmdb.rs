//! LMDB: a B-tree in a mapped file.

use std::fs::File;
use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{CompactionOption, Database, Env, EnvFlags, EnvOpenOptions};

use crate::Result;
use crate::peer::key_value::{Engine, Follow, KeyValue, Put, Short, Table, short};
use crate::peer::{Mode, Peer};

/// How much of the address space the file may take.
const MAP_BYTES: usize = 16 << 30;

struct Lmdb {
    dir: PathBuf,
    env: Env,
    messages: Database<Bytes, Bytes>,
    branches: Database<Bytes, Bytes>,
}

/// Opens an environment.
///
/// `NOSYNC` is what it has for relaxed commits: a power cut may damage the whole file, which none
/// of the others risks.
#[allow(unsafe_code)]
pub fn open(dir: &Path, mode: Mode) -> Result<Box<dyn Peer>> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_dbs(2);
    if mode == Mode::Relaxed {
        // SAFETY: what a power cut does to the file is of no concern here.
        unsafe { options.flags(EnvFlags::NO_SYNC) };
    }
    // SAFETY: nothing else touches the file, and it is opened once in this process.
    let env = unsafe { options.open(dir)? };
    let mut transaction = env.write_txn()?;
    let messages = env.create_database(&mut transaction, Some("messages"))?;
    let branches = env.create_database(&mut transaction, Some("branches"))?;
    transaction.commit()?;
    Ok(Box::new(KeyValue::new(Lmdb { dir: dir.to_owned(), env, messages, branches })))
}

impl Engine for Lmdb {
    fn commit(&mut self, puts: &[Put]) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        for (table, key, value) in puts {
            match table {
                Table::Messages => self.messages.put(&mut transaction, key, value)?,
                Table::Branches => self.branches.put(&mut transaction, key, value)?,
            }
        }
        Ok(transaction.commit()?)
    }

    fn target(&self, name: &str) -> Result<Option<Short>> {
        let transaction = self.env.read_txn()?;
        Ok(self.branches.get(&transaction, name.as_bytes())?.and_then(short))
    }

    fn follow(&self, from: Short, visit: Follow<'_>) -> Result<()> {
        let transaction = self.env.read_txn()?;
        let mut next = Some(from);
        while let Some(key) = next {
            let value = self.messages.get(&transaction, &key)?.ok_or("a message is missing")?;
            next = visit(value)?;
        }
        Ok(())
    }

    fn names(&self) -> Result<usize> {
        let transaction = self.env.read_txn()?;
        let mut names = Vec::new();
        for row in self.branches.iter(&transaction)? {
            let (name, target) = row?;
            names.push((name.to_vec(), target.to_vec()));
        }
        Ok(names.len())
    }

    /// The file never shrinks: a compact copy takes its place, and who opens it next has that.
    fn compact(&mut self) -> Result<()> {
        let copy = self.dir.join("data.copy");
        self.env.copy_to_path(&copy, CompactionOption::Enabled)?.sync_all()?;
        std::fs::rename(copy, self.dir.join("data.mdb"))?;
        Ok(File::open(&self.dir)?.sync_all()?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }
}
