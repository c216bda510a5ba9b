//! Looking at packs and loose files: which are whole, and what is left of the others.

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::fsck::is_about;
use crate::store::local::graph::{Graph, Parent};
use crate::store::local::index::Index;
use crate::store::local::loose::Loose;
use crate::store::local::pack::{self, Pack, PackFile, PackInfo};
use crate::store::local::segment::salvage::{self, Known, Remains};

use super::survey::{BadLoose, KnownOutline, Survey, numbered};

/// How often strays are read again because an object of one links another.
const ROUNDS_MAX: usize = 16;

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
        let opened = info.and_then(|info| Pack::open(self.disk.clone(), &dir, &info).ok());
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
        let index = Index::open(&*self.disk, &index_path, index_bytes, id, pack_bytes).ok()?;
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
            Index::open(&*disk, &index_path, info.index_bytes, id, info.pack_bytes).ok()
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

    /// Looks for what is missing in packs and segments that nobody names: a crash leaves such.
    pub(super) fn read_strays(&mut self) -> Result<()> {
        let dir = self.layout.pack_dir();
        let named: Vec<Id> = self.packs.iter().map(|found| found.id).collect();
        let packs = self.pack_files().into_iter().filter(|id| !named.contains(id));
        let mut strays: Vec<PathBuf> = packs.map(|id| PackFile::Pack.path(&dir, &id)).collect();
        // What a first look could not tell from damage is known to be right if it is wanted.
        let damaged = self.packs.iter().filter(|found| found.state == PackState::Damaged);
        strays.extend(damaged.map(|found| found.path.clone()));
        let mut used = HashSet::new();
        let segments = self.stray_segments();
        for _ in 0..ROUNDS_MAX {
            let before = self.inventory.objects();
            if self.inventory.missing().is_empty() {
                break;
            }
            for path in &strays {
                if self.take_wanted(path)? {
                    used.insert(path.clone());
                }
            }
            segments.iter().for_each(|remains| self.take_wanted_of(remains));
            if self.inventory.objects() == before {
                break;
            }
        }
        let damaged = self.packs.iter().filter(|found| found.state == PackState::Damaged);
        damaged.for_each(|found| {
            used.remove(&found.path);
        });
        self.strays = used.into_iter().collect();
        self.strays.sort_unstable();
        self.stray_segments = segments;
        Ok(())
    }

    /// Takes note of those objects of a pack that are missing elsewhere, if there are any.
    fn take_wanted(&mut self, path: &Path) -> Result<bool> {
        let missing = self.inventory.missing().into_iter().map(|missing| missing.id);
        let missing: HashSet<Id> = missing.collect();
        let disk = self.disk.clone();
        let before = self.inventory.objects();
        let read = pack::salvage(
            &*disk,
            path,
            &|id| missing.contains(id),
            &mut |id, kind, content| {
                if self.is_wanted(id) {
                    self.object(id, kind, content);
                }
                Ok(())
            },
            &mut |_| {},
        );
        match read {
            Err(Error::Io { source, .. }) if source.kind() != io::ErrorKind::NotFound => {}
            Err(error) if !matches!(error, Error::Io { .. }) => return Err(error),
            _ => {}
        }
        Ok(self.inventory.objects() > before)
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

    fn take_wanted_of(&mut self, remains: &Remains) {
        for object in remains.groups.iter().flat_map(|group| &group.objects) {
            if object.is_whole && self.is_wanted(&object.id) {
                self.object(&object.id, object.kind, remains.content(object));
            }
        }
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
            let index = Index::open(&*disk, &index_path, info.index_bytes, id, bytes);
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
