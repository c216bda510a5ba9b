//! Looking at packs and loose files: which are whole, and what is left of the others.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::store::local::fsck::is_about;
use crate::store::local::graph::{Graph, Parent};
use crate::store::local::index::Index;
use crate::store::local::loose::Loose;
use crate::store::local::pack::{self, Pack, PackFile, PackInfo};
use crate::store::local::segment::salvage::{self, Known, Remains};

use super::survey::{BadLoose, KnownOutline, Survey, numbered};

/// A pack.
pub(super) struct FoundPack {
    pub(super) id: Id,
    pub(super) path: PathBuf,
    /// What the manifest or its own files say of it.
    pub(super) info: Option<PackInfo>,
    /// Since when it is cruft.
    pub(super) since_ms: Option<i64>,
    pub(super) state: PackState,
    /// Whether its graph must be made again.
    pub(super) needs_graph: bool,
}

/// How a pack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackState {
    /// It can stay as it is, but for its graph perhaps.
    Whole,
    /// Its index must be made again.
    Unindexed,
    /// What is left of it must be written into another pack.
    Damaged,
}

impl Survey<'_> {
    /// Reads the packs that the manifest names; all there are, without one.
    pub(super) fn read_packs(&mut self) -> Result<()> {
        let named: Vec<(Id, Option<PackInfo>)> = match &self.manifest {
            Some(manifest) => manifest.packs.iter().map(|info| (info.id, Some(*info))).collect(),
            None => self.pack_files().into_iter().map(|id| (id, None)).collect(),
        };
        for (id, info) in named {
            self.read_pack(id, info, None)?;
        }
        Ok(())
    }

    /// Reads what was set aside: it may hold what is missing elsewhere.
    pub(super) fn read_cruft(&mut self) -> Result<()> {
        let records = self.manifest.as_ref().map(|manifest| manifest.cruft.clone());
        self.in_cruft = true;
        for record in records.unwrap_or_default() {
            self.read_pack(record.pack.id, Some(record.pack), Some(record.since_ms))?;
        }
        let loose = Loose::new(self.disk.clone(), self.layout.clone());
        for aside in loose.list_aside()? {
            match loose.verify_aside(&aside) {
                Ok(Some((kind, content))) if self.object(&aside.id, kind, &content) => {}
                Ok(None) => {}
                _ => {
                    let path = self.layout.cruft(&aside.id, aside.since_ms);
                    self.loose.push(BadLoose { path, holds: None });
                }
            }
        }
        self.in_cruft = false;
        Ok(())
    }

    /// Lists the packs by their files.
    fn pack_files(&self) -> Vec<Id> {
        let entries = self.disk.list(&self.layout.pack_dir()).unwrap_or_default();
        let id = |name: &str| Id::from_str(name.strip_prefix("pack-")?.strip_suffix(".pack")?).ok();
        entries.iter().filter_map(|entry| id(&entry.name)).collect()
    }

    fn read_pack(&mut self, id: Id, info: Option<PackInfo>, since_ms: Option<i64>) -> Result<()> {
        let dir = self.layout.pack_dir();
        let path = PackFile::Pack.path(&dir, &id);
        let info = info.or_else(|| self.guess_info(&id));
        let opened = info.and_then(|info| Pack::open_checked(self.disk.clone(), &dir, &info).ok());
        let mut needs_graph = true;
        let state = match opened {
            Some(pack) if self.is_whole(&pack, &mut needs_graph) => PackState::Whole,
            _ => self.read_damaged(&id, info.as_ref())?,
        };
        self.packs.push(FoundPack { id, path, info, since_ms, state, needs_graph });
        Ok(())
    }

    /// Works out what a manifest would say of a pack.
    fn guess_info(&self, id: &Id) -> Option<PackInfo> {
        let dir = self.layout.pack_dir();
        let [pack_path, index_path, _] = PackFile::ALL.map(|file| file.path(&dir, id));
        let pack_bytes = self.disk.len(&pack_path).ok()?;
        let index_bytes = self.disk.len(&index_path).ok()?;
        let index =
            Index::open_alone(&*self.disk, &index_path, index_bytes, id, pack_bytes).ok()?;
        Some(PackInfo { id: *id, pack_bytes, index_bytes, objects: u64::from(index.len()) })
    }

    /// Reads a pack that opens, and says whether all of it but the graph is whole.
    fn is_whole(&mut self, pack: &Pack, needs_graph: &mut bool) -> bool {
        let graph_path = PackFile::Graph.path(&self.layout.pack_dir(), &pack.info().id);
        let mut whole = true;
        *needs_graph = false;
        pack.verify(&mut |error| match is_about(&error, &graph_path) {
            true => *needs_graph = true,
            false => whole = false,
        });
        if !whole {
            return false;
        }
        let read = pack.for_each(&mut |id, kind, content| {
            whole &= self.object(id, kind, content);
            Ok(ControlFlow::Continue(()))
        });
        read.is_ok() && whole
    }

    fn read_damaged(&mut self, id: &Id, info: Option<&PackInfo>) -> Result<PackState> {
        let [path, index_path, _] =
            PackFile::ALL.map(|file| file.path(&self.layout.pack_dir(), id));
        let disk = self.disk.clone();
        let index = info.and_then(|info| {
            Index::open_alone(&*disk, &index_path, info.index_bytes, id, info.pack_bytes).ok()
        });
        let expects = |id: &Id| {
            let found = index.as_ref().and_then(|index| index.find(id).ok());
            found.flatten().is_some()
        };
        let mut valid = true;
        let read = pack::salvage(
            &*disk,
            &path,
            &expects,
            &mut |id, kind, content| {
                valid &= self.object(id, kind, content);
                Ok(())
            },
            &mut |_| {},
        );
        match read {
            Ok(read) if read.whole == Some(*id) && valid => Ok(PackState::Unindexed),
            Err(error @ Error::UnsupportedFormat { .. }) => Err(error),
            _ => Ok(PackState::Damaged),
        }
    }

    /// Reads all loose files.
    pub(super) fn read_loose(&mut self) -> Result<()> {
        let loose = Loose::new(self.disk.clone(), self.layout.clone());
        for (id, _) in loose.list()? {
            match loose.verify(&id) {
                Ok(Some((kind, content))) if self.object(&id, kind, &content) => {}
                Ok(None) => {}
                _ => {
                    let path = self.layout.loose(&id);
                    let holds =
                        loose.identify(&path).ok().flatten().filter(|(found, kind, content)| {
                            *found != id && self.object(found, *kind, content)
                        });
                    let holds = holds.map(|(found, _, _)| found);
                    self.loose.push(BadLoose { path, holds });
                }
            }
        }
        Ok(())
    }

    /// Looks for what is missing in packs and segments that nobody names (a crash leaves such), and
    /// in what is left of damaged blocks: what is spoken of is known to be right.
    pub(super) fn read_strays(&mut self) -> Result<()> {
        let missing: Vec<Id> =
            self.inventory.missing().into_iter().map(|missing| missing.id).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let dir = self.layout.pack_dir();
        let named: Vec<Id> = self.packs.iter().map(|found| found.id).collect();
        let packs = self.pack_files().into_iter().filter(|id| !named.contains(id));
        let strays: Vec<PathBuf> = packs.map(|id| PackFile::Pack.path(&dir, &id)).collect();
        let damaged = self.packs.iter().filter(|found| found.state == PackState::Damaged);
        let damaged: Vec<PathBuf> = damaged.map(|found| found.path.clone()).collect();
        let segments = self.stray_segments();

        let mut links: HashMap<Id, Vec<Id>> = HashMap::new();
        let mut note = |survey: &Survey<'_>, id: &Id, kind, content: &[u8]| {
            if !survey.inventory.holds(id)
                && let Ok(object) = NewObject::parse(kind, content.to_vec())
            {
                links.insert(*id, object.links);
            }
        };
        for path in strays.iter().chain(&damaged) {
            self.read_all(path, &mut |id, kind, content| note(self, id, kind, content))?;
        }
        for remains in &segments {
            let objects = remains.groups.iter().flat_map(|group| &group.objects);
            let whole = objects.filter(|object| object.is_whole);
            whole.for_each(|found| note(self, &found.id, found.kind, remains.content(found)));
        }
        let wanted = reachable(missing, &links);
        drop(links);
        if wanted.is_empty() {
            return Ok(());
        }
        for path in strays.iter().chain(&damaged) {
            self.take_wanted(path, &wanted)?;
        }
        for remains in &segments {
            for found in remains.groups.iter().flat_map(|group| &group.objects) {
                if found.is_whole && wanted.contains(&found.id) {
                    self.object(&found.id, found.kind, remains.content(found));
                }
            }
        }
        (self.strays, self.stray_segments) = (strays, segments);
        Ok(())
    }

    /// Visits all that is left of a pack, whether anything vouches for it or not.
    fn read_all(&self, path: &Path, visit: &mut dyn FnMut(&Id, Kind, &[u8])) -> Result<()> {
        let read = pack::salvage(
            &*self.disk,
            path,
            &|_| true,
            &mut |id, kind, content| {
                visit(id, kind, content);
                Ok(())
            },
            &mut |_| {},
        );
        unless_unreadable(read.map(drop))
    }

    /// Takes note of those objects of a pack that are wanted.
    fn take_wanted(&mut self, path: &Path, wanted: &HashSet<Id>) -> Result<()> {
        let disk = self.disk.clone();
        let read = pack::salvage(
            &*disk,
            path,
            &|id| wanted.contains(id),
            &mut |id, kind, content| {
                if wanted.contains(id) {
                    self.object(id, kind, content);
                }
                Ok(())
            },
            &mut |_| {},
        );
        unless_unreadable(read.map(drop))
    }

    /// Reads the segments that nobody names.
    fn stray_segments(&self) -> Vec<Remains> {
        let known: Vec<&PathBuf> = self.segments.iter().map(|found| &found.path).collect();
        let sequences = numbered(&*self.disk, &self.layout.journal_dir(), "").into_iter();
        let paths = sequences.map(|sequence| (self.layout.segment(sequence), sequence));
        let strays = paths.filter(|(path, _)| !known.contains(&path));
        let read = strays.filter_map(|(path, sequence)| {
            salvage::salvage(&*self.disk, &path, sequence, Known::default()).ok()
        });
        read.collect()
    }

    /// Finds out what indexes and graphs still say of objects that are lost.
    pub(super) fn read_outlines(&mut self) {
        let dir = self.layout.pack_dir();
        let damaged = self.packs.iter().filter(|found| found.state == PackState::Damaged);
        let infos: Vec<PackInfo> = damaged.filter_map(|found| found.info).collect();
        for info in infos {
            let [_, index_path, graph_path] = PackFile::ALL.map(|file| file.path(&dir, &info.id));
            let (id, bytes) = (&info.id, info.pack_bytes);
            let disk = self.disk.clone();
            let index = Index::open_alone(&*disk, &index_path, info.index_bytes, id, bytes);
            let Ok(index) = index else {
                continue;
            };
            let graph = Graph::open(&*disk, &graph_path, id, index.len()).ok();
            for row in 0..index.len() {
                let (Ok(id), Ok(place)) = (index.id(row), index.position(row)) else {
                    continue;
                };
                if self.inventory.holds(&id) {
                    continue;
                }
                let said = graph.as_ref().and_then(|graph| graph.row(row).ok());
                let label = said.and_then(|said| graph.as_ref()?.label(said.label?).ok());
                let first = said.and_then(|said| match said.first {
                    Parent::None => None,
                    Parent::Row(row) => index.id(row).ok(),
                    Parent::Outside(place) => graph.as_ref()?.outside(place).ok(),
                });
                let time = said.map(|said| said.time);
                self.inventory.suppose(&id, first.as_ref());
                self.outlines.insert(id, KnownOutline { kind: place.kind, label, time });
            }
        }
    }
}

/// Lists the objects that others lead to, as far as their links are known.
fn reachable(mut open: Vec<Id>, links: &HashMap<Id, Vec<Id>>) -> HashSet<Id> {
    let mut reached = HashSet::new();
    while let Some(id) = open.pop() {
        if let Some(next) = links.get(&id)
            && reached.insert(id)
        {
            open.extend(next);
        }
    }
    reached
}

/// Lets pass that a file can't be read, and no other error.
fn unless_unreadable(read: Result<()>) -> Result<()> {
    match read {
        Err(Error::Io { .. }) => Ok(()),
        read => read,
    }
}
