//! Which store a command works on, who works on it, and where they are.
//!
//! The only place that reads the environment and the home directory.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood::disk::{Disk, OsDisk};
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::repo::{self, Place, Repo};
use sapwood::store::Operation;
use sapwood::store::local::{LocalStore, Options, STORE_DIR_NAME};

use crate::args::Global;
use crate::failure::Failure;
use crate::output::Output;
use crate::quote;

/// What a command runs with.
pub(crate) struct Context {
    /// The flags that every command takes.
    pub(crate) global: Global,
    /// Where it prints.
    pub(crate) output: Output,
}

/// A store, opened for a command.
pub(crate) struct Opened {
    /// The store itself.
    pub(crate) store: Arc<LocalStore>,
    /// The store, as the library shows it.
    pub(crate) repo: Repo,
    /// Where names are looked up.
    pub(crate) place: Place,
}

impl Opened {
    fn new(store: LocalStore) -> Opened {
        let store = Arc::new(store);
        Opened {
            repo: Repo::on(store.clone()),
            store,
            place: Place { session: text("SAPWOOD_SESSION") },
        }
    }

    /// Finds the object that a revision names.
    pub(crate) fn resolve(&self, revision: &str) -> Result<Id, Failure> {
        let snapshot = self.repo.snapshot()?;
        Ok(repo::resolve(snapshot.as_ref(), &self.place, revision)?)
    }
}

/// Opening.
impl Context {
    /// Prepares to run a command in the directory that `-C` names.
    pub(crate) fn new(global: Global, output: Output) -> Result<Context, Failure> {
        if let Some(directory) = &global.start_in {
            env::set_current_dir(directory).map_err(Error::io("enter", directory))?;
        }
        Ok(Context { global, output })
    }

    /// Opens the store for reading. Nothing is ever written.
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        let options = Options { read_only: true, ..options() };
        Ok(Opened::new(LocalStore::open(disk(), &self.find()?, options)?))
    }

    /// Opens the store for reading and writing.
    pub(crate) fn open_for_writing(&self) -> Result<Opened, Failure> {
        Ok(Opened::new(LocalStore::open(disk(), &self.find()?, options())?))
    }

    /// Opens the store for reading and writing; where none is found, makes the user's own.
    pub(crate) fn open_or_create(&self) -> Result<Opened, Failure> {
        let own = match self.find() {
            Err(Failure::Library(Error::NotAStore { .. })) if self.named_store().is_none() => {
                home().ok_or_else(|| Failure::Request {
                    message: "there is no store here or above, and no home directory".to_owned(),
                    hint: Some("make one with 'sapwood init'".to_owned()),
                })?
            }
            // The user's own, which another process is just making.
            Ok(found) if Some(&found) == home().as_ref() && !is_store(&found) => found,
            found => return Ok(Opened::new(LocalStore::open(disk(), &found?, options())?)),
        };
        Ok(Opened::new(LocalStore::init(disk(), &own, options())?.0))
    }

    /// Makes a store, and gives its full path and whether it was there already.
    pub(crate) fn init(&self, path: &Path) -> Result<(PathBuf, bool), Failure> {
        let full = std::path::absolute(path).map_err(Error::io("find", path))?;
        let (_, existed) = LocalStore::init(disk(), &full, options())?;
        Ok((full, existed))
    }

    /// Gives the store that the flags or the environment name.
    pub(crate) fn named_store(&self) -> Option<PathBuf> {
        let named = self.global.store.clone();
        named.or_else(|| env::var_os("SAPWOOD_DIR").filter(|dir| !dir.is_empty()).map(Into::into))
    }

    /// Finds the store: by name, else the nearest upwards, else the user's own.
    pub(crate) fn find(&self) -> Result<PathBuf, Failure> {
        if let Some(named) = self.named_store() {
            let within = named.join(STORE_DIR_NAME);
            return Ok(if !is_store(&named) && is_store(&within) { within } else { named });
        }
        let here = env::current_dir().map_err(Error::io("find", "."))?;
        let own = || home().filter(|path| is_store(path));
        let found = Repo::discover(&here)
            .or_else(own)
            .ok_or(Error::NotAStore { path: here.join(STORE_DIR_NAME) });
        Ok(found?)
    }
}

/// Who and when.
impl Context {
    /// Says for the operations log what is done, by whom and when, on one line.
    pub(crate) fn operation(&self, reason: Option<&str>, words: &[&str]) -> Operation {
        let typed = || words.iter().map(|word| quote::shell(word)).collect::<Vec<_>>().join(" ");
        let command = reason.map_or_else(typed, str::to_owned);
        Operation { time: now(), actor: actor(), command: command.replace(char::is_control, " ") }
    }
}

/// Gives the milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Gives the disk that stores are on.
pub(crate) fn disk() -> Arc<dyn Disk> {
    Arc::new(OsDisk)
}

/// Says who is at work.
pub(crate) fn actor() -> String {
    let names = ["SAPWOOD_ACTOR", "USER", "LOGNAME", "USERNAME"];
    let found = names.into_iter().find_map(text);
    found.map_or("unknown".to_owned(), |name| name.replace(char::is_control, " "))
}

fn options() -> Options {
    let default = Options::default();
    let timeout_ms = text("SAPWOOD_LOCK_TIMEOUT_MS").and_then(|value| value.parse().ok());
    Options {
        allow_network: text("SAPWOOD_ALLOW_NETWORK").is_some_and(|value| value == "1"),
        lock_timeout: timeout_ms.map_or(default.lock_timeout, Duration::from_millis),
        ..default
    }
}

fn home() -> Option<PathBuf> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(STORE_DIR_NAME))
}

fn is_store(path: &Path) -> bool {
    LocalStore::is_at(&OsDisk, path)
}

/// Reads a variable of the environment that is set, not empty, and text.
fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
