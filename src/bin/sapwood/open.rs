//! Which store a command works on, who works on it, and where they are.
//!
//! The only place that reads the environment and the home directory.

use std::cell::RefCell;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood::disk::{self, Disk, OsDisk};
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::ops::{self, Summaries};
use sapwood::repo::{self, Place, Repo};
use sapwood::store::local::{LocalStore, Options, STORE_DIR_NAME};
use sapwood::store::{Operation, Store};

use crate::args::Global;
use crate::background;
use crate::config;
use crate::failure::Failure;
use crate::output::Output;
use crate::quote;

/// How much of a cache is read at the most.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// What a command runs with.
pub(crate) struct Context {
    /// The flags that every command takes.
    pub(crate) global: Global,
    /// Where it prints.
    pub(crate) output: Output,
    /// What stands before the command.
    pub(crate) choice: Choice,
    /// The store in memory, for `--no-session`.
    memory: Option<Repo>,
    /// The store that was opened for writing last.
    written: RefCell<Option<Arc<LocalStore>>>,
}

/// Which session, as said before the command.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct Choice {
    /// Go on with the latest session of this directory
    #[arg(short = 'c', long = "continue", conflicts_with = "no_session")]
    pub(crate) go_on: bool,
    /// Work on a store in memory, and keep nothing
    #[arg(long)]
    pub(crate) no_session: bool,
}

/// A store, opened for a command.
pub(crate) struct Opened {
    /// The store itself.
    pub(crate) store: Arc<dyn Store>,
    /// The store, as the library shows it.
    pub(crate) repo: Repo,
    /// Where names are looked up.
    pub(crate) place: Place,
    local: Option<Arc<LocalStore>>,
}

impl Opened {
    fn new(store: LocalStore, choice: Choice) -> Result<Opened, Failure> {
        let local = Arc::new(store);
        let mut opened = Opened::on(Repo::on(local.clone()));
        opened.local = Some(local);
        if choice.go_on && opened.place.session.is_none() {
            opened.place.session = Some(opened.latest()?);
        }
        Ok(opened)
    }

    fn on(repo: Repo) -> Opened {
        let place = Place { session: text("SAPWOOD_SESSION") };
        Opened { store: repo.store().clone(), repo, place, local: None }
    }

    /// Gives the store on disk, for commands that make no sense without one.
    pub(crate) fn local(&self) -> Result<&Arc<LocalStore>, Failure> {
        self.local.as_ref().ok_or_else(needs_disk)
    }

    /// Gives where the store is, to be shown.
    pub(crate) fn path(&self) -> &Path {
        self.local.as_ref().map_or(Path::new("the store"), |local| local.path())
    }

    /// Finds the latest session of this directory.
    fn latest(&self) -> Result<String, Failure> {
        let here = working_directory()?;
        let snapshot = self.repo.snapshot()?;
        let found = ops::latest_session(&*snapshot, &here, &mut self.summaries())?;
        found.ok_or_else(|| {
            Failure::Missing(format!("no session works in {here}; make one with 'sapwood new'"))
        })
    }

    /// Reads what is remembered of sessions and their paths.
    pub(crate) fn summaries(&self) -> Summaries {
        let Some(local) = &self.local else {
            return Summaries::default();
        };
        let bytes = disk::read_file(&OsDisk, &local.cache_file("sessions"), CACHE_BYTES_MAX);
        bytes.map_or_else(|_| Summaries::default(), |bytes| Summaries::decode(&bytes))
    }

    /// Gives how many objects may not come back.
    pub(crate) fn refused(&self) -> Result<u64, Failure> {
        Ok(self.local.as_ref().map_or(Ok(0), |local| local.refused())?)
    }

