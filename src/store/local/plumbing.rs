//! What plumbing commands ask of the containers: count, repack, unpack, verify.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};
use crate::store::local::anew::{self, Contents, Form, Source};
use crate::store::local::index::Position;
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::pack::{Pack, PackOptions};
use crate::store::local::paged::Ready;
use crate::store::local::state::State;
use crate::store::local::{Inner, LocalStore};

/// So much of the journal is compressed in threads where somebody waits for it; less is done before
/// they have begun.
const SHARED_BYTES_MIN: u64 = 1 << 20;

/// How many objects stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects in journal segments.
    pub journal_objects: u64,
    /// Bytes of the groups in journal segments.
    pub journal_bytes: u64,
    /// Loose files.
    pub loose_objects: u64,
    /// Bytes of loose files.
    pub loose_bytes: u64,
    /// Objects in packs.
    pub packed_objects: u64,
    /// Packs.
    pub packs: u64,
    /// Bytes of packs and their indexes.
    pub pack_bytes: u64,
    /// Objects that were set aside because nothing led to them.
    pub cruft_objects: u64,
    /// Bytes of what holds them.
    pub cruft_bytes: u64,
}

impl Counts {
    /// Counts what is not cruft.
    pub(crate) fn live_objects(&self) -> u64 {
        self.journal_objects + self.loose_objects + self.packed_objects
    }
}

/// What a repack did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepackReport {
    /// Objects in packs afterwards.
    pub objects: u64,
    /// Packs before.
    pub packs_before: u64,
    /// Packs afterwards.
    pub packs_after: u64,
    /// Bytes in containers before.
    pub bytes_before: u64,
    /// Bytes in containers afterwards.
    pub bytes_after: u64,
}

/// An object of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedObject {
    /// Its id.
    pub id: Id,
    /// Its kind.
    pub kind: Kind,
    /// The bytes of its content.
    pub bytes: u64,
    /// The block it is in.
    pub block: u32,
    /// Where in the block it begins, its header included.
    pub offset: u32,
}

impl LocalStore {
    /// Names the file that says how far a bundle was taken in. A collection removes it when nothing
    /// was written to it for a while.
    pub fn bundle_mark_file(&self, bundle: &str) -> PathBuf {
        self.inner.layout.bundle_mark(bundle)
    }

    /// Counts objects by container.
    pub fn count_objects(&self) -> Result<Counts> {
        self.inner.count_objects()
    }

    /// Writes a snapshot of all refs and every mirror file that differs, and gives their number.
    pub fn pack_refs(&self) -> Result<usize> {
        let inner = &self.inner;
        inner.check_writable()?;
        inner.alone_or_wait(|inner| {
            inner.checkpoint()?;
            inner.mirror_all()
        })
    }

    /// Closes the open segment of the journal, and seals all that is closed into packs.
    pub fn seal(&self) -> Result<()> {
        let inner = &self.inner;
        inner.check_writable()?;
        let state = inner.refresh()?;
        let bytes: u64 = state.segments.iter().map(|segment| segment.end().offset).sum();
        let threads = if bytes >= SHARED_BYTES_MIN { anew::THREADS } else { 0 };
        let options = PackOptions { threads, ..PackOptions::default() };
        inner.alone_or_wait(|inner| inner.checkpoint_as(options))
    }

    /// Puts every object that belongs into a pack into one pack.
    pub fn repack(&self) -> Result<RepackReport> {
        let inner = &self.inner;
        inner.check_writable()?;
        inner.alone_or_wait(Inner::repack)
    }

