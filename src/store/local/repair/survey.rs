//! Looking at everything there is, damaged or not, and taking note of every whole object.
//!
//! Nothing is written. What was read here can be read again in the same way, which is how it is
//! written into new packs: [`Survey::salvaged`].

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{self, Event, NewObject, Session};
use crate::store::local::durable::{DurableMark, Position};
use crate::store::local::fsck::Progress;
use crate::store::local::inventory::Inventory;
use crate::store::local::layout::Layout;
use crate::store::local::manifest::{LogRecord, Manifest, SegmentRecord};
use crate::store::local::oplog::{self, FoundOperation, OperationLog};
use crate::store::local::pack::{self, Visit};
use crate::store::local::packed_refs::{self, FoundRef};
use crate::store::local::segment::salvage::{self, Known, Remains};
use crate::store::{RefMove, RefValue};

use super::lists::FoundList;
use super::packs::{FoundPack, PackState};

/// After how many objects progress is told.
const PROGRESS_OBJECTS: u64 = 1024;

/// Is shown an object: its id, its kind, its content, and whether it comes from cruft.
type VisitSalvaged<'v> = dyn FnMut(&Id, Kind, &[u8], bool) -> Result<()> + 'v;

/// Everything there is.
pub(super) struct Survey<'a> {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) layout: Layout,
    /// The manifest, if it can be believed.
    pub(super) manifest: Option<Manifest>,
    pub(super) mark: Position,
    /// What may not come back.
    pub(super) refused: Option<FoundList>,
    pub(super) inventory: Inventory,
    pub(super) packs: Vec<FoundPack>,
    /// Packs that nobody names, and that hold what is missing elsewhere.
    pub(super) strays: Vec<PathBuf>,
    /// Segments that nobody names.
    pub(super) stray_segments: Vec<Remains>,
    /// The journal, oldest first.
    pub(super) segments: Vec<FoundSegment>,
    pub(super) snapshot: FoundSnapshot,
    pub(super) logs: Vec<FoundLog>,
    pub(super) loose: Vec<BadLoose>,
    /// Objects that are in cruft alone.
    pub(super) cruft: HashSet<Id>,
    /// Whether cruft is being read.
    pub(super) in_cruft: bool,
    /// The entry that the run after each event hangs on.
    pub(super) hangs_on: HashMap<Id, Option<Id>>,
    /// Metadata of each session, cruft left out.
    pub(super) metadata: HashMap<String, Id>,
    /// What is known of objects that are lost.
    pub(super) outlines: HashMap<Id, KnownOutline>,
    progress: Option<Progress<'a>>,
    done: u64,
    total: u64,
}

/// A journal segment.
pub(super) struct FoundSegment {
    pub(super) path: PathBuf,
    pub(super) remains: Option<Remains>,
}

/// The snapshot of refs.
#[derive(Default)]
pub(super) struct FoundSnapshot {
    pub(super) path: Option<PathBuf>,
    pub(super) refs: Vec<FoundRef>,
    pub(super) is_whole: bool,
}

/// A file of operations.
pub(super) struct FoundLog {
    pub(super) path: PathBuf,
    pub(super) operations: Vec<FoundOperation>,
    pub(super) is_whole: bool,
}

/// A loose file that does not hold what its name says.
pub(super) struct BadLoose {
    pub(super) path: PathBuf,
    /// The object that it holds instead.
    pub(super) holds: Option<Id>,
}

/// What is known of an object that is lost.
#[derive(Clone, Debug)]
pub(super) struct KnownOutline {
    pub(super) kind: Kind,
    pub(super) label: Option<Arc<str>>,
    pub(super) time: Option<i64>,
}

