//! Finding objects by the begin of their ids, in every container.

use super::LocalSnapshot;
use crate::error::Result;
use crate::id::{Id, Prefix};

impl LocalSnapshot {
    /// Finds up to `limit` ids that begin with a prefix, in order.
    pub(super) fn find_with_prefix(&self, prefix: &Prefix, limit: usize) -> Result<Vec<Id>> {
        let mut found = Vec::new();
        let loose = match self.may_be_loose(prefix)? {
            true => self.inner.loose.with_prefix(prefix)?,
            false => None,
        };
        // Only what was loose can be in a pack by now that this snapshot does not know.
        let may_have_moved = loose.is_some();
        for id in loose.into_iter().flatten() {
            if !self.state.is_purged(&id)? {
                found.push(id);
            }
        }
        for (segment, end) in self.segments() {
            let table = segment.table();
            let seen = table.objects.iter().filter(|(_, location)| location.group_end <= end);
            found.extend(seen.map(|(id, _)| *id).filter(|id| prefix.matches(id)));
        }
        if self.state.manifest.moved > 0 {
            found.extend(self.inner.loose.with_prefix_aside(prefix)?);
        }
        for pack in self.state.all_packs() {
            pack.prefix(prefix, limit, &mut found)?;
        }
        if may_have_moved && let Some(newer) = self.newer()? {
            for pack in newer.state.all_packs() {
                pack.prefix(prefix, limit, &mut found)?;
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(limit);
        Ok(found)
    }

    /// Says whether a loose object, of those that this snapshot sees, may begin so.
    ///
    /// To open a directory that is not there takes as long as to ask some packs: the directories
    /// are listed once. What becomes loose later is none of what this snapshot sees.
    fn may_be_loose(&self, prefix: &Prefix) -> Result<bool> {
        let firsts = match self.loose_firsts.get() {
            Some(firsts) => firsts,
            None => {
                let firsts = self.inner.loose.first_bytes()?;
                self.loose_firsts.get_or_init(|| firsts)
            }
        };
        Ok(firsts[usize::from(prefix.low().as_bytes()[0])])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::disk::OsDisk;
    use crate::object::NewObject;
    use crate::store::Store;
    use crate::store::local::{LocalStore, Options};

    #[test]
    fn loose_objects_are_found_that_were_there_at_the_first_look() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
        let blobs: Vec<NewObject> =
            (0..9u8).map(|seed| NewObject::blob(vec![seed; 300]).unwrap()).collect();
        let (before, later) = blobs.split_at(5);
        before.iter().for_each(|blob| store.put_alone(blob).unwrap());
        let snapshot = store.snapshot().unwrap();
        let find = |blob: &NewObject| {
            let prefix = blob.id.short(12).parse().unwrap();
            [&snapshot, &store.snapshot().unwrap()].map(|it| it.with_prefix(&prefix, 2).unwrap())
        };
        assert!(before.iter().all(|blob| find(blob) == [[blob.id]; 2]));
        later.iter().for_each(|blob| store.put_alone(blob).unwrap());
        assert!(before.iter().all(|blob| find(blob) == [[blob.id]; 2]));
        assert!(later.iter().all(|blob| find(blob)[1] == [blob.id]));
        let unseen = |blob: &&NewObject| find(blob)[0].is_empty();
        assert!(later.iter().any(|blob| unseen(&blob)), "their directories are new");
    }
}
