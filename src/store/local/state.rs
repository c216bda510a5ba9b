//! What one manifest names, opened; and how far its journal has been read.
//!
//! A state is never changed: a new manifest makes a new state that shares the files that stay. Only
//! the open segment's table grows, and a snapshot remembers where it ended.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::durable::Position;
use crate::store::local::layout::Layout;
use crate::store::local::manifest::{FileRecord, Manifest, SegmentRecord};
use crate::store::local::oplog::OperationLog;
use crate::store::local::pack::{Pack, PackInfo};
use crate::store::local::packed_refs::PackedRefs;
use crate::store::local::refused::{IdList, PURGE_MAGIC, REFUSED_MAGIC};
use crate::store::local::segment::{HEADER_BYTES, Segment, Tail};
use crate::store::{RefName, RefValue};

/// How often a manifest is read again because a file it names has vanished.
const RELOADS_MAX: usize = 100;

/// Everything that a manifest names.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) manifest: Manifest,
    pub(crate) packs: Vec<Arc<Pack>>,
    /// Packs that only readers look into.
    pub(crate) cruft: Vec<Arc<Pack>>,
    /// The journal, oldest first; the last one is open.
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) refs: Option<Arc<PackedRefs>>,
    pub(crate) logs: Vec<Arc<OperationLog>>,
    /// What may not come back.
    pub(crate) refused: Option<Arc<IdList>>,
    /// The loose files that no longer count.
    pub(crate) purge: Option<Arc<IdList>>,
}

/// How files are opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'a> {
    pub(crate) disk: &'a Arc<dyn Disk>,
    pub(crate) layout: &'a Layout,
    pub(crate) read_only: bool,
}

