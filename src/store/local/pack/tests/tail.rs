//! The newest objects of a pack, which are not compressed.

use super::*;

const TAIL: usize = 32 << 10;

/// Says of each block how long its content is, and whether it is compressed.
fn blocks(pack: &Pack) -> Vec<(usize, bool)> {
    let look = |number| {
        let block = pack.block(number).unwrap();
        (block.header.raw_bytes as usize, block.stored().is_none())
    };
    (0..pack.blocks()).map(look).collect()
}

#[test]
fn the_newest_objects_are_not_compressed() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = |count: u8, bytes| (0..count).map(|seed| blob(&vec![seed; bytes])).collect();
    let said = "said ".repeat(120);
    let chains = [chain(1, ""), chain(40, "said"), chain(300, &said)];
    let long: [Vec<Made>; 2] = [blobs(9, 20 << 10), blobs(7, 100 << 10)];
    for chain in chains.into_iter().chain(long) {
        for fold in [false, true] {
            let options = PackOptions { fold, ..PackOptions::default() };
            let info = write(dir.path(), &chain, options);
            let pack = open(dir.path(), &info).unwrap();
            let blocks = blocks(&pack);
            let tail: Vec<usize> =
                blocks.iter().filter(|block| !block.1).map(|block| block.0).collect();
            assert!(tail.iter().sum::<usize>() <= TAIL && tail.len() <= 3, "{blocks:?}");
            assert!(blocks.is_sorted_by_key(|block| !block.1), "they come last: {blocks:?}");
            let all: usize = blocks.iter().map(|block| block.0).sum();
            let object = all / chain.len();
            assert!(tail.iter().sum::<usize>() + object >= TAIL.min(all), "{blocks:?}");
            let cache = BlockCache::default();
            assert!(chain.iter().all(|made| check(&pack, made, &cache).is_empty()));
            assert_eq!(pack.verify(&mut |error| panic!("{error}")), chain.len() as u64);
        }
    }
}

#[test]
fn a_tail_is_compressed_when_something_comes_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(600, &"said ".repeat(120));
    let mut writer = PackWriter::new(Arc::new(OsDisk), dir.path(), PackOptions::default()).unwrap();
    for half in chain.chunks(300) {
        let pack = open(dir.path(), &write(dir.path(), half, PackOptions::default())).unwrap();
        for block in 0..pack.blocks() {
            writer.add_block(&pack, block, &mut |_| true).unwrap();
        }
    }
    let info = writer.finish(&mut outside_depth).unwrap();
    let pack = open(dir.path(), &info).unwrap();
    let blocks = blocks(&pack);
    assert!(blocks.is_sorted_by_key(|block| !block.1), "{blocks:?}");
    let cache = BlockCache::default();
    assert!(chain.iter().all(|made| check(&pack, made, &cache).is_empty()));
}

#[test]
fn a_short_part_is_not_compressed_where_the_tail_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (short, long) = (chain(5, "said"), chain(90, "said again and again"));
    for (part, options, is_compressed) in [
        (&short, PackOptions::default(), false),
        (&long, PackOptions::default(), true),
        (&short, PackOptions::TIDY, true),
    ] {
        let mut writer = PackWriter::new(Arc::new(OsDisk), dir.path(), options).unwrap();
        part.iter().for_each(|made| writer.add(&made.id, made.kind, &made.content).unwrap());
        writer.end_part().unwrap();
        let newest = blob(b"the newest");
        writer.add(&newest.id, newest.kind, &newest.content).unwrap();
        let info = writer.finish(&mut outside_depth).unwrap();
        let pack = open(dir.path(), &info).unwrap();
        let blocks = blocks(&pack);
        assert_eq!((blocks.len(), blocks[0].1), (2, is_compressed), "{blocks:?}");
        let cache = BlockCache::default();
        assert!(part.iter().all(|made| check(&pack, made, &cache).is_empty()));
    }
}
