use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::disk::OsDisk;
use crate::store::local::paged::PagedWriter;

fn index_of(ids: &BTreeSet<Id>) -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.idx");
    let pack_id = Id::from_bytes([9; 32]);
    let mut writer = PagedWriter::create(Arc::new(OsDisk), &path).unwrap();
    let position = |offset| Position { block: 3, kind: Kind::Entry, offset };
    let rows = ids.iter().zip(0..).map(|(id, row)| (id, position(row)));
    write_index(&mut |bytes| writer.write(bytes), &pack_id, 77, rows, &[]).unwrap();
    let bytes = writer.finish(INDEX_MAGIC, INDEX_VERSION, &path).unwrap();
    let index = Index::open_alone(&OsDisk, &path, bytes, &pack_id, 77).unwrap();
    (dir, index)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Few distinct bytes make ids that share long prefixes, where guessing by value fails.
    #[test]
    fn lookups_agree_with_a_sorted_set(
        ids in proptest::collection::btree_set(
            proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 32), 0..200),
        others in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 32), 20),
        digits in 4..20usize,
    ) {
        let ids: BTreeSet<Id> =
            ids.iter().map(|bytes| Id::from_slice(bytes).unwrap()).collect();
        let (_dir, index) = index_of(&ids);
        index.check().unwrap();
        for (row, id) in (0..).zip(&ids) {
            prop_assert_eq!(index.find(id).unwrap(), Some(row));
            prop_assert_eq!(index.id(row).unwrap(), *id);
            prop_assert_eq!(index.position(row).unwrap().offset, row);
        }
        for other in others {
            let other = Id::from_slice(&other).unwrap();
            prop_assert_eq!(index.find(&other).unwrap().is_some(), ids.contains(&other));
            let prefix: Prefix = other.short(digits).parse().unwrap();
            let mut found = Vec::new();
            index.prefix(&prefix, 3, &mut found).unwrap();
            let matching = ids.iter().filter(|id| prefix.matches(id));
            prop_assert_eq!(found, matching.take(3).copied().collect::<Vec<_>>());
        }
    }
}

#[test]
fn ids_are_found_wherever_they_lie_on_their_pages() {
    // Many with one first byte, so that they fill pages; the first half where values say it,
    // the other all at one end.
    let mut ids = BTreeSet::new();
    for number in 0..2000u32 {
        let mut bytes = *Id::of(Kind::Blob, &number.to_le_bytes()).as_bytes();
        bytes[0] = 7;
        if number % 2 == 0 {
            bytes[1..9].fill(0xff);
        }
        ids.insert(Id::from_bytes(bytes));
    }
    let (_dir, index) = index_of(&ids);
    for (row, id) in (0..).zip(&ids) {
        assert_eq!(index.find(id).unwrap(), Some(row));
        for (byte, change) in [(31, 1), (5, 1), (1, 0x80)] {
            let mut other = *id.as_bytes();
            other[byte] ^= change;
            let other = Id::from_bytes(other);
            assert_eq!(index.find(&other).unwrap().is_some(), ids.contains(&other));
        }
    }
    let count = index.len();
    assert_eq!(index.first_at_or_after(&Id::from_bytes([6; 32])).unwrap(), 0);
    assert_eq!(index.first_at_or_after(&Id::from_bytes([8; 32])).unwrap(), count);
}

#[test]
fn rows_beyond_the_end_are_errors() {
    let ids: BTreeSet<Id> = (0..100u8).map(|seed| Id::of(Kind::Blob, &[seed])).collect();
    let (_dir, index) = index_of(&ids);
    assert!(index.position(100).is_err());
    assert!(index.block(0).is_err());
    assert!(index.id(100).is_err());
}
