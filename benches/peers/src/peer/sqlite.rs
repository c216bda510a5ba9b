//! SQLite, in WAL mode.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};
use sapwood::Id;

use crate::Result;
use crate::peer::Append;

const INSERT: &str = "INSERT INTO messages (parent, body) VALUES (?1, ?2)";
const UPDATE: &str = "UPDATE refs SET target = ?1 WHERE name = ?2";

/// How much of a database is mapped rather than read: all.
const MAP_BYTES: i64 = 8 << 30;

/// Appends messages: one row and one ref a transaction.
#[derive(Debug)]
pub struct Appender {
    connection: Connection,
    name: String,
    parent: Option<i64>,
}

impl Appender {
    /// Opens a database, made where there is none, to append under a ref of this name.
    pub fn open(path: &Path, synchronous: &str, name: &str) -> Result<Appender> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(60))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS messages (
                 id INTEGER PRIMARY KEY, parent INTEGER, body TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS refs (
                 name TEXT PRIMARY KEY, target INTEGER) WITHOUT ROWID;",
        )?;
        connection.execute("INSERT OR IGNORE INTO refs (name) VALUES (?1)", [name])?;
        Ok(Appender { connection, name: name.to_owned(), parent: None })
    }
}

impl Append for Appender {
    fn append(&mut self, line: &str) -> Result<()> {
        let connection = &self.connection;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        connection.prepare_cached(INSERT)?.execute(params![self.parent, line])?;
        let id = connection.last_insert_rowid();
        connection.prepare_cached(UPDATE)?.execute(params![id, self.name])?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        self.parent = Some(id);
        Ok(())
    }
}

/// How rows are laid out.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// Rows in the order of insertion, and an index of ids.
    RowId,
    /// Rows in the order of ids.
    WithoutRowId,
}

/// Makes a database of the same messages under the same ids, oldest first.
pub fn build(
    path: &Path,
    layout: Layout,
    ids: &[Id],
    messages: &mut dyn Iterator<Item = String>,
) -> Result<()> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let tail = match layout {
        Layout::RowId => "",
        Layout::WithoutRowId => "WITHOUT ROWID",
    };
    connection.execute_batch(&format!(
        "CREATE TABLE messages (id BLOB PRIMARY KEY, parent BLOB, body TEXT NOT NULL) {tail}; BEGIN"
    ))?;
    {
        let mut insert = connection.prepare("INSERT INTO messages VALUES (?1, ?2, ?3)")?;
        let mut parent: Option<&[u8]> = None;
        for (id, body) in ids.iter().zip(messages) {
            insert.execute(params![id.as_bytes(), parent, body])?;
            parent = Some(id.as_bytes());
        }
    }
    // Rebuilt in order, so that no page is half empty.
    connection.execute_batch("COMMIT; VACUUM; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize")?;
    Ok(())
}

/// Opens a database for reading, mapped into memory.
pub fn open(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "mmap_size", MAP_BYTES)?;
    Ok(connection)
}
