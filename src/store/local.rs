//! A store in a directory.
//!
//! ```text
//!   commit ──► journal segment ──► pack + index + graph       (objects, small)
//!        └───► loose file                                     (objects, large)
//!   commit ──► journal segment ──► refs/packed-<generation>   (refs)
//!        └───► mirror files under refs/                       (for people)
//! ```
//!
//! Invariants:
//! - The manifest says what exists, and names only what is durable.
//! - Writers hold one lock, for microseconds; readers hold none and repair nothing.
//! - A transaction is one group, written with one `pwrite`, made durable by one `fdatasync` that
//!   all who wait share.
//! - A handle whose sync failed is dead: nobody knows what is on disk, so it vouches for nothing.
//!
//! Not here: what the objects mean.

mod cache;
mod commit;
mod durable;
mod fsck;
mod graph;
mod group;
mod housekeeper;
mod index;
mod layout;
mod lock;
mod loose;
mod manifest;
mod mirror;
mod oplog;
mod pack;
mod packed_refs;
mod paged;
mod plumbing;
mod rotate;
mod seal;
mod segment;
mod snapshot;
mod state;
mod sync;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use crate::disk::{self, Disk};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::{Durability, Snapshot, Store, Topology, Transaction, transaction};
use cache::BlockCache;
use durable::{DurableMark, Position};
use housekeeper::Housekeeper;
use layout::Layout;
use lock::LockFile;
use loose::Loose;
use manifest::Manifest;
use mirror::Mirrors;
use segment::Segment;
use snapshot::LocalSnapshot;
use state::{Access, State};

pub use fsck::{Finding, FsckOptions, FsckReport, Progress, Severity, fsck};
pub use plumbing::{Counts, PackedObject, RepackReport};

/// The directory that holds a store, below the directory it is for.
pub const STORE_DIR_NAME: &str = ".sapwood";

/// The content of the file `format`.
const FORMAT: &str = "sapwood store\nversion 1\nhash blake3\ncodec cbor zstd\nlink-bytes 1024\n";
const CONFIG: &str = "# Settings of this store. Lines that begin with # are the defaults.\n\n\
    # durability = \"full\"\n";
const FIRST_SEQUENCE: u64 = 1;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long to wait for another process's lock.
    pub lock_timeout: Duration,
    /// How much memory decompressed blocks may take.
    pub cache_bytes: usize,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// Whether to write on a network file system all the same.
    pub allow_network: bool,
    /// Whether a thread does the maintenance and the late syncs. Without it they wait for
    /// [`LocalStore::maintain`] and for the handle to be dropped.
    pub background: bool,
    /// The length of the first journal segment; each next one is twice as long, up to the maximum.
    pub segment_bytes_min: u64,
    /// The length of a journal segment, unless one transaction needs more.
    pub segment_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lock_timeout: Duration::from_secs(10),
            cache_bytes: 64 << 20,
            read_only: false,
            allow_network: false,
            background: true,
            segment_bytes_min: 256 << 10,
            segment_bytes_max: 4 << 20,
        }
    }
}

/// A store in a directory.
#[derive(Debug)]
pub struct LocalStore {
    inner: Arc<Inner>,
    housekeeper: Housekeeper,
}

/// What all threads of a handle share.
#[derive(Debug)]
pub(crate) struct Inner {
    disk: Arc<dyn Disk>,
    layout: Layout,
    options: Options,
    cache: BlockCache,
    loose: Loose,
    /// The places of objects that no graph file covers yet, as far as they were asked for.
    topologies: Mutex<HashMap<Id, Topology>>,
    state: RwLock<Arc<State>>,
    writer: Mutex<Option<Writer>>,
    /// The shared mark; only a reader may lack it.
    mark: Option<DurableMark>,
    /// Held by the thread that syncs for the others.
    syncing: Mutex<()>,
    /// What this handle knows to be durable.
    durable: Mutex<Position>,
    dead: AtomicBool,
}

/// What only a writer needs.
#[derive(Debug)]
struct Writer {
    lock: LockFile,
    mirrors: Mirrors,
}

