//! Messages in an ordered map of bytes to bytes, whatever engine it is.
//!
//! A message's key is the time and a number (as UUIDv7 has it), so that new ones go to the end. Its
//! value is its parent's key, then the body. A branch is a name and the key of its newest message.

use std::time::UNIX_EPOCH;

use crate::Result;
use crate::peer::{Key, Peer, Visit, key_of};

/// How long the key of a message is.
const KEY_BYTES: usize = 16;
/// The key of a message.
pub type Short = [u8; KEY_BYTES];
/// The parent of a message that has none.
const NO_PARENT: Short = [0; KEY_BYTES];
/// How many messages go into one transaction where there are many.
const BATCH: usize = 10_000;

/// The two maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Messages,
    Branches,
}

/// A key and what stands under it.
pub type Put = (Table, Vec<u8>, Vec<u8>);

/// What is shown a value; it gives the key to go on with.
pub type Follow<'a> = &'a mut dyn FnMut(&[u8]) -> Result<Option<Short>>;

/// An engine.
pub trait Engine {
    /// Puts all of these, in one transaction.
    fn commit(&mut self, puts: &[Put]) -> Result<()>;
    /// Reads a branch.
    fn target(&self, name: &str) -> Result<Option<Short>>;
    /// Reads one message after another, in one transaction.
    fn follow(&self, from: Short, visit: Follow<'_>) -> Result<()>;
    /// Lists the branches, and gives their number.
    fn names(&self) -> Result<usize>;
    /// Makes the files small.
    fn compact(&mut self) -> Result<()>;
    /// Makes durable what was committed, whatever the mode.
    fn sync(&mut self) -> Result<()>;

    /// Writes out what is only in memory and in a log.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Messages in an engine.
pub struct KeyValue<E> {
    engine: E,
    made: u32,
}

impl<E: Engine> KeyValue<E> {
    /// Keeps messages in an engine.
    pub fn new(engine: E) -> KeyValue<E> {
        KeyValue { engine, made: 0 }
    }

    /// Makes a key that no other process makes, greater than all before.
    fn key(&mut self) -> Short {
        let time = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
        self.made += 1;
        let rest = u64::from(self.made) << 32 | u64::from(std::process::id());
        (u128::from(time) << 64 | u128::from(rest)).to_be_bytes()
    }

    fn message(&mut self, parent: Short, body: &str) -> (Short, Put) {
        let key = self.key();
        (key, (Table::Messages, key.to_vec(), [&parent, body.as_bytes()].concat()))
    }

    fn end(&self, branch: &str) -> Result<Short> {
        Ok(self.engine.target(branch)?.unwrap_or(NO_PARENT))
    }
}

/// Gives the key that a value begins with, unless it is none.
pub fn short(value: &[u8]) -> Option<Short> {
    value.first_chunk().copied().filter(|key| *key != NO_PARENT)
}

fn branch_put(branch: &str, key: Short) -> Put {
    (Table::Branches, branch.as_bytes().to_vec(), key.to_vec())
}

impl<E: Engine> Peer for KeyValue<E> {
    fn append(&mut self, branch: &str, body: &str) -> Result<()> {
        let end = self.end(branch)?;
        let (key, put) = self.message(end, body);
        self.engine.commit(&[put, branch_put(branch, key)])
    }

    fn fill(&mut self, branch: &str, bodies: &mut dyn Iterator<Item = String>) -> Result<()> {
        let mut end = self.end(branch)?;
        loop {
            let mut puts = Vec::new();
            for body in bodies.take(BATCH) {
                let (key, put) = self.message(end, &body);
                end = key;
                puts.push(put);
            }
            if puts.is_empty() {
                return Ok(());
            }
            puts.push(branch_put(branch, end));
            self.engine.commit(&puts)?;
        }
    }

    fn fork(&mut self, branch: &str, name: &str) -> Result<()> {
        let end = self.end(branch)?;
        self.engine.commit(&[branch_put(name, end)])
    }

    fn switch(&mut self, session: &str, to_other: bool) -> Result<()> {
        let target = [u8::from(to_other); KEY_BYTES];
        self.engine.commit(&[branch_put(&format!("{session}/HEAD"), target)])
    }

    fn branches(&mut self) -> Result<usize> {
        self.engine.names()
    }

    fn path(&mut self, branch: &str) -> Result<Vec<Key>> {
        let Some(end) = self.engine.target(branch)? else {
            return Ok(Vec::new());
        };
        let mut keys = vec![key_of(&end)];
        self.engine.follow(end, &mut |value| {
            let next = short(value);
            keys.extend(next.map(|key| key_of(&key)));
            Ok(next)
        })?;
        Ok(keys)
    }

    fn walk(&mut self, branch: &str, visit: Visit<'_>) -> Result<()> {
        let Some(end) = self.engine.target(branch)? else {
            return Ok(());
        };
        self.engine.follow(end, &mut |value| match visit(&value[KEY_BYTES..])? {
            true => Ok(short(value)),
            false => Ok(None),
        })
    }

    fn get(&mut self, _: &str, key: &Key) -> Result<usize> {
        let mut bytes = 0;
        let key = short(key).ok_or("there is no such key")?;
        self.engine.follow(key, &mut |value| {
            bytes = value.to_vec().len() - KEY_BYTES;
            Ok(None)
        })?;
        Ok(bytes)
    }

    fn maintain(&mut self) -> Result<()> {
        self.engine.compact()
    }

    fn settle(&mut self) -> Result<()> {
        self.engine.flush()
    }

    fn sync(&mut self) -> Result<()> {
        self.engine.sync()
    }
}
