//! Reading on: from the last whole group that is known to the last one that there is.
//!
//! A head is checked by its checksum, and that takes little. Its contents may be 100 times as long,
//! and need not be looked at where something else vouches for them: the mark, the lock that was
//! given back in good order, or the next group, because who wrote that one knew this one to be
//! whole. A head that was read before anything vouched for its contents is kept until something
//! does.

use super::{Segment, Table, Tail, Window};
use crate::error::Result;
use crate::id::Id;
use crate::store::local::group::{Outline, PREFIX_BYTES, Prefix, Told};

impl Segment {
    /// Reads on to the last whole group, up to byte `until`, and says what stands behind it.
    ///
    /// Contents before `durable` are not hashed: the group is known to be on disk, and whoever
    /// reads an object hashes it.
    pub(crate) fn read_on(&self, durable: u64, until: u64) -> Result<Tail> {
        let mut table = self.table_mut();
        let limit = self.bytes.min(until);
        let mut window = self.recent();
        window.restart(durable);
        let tail = self.add_groups(&mut table, &mut window, durable, limit);
        window.keep_until(table.end);
        tail
    }

    /// Reads on by heads alone, up to the group before the last, while others write.
    ///
    /// Only in a segment that this handle has written to: what comes behind that was written since
    /// by processes that know what they follow, and not left by a power cut.
    pub(crate) fn read_on_beside(&self) -> Result<()> {
        let mut table = self.table_mut();
        let mut window = self.recent();
        window.restart(u64::MAX);
        let read = self.read_ahead(&mut table, &mut window);
        window.keep_until(table.end);
        table.ledger.enter_all();
        read
    }

    /// Reads all heads. Each one vouches for the group before it, and the last is kept.
    fn read_ahead(&self, table: &mut Table, window: &mut Window) -> Result<()> {
        loop {
            let (offset, previous, closed) = match &table.ahead {
                Some((head, _)) => (table.end + head.length, head.checksum, head.close),
                None => (table.end, table.checksum, table.closed),
            };
            if closed {
                return Ok(());
            }
            match self.next_head(window, offset, previous, u64::MAX, self.bytes)? {
                Ok(head) => {
                    if let Some(whole) = table.ahead.replace(head) {
                        table.note(whole);
                    }
                }
                Err(_) => return Ok(()),
            }
        }
    }

    fn add_groups(
        &self,
        table: &mut Table,
        window: &mut Window,
        durable: u64,
        limit: u64,
    ) -> Result<Tail> {
        while !table.closed {
            let (head, told) = match table.ahead.take() {
                Some(ahead) => ahead,
                None => {
                    let (offset, previous) = (table.end, table.checksum);
                    match self.next_head(window, offset, previous, durable, limit)? {
                        Ok(found) => found,
                        Err(tail) => return Ok(tail),
                    }
                }
            };
            let end = table.end + head.length;
            let is_whole = match end <= durable {
                true => end <= limit,
                false => {
                    let group = window.get(self, table.end, head.length as usize, limit)?;
                    head.contents_match(group)
                }
            };
            if !is_whole {
                return Ok(Tail::Torn);
            }
            table.note((head, told));
        }
        Ok(Tail::Closed)
    }

