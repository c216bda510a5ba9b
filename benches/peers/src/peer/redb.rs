//! redb: a B-tree that is copied on write, in one file.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::Result;
use crate::peer::key_value::{Engine, Follow, KeyValue, Put, Short, Table, short};
use crate::peer::{Mode, Peer};

const MESSAGES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("messages");
const BRANCHES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("branches");

struct Redb {
    database: Database,
    durability: Durability,
}

/// Opens a database.
pub fn open(dir: &Path, mode: Mode) -> Result<Box<dyn Peer>> {
    let database = Database::create(dir.join("messages.redb"))?;
    let durability = match mode {
        Mode::Durable => Durability::Immediate,
        Mode::Relaxed => Durability::None,
    };
    let mut engine = Redb { database, durability };
    if engine.database.begin_read()?.open_table(BRANCHES).is_err() {
        engine.commit(&[])?;
    }
    Ok(Box::new(KeyValue::new(engine)))
}

impl Engine for Redb {
    fn commit(&mut self, puts: &[Put]) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        {
            let mut messages = transaction.open_table(MESSAGES)?;
            let mut branches = transaction.open_table(BRANCHES)?;
            for (table, key, value) in puts {
                match table {
                    Table::Messages => messages.insert(key.as_slice(), value.as_slice())?,
                    Table::Branches => branches.insert(key.as_slice(), value.as_slice())?,
                };
            }
        }
        Ok(transaction.commit()?)
    }

    fn target(&self, name: &str) -> Result<Option<Short>> {
        let branches = self.database.begin_read()?.open_table(BRANCHES)?;
        Ok(branches.get(name.as_bytes())?.and_then(|value| short(value.value())))
    }

    fn follow(&self, from: Short, visit: Follow<'_>) -> Result<()> {
        let messages = self.database.begin_read()?.open_table(MESSAGES)?;
        let mut next = Some(from);
        while let Some(key) = next {
            let value = messages.get(key.as_slice())?.ok_or("a message is missing")?;
            next = visit(value.value())?;
        }
        Ok(())
    }

    fn names(&self) -> Result<usize> {
        let branches = self.database.begin_read()?.open_table(BRANCHES)?;
        let mut names = Vec::new();
        for row in branches.iter()? {
            let (name, target) = row?;
            names.push((name.value().to_vec(), target.value().to_vec()));
        }
        Ok(names.len())
    }

    fn compact(&mut self) -> Result<()> {
        self.database.compact()?;
        Ok(())
    }

    /// A durable commit takes along those before it.
    fn sync(&mut self) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        Ok(transaction.commit()?)
    }
}
