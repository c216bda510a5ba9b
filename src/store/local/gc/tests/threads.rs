//! Threads that unpack ahead, sample and compress: what they make is what one alone would make.

use super::*;

/// Gives text of words that differ, but for some that many texts share.
pub(super) fn text(seed: u64) -> String {
    let word = |number: u64| (seed * 1000 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let shared = (0..60).map(|number| format!("shared {} ", number % (7 + seed % 3)));
    (0..60).map(|number| format!("{:x} ", word(number))).chain(shared).collect()
}

/// Makes a store of some megabytes, with garbage in it, and collects it.
fn collected(one_thread: bool) -> (tempfile::TempDir, LocalStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let (mut last, mut batch) = (Vec::new(), Vec::new());
    for number in 0..1500 {
        let blob = NewObject::blob(text(number).into_bytes()).unwrap();
        let kept = entry(&text(number + 7000)[..900], &last, &[blob.id]);
        let lost = NewObject::blob(text(number + 20_000).into_bytes()).unwrap();
        last = vec![kept.id];
        batch.extend([blob, lost, kept]);
        if number % 100 == 99 {
            commit(&store, &std::mem::take(&mut batch), "main", Some(last[0])).unwrap();
        }
    }
    let options = GcOptions { one_thread, ..World::options(NOW_MS) };
    let report = store.gc(&options).unwrap();
    assert_eq!((report.dropped, report.packs_after), (1500, 1));
    (dir, store)
}

#[test]
fn threads_make_the_pack_that_one_makes() {
    let ((dir, many), (_, one)) = (collected(false), collected(true));
    let packs = |store: &LocalStore| store.inner.refresh().unwrap().manifest.packs.clone();
    assert_eq!(packs(&many), packs(&one));
    let state = many.inner.refresh().unwrap();
    assert!(state.packs[0].may_have_dictionaries().unwrap());
    let found = fsck(Arc::new(OsDisk), dir.path(), &FsckOptions::default()).unwrap();
    assert_eq!((found.findings.as_slice(), found.objects), (&[][..], 3000));
}
