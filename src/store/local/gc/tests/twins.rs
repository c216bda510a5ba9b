//! Objects that are in more than one pack.

use super::*;

#[test]
fn what_is_reached_is_garbage_in_none_of_its_packs() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut chain: Vec<NewObject> = Vec::new();
    for number in 0..9 {
        let parents: Vec<Id> = chain.last().map(|last| last.id).into_iter().collect();
        chain.push(entry(&format!("message {number}"), &parents, &[]));
    }
    commit(&store, &chain, "main", Some(chain[8].id)).unwrap();
    store.seal().unwrap();
    let state = store.inner.refresh().unwrap();
    let mut writer = store.inner.new_pack(PackOptions::default()).unwrap();
    for twin in &chain[2..6] {
        writer.add(&twin.id, twin.kind, &twin.content).unwrap();
    }
    let info = store.inner.finish_pack(writer, &state).unwrap();
    store.inner.edit_manifest(|manifest| manifest.packs.push(info)).unwrap();
    let report = store.gc(&World::options(i64::MIN)).unwrap();
    assert_eq!((report.set_aside.count(), report.packs_after), (0, 1));
    let found = fsck(Arc::new(OsDisk), dir.path(), &FsckOptions::default()).unwrap();
    assert_eq!((found.findings.as_slice(), found.objects), (&[][..], 9));
}
