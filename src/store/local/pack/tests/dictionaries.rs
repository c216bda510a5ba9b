//! Blocks that share a dictionary.

use super::*;

const OPTIONS: PackOptions =
    PackOptions { level: 3, block_bytes: 2 << 10, dictionaries: true, ..PackOptions::TIDY };

fn said() -> String {
    (0..40u64).map(|word| format!("{:x} ", word.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

fn write_with(dir: &Path, chain: &[Made], options: PackOptions) -> PackInfo {
    let mut writer = PackWriter::new(Arc::new(OsDisk), dir, options).unwrap();
    writer.set_dictionary(said().repeat(2).into_bytes()).unwrap();
    for made in chain {
        writer.add(&made.id, made.kind, &made.content).unwrap();
    }
    writer.finish(&mut outside_depth).unwrap()
}

fn salvaged(dir: &Path, info: &PackInfo, findings: &mut u32) -> u64 {
    let path = PackFile::Pack.path(dir, &info.id);
    let visit = &mut |id: &Id, kind: Kind, content: &[u8]| {
        assert_eq!(*id, Id::of(kind, content));
        Ok(())
    };
    let found = salvage(&OsDisk, &path, &|_| true, visit, &mut |_| *findings += 1).unwrap();
    assert_eq!(found.whole.is_some(), *findings == 0);
    found.objects
}

#[test]
fn blocks_with_a_dictionary_are_smaller_and_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(300, &said());
    let without = write(dir.path(), &chain, PackOptions { dictionaries: false, ..OPTIONS });
    let info = write_with(dir.path(), &chain, OPTIONS);
    assert!(info.pack_bytes < without.pack_bytes, "{info:?}, {without:?}");
    let beside = write_with(dir.path(), &chain, PackOptions { threads: 3, ..OPTIONS });
    assert_eq!(beside, info, "whoever compresses, the pack is the same");
    let pack = open(dir.path(), &info).unwrap();
    assert!(pack.may_have_dictionaries().unwrap());
    for cache in [BlockCache::new(0), BlockCache::default()] {
        assert!(chain.iter().all(|made| check(&pack, made, &cache).is_empty()));
    }
    pack.verify(&mut |error| panic!("{error}"));
    assert_eq!(salvaged(dir.path(), &info, &mut 0), 300);
    fs::remove_file(PackFile::Index.path(dir.path(), &info.id)).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    assert_eq!(reindex(&disk, dir.path(), &info.id).unwrap(), info);
}

#[test]
fn blocks_are_copied_with_their_dictionary_or_without() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(300, &said());
    let (first, last) = chain.split_at(140);
    let infos = [first, last].map(|part| write_with(dir.path(), part, OPTIONS));
    for options in [OPTIONS, PackOptions { dictionaries: false, ..OPTIONS }] {
        let mut writer = PackWriter::new(Arc::new(OsDisk), dir.path(), options).unwrap();
        for info in &infos {
            let pack = open(dir.path(), info).unwrap();
            for block in 0..pack.blocks() {
                writer.add_block(&pack, block, &mut |_| true).unwrap();
            }
        }
        let copied = writer.finish(&mut outside_depth).unwrap();
        let pack = open(dir.path(), &copied).unwrap();
        assert_eq!(pack.may_have_dictionaries().unwrap(), options.dictionaries);
        let cache = BlockCache::default();
        assert!(chain.iter().all(|made| check(&pack, made, &cache).is_empty()));
        pack.verify(&mut |error| panic!("{error}"));
        assert_eq!(salvaged(dir.path(), &copied, &mut 0), 300);
    }
}

#[test]
fn damage_to_a_dictionary_or_its_guard_costs_no_object() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain(300, &said());
    let info = write_with(dir.path(), &chain, OPTIONS);
    let path = PackFile::Pack.path(dir.path(), &info.id);
    let whole = fs::read(&path).unwrap();
    let pack = open(dir.path(), &info).unwrap();
    let first = pack.block_place(2).unwrap().offset as usize;
    drop(pack);
    for (from, count) in
        (PACK_HEADER_BYTES..first).step_by(7).map(|at| (at, 1)).chain([(PACK_HEADER_BYTES, 400)])
    {
        let mut bytes = whole.clone();
        bytes[from..from + count].iter_mut().for_each(|byte| *byte ^= 0x41);
        fs::write(&path, &bytes).unwrap();
        let pack = open(dir.path(), &info).unwrap();
        let cache = BlockCache::default();
        assert!(chain.iter().all(|made| check(&pack, made, &cache).is_empty()), "at {from}");
        let mut findings = 0;
        pack.verify(&mut |_| findings += 1);
        assert!(findings > 0, "at {from}");
        assert!(salvaged(dir.path(), &info, &mut findings) >= 300);
    }
}

#[test]
fn what_does_not_hash_to_its_id_is_found_by_the_threads() {
    let dir = tempfile::tempdir().unwrap();
    let options = PackOptions { threads: 1, ..OPTIONS };
    let mut writer = PackWriter::new(Arc::new(OsDisk), dir.path(), options).unwrap();
    let added = writer.add(&Id::from_bytes([7; 32]), Kind::Blob, b"something else");
    let done = added.and_then(|()| writer.finish(&mut outside_depth).map(drop));
    assert!(matches!(done, Err(Error::InvalidObject { .. })), "{done:?}");
}

#[test]
fn a_block_that_gets_short_at_first_is_not_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let level = |level| PackOptions { level, block_bytes: 64 << 10, ..PLAIN };
    let both = PackOptions { first_level: Some(1), ..level(19) };
    let words = |word: u64| format!("{} ", word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50);
    let rich: String = (0..9000).map(words).collect();
    let poor: String = (0..99).map(|number| said().repeat(3) + &words(number)).collect();
    for (text, level_taken, other) in [(poor, level(1), level(19)), (rich, level(19), level(1))] {
        let made = [blob(text.as_bytes())];
        let taken = write(dir.path(), &made, both);
        assert_eq!(taken, write(dir.path(), &made, level_taken));
        assert_ne!(taken, write(dir.path(), &made, other));
    }
}
