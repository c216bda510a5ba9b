//! Files that hold no truth of their own, and loose files under wrong names.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::loose::Loose;
use crate::store::local::manifest::Manifest;
use crate::store::local::mirror::Mirrors;
use crate::store::local::pack::{Pack, PackFile};

use super::super::aside;
use super::CarryOut;

/// How deep directories of mirror files are looked into.
const MIRROR_DEPTH_MAX: usize = 8;

impl CarryOut<'_> {
    /// Gives loose files the names of what they hold.
    pub(super) fn rename_loose(&mut self) -> Result<()> {
        let survey = &self.survey;
        let held = survey.loose.iter().filter_map(|bad| Some((bad.path.clone(), bad.holds?)));
        let held: Vec<(PathBuf, Id)> = held.collect();
        let disk = Arc::clone(&survey.disk);
        // All are copied before one is replaced: they may have each other's names.
        let mut copies = Vec::new();
        for (path, id) in held {
            let target = survey.layout.loose(&id);
            if self.is_right_loose(&target) {
                continue;
            }
            let dir = target.parent().expect("a loose file stands in a directory");
            disk.create_dir(dir).map_err(Error::io("create", dir))?;
            let copy = crate::disk::aside(&*disk, &target).map_err(Error::io("name", &target))?;
            aside::copy(&*disk, &path, &copy)?;
            copies.push((copy, target));
        }
        for (copy, target) in copies {
            self.aside.copy(&target)?;
            disk.rename(&copy, &target).map_err(Error::io("rename", &target))?;
            let dirs = [target.parent(), target.parent().and_then(Path::parent)];
            for dir in dirs.into_iter().flatten() {
                disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
            }
        }
        Ok(())
    }

    /// Says whether a path is that of a loose file which holds what its name says.
    pub(super) fn is_right_loose(&self, path: &Path) -> bool {
        let below = path.strip_prefix(self.survey.layout.objects_dir()).ok();
        let name = below.map(|below| below.to_string_lossy().replace('/', ""));
        let Some(id) = name.and_then(|name| name.parse::<Id>().ok()) else {
            return false;
        };
        let loose = Loose::new(Arc::clone(&self.survey.disk), self.survey.layout.clone());
        let is_valid = self.survey.inventory.holds(&id);
        is_valid && matches!(loose.identify(path), Ok(Some((found, _, _))) if found == id)
    }

    /// Makes the graphs again that are missing or damaged.
    pub(super) fn make_graphs(&mut self, manifest: &Manifest) -> Result<()> {
        let dir = self.survey.layout.pack_dir();
        let cruft = manifest.cruft.iter().map(|record| &record.pack);
        for info in manifest.packs.iter().chain(cruft) {
            let path = PackFile::Graph.path(&dir, &info.id);
            if !self.plan.graphs.contains(&path) {
                continue;
            }
            self.aside.copy(&path)?;
            let pack = Pack::open_checked(Arc::clone(&self.survey.disk), &dir, info)?;
            let inventory = &mut self.survey.inventory;
            pack.heal_graph(&mut |id| Ok(inventory.depth(id).map(u64::from)))?;
        }
        Ok(())
    }

    /// Writes mirror files where they differ from their refs, and puts those aside that have none.
    pub(super) fn write_mirrors(&mut self) -> Result<()> {
        if !self.plan.is_full && !self.plan.mirrors {
            return Ok(());
        }
        let (disk, layout) = (Arc::clone(&self.survey.disk), self.survey.layout.clone());
        let mut mirrors = Mirrors::new(Arc::clone(&disk), layout.clone());
        let mut right = HashSet::new();
        let refs = std::mem::take(&mut self.plan.refs.values);
        for (name, value) in &refs {
            let path = mirrors.path(name);
            if !mirrors.shows(name, value).unwrap_or(false) {
                self.clear_way(&layout.refs_dir(), &path)?;
                mirrors.write(name, Some(value))?;
            }
            right.insert(path);
        }
        mirrors.clear_absent(&refs)?;
        let mut found = Vec::new();
        self.files_below(&layout.refs_dir(), 0, &mut found);
        for path in found {
            if !right.contains(&path) && !layout.is_no_mirror(&path) {
                self.aside.take(&path)?;
            }
        }
        Ok(())
    }

    /// Puts a file aside that stands where a directory must be.
    fn clear_way(&mut self, below: &Path, path: &Path) -> Result<()> {
        let dirs = path.ancestors().skip(1).take_while(|dir| *dir != below);
        let blocked = dirs
            .filter(|dir| self.survey.disk.len(dir).is_ok() && self.survey.disk.list(dir).is_err());
        let blocked: Vec<PathBuf> = blocked.map(Path::to_owned).collect();
        blocked.iter().try_for_each(|file| self.aside.take(file))
    }

    fn files_below(&self, dir: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        for entry in self.survey.disk.list(dir).unwrap_or_default() {
            let path = dir.join(&entry.name);
            match entry.is_dir && depth < MIRROR_DEPTH_MAX {
                true => self.files_below(&path, depth + 1, files),
                false => files.push(path),
            }
        }
    }
}
