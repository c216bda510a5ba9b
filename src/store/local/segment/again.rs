//! Vouching for what others wrote to a segment before this handle came to it.

use std::sync::atomic::Ordering;

use super::{HEADER_BYTES, Segment};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::store::local::group::{Prefix, Salt};

impl Segment {
    /// Writes again, byte for byte, what was not known durable when this handle came to the
    /// segment.
    ///
    /// A sync that failed elsewhere leaves pages that look written and are not: another handle's
    /// sync would vouch for them. After this, this handle's own sync covers them.
    pub(crate) fn write_again(&self, durable: u64) -> Result<()> {
        if self.vouched.load(Ordering::Acquire) {
            return Ok(());
        }
        let (from, end) = {
            let table = self.table();
            (durable.max(table.synced).max(HEADER_BYTES), table.end)
        };
        if from < end {
            let mut bytes = vec![0; (end - from) as usize];
            let io = |action| Error::io(action, &self.path);
            let count = self.file.read_full_at(&mut bytes, from).map_err(io("read"))?;
            if count < bytes.len() {
                let at = from + count as u64;
                return Err(Error::corrupt(&self.path, at, "it was cut while it was in use"));
            }
            // A page that could not be written may have been read again from the disk since.
            if !ends_with(&self.table().checksum, &bytes, from, self.bytes, &self.salt) {
                return Err(Error::corrupt(&self.path, from, "what was written is not there now"));
            }
            self.file.write_all_at(&bytes, from).map_err(io("write again"))?;
        }
        self.vouched.store(true, Ordering::Release);
        Ok(())
    }
}

/// Says whether bytes from an offset on are whole groups, of which the last has this checksum.
fn ends_with(
    checksum: &Id,
    mut bytes: &[u8],
    mut offset: u64,
    segment_bytes: u64,
    salt: &Salt,
) -> bool {
    let mut last = None;
    while !bytes.is_empty() {
        let head = Prefix::read(bytes, offset, segment_bytes)
            .filter(|prefix| last.is_none_or(|last| prefix.previous == last))
            .and_then(|prefix| prefix.outline(bytes, salt));
        let Some((head, _)) = head.filter(|(head, _)| head.contents_match(bytes)) else {
            return false;
        };
        let Some(rest) = bytes.get(head.length as usize..) else { return false };
        (bytes, offset, last) = (rest, offset + head.length, Some(head.checksum));
    }
    last == Some(*checksum)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::sync::Arc;

    use crate::disk::OsDisk;
    use crate::error::{Error, Result};
    use crate::id::Id;
    use crate::object::NewObject;
    use crate::store::local::{LocalStore, Options};
    use crate::store::{Durability, Snapshot, Store as _, Transaction};

    fn commit(store: &LocalStore, text: &str) -> Result<Id> {
        let object = NewObject::blob(text.into()).unwrap();
        store.commit(Durability::Relaxed, &mut |_: &dyn Snapshot| {
            Ok(Transaction { objects: vec![object.clone()], ..Transaction::default() })
        })?;
        Ok(object.id)
    }

    #[test]
    fn who_comes_to_a_segment_vouches_for_nothing_that_was_lost() {
        let dir = tempfile::tempdir().unwrap();
        let options = || Options { background: false, ..Options::default() };
        let one = LocalStore::init(Arc::new(OsDisk), dir.path(), options()).unwrap().0;
        let begin = one.inner.state().open_segment().end().offset;
        commit(&one, "one").unwrap();
        let open = || LocalStore::open(Arc::new(OsDisk), dir.path(), options()).unwrap();
        let (other, late) = (open(), open());
        commit(&other, "two").unwrap();

        let state = one.inner.state();
        let segment = state.open_segment();
        let file = std::fs::OpenOptions::new().write(true).open(&segment.path).unwrap();
        file.write_all_at(&[0; 64], begin).unwrap();
        let error = commit(&late, "three").unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }

    #[test]
    fn nor_does_who_wrote_to_the_segment_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let options =
            || Options { background: false, segment_bytes_min: 4096, ..Options::default() };
        let one = LocalStore::init(Arc::new(OsDisk), dir.path(), options()).unwrap().0;
        let other = LocalStore::open(Arc::new(OsDisk), dir.path(), options()).unwrap();
        commit(&one, "one").unwrap();
        commit(&other, "two").unwrap();
        let sequence = one.inner.state().open_segment().sequence;
        commit(&one, &"three".repeat(700)).unwrap();
        let last = commit(&one, &"four".repeat(700)).unwrap();
        let state = one.inner.state();
        let segment = state.open_segment();
        assert!(segment.sequence > sequence);

        let place = segment.table().objects[&last];
        let file = std::fs::OpenOptions::new().write(true).open(&segment.path).unwrap();
        file.write_all_at(&[0; 64], place.offset + 1000).unwrap();
        // It goes on behind what is whole, and so does whoever comes.
        let five = commit(&other, "five").unwrap();
        let six = commit(&other, "six").unwrap();
        let fresh = LocalStore::open(Arc::new(OsDisk), dir.path(), options()).unwrap();
        let snapshot = fresh.snapshot().unwrap();
        assert!(snapshot.get(&last).unwrap().is_none());
        assert!([five, six].iter().all(|id| snapshot.get(id).unwrap().is_some()));
        commit(&fresh, "seven").unwrap();
    }
}