    /// Reads the head of the group at `offset`, and the contents along with it unless they are
    /// known to be durable; or says what stands there.
    fn next_head(
        &self,
        window: &mut Window,
        offset: u64,
        previous: Id,
        durable: u64,
        limit: u64,
    ) -> Result<Result<(Outline, Told), Tail>> {
        let start = window.get(self, offset, PREFIX_BYTES, limit)?;
        let Some(prefix) = Prefix::read(start, offset, limit) else {
            let clean = start.iter().all(|byte| *byte == 0);
            return Ok(Err(if clean { Tail::Clean } else { Tail::Torn }));
        };
        let known = offset + prefix.length <= durable;
        let wanted = if known { prefix.head_bytes as u64 } else { prefix.length };
        let group = window.get(self, offset, wanted as usize, limit)?;
        let head = prefix.outline(group, &self.salt);
        Ok(head.filter(|_| prefix.previous == previous).ok_or(Tail::Torn))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::disk::{Disk as _, DiskFile, OpenMode, OsDisk};
    use crate::object::NewObject;
    use crate::store::local::group::NewGroup;
    use crate::store::local::segment::Zeros;

    const SEGMENT_BYTES: u64 = 1 << 20;

    /// Makes a segment, and opens it for another.
    fn writer_and_reader(dir: &Path) -> (Segment, Segment) {
        let path = dir.join("segment");
        Segment::allocate(&OsDisk, &path, SEGMENT_BYTES, Zeros::Written).unwrap();
        let writer = Segment::begin(&OsDisk, &path, 1).unwrap();
        (writer, Segment::open(&OsDisk, &path, 1, true).unwrap())
    }

    fn append(writer: &Segment, byte: u8, bytes: usize) -> NewObject {
        let object = NewObject::blob(vec![byte; bytes]).unwrap();
        let objects = std::slice::from_ref(&object);
        writer.append(&NewGroup { objects, close: false, ..NewGroup::closing() }, 0).unwrap();
        object
    }

    fn file_of(segment: &Segment) -> Box<dyn DiskFile> {
        OsDisk.open(&segment.path, OpenMode::Write).unwrap()
    }

    #[test]
    fn the_next_group_vouches_for_the_one_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, reader) = writer_and_reader(dir.path());
        for (place, bytes) in [70_000, 10, 20_000, 3].into_iter().enumerate() {
            let before = writer.end();
            append(&writer, place as u8, bytes);
            reader.read_on_beside().unwrap();
            assert_eq!(reader.end(), before, "nothing vouches for the last");
        }
        assert_eq!(reader.read_on(0, u64::MAX).unwrap(), Tail::Clean);
        assert_eq!(reader.end(), writer.end(), "its contents do");

