//! SQLite in WAL mode: a row for each message, with its parent, and a row for each branch.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, params};
use sapwood::id;
use zstd::bulk::{Compressor, Decompressor};

use crate::Result;
use crate::peer::{Key, Mode, Peer, Visit, grep_by_walking, key_of};

const INSERT: &str = "INSERT INTO messages (id, parent, body) VALUES (?1, ?2, ?3)";
const MOVE: &str = "INSERT INTO refs (name, target) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET target = excluded.target";
const TARGET: &str = "SELECT target FROM refs WHERE name = ?1";
const GET: &str = "SELECT body FROM messages WHERE id = ?1";
const BODIES: &str = "
    WITH RECURSIVE path (parent, body) AS (
        SELECT parent, body FROM messages WHERE id = ?1
        UNION ALL
        SELECT messages.parent, messages.body
        FROM path JOIN messages ON messages.id = path.parent)
    SELECT body FROM path";
const IDS: &str = "
    WITH RECURSIVE path (id, parent) AS (
        SELECT id, parent FROM messages WHERE id = ?1
        UNION ALL
        SELECT messages.id, messages.parent
        FROM path JOIN messages ON messages.id = path.parent)
    SELECT id FROM path";
const SYNC: &str =
    "PRAGMA synchronous = FULL; PRAGMA user_version = 1; PRAGMA synchronous = NORMAL";
const GREP: &str = "SELECT count(*) FROM messages WHERE instr(body, ?1) > 0";

/// How much of a database is mapped rather than read: all.
const MAP_BYTES: i64 = 8 << 30;
/// The level at which bodies are compressed.
const ZSTD_LEVEL: i32 = 3;

/// How rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By number, as text.
    Plain,
    /// By number, each body compressed.
    Compressed,
    /// By the hash of what they hold, with the row's number behind it.
    ByHash,
}

struct Sqlite {
    connection: Connection,
    form: Form,
    compressor: RefCell<Compressor<'static>>,
    decompressor: RefCell<Decompressor<'static>>,
}

/// Opens a database.
pub fn open(dir: &Path, mode: Mode, form: Form) -> Result<Box<dyn Peer>> {
    let connection = Connection::open(dir.join("messages.sqlite"))?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = if mode == Mode::Durable { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "mmap_size", MAP_BYTES)?;
    let id = if form == Form::ByHash { "BLOB" } else { "INTEGER" };
    connection.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS messages (
             id {id} PRIMARY KEY, parent {id}, body NOT NULL);
         CREATE TABLE IF NOT EXISTS refs (name TEXT PRIMARY KEY, target) WITHOUT ROWID;"
    ))?;
    connection.set_prepared_statement_cache_capacity(32);
    let compressor = Compressor::new(ZSTD_LEVEL)?.into();
    let decompressor = Decompressor::new()?.into();
    Ok(Box::new(Sqlite { connection, form, compressor, decompressor }))
}

impl Sqlite {
    fn target(&self, name: &str) -> Result<Value> {
        let found = self.connection.prepare_cached(TARGET)?.query_row([name], |row| row.get(0));
        Ok(found.optional()?.unwrap_or(Value::Null))
    }

    /// Adds a row, and gives its id.
    fn insert(&self, parent: &Value, body: &str) -> Result<Value> {
        let mut insert = self.connection.prepare_cached(INSERT)?;
        match self.form {
            Form::Plain => insert.execute(params![Value::Null, parent, body])?,
            Form::Compressed => {
                let body = self.compressor.borrow_mut().compress(body.as_bytes())?;
                insert.execute(params![Value::Null, parent, body])?
            }
            Form::ByHash => {
                let mut content = body.as_bytes().to_vec();
                if let Value::Blob(parent) = parent {
                    content.extend_from_slice(parent);
                }
                let id = Value::Blob(id::Id::of(id::Kind::Blob, &content).as_bytes().to_vec());
                insert.execute(params![id, parent, body])?;
                return Ok(id);
            }
        };
        Ok(Value::Integer(self.connection.last_insert_rowid()))
    }

