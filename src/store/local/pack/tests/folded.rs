//! Blocks without the links that they tell by themselves.

use super::*;

/// Folded blocks are read alone and with the index, copied, and salvaged without it.
#[test]
fn folded_blocks_are_smaller_and_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut chain: Vec<Made> = Vec::new();
    for number in 0..400u64 {
        let parents: Vec<Id> = chain.last().map(|made| made.id).into_iter().collect();
        chain.push(entry("message", number as i64 + 1, &parents, number, "said"));
    }
    let plain = PackOptions { block_bytes: 1 << 10, ..PackOptions::default() };
    let folded = PackOptions { fold: true, ..plain };
    let plain_info = write(dir.path(), &chain, plain);
    let info = write(dir.path(), &chain, folded);
    assert!(info.pack_bytes + 400 * 25 < plain_info.pack_bytes, "{info:?}, {plain_info:?}");
    let pack = open(dir.path(), &info).unwrap();
    assert!(pack.blocks() >= HASHED_SHARE, "the first block is read without the index");
    assert!(pack.may_be_folded().unwrap());
    for cache in [BlockCache::new(0), BlockCache::default()] {
        for made in &chain {
            assert!(check(&pack, made, &cache).is_empty());
        }
    }
    for options in [plain, folded] {
        let mut writer = PackWriter::new(Arc::new(OsDisk), dir.path(), options).unwrap();
        for block in 0..pack.blocks() {
            writer.add_block(&pack, block, &mut |_| true).unwrap();
        }
        let copied = writer.finish(&mut outside_depth).unwrap();
        let expected = if options.fold { info } else { plain_info };
        assert_eq!(copied, expected);
    }
    let path = PackFile::Pack.path(dir.path(), &info.id);
    let mut salvaged = Vec::new();
    let visit = &mut |id: &Id, _: Kind, content: &[u8]| {
        salvaged.push((*id, content.to_vec()));
        Ok(())
    };
    let broken = &mut |error| panic!("{error}");
    let found = salvage(&OsDisk, &path, &|_| false, visit, broken).unwrap();
    assert_eq!((found.objects, found.whole), (400, Some(info.id)));
    assert!(salvaged.iter().zip(&chain).all(|(one, made)| *one == (made.id, made.content.clone())));
}