        let object = append(&writer, 9, 5_000);
        reader.read_on_beside().unwrap();
        assert_eq!(reader.read_on(u64::MAX, u64::MAX).unwrap(), Tail::Clean);
        assert_eq!(reader.end(), writer.end(), "who holds the lock does");
        let location = reader.table().objects[&object.id];
        assert_eq!(reader.read(&object.id, &location).unwrap(), *object.content);
    }

    #[test]
    fn contents_that_were_read_too_early_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, reader) = writer_and_reader(dir.path());
        let object = append(&writer, 1, 5_000);
        let end = writer.end().offset;
        append(&writer, 2, 10);
        let file = file_of(&writer);
        file.write_all_at(&[0; 1000], end - 1000).unwrap();
        reader.read_on_beside().unwrap();
        assert_eq!(reader.end().offset, end);
        file.write_all_at(&[1; 1000], end - 1000).unwrap();
        let location = reader.table().objects[&object.id];
        assert_eq!(reader.read(&object.id, &location).unwrap(), *object.content);
    }

    #[test]
    fn a_group_that_was_read_ahead_and_is_not_whole_is_never_taken() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, reader) = writer_and_reader(dir.path());
        append(&writer, 1, 100);
        let whole = writer.closed_here();
        append(&writer, 2, 40_000);
        let end = writer.end().offset;
        // The head is written, the contents not yet.
        let file = file_of(&writer);
        file.write_all_at(&[0; 4096], end - 4096).unwrap();
        reader.read_on_beside().unwrap();
        assert_eq!(reader.closed_here(), whole);
        assert_eq!(reader.read_on(0, u64::MAX).unwrap(), Tail::Torn);
        assert_eq!(reader.closed_here(), whole);

        // Who recovers closes the segment before it.
        reader.read_on_beside().unwrap();
        assert_eq!(reader.read_on(u64::MAX, whole.bytes).unwrap(), Tail::Torn);
        assert_eq!(reader.closed_here(), whole);

        // It was only slow.
        file.write_all_at(&[2; 4096], end - 4096).unwrap();
        assert_eq!(reader.read_on(0, u64::MAX).unwrap(), Tail::Clean);
        assert_eq!(reader.end(), writer.end());
    }

    #[test]
    fn nothing_is_read_behind_the_group_that_closes() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, reader) = writer_and_reader(dir.path());
        append(&writer, 1, 100);
        writer.append(&NewGroup::closing(), 0).unwrap();
        for _ in 0..2 {
            reader.read_on_beside().unwrap();
        }
        assert_eq!(reader.read_on(0, u64::MAX).unwrap(), Tail::Closed);
        assert_eq!(reader.closed_here(), writer.closed_here());
        reader.read_on_beside().unwrap();
        assert_eq!(reader.end(), writer.end());
    }

    #[test]
    fn contents_are_hashed_behind_what_is_durable_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, reader) = writer_and_reader(dir.path());
        let begin = writer.end().offset;
        append(&writer, 1, 5_000);
        let first = writer.end().offset;
        append(&writer, 2, 5_000);
        let last = writer.end().offset;
        let open = || Segment::open(&OsDisk, &reader.path, 1, true).unwrap();
        let file = file_of(&writer);
        let ends = |durable: u64, until: u64| {
            let reader = open();
            (reader.read_on(durable, until).unwrap(), reader.end().offset)
        };
        file.write_all_at(&[7], first - 100).unwrap();
        assert_eq!(ends(0, u64::MAX), (Tail::Torn, begin));
        assert_eq!(ends(first - 1, u64::MAX), (Tail::Torn, begin));
        assert_eq!(ends(first, u64::MAX), (Tail::Clean, last));
        assert_eq!(ends(u64::MAX, first), (Tail::Clean, first), "no further than it is told");
        assert_eq!(ends(u64::MAX, last - 1), (Tail::Torn, first));
        file.write_all_at(&[7], last - 100).unwrap();
        assert_eq!(ends(first, u64::MAX), (Tail::Torn, first));
    }

    #[test]
    fn a_group_that_follows_another_one_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, _) = writer_and_reader(dir.path());
        let path = dir.path().join("copy");
        std::fs::copy(&writer.path, &path).unwrap();
        // The same salt and the same places, and another begin.
        let copy = Segment::open(&OsDisk, &path, 1, false).unwrap();
        append(&writer, 1, 500);
        append(&copy, 2, 500);
        let first = writer.end().offset;
        assert_eq!(copy.end().offset, first);
        append(&writer, 3, 500);
        let mut second = vec![0; (writer.end().offset - first) as usize];
        file_of(&writer).read_full_at(&mut second, first).unwrap();
        file_of(&copy).write_all_at(&second, first).unwrap();
        for read in [Segment::read_on_beside, |reader: &Segment| {
            assert_eq!(reader.read_on(u64::MAX, u64::MAX)?, Tail::Torn);
            Ok(())
        }] {
            let reader = Segment::open(&OsDisk, &path, 1, true).unwrap();
            read(&reader).unwrap();
            read(&reader).unwrap();
            assert!(reader.end().offset <= first);
        }
    }

    #[test]
    fn what_was_read_ahead_is_forgotten_where_one_writes_over_it() {
        let dir = tempfile::tempdir().unwrap();
        let (writer, _) = writer_and_reader(dir.path());
        let other = Segment::open(&OsDisk, &writer.path, 1, false).unwrap();
        let begin = writer.end();
        append(&writer, 1, 5_000);
        other.read_on_beside().unwrap();
        assert_eq!(other.end(), begin);
        // It was not whole, and is written again by who writes now.
        let object = append(&other, 2, 700);
        let end = other.end();
        // The other one's group was longer.
        let rest = vec![0; (writer.end().offset - end.offset) as usize];
        file_of(&other).write_all_at(&rest, end.offset).unwrap();
        assert_eq!(other.read_on(u64::MAX, u64::MAX).unwrap(), Tail::Clean);
        assert_eq!((other.end(), other.table().objects.len()), (end, 1));
        assert!(other.table().objects.contains_key(&object.id));
    }
}
