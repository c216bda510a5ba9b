//! Packs and loose files.

use std::path::Path;

use crate::disk::ASIDE_SUFFIX;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::cache::{BlockCache, Cursor};
use crate::store::local::index::Index;
use crate::store::local::loose::Loose;
use crate::store::local::manifest::Manifest;
use crate::store::local::pack::{Pack, PackFile, PackInfo, salvage};

use super::{Check, Severity};

impl Check<'_> {
    /// Checks the packs that the manifest names, and gives those whose graph can be asked.
    pub(super) fn packs(&mut self, manifest: &Manifest) -> Vec<Pack> {
        let dir = self.layout.pack_dir();
        let mut sound = Vec::new();
        for info in &manifest.packs {
            match Pack::open_checked(self.disk.clone(), &dir, info) {
                Ok(pack) => {
                    if self.pack(&pack, &dir) {
                        sound.push(pack);
                    }
                }
                Err(error) => self.unopened_pack(info, &dir, error),
            }
        }
        sound
    }

    /// Checks what is left of a pack that can't be opened.
    fn unopened_pack(&mut self, info: &PackInfo, dir: &Path, error: Error) {
        let [pack_path, index_path, _] = PackFile::ALL.map(|file| file.path(dir, &info.id));
        let what = match is_about(&error, &index_path) {
            true => "index-damaged",
            false => "pack-damaged",
        };
        self.fault(Severity::Error, what, None, error);
        self.salvage(&pack_path);
        let (index_bytes, pack_bytes) = (info.index_bytes, info.pack_bytes);
        let disk = self.disk.clone();
        let Ok(index) = Index::open_alone(&*disk, &index_path, index_bytes, &info.id, pack_bytes)
        else {
            return;
        };
        for row in 0..index.len() {
            if let (Ok(id), Ok(position)) = (index.id(row), index.position(row)) {
                self.unread_object(&id, Some(position.kind));
            }
        }
    }

    /// Checks a pack, and says whether its graph can be asked.
    fn pack(&mut self, pack: &Pack, dir: &Path) -> bool {
        let [pack_path, index_path, graph_path] =
            PackFile::ALL.map(|file| file.path(dir, &pack.info().id));
        let mut errors = Vec::new();
        if !self.options.connectivity_only {
            pack.verify(&mut |error| errors.push(error));
        }
        let mut graph_sound = !self.options.connectivity_only;
        for error in errors {
            let about = |path: &Path| is_about(&error, path);
            if matches!(error, Error::InvalidObject { .. }) {
                // The objects are decoded one by one below.
                continue;
            } else if about(&graph_path) && error.is_not_found() {
                let why = "it is missing; every walk through this pack makes it anew";
                self.odd(Severity::Warning, "graph-missing", &graph_path, why);
                graph_sound = false;
            } else if about(&graph_path) {
                self.fault(Severity::Warning, "graph-damaged", None, error);
                graph_sound = false;
            } else if about(&index_path) {
                self.fault(Severity::Error, "index-damaged", None, error);
            } else {
                self.fault(Severity::Error, "pack-damaged", None, error);
            }
        }
        if let Err(error) = self.packed_objects(pack, &pack_path) {
            if self.options.connectivity_only {
                self.fault(Severity::Error, "index-damaged", None, error);
            }
            self.salvage(&pack_path);
        }
        graph_sound
    }

    /// Checks the objects that an index names. Fails where the index does.
    fn packed_objects(&mut self, pack: &Pack, path: &Path) -> Result<()> {
        let cache = BlockCache::new(0);
        let mut cursor = Cursor::new(&cache);
        for block in 0..pack.blocks() {
            for row in pack.block_rows(block)? {
                let (id, kind) = (pack.id(*row)?, pack.kind(*row)?);
                if self.passes_over(kind) {
                    self.unread_object(&id, Some(kind));
                    continue;
                }
                match pack.read_with(*row, &mut cursor) {
                    Ok(stored) => self.object(&id, stored.kind, &stored.content, path),
                    Err(error) => {
                        self.unread_object(&id, Some(kind));
                        self.fault(Severity::Error, "pack-damaged", Some(id), error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the objects of every pack there is, without manifest and indexes.
    pub(super) fn salvage_all(&mut self) -> Vec<Pack> {
        let dir = self.layout.pack_dir();
        for entry in self.entries(&dir) {
            if entry.name.ends_with(".pack") {
                self.salvage(&dir.join(entry.name));
            }
        }
        Vec::new()
    }

    /// Checks the objects of a pack without its index.
    fn salvage(&mut self, path: &Path) {
        let mut errors = Vec::new();
        let disk = self.disk.clone();
        let read = salvage(
            &*disk,
            path,
            &|_| false,
            &mut |id, kind, content| {
                self.object(id, kind, content, path);
                Ok(())
            },
            &mut |error| errors.push(error),
        );
        errors.extend(read.err());
        for error in errors {
            self.fault(Severity::Error, "pack-damaged", None, error);
        }
    }

    /// Compares the depths that graphs give to objects whose parent is in another container.
    pub(super) fn depths(&mut self, packs: &[Pack]) {
        for pack in packs {
            let mut wrong = None;
            let inventory = &mut self.inventory;
            let read = pack.depths_beyond(&mut |parent, depth| {
                let right = inventory.depth(parent).and_then(|depth| depth.checked_add(1));
                if right.is_some_and(|right| right != depth) {
                    wrong = wrong.or(Some(*parent));
                }
            });
            if let Some(parent) = wrong {
                let path = PackFile::Graph.path(&self.layout.pack_dir(), &pack.info().id);
                let why = format!("it gives a wrong depth to what follows {parent}");
                self.odd(Severity::Warning, "graph-damaged", &path, why);
            }
            if let Err(error) = read {
                self.fault(Severity::Warning, "graph-damaged", None, error);
            }
        }
    }

    /// Checks all loose files, and what else stands in their directories.
    pub(super) fn loose(&mut self) {
        let dir = self.layout.objects_dir();
        let loose = Loose::new(self.disk.clone(), self.layout.clone());
        for entry in self.entries(&dir) {
            let path = dir.join(&entry.name);
            match entry.name.as_str() {
                "pack" | "journal" | "cruft" if entry.is_dir => {}
                name if entry.is_dir && is_fan(name) => self.fan(&loose, name),
                _ if self.lists.contains(&path) => {}
                _ => self.stray(&path, entry.is_dir),
            }
        }
    }

    fn fan(&mut self, loose: &Loose, fan: &str) {
        let dir = self.layout.loose_dir(fan);
        let entries = self.entries(&dir);
        self.total += entries.len() as u64;
        for entry in entries {
            let name = format!("{fan}{}", entry.name);
            match name.parse::<Id>() {
                // What a purge has not removed yet.
                Ok(id) if self.purged.contains(&id) => {}
                Ok(id) if !entry.is_dir && id.to_string() == name => self.loose_object(loose, &id),
                _ => self.stray(&dir.join(&entry.name), entry.is_dir),
            }
        }
    }

    fn loose_object(&mut self, loose: &Loose, id: &Id) {
        let read = match self.options.connectivity_only {
            true => loose.kind(id).and_then(|kind| match kind {
                Some(Kind::Blob) => Ok(Some((Kind::Blob, Vec::new()))),
                _ => loose.verify(id),
            }),
            false => loose.verify(id),
        };
        match read {
            Ok(Some((kind, content))) => {
                let path = self.layout.loose(id);
                self.object(id, kind, &content, &path);
            }
            // It has moved into a pack since the directory was listed.
            Ok(None) => {}
            Err(error) => {
                self.unread_object(id, None);
                self.fault(Severity::Error, "loose-damaged", Some(*id), error);
            }
        }
    }

    /// Reports something that nobody names.
    pub(super) fn stray(&mut self, path: &Path, is_dir: bool) {
        let name = path.to_string_lossy();
        if !is_dir && name.ends_with(ASIDE_SUFFIX) {
            let why = "a file that was never finished, or is being written";
            self.odd(Severity::Notice, "leftover", path, why);
        } else {
            let why = match is_dir {
                true => "a directory that is no part of a store",
                false => "no part of the store names it",
            };
            self.odd(Severity::Notice, "unnamed-file", path, why);
        }
    }
}

pub(crate) fn is_about(error: &Error, path: &Path) -> bool {
    match error {
        Error::Corrupt { path: found, .. }
        | Error::Io { path: found, .. }
        | Error::UnsupportedFormat { path: found, .. } => found == path,
        _ => false,
    }
}

fn is_fan(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == 2 && name.bytes().all(digit)
}
