//! Lists of ids: `objects/refused-<number>`; and `objects/purge-<number>`, while a purge goes on.
//!
//! What was redacted or forgotten is refused when it comes back, byte for byte the same, by
//! whatever way. The list holds ids and no content. The other list names loose files that no longer
//! count, though they may still be there: a crash between a purge and its last removal is made good
//! by whoever writes next.
//!
//! A paged file whose payload is the ids, ascending, back to back.

use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::store::local::paged::{Magic, Paged, PagedWriter, Remains};

/// The first bytes of the footer of each list.
pub(crate) const REFUSED_MAGIC: &Magic = b"SAPWRFSD";
pub(crate) const PURGE_MAGIC: &Magic = b"SAPWPURG";
const VERSION: u32 = 1;

/// Some ids, in a file.
#[derive(Debug)]
pub(crate) struct IdList {
    file: Paged,
    count: u64,
}

impl IdList {
    /// Writes a list, durably, and gives its length. The ids come ascending, each once.
    pub(crate) fn write(
        disk: &Arc<dyn Disk>,
        path: &Path,
        magic: &Magic,
        ids: &[Id],
    ) -> Result<u64> {
        assert!(ids.is_sorted_by(|one, next| one < next), "ascending, each once");
        let mut writer = PagedWriter::create(Arc::clone(disk), path)?;
        for id in ids {
            writer.write(id.as_bytes())?;
        }
        writer.finish_durably(magic, VERSION, path)
    }

    /// Opens a list of the length that the manifest gives.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, bytes: u64, magic: &Magic) -> Result<IdList> {
        let file = Paged::open(disk, path, Some(bytes), magic, VERSION)?;
        let count = file.len() / Id::BYTES as u64;
        match file.len() % Id::BYTES as u64 {
            0 => Ok(IdList { file, count }),
            _ => Err(Error::corrupt(path, None, "it ends within an id")),
        }
    }

    /// Gives the number of ids.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Gives the file's path.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    fn id(&self, place: u64) -> Result<Id> {
        let bytes = self.file.bytes(place * Id::BYTES as u64, Id::BYTES)?;
        Ok(Id::from_slice(bytes).expect("32 bytes"))
    }

    /// Says whether an id is in the list.
    pub(crate) fn contains(&self, id: &Id) -> Result<bool> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id(middle)?.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Lists the ids.
    pub(crate) fn ids(&self) -> Result<Vec<Id>> {
        (0..self.count).map(|place| self.id(place)).collect()
    }

    /// Checks every byte, and that the ids ascend.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()?;
        match self.ids()?.is_sorted_by(|one, next| one < next) {
            true => Ok(()),
            false => Err(Error::corrupt(self.path(), None, "its ids do not ascend")),
        }
    }
}

/// Reads what is left of a list, ascending. An id that is damaged is one that nothing has.
pub(crate) fn salvage(disk: &dyn Disk, path: &Path, magic: &Magic) -> Result<Vec<Id>> {
    let remains = Remains::open(disk, path, magic, VERSION)?;
    let mut ids: Vec<Id> =
        remains.payload().chunks_exact(Id::BYTES).filter_map(Id::from_slice).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Refuses an object that a list has.
pub(crate) fn refuse(list: Option<&IdList>, id: &Id, kind: Kind) -> Result<()> {
    match list {
        Some(list) if list.contains(id)? => {
            Err(Error::Removed { id: *id, kind: kind.name(), line: None })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn every_id_is_found_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("refused");
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        let id = |number: u32| Id::of(Kind::Blob, &number.to_le_bytes());
        for count in [0, 1, 2, 999] {
            let mut ids: Vec<Id> = (0..count).map(id).collect();
            ids.sort_unstable();
            let bytes = IdList::write(&disk, &path, REFUSED_MAGIC, &ids).unwrap();
            let list = IdList::open(&OsDisk, &path, bytes, REFUSED_MAGIC).unwrap();
            list.check().unwrap();
            assert_eq!((list.len(), list.ids().unwrap()), (u64::from(count), ids));
            for number in 0..2 * count {
                assert_eq!(list.contains(&id(number)).unwrap(), number < count, "{number}");
            }
            let other = IdList::open(&OsDisk, &path, bytes, PURGE_MAGIC);
            assert!(other.and_then(|list| list.check()).is_err());
        }
    }

    #[test]
    fn what_is_no_list_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("refused");
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        let mut writer = PagedWriter::create(Arc::clone(&disk), &path).unwrap();
        writer.write(&[7; 33]).unwrap();
        let bytes = writer.finish_durably(REFUSED_MAGIC, VERSION, &path).unwrap();
        assert!(IdList::open(&OsDisk, &path, bytes, REFUSED_MAGIC).is_err());
        let mut writer = PagedWriter::create(Arc::clone(&disk), &path).unwrap();
        writer.write(&[7; 64]).unwrap();
        let bytes = writer.finish_durably(REFUSED_MAGIC, VERSION, &path).unwrap();
        assert!(IdList::open(&OsDisk, &path, bytes, REFUSED_MAGIC).unwrap().check().is_err());
    }
}
