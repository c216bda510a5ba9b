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
//! - Writers hold one lock, for microseconds; a busy one keeps it until somebody waits for it.
//!   Readers hold none and repair nothing.
//! - A transaction is one group, written with one `pwrite`, made durable by one `fdatasync` that
//!   all who wait share.
//! - A handle whose sync failed is dead: nobody knows what is on disk, so it vouches for nothing.
//!
//! Not here: what the objects mean.

mod anew;
mod backup;
mod bytes;
mod cache;
mod commit;
mod copies;
mod durable;
mod fsck;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod gc;
mod gear;
mod graph;
mod group;
mod halves;
mod housekeeper;
mod index;
mod init;
mod inventory;
mod layout;
mod lease;
mod likeness;
mod lock;
mod loose;
mod manifest;
mod mirror;
mod oplog;
mod pack;
mod packed_refs;
mod paged;
mod plumbing;
mod purge;
mod refused;
mod repair;
mod rewrite;
mod rotate;
mod seal;
mod segment;
mod snapshot;
mod state;
mod sync;
mod train;

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::disk::{self, Bell, Disk};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::{Durability, Snapshot, Store, Topology, Transaction, transaction};
use cache::BlockCache;
use durable::{DurableMark, Position};
use housekeeper::Housekeeper;
use layout::Layout;
use lease::Writer;
use lock::LockFile;
use loose::Loose;
use mirror::Mirrors;
use snapshot::LocalSnapshot;
use snapshot::names::Names;
use state::{Access, State};

pub use backup::{CopyProgress, CopyReport, restore, verify_backup};
pub use copies::Copies;
pub use fsck::{Finding, FsckOptions, FsckReport, Progress, Severity, fsck};
pub use gc::{GcDue, GcOptions, GcReport, GcThresholds, KindCounts, Waiting};
pub use plumbing::{Counts, PackedObject, RepackReport};
pub use purge::{Ending, Operations, Part, Put, Rewriter};
pub use repair::{Action, LostObject, RefRepair, RepairOptions, RepairReport, repair};
pub use rewrite::DropReport;

/// Says whether a directory was a store, and has lost the file that says so.
pub fn is_remains(disk: &dyn Disk, path: &Path) -> bool {
    !LocalStore::is_at(disk, path) && init::is_remains(disk, &Layout::new(path))
}

/// The directory that holds a store, below the directory it is for.
pub const STORE_DIR_NAME: &str = ".sapwood";

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
///
/// A handle belongs to the process that opened it. A child that was forked opens its own: the two
/// would share a lock, and neither would see what the other commits.
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
    /// The names of sessions, once one was looked for.
    names: Mutex<Option<Names>>,
    state: RwLock<Arc<State>>,
    writer: Mutex<Option<Writer>>,
    mirrors: Mutex<Mirrors>,
    /// Whether the lock is kept, and the housekeeper does not know it yet.
    untended: AtomicBool,
    /// How long it lately took to write a mirror.
    mirror_nanos: AtomicU64,
    /// The shared mark; only a reader may lack it.
    mark: Option<DurableMark>,
    /// Held while a newer state takes the place of the one before, so that no segment is opened
    /// twice: what a handle has vouched for is known by the one object.
    loading: Mutex<()>,
    /// Whether the contents in the journal were hashed.
    journal_checked: AtomicBool,
    /// Whether this handle has read the journal to its end under the lock, and looked behind it for
    /// what a power cut left: what comes later is written while it lives.
    journal_seen: AtomicBool,
    /// Whether this handle has removed before what a crash left: then a spare segment in the making
    /// is its own.
    swept: AtomicBool,
    /// Whether others were faster at the last commit: then it is no use to plan before the lock.
    outrun: AtomicBool,
    /// Rung after a sync; there from the first commit on.
    sync_bell: OnceLock<Bell>,
    /// When this handle last wrote a large group.
    last_large_group: Mutex<Option<Instant>>,
    /// The open segment for which the next one was seen to be prepared.
    spare_seen: AtomicU64,
    /// Held by the thread that prepares it.
    preparing: Mutex<()>,
    /// Held by the thread that syncs for the others.
    syncing: Mutex<()>,
    /// What this handle knows to be durable.
    durable: Mutex<Position>,
    dead: AtomicBool,
}

