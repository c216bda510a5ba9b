//! Doing what was planned.
//!
//! In this order: what is derived is made again, each file in one step; what is whole is written
//! into new packs; a snapshot of refs, a log and a segment are made; a note says which files are
//! about to go; the manifest is published; they go. Until then everything is where it was.

mod files;
mod records;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::durable::DurableMark;
use crate::store::local::loose::{LOOSE_BYTES_MIN, Loose};
use crate::store::local::manifest::{CruftRecord, Manifest, SegmentRecord};
use crate::store::local::pack::{self, Pack, PackFile, PackInfo, PackOptions, PackWriter};
use crate::store::local::segment::{Segment, Zeros};
use crate::store::local::{init, rotate, seal, state};

use super::aside::Aside;
use super::packs::PackState;
use super::plan::Plan;
use super::survey::{Survey, numbered};

/// The length of the journal segment that a repair begins.
const SEGMENT_BYTES: u64 = 256 << 10;

/// A repair that is carried out.
pub(super) struct CarryOut<'a> {
    survey: Survey<'a>,
    plan: Plan,
    time: i64,
    aside: Aside,
    /// How many objects were written again.
    pub(super) salvaged: u64,
}

/// A pack for what is to stay, and one for what hangs in the air.
#[derive(Default)]
struct Writers {
    live: Option<PackWriter>,
    cruft: Option<PackWriter>,
}

