//! Packs written again without some of their objects, and objects dropped from every container.
//!
//! A block of which all is wanted is copied as it is. A crash leaves packs that no manifest names.
//!
//! Not here: why an object is not wanted. [`LocalStore::drop_objects`] asks nobody if something
//! still leads to it.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::anew::{Form, Source};
use crate::store::local::manifest::Manifest;
use crate::store::local::pack::{Pack, PackInfo, PackOptions, PackWriter};
use crate::store::local::state::State;
use crate::store::local::{Inner, LocalStore};

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropReport {
    /// Objects in packs, each copy counted.
    pub packed: u64,
    /// Loose files.
    pub loose: u64,
    /// Packs that were written again, or are gone.
    pub packs: u64,
}

impl LocalStore {
    /// Drops objects from the journal, from packs, loose files and cruft, at once, whatever leads
    /// to them. Afterwards no file of the store holds them.
    ///
    /// Whoever calls it has seen to it that no ref or object leads to them any more: if one does,
    /// the store is damaged. A crash leaves some of them, and calling it again drops the rest.
    pub fn drop_objects(&self, ids: &HashSet<Id>) -> Result<DropReport> {
        let inner = &self.inner;
        inner.check_writable()?;
        inner.alone_or_wait(|inner| inner.drop_objects(ids))
    }
}

impl Inner {
    fn drop_objects(self: &Arc<Inner>, ids: &HashSet<Id>) -> Result<DropReport> {
        self.checkpoint()?;
        let state = self.refresh()?;
        let mut report = DropReport::default();
        for pack in state.all_packs() {
            let rows = rows_of(pack, ids)?;
            if rows.is_empty() {
                continue;
            }
            let kept = self.rewrite(pack, &|row| !rows.contains(&row), &state)?;
            self.edit_manifest(|manifest| replace(manifest, &pack.info().id, kept))?;
            report.packed += rows.len() as u64;
            report.packs += 1;
        }
        for id in ids {
            if self.loose.contains(id)? {
                self.loose.remove(id)?;
                report.loose += 1;
            }
        }
        for aside in self.loose.list_aside()? {
            if ids.contains(&aside.id) {
                self.loose.remove_aside(&aside)?;
                report.loose += 1;
            }
        }
        self.forget_cache()?;
        self.sweep()?;
        Ok(report)
    }

    /// Removes what is remembered of objects that may be gone now.
    pub(crate) fn forget_cache(&self) -> Result<()> {
        let dir = self.layout.cache_dir();
        let listed = match self.disk.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            listed => listed.map_err(Error::io("list", &dir))?,
        };
        for entry in listed.into_iter().filter(|entry| !entry.is_dir) {
            let path = dir.join(entry.name);
            self.disk.remove(&path).map_err(Error::io("remove", path))?;
        }
        Ok(())
    }

    /// Writes the wanted rows of a pack as a pack of the same form; `None` if there are none.
    ///
    /// A dictionary may hold text of objects that are left out, so it is made anew.
    pub(crate) fn rewrite(
        self: &Arc<Inner>,
        pack: &Pack,
        is_wanted: &dyn Fn(u32) -> bool,
        state: &Arc<State>,
    ) -> Result<Option<PackInfo>> {
        if pack.may_have_dictionaries()? {
            return self.pack_again(state, &Source { pack, is_wanted }, Form::TIDY);
        }
        let options = match pack.may_be_folded()? {
            true => PackOptions::TIDY,
            false => PackOptions::default(),
        };
        let dir = self.layout.pack_dir();
        let mut writer = PackWriter::new(Arc::clone(&self.disk), &dir, options)?;
        for block in 0..pack.blocks() {
            writer.add_block(pack, block, &mut |row| is_wanted(row))?;
        }
        match writer.len() {
            0 => Ok(None),
            _ => self.finish_pack(writer, state).map(Some),
        }
    }
}

/// Finds the rows of these objects in a pack.
fn rows_of(pack: &Pack, ids: &HashSet<Id>) -> Result<HashSet<u32>> {
    ids.iter().filter_map(|id| pack.find(id).transpose()).collect()
}