impl<'a> Survey<'a> {
    /// Looks at everything.
    pub(super) fn take(
        disk: Arc<dyn Disk>,
        layout: Layout,
        progress: Option<Progress<'a>>,
    ) -> Result<Survey<'a>> {
        let mut survey = Survey {
            disk,
            layout,
            manifest: None,
            mark: Position::default(),
            refused: None,
            inventory: Inventory::default(),
            packs: Vec::new(),
            strays: Vec::new(),
            stray_segments: Vec::new(),
            segments: Vec::new(),
            snapshot: FoundSnapshot::default(),
            logs: Vec::new(),
            loose: Vec::new(),
            cruft: HashSet::new(),
            in_cruft: false,
            hangs_on: HashMap::new(),
            metadata: HashMap::new(),
            outlines: HashMap::new(),
            progress,
            done: 0,
            total: 0,
        };
        survey.read_manifest()?;
        survey.check_lists()?;
        survey.refused = survey.find_refused();
        survey.read_segments()?;
        survey.read_packs()?;
        survey.read_loose()?;
        survey.read_snapshot()?;
        survey.read_logs()?;
        survey.mention_values();
        survey.read_cruft()?;
        survey.read_strays()?;
        survey.read_outlines();
        survey.inventory.find_open();
        Ok(survey)
    }

    fn read_manifest(&mut self) -> Result<()> {
        let mark = DurableMark::open_read_only(&*self.disk, self.layout.synced());
        if let Ok(Some(mark)) = mark {
            self.mark = mark.get().unwrap_or_default();
        }
        let path = self.layout.current();
        let manifest = match Manifest::read(&*self.disk, &path) {
            Err(Error::UnsupportedFormat { .. }) if Manifest::is_damaged(&*self.disk, &path) => {
                None
            }
            Err(error @ Error::UnsupportedFormat { .. }) => return Err(error),
            read => read.ok(),
        };
        self.manifest = manifest.filter(|manifest| !self.is_outdated(manifest));
        if let Some(manifest) = &self.manifest {
            self.total = manifest.packs.iter().map(|info| info.objects).sum();
        }
        Ok(())
    }

    /// Says whether a manifest is one of long ago: it ends before a segment that was durable once,
    /// or names one that is gone while there are files that only a later one can name.
    fn is_outdated(&self, manifest: &Manifest) -> bool {
        let (disk, layout) = (&*self.disk, &self.layout);
        let last = manifest.segments.last().map_or(0, |record| record.sequence);
        let mut segments = manifest.segments.iter().map(|record| layout.segment(record.sequence));
        let later = [(layout.refs_dir(), "packed-"), (layout.logs_dir(), "operations-")];
        let mut later = later.iter().flat_map(|(dir, prefix)| numbered(disk, dir, prefix));
        self.mark.sequence > last
            || segments.any(|path| disk.len(&path).is_err())
                && later.any(|number| number > manifest.generation)
    }

    fn read_segments(&mut self) -> Result<()> {
        let records = match &self.manifest {
            Some(manifest) => manifest.segments.clone(),
            None => {
                let files = numbered(&*self.disk, &self.layout.journal_dir(), "");
                let open = |sequence| SegmentRecord { sequence, closed: None };
                files.into_iter().map(open).collect()
            }
        };
        for record in &records {
            let path = self.layout.segment(record.sequence);
            let mut remains = self.read_segment(&path, record)?;
            if let Some(found) = remains.as_mut().filter(|found| found.sequence != record.sequence)
            {
                // It has the name of another; if it is none of this journal, it moves no ref.
                match records.iter().find(|other| other.sequence == found.sequence) {
                    Some(other) => remains = self.read_segment(&path, other)?,
                    None => found.groups.iter_mut().for_each(|group| group.is_sound = false),
                }
            }
            if let Some(remains) = &remains {
                self.journal_objects(remains);
            }
            self.segments.push(FoundSegment { path, remains });
        }
        // A segment under another's name says itself which one it is.
        let order = |found: &FoundSegment| found.remains.as_ref().map_or(0, |r| r.sequence);
        self.segments.sort_by_key(order);
        Ok(())
    }

    fn read_segment(&self, path: &Path, record: &SegmentRecord) -> Result<Option<Remains>> {
        let marked = match self.mark.sequence == record.sequence {
            true => self.mark.offset,
            false => 0,
        };
        let known = Known { closed: record.closed.as_ref(), marked };
        match salvage::salvage(&*self.disk, path, record.sequence, known) {
            Err(error @ Error::UnsupportedFormat { .. }) => Err(error),
            read => Ok(read.ok()),
        }
    }

    fn journal_objects(&mut self, remains: &Remains) {
        for object in remains.groups.iter().flat_map(|group| &group.objects) {
            if object.is_whole {
                self.object(&object.id, object.kind, remains.content(object));
            } else {
                let known = KnownOutline { kind: object.kind, label: None, time: None };
                self.outlines.entry(object.id).or_insert(known);
            }
        }
    }

    /// Reads the refs that are named; without a manifest the newest that are whole, because a crash
    /// may leave newer ones that never counted, and where none are, the newest.
    fn read_snapshot(&mut self) -> Result<()> {
        let candidates = match &self.manifest {
            Some(manifest) => match &manifest.refs {
                Some(record) => vec![(record.number, Some(record.bytes))],
                None => {
                    self.snapshot.is_whole = true;
                    return Ok(());
                }
            },
            None => {
                let numbers = numbered(&*self.disk, &self.layout.refs_dir(), "packed-");
                numbers.into_iter().rev().map(|number| (number, None)).collect()
            }
        };
        for (number, bytes) in candidates {
            let found = self.snapshot_in(self.layout.packed_refs(number), bytes)?;
            if found.is_whole || self.snapshot.path.is_none() {
                self.snapshot = found;
            }
            if self.snapshot.is_whole {
                break;
            }
        }
        Ok(())
    }

    fn snapshot_in(&self, path: PathBuf, bytes: Option<u64>) -> Result<FoundSnapshot> {
        let (mut refs, mut is_whole) = (Vec::new(), false);
        match packed_refs::salvage(&*self.disk, &path) {
            Ok(found) => {
                let right = bytes.is_none_or(|bytes| self.disk.len(&path).ok() == Some(bytes));
                let opened = self.disk.len(&path).is_ok_and(|bytes| {
                    let opened = packed_refs::PackedRefs::open(&*self.disk, &path, bytes);
                    opened.and_then(|packed| packed.check()).is_ok()
                });
                is_whole = right && opened && found.iter().all(|found| found.is_sound);
                refs = found;
            }
            Err(error @ Error::UnsupportedFormat { .. }) => return Err(error),
            Err(_) => {}
        }
        Ok(FoundSnapshot { path: Some(path), refs, is_whole })
    }

    fn read_logs(&mut self) -> Result<()> {
        let records: Vec<(u64, Option<LogRecord>)> = match &self.manifest {
            Some(manifest) => {
                let records = manifest.logs.iter();
                records.map(|record| (record.file.number, Some(record.clone()))).collect()
            }
            None => {
                let numbers = numbered(&*self.disk, &self.layout.logs_dir(), "operations-");
                // A redaction has written all operations anew, without what may not come back.
                let begin = self.refused.as_ref().map_or(0, |list| list.number);
                let numbers = numbers.into_iter().filter(|number| *number >= begin);
                numbers.map(|number| (number, None)).collect()
            }
        };
        for (number, record) in records {
            let path = self.layout.log(number);
            let operations = match oplog::salvage(&*self.disk, &path) {
                Err(error @ Error::UnsupportedFormat { .. }) => return Err(error),
                found => found.unwrap_or_default(),
            };
            let is_whole = record.is_some_and(|record| {
                let (bytes, count) = (record.file.bytes, record.operations);
                let opened = OperationLog::open(&*self.disk, &path, bytes, 1);
                let opened = opened.and_then(|log| log.check());
                let sound = operations.iter().all(|operation| operation.is_sound);
                opened.is_ok() && sound && operations.len() as u64 == count
            });
            self.logs.push(FoundLog { path, operations, is_whole });
        }
        Ok(())
    }

    /// Notes everything that refs and operations speak of.
    fn mention_values(&mut self) {
        let inventory = &mut self.inventory;
        let mut mention = |value: Option<&RefValue>| {
            if let Some(RefValue::Id(id)) = value {
                inventory.mention(id);
            }
        };
        self.snapshot.refs.iter().for_each(|found| mention(Some(&found.value)));
        let logged = self.logs.iter().flat_map(|log| &log.operations);
        let logged = logged.filter(|found| found.is_sound).flat_map(|found| &found.moves);
        let groups = self.segments.iter().filter_map(|segment| segment.remains.as_ref());
        let groups = groups.flat_map(|remains| &remains.groups);
        let moves: Vec<&RefMove> = logged.chain(groups.flat_map(|group| &group.moves)).collect();
        for ref_move in moves {
            mention(ref_move.old.as_ref());
            mention(ref_move.new.as_ref());
        }
    }

    /// Takes note of an object whose content hashes to its id, and says whether it is valid and may
    /// be here.
    pub(super) fn object(&mut self, id: &Id, kind: Kind, content: &[u8]) -> bool {
        self.done += 1;
        if let Some(progress) = self.progress
            && self.done.is_multiple_of(PROGRESS_OBJECTS)
        {
            progress(self.done, self.total.max(self.done));
        }
        if self.inventory.holds(id) {
            return true;
        }
        if self.is_refused(id) {
            return false;
        }
        if kind == Kind::Blob {
            self.hold(id, kind, &[], None);
            return true;
        }
        let parsed = NewObject::parse(kind, content.to_vec());
        let outlined = object::outline(kind, content);
        let Ok((object, outline)) = parsed.and_then(|object| Ok((object, outlined?))) else {
            return false;
        };
        if kind == Kind::Event
            && let Ok(event) = Event::decode(content)
        {
            self.hangs_on.insert(*id, event.links.first().copied());
        }
        if kind == Kind::Session
            && !self.in_cruft
            && let Ok(session) = Session::decode(content)
        {
            self.metadata.entry(session.sid).or_insert(*id);
        }
        self.hold(id, kind, &object.links, outline.parents.first());
        true
    }

    fn hold(&mut self, id: &Id, kind: Kind, links: &[Id], first: Option<&Id>) {
        self.inventory.hold(id, Some(kind));
        self.inventory.describe(id, links, first);
        if self.in_cruft {
            self.cruft.insert(*id);
        }
    }

    /// Visits every object that must be written into a new pack to be kept: those of the journal
    /// and of damaged packs, and says of each whether it comes from cruft.
    pub(super) fn salvaged(&self, visit: &mut VisitSalvaged<'_>) -> Result<()> {
        let segments = self.segments.iter().filter_map(|segment| segment.remains.as_ref());
        for remains in segments.chain(&self.stray_segments) {
            let objects = remains.groups.iter().flat_map(|group| &group.objects);
            let kept = |id: &Id| !self.is_refused(id);
            for object in objects.filter(|object| object.is_whole && kept(&object.id)) {
                visit(&object.id, object.kind, remains.content(object), false)?;
            }
        }
        let damaged = self.packs.iter().filter(|found| found.state == PackState::Damaged);
        for found in damaged {
            let is_cruft = found.since_ms.is_some();
            self.read_again(&found.path, &mut |id, kind, content| {
                visit(id, kind, content, is_cruft)
            })?;
        }
        for path in &self.strays {
            self.read_again(path, &mut |id, kind, content| visit(id, kind, content, false))?;
        }
        Ok(())
    }

    /// Visits the objects of a damaged pack that were taken note of.
    pub(super) fn read_again(&self, path: &Path, visit: &mut Visit<'_, ()>) -> Result<()> {
        let holds = |id: &Id| self.inventory.holds(id);
        let read = pack::salvage(
            &*self.disk,
            path,
            &holds,
            &mut |id, kind, content| match holds(id) {
                true => visit(id, kind, content),
                false => Ok(()),
            },
            &mut |_| {},
        );
        match read {
            Err(error) if error.is_not_found() => Ok(()),
            read => read.map(drop),
        }
    }
}

/// Lists the numbers of the files in a directory that are named so, ascending.
pub(super) fn numbered(disk: &dyn Disk, dir: &Path, prefix: &str) -> Vec<u64> {
    let entries = disk.list(dir).unwrap_or_default().into_iter();
    let numbers = entries.filter(|entry| !entry.is_dir).filter_map(|entry| {
        let digits = entry.name.strip_prefix(prefix)?;
        let number = u64::from_str_radix(digits, 16).ok()?;
        (digits.len() == 16).then_some(number)
    });
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    numbers
}
