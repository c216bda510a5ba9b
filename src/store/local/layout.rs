//! Where everything lies below a store's directory.

use std::path::{Path, PathBuf};

use crate::disk::ASIDE_SUFFIX;
use crate::id::Id;

/// The name of the manifest.
pub(crate) const CURRENT: &str = "current";
/// How the names of lists of ids begin.
pub(crate) const REFUSED: &str = "refused-";
pub(crate) const PURGE: &str = "purge-";
pub(crate) const BUNDLE_MARK: &str = "unbundle-";

/// Names the files of one store.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: &Path) -> Layout {
        Layout { root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.root.join("format")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    pub(crate) fn current(&self) -> PathBuf {
        self.root.join(CURRENT)
    }

    /// Says whether a file below `refs/` is no mirror by its name.
    pub(crate) fn is_no_mirror(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let top = path.parent() == Some(&*self.refs_dir());
        top && (is_aside(&name) || name.starts_with("packed-"))
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// The bells that those who wait for the lock and for a sync are woken with.
    pub(crate) fn bells(&self) -> PathBuf {
        self.root.join("bells")
    }

    pub(crate) fn maintenance_lock(&self) -> PathBuf {
        self.root.join("maintenance.lock")
    }

    pub(crate) fn objects_dir(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(crate) fn loose_dir(&self, fan: &str) -> PathBuf {
        self.objects_dir().join(fan)
    }

    pub(crate) fn loose(&self, id: &Id) -> PathBuf {
        let name = id.to_string();
        self.loose_dir(&name[..2]).join(&name[2..])
    }

    /// Loose files that were set aside as cruft.
    pub(crate) fn cruft_dir(&self) -> PathBuf {
        self.objects_dir().join("cruft")
    }

    pub(crate) fn cruft_fan(&self, fan: &str) -> PathBuf {
        self.cruft_dir().join(fan)
    }

    /// A loose file that is cruft since some millisecond.
    pub(crate) fn cruft(&self, id: &Id, since_ms: i64) -> PathBuf {
        let name = id.to_string();
        self.cruft_fan(&name[..2]).join(format!("{}.{since_ms:016x}", &name[2..]))
    }

    pub(crate) fn pack_dir(&self) -> PathBuf {
        self.objects_dir().join("pack")
    }

    pub(crate) fn journal_dir(&self) -> PathBuf {
        self.objects_dir().join("journal")
    }

    pub(crate) fn segment(&self, sequence: u64) -> PathBuf {
        self.journal_dir().join(format!("{sequence:016x}"))
    }

    /// The next segment, zero-filled ahead of its use.
    pub(crate) fn spare(&self) -> PathBuf {
        self.journal_dir().join("spare")
    }

    /// The mark of what is durable, shared by all processes.
    pub(crate) fn synced(&self) -> PathBuf {
        self.journal_dir().join("synced")
    }

    /// What may not come back.
    pub(crate) fn refused(&self, number: u64) -> PathBuf {
        self.objects_dir().join(format!("{REFUSED}{number:016x}"))
    }

    /// The loose files that a purge under way removes.
    pub(crate) fn purge(&self, number: u64) -> PathBuf {
        self.objects_dir().join(format!("{PURGE}{number:016x}"))
    }

    pub(crate) fn refs_dir(&self) -> PathBuf {
        self.root.join("refs")
    }

    pub(crate) fn packed_refs(&self, generation: u64) -> PathBuf {
        self.refs_dir().join(format!("packed-{generation:016x}"))
    }

    pub(crate) fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What others remember of the store, and can do without.
    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// How far a bundle was taken in.
    pub(crate) fn bundle_mark(&self, bundle: &str) -> PathBuf {
        self.cache_dir().join(format!("{BUNDLE_MARK}{bundle}"))
    }

    /// Where a repair puts what was damaged.
    pub(crate) fn damaged_dir(&self) -> PathBuf {
        self.root.join("damaged")
    }

    /// What a repair is about to put there. While it exists, nothing is swept.
    pub(crate) fn pending(&self) -> PathBuf {
        self.damaged_dir().join("pending")
    }

    pub(crate) fn log(&self, number: u64) -> PathBuf {
        self.logs_dir().join(format!("operations-{number:016x}"))
    }
}

/// Says whether a name is one that [`crate::disk::aside`] gives. A branch may be called `a.tmp`.
pub(crate) fn is_aside(name: &str) -> bool {
    let random = name.strip_suffix(ASIDE_SUFFIX).and_then(|name| name.rsplit_once('.'));
    random.is_some_and(|(_, random)| {
        random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