    fn expanded(&self, body: &[u8]) -> Result<Vec<u8>> {
        let bytes = Decompressor::upper_bound(body).ok_or("a body does not tell its length")?;
        Ok(self.decompressor.borrow_mut().decompress(body, bytes)?)
    }

    fn in_transaction(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        work()?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn point(&self, name: &str, target: &Value) -> Result<()> {
        self.connection.prepare_cached(MOVE)?.execute(params![name, target])?;
        Ok(())
    }
}

impl Peer for Sqlite {
    fn append(&mut self, branch: &str, body: &str) -> Result<()> {
        self.in_transaction(|| {
            let id = self.insert(&self.target(branch)?, body)?;
            self.point(branch, &id)
        })
    }

    fn fill(&mut self, branch: &str, bodies: &mut dyn Iterator<Item = String>) -> Result<()> {
        self.in_transaction(|| {
            let mut id = self.target(branch)?;
            for body in bodies {
                id = self.insert(&id, &body)?;
            }
            self.point(branch, &id)
        })
    }

    fn fork(&mut self, branch: &str, name: &str) -> Result<()> {
        self.in_transaction(|| self.point(name, &self.target(branch)?))
    }

    fn switch(&mut self, session: &str, to_other: bool) -> Result<()> {
        self.in_transaction(|| {
            self.point(&format!("{session}/HEAD"), &Value::Integer(to_other.into()))
        })
    }

    fn branches(&mut self) -> Result<usize> {
        let mut statement = self.connection.prepare_cached("SELECT name, target FROM refs")?;
        let names = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let names: Vec<(String, Value)> = names.collect::<rusqlite::Result<_>>()?;
        Ok(names.len())
    }

    fn path(&mut self, branch: &str) -> Result<Vec<Key>> {
        let mut statement = self.connection.prepare_cached(IDS)?;
        let mut rows = statement.query([self.target(branch)?])?;
        let mut keys = Vec::new();
        while let Some(row) = rows.next()? {
            keys.push(match row.get_ref(0)? {
                ValueRef::Integer(id) => key_of(&id.to_be_bytes()),
                ValueRef::Blob(id) => key_of(id),
                _ => return Err("an id is neither a number nor bytes".into()),
            });
        }
        Ok(keys)
    }

    fn walk(&mut self, branch: &str, visit: Visit<'_>) -> Result<()> {
        let mut statement = self.connection.prepare_cached(BODIES)?;
        let mut rows = statement.query([self.target(branch)?])?;
        while let Some(row) = rows.next()? {
            let body = row.get_ref(0)?.as_bytes()?;
            let goes_on = match self.form {
                Form::Compressed => visit(&self.expanded(body)?)?,
                Form::Plain | Form::ByHash => visit(body)?,
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    fn get(&mut self, _: &str, key: &Key) -> Result<usize> {
        let number = key.first_chunk().copied().map_or(0, i64::from_be_bytes);
        let id = match self.form {
            Form::ByHash => ValueRef::Blob(key),
            Form::Plain | Form::Compressed => ValueRef::Integer(number),
        };
        let mut statement = self.connection.prepare_cached(GET)?;
        let mut rows = statement.query([ToSqlOutput::Borrowed(id)])?;
        let row = rows.next()?.ok_or("a row is missing")?;
        let body = row.get_ref(0)?.as_bytes()?;
        Ok(match self.form {
            Form::Compressed => self.expanded(body)?.len(),
            Form::Plain | Form::ByHash => body.to_vec().len(),
        })
    }

    fn maintain(&mut self) -> Result<()> {
        self.connection.execute_batch("VACUUM; PRAGMA optimize")?;
        self.settle()
    }

    /// A commit with FULL syncs the log, and with it all that was committed before.
    fn sync(&mut self) -> Result<()> {
        Ok(self.connection.execute_batch(SYNC)?)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    fn grep(&mut self, branches: &[String], text: &str) -> Result<usize> {
        match self.form {
            Form::Compressed => grep_by_walking(self, branches, text),
            _ => Ok(self.connection.query_row(GREP, [text], |row| row.get::<_, i64>(0))? as usize),
        }
    }
}