/// Puts a pack in the place of another, among cruft if that was; or nothing.
pub(crate) fn replace(manifest: &mut Manifest, old: &Id, new: Option<PackInfo>) {
    if let Some(at) = manifest.cruft.iter().position(|record| record.pack.id == *old) {
        match new {
            Some(pack) => manifest.cruft[at].pack = pack,
            None => drop(manifest.cruft.remove(at)),
        }
        return;
    }
    manifest.replace_packs(&HashSet::from([*old]), new.as_slice());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;
    use crate::object::NewObject;
    use crate::store::local::manifest::CruftRecord;
    use crate::store::local::{FsckOptions, Options, fsck};
    use crate::store::{Durability, Store, Transaction};

    fn blobs(numbers: std::ops::Range<u32>) -> Vec<NewObject> {
        let text = |number| format!("blob {number} {}", "of words ".repeat(number as usize % 7));
        numbers.map(|number| NewObject::blob(text(number).into_bytes()).unwrap()).collect()
    }

    fn commit(store: &LocalStore, objects: &[NewObject]) {
        let committed = store.commit(Durability::Full, &mut |_| {
            Ok(Transaction { objects: objects.to_vec(), ..Transaction::default() })
        });
        committed.unwrap();
    }

    #[test]
    fn objects_are_dropped_from_every_container_and_all_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let (store, _) = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap();
        let all = blobs(0..50);
        commit(&store, &all[..20]);
        store.repack().unwrap();
        commit(&store, &all[20..30]);
        store.seal().unwrap();
        // The newest pack becomes cruft, and so does a loose file.
        store
            .inner
            .edit_manifest(|manifest| {
                let pack = manifest.packs.pop().unwrap();
                manifest.cruft.push(CruftRecord { pack, since_ms: 7 });
                manifest.moved += 1;
            })
            .unwrap();
        all[30..34].iter().for_each(|blob| store.put_alone(blob).unwrap());
        all[30..32].iter().for_each(|blob| store.inner.loose.set_aside(&blob.id, 7).unwrap());
        commit(&store, &all[34..]);
        let snapshot = store.snapshot().unwrap();
        let content = |id: &Id| snapshot.get(id).unwrap().map(|stored| stored.content.to_vec());
        assert!(all.iter().all(|blob| content(&blob.id).as_ref() == Some(&blob.content)));

        let dropped: HashSet<Id> =
            [3, 5, 21, 30, 32, 40].iter().map(|number: &usize| all[*number].id).collect();
        let report = store.drop_objects(&dropped).unwrap();
        assert_eq!((report.packed, report.loose, report.packs), (4, 2, 3));
        let snapshot = store.snapshot().unwrap();
        for blob in &all {
            let found = snapshot.get(&blob.id).unwrap();
            assert_eq!(found.is_some(), !dropped.contains(&blob.id), "{}", blob.id);
        }
        assert_eq!(store.drop_objects(&dropped).unwrap(), DropReport::default());
        assert_eq!(store.inner.state().manifest.cruft[0].pack.objects, 9);
        let checked = fsck(Arc::new(OsDisk), dir.path(), &FsckOptions::default()).unwrap();
        assert_eq!(checked.findings, []);
        assert_eq!(checked.objects, 44);
    }

    /// Gives all that stands in blocks of packs, dictionaries too.
    fn packed_text(store: &LocalStore) -> Vec<u8> {
        let mut text = Vec::new();
        for pack in store.inner.refresh().unwrap().all_packs() {
            for block in 0..pack.blocks() {
                text.extend_from_slice(&pack.block_of(block, &store.inner.cache, false).unwrap());
            }
        }
        text
    }

    #[test]
    fn what_is_dropped_is_gone_from_dictionaries() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let (store, _) = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap();
        let words = |seed: u64, count: u64| -> String {
            let word = |word| (seed * 1000 + word) as u128 * 0x9e37_79b9_7f4a_7c15_f39c_c060;
            (0..count).map(|number| format!("{:x} ", word(number))).collect()
        };
        let (common, secret) = (words(1, 50), words(2, 50));
        let text = |number: u64| match number % 2 {
            0 => format!("{} {secret}", words(number + 100, 3)),
            _ => format!("{} {common}", words(number + 100, 3)),
        };
        let all: Vec<NewObject> =
            (0..1200).map(|number| NewObject::blob(text(number).into_bytes()).unwrap()).collect();
        for batch in all.chunks(100) {
            commit(&store, batch);
        }
        store.repack().unwrap();
        // Each is in 600 objects; some place of it is in the dictionary, too.
        let count = |text: &[u8], wanted: &str| {
            let places = wanted.as_bytes().chunks_exact(60).map(memchr::memmem::Finder::new);
            places.map(|place| place.find_iter(text).count()).max().unwrap()
        };
        let before = packed_text(&store);
        assert!(count(&before, &secret) > 600 && count(&before, &common) > 600, "a dictionary");
        let dropped: HashSet<Id> = all.iter().step_by(2).map(|object| object.id).collect();
        store.drop_objects(&dropped).unwrap();
        let after = packed_text(&store);
        assert_eq!(count(&after, &secret), 0);
        let checked = fsck(Arc::new(OsDisk), dir.path(), &FsckOptions::default()).unwrap();
        assert_eq!((checked.findings.as_slice(), checked.objects), (&[][..], 600));
    }

    #[test]
    fn cruft_is_there_for_readers_and_missing_to_writers() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let (store, _) = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap();
        let all = blobs(0..4);
        commit(&store, &all[..2]);
        store.seal().unwrap();
        let (packed, loose) = (&all[0], &all[3]);
        store.put_alone(loose).unwrap();
        let aside = |manifest: &mut Manifest| {
            let pack = manifest.packs.pop().unwrap();
            manifest.cruft.push(CruftRecord { pack, since_ms: 7 });
            manifest.moved += 1;
        };
        store.inner.edit_manifest(aside).unwrap();
        store.inner.loose.set_aside(&loose.id, 7).unwrap();
        let snapshot = store.snapshot().unwrap();
        let ids = [packed.id, loose.id];
        assert!(snapshot.kinds(&ids).unwrap().iter().all(Option::is_some));
        for id in &ids {
            assert_eq!(snapshot.with_prefix(&id.short(12).parse().unwrap(), 2).unwrap(), [*id]);
            assert!(snapshot.topology(id).unwrap().is_some());
        }
        let mut listed = 0;
        let visited = snapshot.for_each(&mut |_, _| {
            listed += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        });
        assert_eq!((visited.unwrap(), listed), ((), 0));
        let counts = store.count_objects().unwrap();
        assert_eq!((counts.packed_objects, counts.loose_objects, counts.cruft_objects), (0, 0, 3));
        let committed = store.commit(Durability::Full, &mut |plan| {
            assert_eq!(plan.kinds(&ids).unwrap(), [None, None]);
            assert!(plan.get(&packed.id).unwrap().is_some());
            Ok(Transaction { objects: all.clone(), ..Transaction::default() })
        });
        committed.unwrap();
        assert_eq!(store.count_objects().unwrap().journal_objects, 4, "supplied again");
    }
}