    /// Writes the objects of a pack, or of all packs, as loose files, and gives their number.
    pub fn unpack(&self, pack: Option<&str>) -> Result<u64> {
        let inner = &self.inner;
        inner.check_writable()?;
        let state = inner.refresh()?;
        let packs = match pack {
            Some(name) => vec![find_pack(&state, name)?],
            None => state.packs.clone(),
        };
        let mut objects = 0;
        for pack in packs {
            pack.for_each(&mut |id, kind, content| {
                inner.loose.put(id, kind, content)?;
                objects += 1;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(objects)
    }

    /// Names the packs, oldest first.
    pub fn packs(&self) -> Result<Vec<String>> {
        let state = self.inner.refresh()?;
        Ok(state.packs.iter().map(|pack| format!("pack-{}", pack.info().id)).collect())
    }

    /// Checks every byte of a pack and its index, and lists its objects in the order they lie in.
    pub fn verify_pack(&self, name: &str) -> Result<Vec<PackedObject>> {
        let state = self.inner.refresh()?;
        let pack = find_pack(&state, name)?;
        let mut first = None;
        pack.verify(&mut |finding| {
            first.get_or_insert(finding);
        });
        if let Some(error) = first {
            return Err(error);
        }
        let mut objects = Vec::new();
        for row in 0..pack.len() {
            let bytes = pack.read(row, &self.inner.cache)?.content.len() as u64;
            let Position { block, kind, offset } = pack.position(row)?;
            objects.push(PackedObject { id: pack.id(row)?, kind, bytes, block, offset });
        }
        objects.sort_unstable_by_key(|object| (object.block, object.offset));
        Ok(objects)
    }
}

impl Inner {
    pub(crate) fn count_objects(&self) -> Result<Counts> {
        let state = self.refresh()?;
        let mut counts = Counts { packs: state.packs.len() as u64, ..Counts::default() };
        for segment in &state.segments {
            let table = segment.table();
            counts.journal_objects += table.objects.len() as u64;
            counts.journal_bytes += table.end;
        }
        for pack in &state.packs {
            let info = pack.info();
            counts.packed_objects += info.objects;
            counts.pack_bytes += info.pack_bytes + info.index_bytes;
        }
        for info in state.cruft.iter().map(|pack| pack.info()) {
            counts.cruft_objects += info.objects;
            counts.cruft_bytes += info.pack_bytes + info.index_bytes;
        }
        for (_, bytes) in self.loose.list()? {
            counts.loose_objects += 1;
            counts.loose_bytes += bytes;
        }
        for aside in self.loose.list_aside()? {
            counts.cruft_objects += 1;
            counts.cruft_bytes += aside.bytes;
        }
        Ok(counts)
    }

    /// Closes the open segment and seals all that is closed: a store at rest is small.
    pub(crate) fn checkpoint(self: &Arc<Inner>) -> Result<()> {
        self.checkpoint_as(PackOptions::default())
    }

    fn checkpoint_as(self: &Arc<Inner>, options: PackOptions) -> Result<()> {
        self.close_journal()?;
        self.seal(options)?;
        self.sweep()
    }

    /// Closes the open segment, and begins a short one.
    pub(crate) fn close_journal(self: &Arc<Inner>) -> Result<()> {
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let state = self.rest(&state)?;
        guard.release(state.manifest.generation).map(drop)
    }

    /// Writes every mirror file again that differs from its ref.
    pub(crate) fn mirror_all(self: &Arc<Inner>) -> Result<usize> {
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let refs = state.references(state.segments.len(), u64::MAX, "")?;
        mirrors.mend(&refs)?;
        guard.release(state.manifest.generation)?;
        Ok(refs.len())
    }

    pub(crate) fn repack(self: &Arc<Inner>) -> Result<RepackReport> {
        let before = self.count_objects()?;
        self.checkpoint()?;
        let state = self.refresh()?;
        let mut small = Vec::new();
        for (id, _) in self.loose.list()? {
            if self.loose.header(&id)?.is_some_and(|(_, bytes)| bytes < LOOSE_BYTES_MIN) {
                small.push(id);
            }
        }
        let all = |_| true;
        let sources = state.packs.iter().map(|pack| Source { pack, is_wanted: &all });
        let sources: Vec<Source<'_>> = sources.collect();
        let contents = Contents { sources: &sources, loose: &small };
        let mut ready = Ready::default();
        let (cache, go_on) = (&self.cache, &mut || true);
        let new = self.pack_anew(&state, &contents, Form::TIDY, cache, go_on, &mut ready)?;
        let new = new.expect("it was not told to stop");
        let named = ready.name(&*self.disk)?;
        let old: HashSet<Id> = state.packs.iter().map(|pack| pack.info().id).collect();
        if !new.is_empty() {
            self.edit_manifest_after(&named, |manifest| manifest.replace_packs(&old, &new))?;
        }
        for id in &small {
            self.loose.remove(id)?;
        }
        self.sweep()?;
        let after = self.count_objects()?;
        let bytes = |counts: &Counts| counts.journal_bytes + counts.loose_bytes + counts.pack_bytes;
        Ok(RepackReport {
            objects: after.packed_objects,
            packs_before: before.packs,
            packs_after: after.packs,
            bytes_before: bytes(&before),
            bytes_after: bytes(&after),
        })
    }
}

/// Finds a pack by its name, its id, or the begin of it.
fn find_pack(state: &State, name: &str) -> Result<Arc<Pack>> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let id = file.strip_prefix("pack-").unwrap_or(file);
    let id = id.split('.').next().unwrap_or(id);
    let prefix = Prefix::from_str(id).map_err(|_| Error::InvalidName {
        what: "pack",
        name: name.to_owned(),
        why: "expected pack-<id>, or the first digits of the id",
    })?;
    let mut found = state.packs.iter().filter(|pack| prefix.matches(&pack.info().id));
    match (found.next(), found.next()) {
        (Some(pack), None) => Ok(Arc::clone(pack)),
        (None, _) => Err(Error::RevisionUnknown {
            revision: name.to_owned(),
            why: "no pack has this name".to_owned(),
        }),
        (Some(one), Some(two)) => Err(Error::Ambiguous {
            prefix: name.to_owned(),
            candidates: vec![one.info().id, two.info().id],
        }),
    }
}