impl State {
    /// Reads the manifest and opens what it names, sharing what `previous` has open.
    ///
    /// A file that vanishes meanwhile was dropped by a newer manifest: that one is read then.
    pub(crate) fn load(access: Access<'_>, previous: Option<&State>) -> Result<State> {
        let path = access.layout.current();
        let mut last_generation = None;
        for _ in 0..RELOADS_MAX {
            let manifest = match Manifest::read(&**access.disk, &path) {
                Err(error) if error.is_not_found() => {
                    return Err(Error::corrupt(path, None, "it is missing"));
                }
                read => read?,
            };
            let generation = manifest.generation;
            match State::open(access, manifest, previous) {
                Err(error) if error.is_not_found() && last_generation != Some(generation) => {
                    last_generation = Some(generation);
                }
                Err(Error::Io { path, source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    return Err(Error::corrupt(path, None, "it is missing"));
                }
                opened => return opened,
            }
        }
        Err(Error::corrupt(path, None, "it keeps naming files that are missing"))
    }

    /// Opens what a manifest names.
    pub(crate) fn open(
        access: Access<'_>,
        manifest: Manifest,
        previous: Option<&State>,
    ) -> Result<State> {
        let Access { disk, layout, .. } = access;
        let pack_dir = layout.pack_dir();
        let known = |id| previous?.all_packs().find(|pack| pack.info().id == id).cloned();
        let open = |info: &PackInfo| match known(info.id) {
            Some(pack) => Ok(pack),
            None => Pack::open(Arc::clone(disk), &pack_dir, info).map(Arc::new),
        };
        let packs = manifest.packs.iter().map(open).collect::<Result<_>>()?;
        let cruft = manifest.cruft.iter().map(|record| open(&record.pack));
        let cruft = cruft.collect::<Result<_>>()?;
        let segments = manifest.segments.iter().map(|record| segment(access, record, previous));
        let segments = segments.collect::<Result<_>>()?;
        let refs = match (&manifest.refs, previous) {
            (None, _) => None,
            (Some(record), Some(state)) if state.manifest.refs.as_ref() == Some(record) => {
                state.refs.clone()
            }
            (Some(record), _) => {
                let path = layout.packed_refs(record.number);
                Some(Arc::new(PackedRefs::open(&**disk, &path, record.bytes)?))
            }
        };
        let mut first = manifest.expired + 1;
        let mut logs = Vec::new();
        for record in &manifest.logs {
            let path = layout.log(record.file.number);
            logs.push(Arc::new(OperationLog::open(&**disk, &path, record.file.bytes, first)?));
            first += record.operations;
        }
        let list = |record: &Option<FileRecord>, path: fn(&Layout, u64) -> PathBuf, magic| {
            let open = |record: &FileRecord| {
                IdList::open(&**disk, &path(layout, record.number), record.bytes, magic)
            };
            Ok(record.as_ref().map(open).transpose()?.map(Arc::new))
        };
        let refused = list(&manifest.refused, Layout::refused, REFUSED_MAGIC)?;
        let purge = list(&manifest.purge, Layout::purge, PURGE_MAGIC)?;
        Ok(State { manifest, packs, cruft, segments, refs, logs, refused, purge })
    }

    /// Gives the state of a manifest that names one segment more, and else the same.
    pub(crate) fn followed(&self, manifest: Manifest, next: Segment) -> State {
        let mut segments = self.segments.clone();
        segments.push(Arc::new(next));
        State {
            manifest,
            packs: self.packs.clone(),
            cruft: self.cruft.clone(),
            segments,
            refs: self.refs.clone(),
            logs: self.logs.clone(),
            refused: self.refused.clone(),
            purge: self.purge.clone(),
        }
    }

    /// Says whether a loose file no longer counts, though it may still be there.
    pub(crate) fn is_purged(&self, id: &Id) -> Result<bool> {
        self.purge.as_ref().map_or(Ok(false), |list| list.contains(id))
    }

    /// Gives all packs, cruft last.
    pub(crate) fn all_packs(&self) -> impl Iterator<Item = &Arc<Pack>> {
        self.packs.iter().chain(&self.cruft)
    }

    /// Gives the open segment.
    pub(crate) fn open_segment(&self) -> &Arc<Segment> {
        self.segments.last().expect("a manifest names a segment")
    }

    /// Reads the open segment on, and refuses damage to what was once durable.
    ///
    /// `mark` must have been read before: what it vouches for was written by then. It may be older
    /// than what was once durable, so whoever is about to write looks behind a clean end too.
    pub(crate) fn read_on(&self, mark: Position, about_to_write: bool) -> Result<Tail> {
        let segment = self.open_segment();
        let marked = marked_in(segment, mark);
        let (tail, claim) = read_on_and_claim(segment, marked, about_to_write)?;
        let end = segment.end().offset;
        if claim > end {
            let why =
                format!("the journal is whole up to here, but was on disk up to byte {claim} once");
            return Err(Error::corrupt(&segment.path, end, why));
        }
        Ok(tail)
    }

    /// Reads the open segment on by the heads of its groups, and says whether that is all: it ends
    /// clean, not before the mark.
    pub(crate) fn read_on_trusting(&self, mark: Position) -> Result<bool> {
        let segment = self.open_segment();
        let tail = segment.read_on(u64::MAX, u64::MAX)?;
        let durable = HEADER_BYTES..=segment.end().offset;
        Ok(tail == Tail::Clean && durable.contains(&marked_in(segment, mark)))
    }

    /// Lists the ids of all sessions, the last segment seen up to `end`.
    pub(crate) fn session_ids(&self, end: u64) -> Result<Vec<String>> {
        let mut ids = self.refs.as_ref().map_or(Ok(Vec::new()), |refs| refs.sessions())?;
        let mut changed: Option<BTreeMap<String, bool>> = None;
        for (place, segment) in self.segments.iter().enumerate() {
            let end = if place + 1 == self.segments.len() { end } else { u64::MAX };
            for (name, versions) in &segment.ledger().refs {
                if let Some((session, "meta")) = name.session()
                    && let Some(value) = versions.up_to(end)
                {
                    let changed = changed.get_or_insert_default();
                    changed.insert(session.to_owned(), value.is_some());
                }
            }
        }
        if let Some(changed) = changed {
            ids.retain(|id| !changed.contains_key(id));
            ids.extend(changed.into_iter().filter(|(_, is_there)| *is_there).map(|(id, _)| id));
        }
        // Refs sort as sessions do, except where an id begins another: `a`, `a-b`.
        if !ids.is_sorted() {
            ids.sort_unstable();
        }
        Ok(ids)
    }

    /// Gives all refs as the first `segments` segments leave them, the last one up to `end`.
    pub(crate) fn references(
        &self,
        segments: usize,
        end: u64,
        prefix: &str,
    ) -> Result<BTreeMap<RefName, RefValue>> {
        let mut packed = Vec::new();
        if let Some(refs) = &self.refs {
            refs.for_each(prefix, &mut |name, value| packed.push((name, value)))?;
        }
        // What comes sorted becomes a map at once.
        let mut refs = BTreeMap::from_iter(packed);
        for (place, segment) in self.segments[..segments].iter().enumerate() {
            let end = if place + 1 == segments { end } else { u64::MAX };
            let ledger = segment.ledger();
            let from = (Bound::Included(prefix), Bound::Unbounded);
            for (name, versions) in ledger.refs.range::<str, _>(from) {
                if !name.as_str().starts_with(prefix) {
                    break;
                }
                match versions.up_to(end) {
                    Some(Some(value)) => refs.insert(name.clone(), value.clone()),
                    Some(None) => refs.remove(name),
                    None => None,
                };
            }
        }
        Ok(refs)
    }
}

/// Opens a segment, and reads a closed one to its end.
fn segment(
    access: Access<'_>,
    record: &SegmentRecord,
    previous: Option<&State>,
) -> Result<Arc<Segment>> {
    let known = previous.and_then(|state| {
        state.segments.iter().find(|segment| segment.sequence == record.sequence).cloned()
    });
    let segment = match known {
        Some(segment) => segment,
        None => {
            let path = access.layout.segment(record.sequence);
            Arc::new(Segment::open(&**access.disk, &path, record.sequence, access.read_only)?)
        }
    };
    if let Some(closed) = &record.closed {
        segment.read_on(u64::MAX, closed.bytes)?;
        if segment.closed_here() != *closed {
            let at = segment.end().offset;
            let why = "it was closed elsewhere, or with another checksum";
            return Err(Error::corrupt(&segment.path, at, why));
        }
    }
    Ok(segment)
}

/// Gives how much of a segment the mark vouches for.
pub(crate) fn marked_in(segment: &Segment, mark: Position) -> u64 {
    match mark.sequence == segment.sequence {
        true => mark.offset,
        false => 0,
    }
}

/// Reads an open segment on, and gives how much of it was once durable as far as can be told.
///
/// What survived behind the end is asked where the mark can't say it, or `always`.
pub(crate) fn read_on_and_claim(
    segment: &Segment,
    marked: u64,
    always: bool,
) -> Result<(Tail, u64)> {
    let mut tail = segment.read_on(marked, u64::MAX)?;
    let mut claim = marked;
    if tail == Tail::Torn || (tail == Tail::Clean && (marked == 0 || always)) {
        claim = claim.max(segment.claim_of_survivors()?);
    }
    if claim > segment.end().offset {
        // A writer may have gone on since the segment was read; what is claimed was whole then.
        tail = segment.read_on(marked, u64::MAX)?;
    }
    Ok((tail, claim))
}

/// Gives the place where a segment begins.
pub(crate) fn begin_of(sequence: u64) -> Position {
    Position { sequence, offset: HEADER_BYTES }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;
    use std::sync::Mutex;

    use super::*;
    use crate::disk::{DiskFile, OpenMode, OsDisk, OverOs};
    use crate::store::local::group::NewGroup;
    use crate::store::local::segment::Zeros;

    /// How many reads are left until the file gets these bytes.
    type Pending = Arc<Mutex<Option<(usize, Vec<u8>)>>>;

    /// A disk on which a file gets its last bytes when it is read for the n-th time.
    #[derive(Debug)]
    struct SlowWriter(Pending);

    #[derive(Debug)]
    struct SlowFile(Box<dyn DiskFile>, Pending);

    impl OverOs for SlowWriter {
        fn open_file(&self, path: &Path, _: OpenMode) -> io::Result<Box<dyn DiskFile>> {
            let file = OsDisk.open(path, OpenMode::Write)?;
            Ok(Box::new(SlowFile(file, Arc::clone(&self.0))))
        }
    }

    impl DiskFile for SlowFile {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let mut pending = self.1.lock().unwrap();
            match pending.take() {
                Some((0, bytes)) => self.0.write_all_at(&bytes, 0)?,
                Some((reads, bytes)) => *pending = Some((reads - 1, bytes)),
                None => {}
            }
            self.0.read_at(buffer, offset)
        }
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            self.0.write_at(bytes, offset)
        }
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }
        fn set_len(&self, bytes: u64) -> io::Result<()> {
            self.0.set_len(bytes)
        }
        fn sync_data(&self) -> io::Result<()> {
            self.0.sync_data()
        }
        fn try_lock(&self) -> io::Result<bool> {
            self.0.try_lock()
        }
        fn unlock(&self) -> io::Result<()> {
            self.0.unlock()
        }
    }

    #[test]
    fn a_writer_that_goes_on_between_two_looks_is_no_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segment");
        Segment::allocate(&OsDisk, &path, 4096, Zeros::Written).unwrap();
        let writer = Segment::begin(&OsDisk, &path, 1).unwrap();
        let group = NewGroup { close: false, ..NewGroup::closing() };
        writer.append(&group, 0).unwrap();
        let torn_at = writer.end().offset;
        writer.append(&group, torn_at).unwrap();
        // The third group says that the second was durable when it was written.
        let claim = writer.end().offset;
        writer.append(&group, claim).unwrap();

        let whole = crate::disk::read_file(&OsDisk, &path, 4096).unwrap();
        let file = OsDisk.open(&path, OpenMode::Write).unwrap();
        file.write_all_at(&[0; 4], torn_at).unwrap();
        let pending = Arc::new(Mutex::new(None));
        let disk = SlowWriter(Arc::clone(&pending));
        let reader = Segment::open(&disk, &path, 1, true).unwrap();
        assert_eq!(reader.read_on(0, u64::MAX).unwrap(), Tail::Torn);

        // One read finds the torn group, the next looks for survivors.
        *pending.lock().unwrap() = Some((1, whole));
        let (tail, found) = read_on_and_claim(&reader, 0, false).unwrap();
        assert_eq!((tail, found), (Tail::Clean, claim));
        assert_eq!(reader.end(), writer.end());
    }
}
