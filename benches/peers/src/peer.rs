//! The contestants that append, behind one trait: in this process, or driven through a pipe.
//!
//! The peers get what suits them best: SQLite an integer key and prepared statements, the bare loop
//! a file that is already there, full of zeros.

pub mod bare;
pub mod library;
pub mod pipe;
pub mod sqlite;

use std::io::{BufRead as _, Write as _};
use std::path::Path;

use crate::Result;

/// Takes messages, one at a time.
pub trait Append {
    /// Appends a message; when it returns, the message is committed.
    fn append(&mut self, line: &str) -> Result<()>;

    /// Ends, and says whether all went well.
    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Runs one of the peers on standard input, as `sapwood append --stdin` does: a line for a line.
pub fn serve(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut peer: Box<dyn Append> = match words.as_slice() {
        ["sqlite", path, synchronous, name] => {
            Box::new(sqlite::Appender::open(Path::new(path), synchronous, name)?)
        }
        ["bare", path, sync] => Box::new(bare::Appender::open(Path::new(path), *sync == "sync")?),
        _ => {
            return Err("usage: peers peer (sqlite PATH SYNCHRONOUS NAME | bare PATH WHEN)".into());
        }
    };
    let mut output = std::io::stdout().lock();
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        peer.append(line.trim_end_matches('\n'))?;
        output.write_all(b"ok\n")?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
