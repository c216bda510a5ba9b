//! sapwood through its library.

use std::path::Path;
use std::sync::Arc;

use sapwood::codec::json;
use sapwood::disk::OsDisk;
use sapwood::session::{self, Pin};
use sapwood::store::Store;
use sapwood::store::local::{LocalStore, Options};
use sapwood::{Durability, Id, Repo};

use crate::Result;
use crate::peer::Append;

/// How many messages go into one transaction when a store is built.
const BATCH: usize = 1000;

/// Appends messages to one branch.
#[derive(Debug)]
pub struct Appender {
    repo: Repo,
    pin: Pin,
    durability: Durability,
}

impl Appender {
    /// Makes a store and pins a branch of it.
    pub fn new(dir: &Path, durability: Durability) -> Result<Appender> {
        let repo = Repo::on(init(dir)?);
        let pin = session::pin(&repo, Some("s"), Some("main"), 0, "peers")?;
        Ok(Appender { repo, pin, durability })
    }
}

impl Append for Appender {
    fn append(&mut self, line: &str) -> Result<()> {
        let body = json::parse(line.as_bytes())?;
        session::append(&self.repo, &self.pin, vec![body], self.durability, 0)?;
        Ok(())
    }
}

/// Makes an empty store.
pub fn init(dir: &Path) -> Result<Arc<LocalStore>> {
    let (store, _) = LocalStore::init(Arc::new(OsDisk), dir, Options::default())?;
    Ok(Arc::new(store))
}

/// Opens a store.
pub fn open(dir: &Path, options: Options) -> Result<LocalStore> {
    Ok(LocalStore::open(Arc::new(OsDisk), dir, options)?)
}

/// Makes a store of one long path, in batches, and gives the ids, oldest first.
pub fn build(dir: &Path, messages: &mut dyn Iterator<Item = String>) -> Result<Vec<Id>> {
    let store = init(dir)?;
    let repo = Repo::on(store.clone());
    let pin = session::pin(&repo, Some("s"), Some("main"), 0, "peers")?;
    let mut ids = Vec::new();
    loop {
        let mut bodies = Vec::with_capacity(BATCH);
        for line in messages.take(BATCH) {
            bodies.push(json::parse(line.as_bytes())?);
        }
        if bodies.is_empty() {
            break;
        }
        ids.extend(session::append(&repo, &pin, bodies, Durability::Relaxed, 0)?);
    }
    store.sync()?;
    // Closes the open segment and seals all that is closed.
    store.pack_refs()?;
    Ok(ids)
}