impl LocalStore {
    /// Makes a store in `path`, or opens the one that is there, and says whether it was.
    ///
    /// The manifest is written last: a crash before leaves no store, and the next call makes it.
    pub fn init(disk: Arc<dyn Disk>, path: &Path, options: Options) -> Result<(LocalStore, bool)> {
        let layout = Layout::new(path);
        disk::create_dir_durably(&*disk, path).map_err(Error::io("create", path))?;
        refuse_network(&*disk, path, &options)?;
        let lock = LockFile::open(&*disk, layout.lock())?;
        let guard = lock.acquire(options.lock_timeout)?;
        let existed = disk.len(&layout.current()).is_ok();
        if !existed {
            lay_out(&*disk, &layout, &options)?;
        }
        // A holder that died left work to the next writer, which this is not: the record stays.
        if !existed || !guard.holder_died {
            let generation = guard.generation;
            guard.release(generation)?;
        }
        Ok((LocalStore::open(disk, path, options)?, existed))
    }

    /// Opens the store in `path`.
    pub fn open(disk: Arc<dyn Disk>, path: &Path, options: Options) -> Result<LocalStore> {
        let layout = Layout::new(path);
        check_format(&*disk, &layout)?;
        let mark = match options.read_only {
            true => DurableMark::open_read_only(&*disk, layout.synced())?,
            false => {
                refuse_network(&*disk, path, &options)?;
                Some(DurableMark::open(&*disk, layout.synced())?)
            }
        };
        let access = Access { disk: &disk, layout: &layout, read_only: options.read_only };
        let state = Arc::new(State::load(access, None)?);
        let inner = Arc::new(Inner {
            cache: BlockCache::new(options.cache_bytes),
            loose: Loose::new(Arc::clone(&disk), layout.clone()),
            topologies: Mutex::default(),
            state: RwLock::new(state),
            writer: Mutex::new(None),
            mark,
            syncing: Mutex::new(()),
            durable: Mutex::default(),
            dead: AtomicBool::new(false),
            disk,
            layout,
            options,
        });
        inner.refresh()?;
        let housekeeper = Housekeeper::new(Arc::clone(&inner));
        Ok(LocalStore { inner, housekeeper })
    }

    /// Says whether a directory holds a store.
    pub fn is_at(disk: &dyn Disk, path: &Path) -> bool {
        disk.len(&Layout::new(path).format()).is_ok()
    }

    /// Gives the store's directory.
    pub fn path(&self) -> &Path {
        self.inner.layout.root()
    }

    /// Does the maintenance that is due: prepares the next segment, seals closed ones into packs,
    /// merges small packs. Does nothing where another process is at it.
    pub fn maintain(&self) -> Result<()> {
        self.inner.check_writable()?;
        self.inner.maintain()
    }
}

impl Store for LocalStore {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(self.inner.snapshot()?))
    }

    fn commit(
        &self,
        durability: Durability,
        plan: &mut dyn FnMut(&dyn Snapshot) -> Result<Transaction>,
    ) -> Result<()> {
        let target = self.inner.commit(plan)?;
        match durability {
            Durability::Full => self.inner.wait_durable(target)?,
            Durability::Relaxed => self.housekeeper.sync_soon(),
        }
        if self.inner.maintenance_due() {
            self.housekeeper.maintain_soon();
        }
        Ok(())
    }

    fn put_blob(&self, source: &mut dyn Read, bytes: u64) -> Result<Id> {
        self.inner.check_writable()?;
        self.inner.loose.put_stream(Kind::Blob, source, bytes)
    }

    fn put_alone(&self, object: &NewObject) -> Result<()> {
        self.inner.check_writable()?;
        if !object.links.is_empty() {
            // An empty transaction, so that what the links rely on is vouched for and durable.
            let target = self.inner.commit(&mut |snapshot| {
                transaction::check_links(object, snapshot)?;
                Ok(Transaction::default())
            })?;
            self.inner.wait_durable(target)?;
        }
        self.inner.loose.put(&object.id, object.kind, &object.content)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
}

impl Inner {
    fn access(&self) -> Access<'_> {
        let read_only = self.options.read_only;
        Access { disk: &self.disk, layout: &self.layout, read_only }
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a newer state in the place of the one before.
    fn install(&self, state: Arc<State>) {
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.manifest.generation >= current.manifest.generation {
            *current = state;
        }
    }

    /// Reads the manifest again.
    fn reload(&self) -> Result<Arc<State>> {
        let state = Arc::new(State::load(self.access(), Some(&self.state()))?);
        self.install(Arc::clone(&state));
        Ok(state)
    }

    /// Reads the shared mark of what is durable.
    fn marked(&self) -> Result<Position> {
        self.mark.as_ref().map_or(Ok(Position::default()), DurableMark::get)
    }

    /// Learns what others have committed since.
    fn refresh(&self) -> Result<Arc<State>> {
        self.refresh_from(self.marked()?)
    }

