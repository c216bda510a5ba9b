//! Blocks without the links that they tell by themselves.

use super::*;

/// Folded blocks are read alone and with the index, copied, and salvaged without it.
#[test]
fn folded_blocks_are_smaller_and_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(400, "said");
    let plain = PackOptions { block_bytes: 1 << 10, tail_bytes: 0, ..PackOptions::default() };
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

#[test]
fn who_wants_one_object_gets_the_block_as_far_as_that_and_then_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(40, "hello");
    let options = PackOptions { block_bytes: 64 << 10, ..FOLDED };
    let info = write(dir.path(), &chain, options);
    let cache = BlockCache::default();
    let pack = open(dir.path(), &info).unwrap();
    assert_eq!(pack.blocks(), 1);
    let key = CacheKey { pack: info.id, number: 0 };
    let read = |made: &Made| {
        let row = pack.find(&made.id).unwrap().unwrap();
        assert_eq!(&pack.read(row, &cache).unwrap().content[..], made.content);
    };
    let begun = || pack.begun.lock().unwrap().as_ref().map_or(0, |(_, raw)| raw.len());
    read(&chain[20]);
    let whole = pack.block_place(0).unwrap().raw_bytes as usize;
    assert!((1..whole).contains(&begun()), "{} of {whole}", begun());
    read(&chain[3]);
    assert!(cache.get(&key).is_none(), "a part of a block is not kept as one");
    read(&chain[21]);
    assert_eq!(cache.get(&key).map(|raw| raw.len()), Some(whole));
    chain.iter().for_each(read);
}
