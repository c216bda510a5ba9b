//! What plumbing commands ask of the containers: count, repack, unpack, verify.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};
use crate::store::local::index::Position;
use crate::store::local::likeness;
use crate::store::local::loose::LOOSE_BYTES_MIN;
use crate::store::local::pack::{Pack, PackInfo, PackOptions, PackWriter};
use crate::store::local::state::State;
use crate::store::local::{Inner, LocalStore};

/// So much content of blobs is held at once to put together what is alike.
const ALIKE_BYTES: usize = 32 << 20;

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
        inner.alone_or_wait(Inner::checkpoint)
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
            for row in 0..pack.len() {
                let stored = pack.read(row, &inner.cache)?;
                inner.loose.put(&pack.id(row)?, stored.kind, &stored.content)?;
                objects += 1;
            }
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
    fn count_objects(&self) -> Result<Counts> {
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
        {
            let mut writer = self.writer()?;
            let (lock, mirrors) = writer.parts();
            let guard = lock.acquire(self.options.lock_timeout)?;
            let state = self.catch_up(&guard, mirrors)?;
            let state = self.rest(&state)?;
            guard.release(state.manifest.generation)?;
        }
        self.seal()?;
        self.sweep()
    }

    /// Writes every mirror file again that differs from its ref.
    pub(crate) fn mirror_all(self: &Arc<Inner>) -> Result<usize> {
        let mut writer = self.writer()?;
        let (lock, mirrors) = writer.parts();
        let guard = lock.acquire(self.options.lock_timeout)?;
        let state = self.catch_up(&guard, mirrors)?;
        let refs = state.references(state.segments.len(), u64::MAX, "")?;
        for (name, value) in &refs {
            if mirrors.read(name)? != Some(value.to_string()) {
                mirrors.write(name, Some(value))?;
            }
        }
        guard.release(state.manifest.generation)?;
        Ok(refs.len())
    }

    pub(crate) fn repack(self: &Arc<Inner>) -> Result<RepackReport> {
        let before = self.count_objects()?;
        self.checkpoint()?;
        let state = self.refresh()?;
        let dir = self.layout.pack_dir();
        let mut writer = PackWriter::new(Arc::clone(&self.disk), &dir, PackOptions::TIDY)?;
        let loose: Vec<Id> = self.loose.list()?.into_iter().map(|(id, _)| id).collect();
        let mut small = Vec::new();
        let mut blobs = Window::default();
        // Blobs lie together, and so does all the rest: each finds more of its like nearby.
        for kinds in [Kinds::Rest, Kinds::Blobs] {
            let mut add = |id: &Id, kind: Kind, content: &[u8]| match kinds {
                Kinds::Rest => writer.add(id, kind, content),
                Kinds::Blobs => blobs.add(id, content, &mut writer),
            };
            for pack in &state.packs {
                pack.for_each(&mut |id, kind, content| {
                    if kinds.has(kind) {
                        add(id, kind, content)?;
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
            }
            for id in &loose {
                if self.loose.kind(id)?.is_some_and(|kind| kinds.has(kind))
                    && let Some(stored) = self.loose.get(id)?
                    && (stored.content.len() as u64) < LOOSE_BYTES_MIN
                {
                    add(id, stored.kind, &stored.content)?;
                    small.push(*id);
                }
            }
        }
        blobs.empty(&mut writer)?;
        self.publish_repacked(writer, &state)?;
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

    fn publish_repacked(self: &Arc<Inner>, writer: PackWriter, state: &Arc<State>) -> Result<()> {
        if writer.len() == 0 {
            return Ok(());
        }
        let merged: PackInfo = self.finish_pack(writer, state)?;
        let dropped: HashSet<Id> = state.packs.iter().map(|pack| pack.info().id).collect();
        self.edit_manifest(|manifest| {
            manifest.packs.retain(|info| !dropped.contains(&info.id));
            manifest.packs.insert(0, merged);
        })
    }
}

/// What a pass of a repack takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Rest,
    Blobs,
}

impl Kinds {
    fn has(self, kind: Kind) -> bool {
        (self == Kinds::Blobs) == (kind == Kind::Blob)
    }
}

/// Blobs on their way into a pack, held until there are enough to put together what is alike.
#[derive(Default)]
struct Window {
    blobs: Vec<(Id, Vec<u8>)>,
    bytes: usize,
}

impl Window {
    fn add(&mut self, id: &Id, content: &[u8], writer: &mut PackWriter) -> Result<()> {
        self.blobs.push((*id, content.to_vec()));
        self.bytes += content.len();
        match self.bytes >= ALIKE_BYTES {
            true => self.empty(writer),
            false => Ok(()),
        }
    }

    fn empty(&mut self, writer: &mut PackWriter) -> Result<()> {
        let blobs = std::mem::take(self).blobs;
        for place in likeness::order(blobs.iter().map(|(_, content)| content.as_slice())) {
            let (id, content) = &blobs[place];
            writer.add(id, Kind::Blob, content)?;
        }
        Ok(())
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