    /// Keeps what is remembered, if that can be done: nothing depends on it. What was redacted
    /// since so many objects were refused must not be remembered.
    pub(crate) fn keep_summaries(&self, summaries: &Summaries, refused: u64) {
        let (Some(local), Ok(bytes)) = (&self.local, summaries.encode()) else {
            return;
        };
        let path = local.cache_file("sessions");
        let directory = path.parent().map_or(Ok(()), |directory| OsDisk.create_dir(directory));
        let _ = directory.and_then(|()| disk::replace_file(&OsDisk, &path, &bytes));
        // A redaction removes the file after it took place, so one of the two sees the other.
        if local.refused().ok() != Some(refused) {
            let _ = OsDisk.remove(&path);
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
    /// Prepares to run a command.
    pub(crate) fn new(global: Global, choice: Choice, output: Output) -> Context {
        let memory = choice.no_session.then(Repo::in_memory);
        Context { global, output, choice, memory, written: RefCell::default() }
    }

    /// Opens a store on disk, or takes the one in memory.
    fn opened(
        &self,
        open: impl FnOnce() -> Result<LocalStore, Failure>,
    ) -> Result<Opened, Failure> {
        match &self.memory {
            Some(repo) => Ok(Opened::on(repo.clone())),
            None => Opened::new(open()?, self.choice),
        }
    }

    /// Opens the store for reading. Nothing is ever written but caches, which hold no truth.
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        let options = Options { read_only: true, ..options() };
        self.opened(|| Ok(LocalStore::open(disk(), &self.find()?, options)?))
    }

    /// Opens the store for reading; where none is found, an empty one in memory.
    pub(crate) fn open_or_empty(&self) -> Result<Opened, Failure> {
        match self.open() {
            Err(Failure::Library(Error::NotAStore { .. })) if self.named_store().is_none() => {
                Ok(Opened::on(Repo::in_memory()))
            }
            opened => opened,
        }
    }

    /// Opens the store for reading and writing.
    pub(crate) fn open_for_writing(&self) -> Result<Opened, Failure> {
        self.remember(self.opened(|| Ok(LocalStore::open(disk(), &self.find()?, options())?))?)
    }

    fn remember(&self, opened: Opened) -> Result<Opened, Failure> {
        self.written.replace(opened.local.clone());
        Ok(opened)
    }

    /// Does what may follow once a command has answered.
    pub(crate) fn follow_up(&self) {
        if let Some(store) = self.written.take() {
            background::collect_garbage(&store);
        }
    }

    /// Opens the store for reading and writing; where none is found, makes the user's own.
    pub(crate) fn open_or_create(&self) -> Result<Opened, Failure> {
        let opened = self.opened(|| {
            let own = match self.find() {
                Err(Failure::Library(Error::NotAStore { .. })) if self.named_store().is_none() => {
                    home().ok_or_else(|| Failure::Request {
                        message: "there is no store here or above, and no home directory"
                            .to_owned(),
                        hint: Some("make one with 'sapwood init'".to_owned()),
                    })?
                }
                // The user's own, which another process is just making.
                Ok(found) if Some(&found) == home().as_ref() && !is_store(&found) => found,
                found => return Ok(LocalStore::open(disk(), &found?, options())?),
            };
            Ok(LocalStore::init(disk(), &own, options())?.0)
        })?;
        self.remember(opened)
    }

    /// Opens another store than the one this command works on.
    pub(crate) fn open_other(&self, path: &Path, read_only: bool) -> Result<Opened, Failure> {
        let options = Options { read_only, ..options() };
        let local = Arc::new(LocalStore::open(disk(), path, options)?);
        let mut opened = Opened::on(Repo::on(local.clone()));
        opened.local = Some(local);
        opened.place = Place::default();
        Ok(opened)
    }

    /// Makes a store, and gives its full path and whether it was there already.
    pub(crate) fn init(&self, path: &Path) -> Result<(PathBuf, bool), Failure> {
        self.check_on_disk()?;
        let full = std::path::absolute(path).map_err(Error::io("find", path))?;
        let (_, existed) = LocalStore::init(disk(), &full, options())?;
        Ok((full, existed))
    }

    /// Refuses `--no-session` where a store on disk is needed.
    fn check_on_disk(&self) -> Result<(), Failure> {
        self.memory.as_ref().map_or(Ok(()), |_| Err(needs_disk()))
    }

    /// Gives the store that the flags or the environment name.
    pub(crate) fn named_store(&self) -> Option<PathBuf> {
        named_store(&self.global)
    }

    /// Finds the store: by name, else the nearest upwards, else the user's own.
    pub(crate) fn find(&self) -> Result<PathBuf, Failure> {
        self.check_on_disk()?;
        find(&self.global)
    }

    /// Says more of a failure where the environment is to blame.
    pub(crate) fn explained(&self, failure: Failure) -> Failure {
        let Failure::Library(Error::RevisionUnknown { .. }) = &failure else {
            return failure;
        };
        let Some(session) = text("SAPWOOD_SESSION") else {
            return failure;
        };
        let snapshot = self.open().and_then(|opened| Ok(opened.repo.snapshot()?));
        match snapshot.map(|snapshot| repo::find_session(&*snapshot, &session)) {
            Ok(Err(Error::RevisionUnknown { why, .. })) => {
                let why = format!("$SAPWOOD_SESSION is '{session}', but {why}");
                Failure::Missing(format!("{why}; unset it, or name a session with -s"))
            }
            _ => failure,
        }
    }
}

/// Enters the directories that `-C` names, one after the other.
pub(crate) fn enter(global: &Global) -> Result<(), Failure> {
    for directory in &global.start_in {
        env::set_current_dir(directory).map_err(Error::io("enter", directory))?;
    }
    Ok(())
}

/// Finds the store: by name, else the nearest upwards, else the user's own.
pub(crate) fn find(global: &Global) -> Result<PathBuf, Failure> {
    if let Some(named) = named_store(global) {
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

fn named_store(global: &Global) -> Option<PathBuf> {
    let named = global.store.clone();
    named.or_else(|| env::var_os("SAPWOOD_DIR").filter(|dir| !dir.is_empty()).map(Into::into))
}

fn needs_disk() -> Failure {
    Failure::Request {
        message: "this command needs a store on disk".to_owned(),
        hint: Some("leave out --no-session".to_owned()),
    }
}

/// Gives the directory that a command runs in, as sessions know it.
pub(crate) fn working_directory() -> Result<String, Failure> {
    directory(Path::new("."))
}

/// Gives a directory as sessions know it: whole, without links and dots where it exists.
pub(crate) fn directory(path: &Path) -> Result<String, Failure> {
    let full = std::path::absolute(path).map_err(Error::io("find", path))?;
    let full = std::fs::canonicalize(&full).unwrap_or(full);
    full.into_os_string().into_string().map_err(|odd| {
        Failure::request(format!("the directory '{}' is not UTF-8", odd.to_string_lossy()))
    })
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

/// Names the program that runs.
pub(crate) fn program() -> Option<PathBuf> {
    env::current_exe().ok()
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
    let system = || ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(text);
    let found = config::text("user.name").or_else(system);
    found.map_or("unknown".to_owned(), |name| name.replace(char::is_control, " "))
}

/// Gives how stores are opened.
pub(crate) fn options() -> Options {
    let default = Options::default();
    let timeout_ms = config::text("core.lock-timeout-ms").and_then(|value| value.parse().ok());
    Options {
        allow_network: text("SAPWOOD_ALLOW_NETWORK").is_some_and(|value| value == "1"),
        lock_timeout: timeout_ms.map_or(default.lock_timeout, Duration::from_millis),
        ..default
    }
}

/// Names the directory for what is thrown away.
pub(crate) fn temporary_directory() -> PathBuf {
    env::temp_dir()
}

/// Names the directory of the user's own settings.
pub(crate) fn config_directory() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    base.map(|base| base.join("sapwood"))
}

fn home() -> Option<PathBuf> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(STORE_DIR_NAME))
}

/// Says whether a directory is a store.
pub(crate) fn is_store(path: &Path) -> bool {
    LocalStore::is_at(&OsDisk, path)
}

/// Reads a variable of the environment that is set, not empty, and text.
pub(crate) fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