impl<'a> CarryOut<'a> {
    pub(super) fn new(survey: Survey<'a>, plan: Plan, time: i64) -> CarryOut<'a> {
        let aside = Aside::new(survey.disk.clone(), survey.layout.clone(), time);
        CarryOut { survey, plan, time, aside, salvaged: 0 }
    }

    /// Gives the directory where damaged files were put, if there were any.
    pub(super) fn put_aside(&self) -> Option<PathBuf> {
        (self.aside.files > 0).then(|| self.aside.dir.clone())
    }

    /// Does it all, and gives the generation of the manifest afterwards.
    pub(super) fn run(&mut self, generation: u64) -> Result<u64> {
        self.make_dirs()?;
        if self.plan.format {
            let path = self.survey.layout.format();
            self.aside.copy(&path)?;
            init::write_format(&*self.survey.disk, &self.survey.layout)?;
        }
        self.rename_loose()?;
        let before = self.survey.manifest.clone();
        let mut manifest = before.clone().unwrap_or_else(|| Manifest::new(0));
        self.index_packs(&mut manifest)?;
        self.survey.name_lists(&mut manifest);
        if self.plan.is_full || before.as_ref() != Some(&manifest) {
            self.write_salvaged(&mut manifest)?;
            self.write_records(&mut manifest, generation)?;
            let leaving = self.leaving(&manifest);
            self.aside.announce(&leaving)?;
            if self.survey.manifest.is_none() {
                self.aside.copy(&self.survey.layout.current())?;
            }
            manifest.publish(&*self.survey.disk, &self.survey.layout.current())?;
        }
        let last = manifest.segments.last().map_or(0, |record| record.sequence);
        if self.plan.is_full || self.plan.mark {
            if self.plan.mark {
                self.aside.copy(&self.survey.layout.synced())?;
            }
            self.set_mark(last)?;
        }
        for path in self.leaving(&manifest) {
            self.aside.take(&path)?;
        }
        self.make_graphs(&manifest)?;
        self.write_mirrors()?;
        self.aside.finish()?;
        Ok(manifest.generation.max(generation))
    }

    /// Makes the directories again that are missing.
    fn make_dirs(&self) -> Result<()> {
        let layout = &self.survey.layout;
        let dirs = [layout.pack_dir(), layout.journal_dir(), layout.refs_dir(), layout.logs_dir()];
        dirs.iter().try_for_each(|dir| {
            let made = crate::disk::create_dir_durably(&*self.survey.disk, dir);
            made.map_err(Error::io("create", dir))
        })
    }

    fn set_mark(&self, sequence: u64) -> Result<()> {
        let path = self.survey.layout.synced();
        let file = DurableMark::open(&*self.survey.disk, path)?;
        file.set(state::begin_of(sequence))
    }

    /// Makes the indexes again, and names all packs that are whole.
    fn index_packs(&mut self, manifest: &mut Manifest) -> Result<()> {
        let dir = self.survey.layout.pack_dir();
        (manifest.packs, manifest.cruft) = (Vec::new(), Vec::new());
        for found in &mut self.survey.packs {
            if found.state == PackState::Unindexed {
                self.aside.copy(&PackFile::Index.path(&dir, &found.id))?;
                found.info = Some(pack::reindex(&self.survey.disk, &dir, &found.id)?);
            }
            let Some(info) = found.info.filter(|_| found.state != PackState::Damaged) else {
                continue;
            };
            match found.since_ms {
                Some(since_ms) => manifest.cruft.push(CruftRecord { pack: info, since_ms }),
                None => manifest.packs.push(info),
            }
        }
        Ok(())
    }

    /// Writes what is whole in the journal and in damaged packs into new packs.
    fn write_salvaged(&mut self, manifest: &mut Manifest) -> Result<()> {
        let dir = self.survey.layout.pack_dir();
        let open = |info: &PackInfo| Pack::open_checked(self.survey.disk.clone(), &dir, info);
        let kept = manifest.packs.iter().map(open).collect::<Result<Vec<Pack>>>()?;
        let bad: HashSet<PathBuf> = self.survey.loose.iter().map(|bad| bad.path.clone()).collect();
        let loose = Loose::new(self.survey.disk.clone(), self.survey.layout.clone());
        let mut writers = Writers::default();
        let mut salvaged = 0;
        let survey = &self.survey;
        survey.salvaged(&mut |id, kind, content, is_cruft| {
            let path = survey.layout.loose(id);
            if !survey.inventory.holds(id)
                || is_in(&kept, id)?
                || survey.disk.len(&path).is_ok() && !bad.contains(&path)
            {
                return Ok(());
            }
            let is_live = match is_cruft || survey.cruft.contains(id) {
                true => survey.inventory.is_reached(id),
                false => survey.inventory.is_closed(id),
            };
            salvaged += 1;
            if is_live && content.len() as u64 >= LOOSE_BYTES_MIN {
                return loose.put(id, kind, content);
            }
            self::writer(survey, writers.of(is_live))?.add(id, kind, content)
        })?;
        for object in &self.plan.refs.made {
            let writer = self::writer(survey, writers.of(true))?;
            writer.add(&object.id, object.kind, &object.content)?;
        }
        self.salvaged = salvaged;
        if let Some(writer) = writers.live {
            manifest.packs.push(self.finish(writer)?);
        }
        if let Some(writer) = writers.cruft {
            manifest.cruft.push(CruftRecord { pack: self.finish(writer)?, since_ms: self.time });
        }
        Ok(())
    }

    /// Finishes a pack. Where a damaged one has its name, that is kept first.
    fn finish(&mut self, writer: PackWriter) -> Result<PackInfo> {
        let dir = self.survey.layout.pack_dir();
        let (inventory, aside) = (&mut self.survey.inventory, &mut self.aside);
        writer.finish_after(&mut |id| Ok(inventory.depth(id).map(u64::from)), &mut |id| {
            PackFile::ALL.iter().try_for_each(|file| aside.copy(&file.path(&dir, id)))
        })
    }

    /// Writes refs, operations and a segment, and names them.
    fn write_records(&mut self, manifest: &mut Manifest, generation: u64) -> Result<()> {
        let survey = &self.survey;
        let (disk, layout) = (&survey.disk, &survey.layout);
        let files = [(layout.refs_dir(), "packed-"), (layout.logs_dir(), "operations-")];
        let numbers = files.iter().flat_map(|(dir, prefix)| numbered(&**disk, dir, prefix));
        let number = numbers.chain([generation, manifest.generation]).max().unwrap_or(0) + 1;
        manifest.generation = number;
        survey.write_refused(manifest, number)?;
        manifest.refs = Some(self.write_refs(number)?);
        manifest.logs = self.write_logs(manifest, number)?;

        let used = numbered(&**disk, &layout.journal_dir(), "").into_iter();
        let named = manifest.segments.iter().map(|record| record.sequence);
        let used = used.chain(named).chain([survey.mark.sequence]);
        let sequence = used.max().unwrap_or(0) + 1;
        let path = layout.segment(sequence);
        rotate::allocate(&**disk, &path, SEGMENT_BYTES, Zeros::Written)?;
        Segment::begin(&**disk, &path, sequence)?;
        let dir = layout.journal_dir();
        disk.sync_dir(&dir).map_err(Error::io("sync", dir))?;
        manifest.segments = vec![SegmentRecord { sequence, closed: None }];
        Ok(())
    }

    /// Lists the files that are replaced, or strange, and that a manifest does not name.
    fn leaving(&self, manifest: &Manifest) -> Vec<PathBuf> {
        let (survey, layout) = (&self.survey, &self.survey.layout);
        let mut named = seal::named_files(layout, manifest);
        named.remove(&layout.spare());
        let mut paths: BTreeSet<PathBuf> = self.plan.strange.iter().cloned().collect();
        paths.extend(self.plan.announced.iter().cloned());
        for found in survey.packs.iter().filter(|found| found.state == PackState::Damaged) {
            paths.extend(PackFile::ALL.map(|file| file.path(&layout.pack_dir(), &found.id)));
        }
        paths.extend(survey.segments.iter().map(|segment| segment.path.clone()));
        paths.extend(survey.snapshot.path.clone());
        paths.extend(survey.logs.iter().map(|log| log.path.clone()));
        paths.extend(survey.lists().map(|(path, _)| path));
        let right = |path: &PathBuf| self.is_right_loose(path);
        paths.into_iter().filter(|path| !named.contains(path) && !right(path)).collect()
    }
}

impl Writers {
    fn of(&mut self, is_live: bool) -> &mut Option<PackWriter> {
        if is_live { &mut self.live } else { &mut self.cruft }
    }
}

/// Gives a pack to write to, begun when it is first needed.
fn writer<'w>(survey: &Survey<'_>, slot: &'w mut Option<PackWriter>) -> Result<&'w mut PackWriter> {
    if slot.is_none() {
        let dir = survey.layout.pack_dir();
        *slot = Some(PackWriter::new(survey.disk.clone(), &dir, PackOptions::default())?);
    }
    Ok(slot.as_mut().expect("it was set above"))
}

fn is_in(packs: &[Pack], id: &Id) -> Result<bool> {
    for pack in packs {
        if pack.find(id)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