impl LocalStore {
    /// Makes a store in `path`, or opens the one that is there, and says whether it was.
    ///
    /// The file `format` is written last: a crash before leaves no store, and the next call makes
    /// it. Where there is no manifest but something that one must have named, nothing is touched.
    pub fn init(disk: Arc<dyn Disk>, path: &Path, options: Options) -> Result<(LocalStore, bool)> {
        let layout = Layout::new(path);
        disk::create_dir_durably(&*disk, path).map_err(Error::io("create", path))?;
        init::refuse_network(&*disk, path, &options)?;
        let mut lock = LockFile::open(&*disk, layout.lock())?;
        if LocalStore::is_at(&*disk, path) {
            lock = lock.with_bell(disk.bells(&layout.bells()).0);
        }
        let guard = lock.acquire(options.lock_timeout)?;
        let existed = LocalStore::is_at(&*disk, path);
        if !existed && disk.len(&layout.current()).is_err() {
            init::refuse_remains(&*disk, &layout)?;
            init::lay_out(&*disk, &layout, &options)?;
        }
        if !existed {
            init::write_format(&*disk, &layout)?;
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
        init::check_format(&*disk, &layout)?;
        let mark = match options.read_only {
            true => DurableMark::open_read_only(&*disk, layout.synced())?,
            false => {
                init::refuse_network(&*disk, path, &options)?;
                let mark = DurableMark::open(&*disk, layout.synced())?;
                // What is on another machine is not the same memory for all.
                Some(if options.allow_network { mark } else { mark.with_shared_mark() })
            }
        };
        let access = Access { disk: &disk, layout: &layout, read_only: options.read_only };
        let state = Arc::new(State::load(access, None)?);
        let inner = Arc::new(Inner {
            cache: BlockCache::new(options.cache_bytes),
            loose: Loose::new(Arc::clone(&disk), layout.clone()),
            topologies: Mutex::default(),
            names: Mutex::default(),
            state: RwLock::new(state),
            writer: Mutex::new(None),
            mirrors: Mutex::new(Mirrors::new(Arc::clone(&disk), layout.clone())),
            untended: AtomicBool::new(false),
            mirror_nanos: AtomicU64::new(0),
            mark,
            loading: Mutex::new(()),
            journal_checked: AtomicBool::new(false),
            journal_seen: AtomicBool::new(false),
            swept: AtomicBool::new(false),
            outrun: AtomicBool::new(false),
            sync_bell: OnceLock::new(),
            last_large_group: Mutex::new(None),
            spare_seen: AtomicU64::new(0),
            preparing: Mutex::new(()),
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

    /// Names the file in which something is remembered of the store that can be found out again.
    pub fn cache_file(&self, name: &str) -> PathBuf {
        self.inner.layout.cache_dir().join(name)
    }

    /// Does the maintenance that is due: prepares the next segment, seals closed ones into packs,
    /// merges small packs. Does nothing where another process is at it.
    pub fn maintain(&self) -> Result<()> {
        self.inner.check_writable()?;
        self.inner.maintain().map(drop)
    }

    /// Makes sure that all links of an object lead to what is there, and durable.
    fn rely_on_links(&self, object: &NewObject) -> Result<()> {
        if object.links.is_empty() {
            return Ok(());
        }
        // An empty transaction, so that what the links rely on is vouched for and durable.
        self.commit(Durability::Full, &mut |snapshot| {
            transaction::check_links(object, snapshot)?;
            Ok(Transaction::default())
        })
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
        let committed = self.inner.commit(durability, plan);
        if self.inner.untended.load(Ordering::Relaxed) {
            self.housekeeper.tend_soon();
        }
        let target = committed?;
        match durability {
            Durability::Full => {
                self.inner.wait_durable(target)?;
                self.inner.give_way();
            }
            Durability::Relaxed => {
                self.housekeeper.sync_soon(self.inner.is_far_behind(target));
            }
        }
        self.housekeeper.look_after();
        Ok(())
    }

    fn put_blob(&self, source: &mut dyn Read, bytes: u64) -> Result<Id> {
        self.inner.check_writable()?;
        let state = self.inner.settled()?;
        let check = |id: &Id| refused::refuse(state.refused.as_deref(), id, Kind::Blob);
        self.inner.loose.put_stream(Kind::Blob, source, bytes, &check)
    }

    fn put_alone(&self, object: &NewObject) -> Result<()> {
        self.inner.check_writable()?;
        let state = self.inner.settled()?;
        refused::refuse(state.refused.as_deref(), &object.id, object.kind)?;
        self.rely_on_links(object)?;
        let existed = self.inner.loose.contains(&object.id)?;
        self.inner.loose.put(&object.id, object.kind, &object.content)?;
        // What it links may have been set aside before the file could be seen.
        self.rely_on_links(object).inspect_err(|_| {
            if !existed {
                // Best effort: the error that counts is the one above.
                let _ = self.inner.loose.remove(&object.id);
            }
        })
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

    /// Puts a newer state in the place of the one before. The caller holds `loading`.
    fn install(&self, state: Arc<State>) {
        if state.manifest.moved != self.state().manifest.moved {
            self.loose.forget_vouched();
        }
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn loading(&self) -> MutexGuard<'_, ()> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the manifest again.
    fn reload(&self) -> Result<Arc<State>> {
        let _loading = self.loading();
        let known = self.state();
        let state = Arc::new(State::load(self.access(), Some(&known))?);
        if state.manifest.generation <= known.manifest.generation {
            return Ok(known);
        }
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
}
