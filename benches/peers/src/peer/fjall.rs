//! fjall: a log-structured merge tree.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::Result;
use crate::peer::key_value::{Engine, Follow, KeyValue, Put, Short, Table, short};
use crate::peer::{Mode, Peer};

struct Fjall {
    database: Database,
    messages: Keyspace,
    branches: Keyspace,
    persist: PersistMode,
}

/// Opens a database.
pub fn open(dir: &Path, mode: Mode) -> Result<Box<dyn Peer>> {
    let database = Database::builder(dir.join("messages.fjall")).open()?;
    let messages = database.keyspace("messages", KeyspaceCreateOptions::default)?;
    let branches = database.keyspace("branches", KeyspaceCreateOptions::default)?;
    let persist = match mode {
        Mode::Durable => PersistMode::SyncData,
        Mode::Relaxed => PersistMode::Buffer,
    };
    Ok(Box::new(KeyValue::new(Fjall { database, messages, branches, persist })))
}

impl Engine for Fjall {
    fn commit(&mut self, puts: &[Put]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(self.persist));
        for (table, key, value) in puts {
            match table {
                Table::Messages => batch.insert(&self.messages, key.as_slice(), value.as_slice()),
                Table::Branches => batch.insert(&self.branches, key.as_slice(), value.as_slice()),
            }
        }
        Ok(batch.commit()?)
    }

    fn target(&self, name: &str) -> Result<Option<Short>> {
        Ok(self.branches.get(name)?.and_then(|value| short(&value)))
    }

    fn follow(&self, from: Short, visit: Follow<'_>) -> Result<()> {
        let mut next = Some(from);
        while let Some(key) = next {
            let value = self.messages.get(key)?.ok_or("a message is missing")?;
            next = visit(&value)?;
        }
        Ok(())
    }

    fn names(&self) -> Result<usize> {
        let mut names = Vec::new();
        for row in self.branches.iter() {
            names.push(row.into_inner()?);
        }
        Ok(names.len())
    }

    fn compact(&mut self) -> Result<()> {
        self.flush()?;
        self.messages.major_compact()?;
        self.branches.major_compact()?;
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncData)?)
    }

    fn flush(&mut self) -> Result<()> {
        self.messages.rotate_memtable_and_wait()?;
        Ok(self.branches.rotate_memtable_and_wait()?)
    }
}