    /// Learns what others have committed since, given the mark, which must have been read before.
    fn refresh_from(&self, mark: Position) -> Result<Arc<State>> {
        let state = self.state();
        let behind = mark.sequence > state.open_segment().sequence;
        // Behind a torn tail too, somebody may have begun the next segment.
        if !behind && state.read_on(mark, false)? == segment::Tail::Clean {
            return Ok(state);
        }
        let state = self.reload()?;
        let open = state.open_segment();
        if mark.sequence > open.sequence {
            let why = format!("it ends with segment {}, but a later one exists", open.sequence);
            return Err(Error::corrupt(self.layout.current(), None, why));
        }
        state.read_on(self.marked()?, false)?;
        Ok(state)
    }

    fn snapshot(self: &Arc<Inner>) -> Result<LocalSnapshot> {
        let state = self.refresh()?;
        Ok(LocalSnapshot::new(Arc::clone(self), state))
    }

    fn check_writable(&self) -> Result<()> {
        let path = || self.layout.root().to_owned();
        if self.options.read_only {
            return Err(Error::ReadOnly { path: path() });
        }
        if self.dead.load(Ordering::Acquire) {
            return Err(Error::HandleDead { path: path() });
        }
        Ok(())
    }

    /// Gives what only a writer needs, opened on first use.
    fn writer(&self) -> Result<WriterGuard<'_>> {
        let mut guard = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            *guard = Some(Writer {
                lock: LockFile::open(&*self.disk, self.layout.lock())?,
                mirrors: Mirrors::new(Arc::clone(&self.disk), self.layout.clone()),
            });
        }
        Ok(WriterGuard(guard))
    }
}

/// The writer's part of a handle, held by one thread.
struct WriterGuard<'a>(MutexGuard<'a, Option<Writer>>);

impl WriterGuard<'_> {
    fn parts(&mut self) -> (&LockFile, &mut Mirrors) {
        let writer = self.0.as_mut().expect("opened when the guard was made");
        (&writer.lock, &mut writer.mirrors)
    }
}

/// Makes the directories and files of an empty store. The manifest comes last.
fn lay_out(disk: &dyn Disk, layout: &Layout, options: &Options) -> Result<()> {
    let dirs = [layout.objects_dir(), layout.pack_dir(), layout.journal_dir()];
    for dir in dirs.iter().chain(&[layout.refs_dir(), layout.logs_dir()]) {
        disk.create_dir(dir).map_err(Error::io("create", dir))?;
    }
    let path = layout.segment(FIRST_SEQUENCE);
    rotate::allocate(disk, &path, options.segment_bytes_min)?;
    Segment::begin(disk, &path, FIRST_SEQUENCE)?;
    for dir in &dirs {
        disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    }
    // The directories of this directory become durable with the files below.
    let write = |path: std::path::PathBuf, text: &str| {
        disk::replace_file(disk, &path, text.as_bytes()).map_err(Error::io("write", &path))
    };
    if disk.len(&layout.config()).is_err() {
        write(layout.config(), CONFIG)?;
    }
    write(layout.format(), FORMAT)?;
    DurableMark::open(disk, layout.synced())?.set(state::begin_of(FIRST_SEQUENCE))?;
    Manifest::new(FIRST_SEQUENCE).publish(disk, &layout.current())
}

/// Refuses a store of a version that this program does not know.
fn check_format(disk: &dyn Disk, layout: &Layout) -> Result<()> {
    let path = layout.format();
    let found = match disk::read_file(disk, &path, 4096) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NotAStore { path: layout.root().to_owned() });
        }
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    if found == FORMAT.as_bytes() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&found);
    let mut lines = text.lines();
    if lines.next() != Some("sapwood store") {
        return Err(Error::corrupt(path, 0, "it does not begin with 'sapwood store'"));
    }
    let odd =
        lines.find(|line| !FORMAT.lines().any(|known| known == *line)).unwrap_or("a line missing");
    Err(Error::UnsupportedFormat {
        path,
        found: format!("'{}'", odd.escape_debug()),
        supported: "version 1 (blake3, cbor, zstd)",
    })
}

fn refuse_network(disk: &dyn Disk, path: &Path, options: &Options) -> Result<()> {
    match disk.network_filesystem(path) {
        Some(filesystem) if !options.allow_network => {
            Err(Error::NetworkFilesystem { path: path.to_owned(), filesystem })
        }
        _ => Ok(()),
    }
}
