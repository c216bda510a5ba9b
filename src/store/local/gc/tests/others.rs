//! Collections of several processes, one after the other.

use super::*;

#[test]
fn what_another_collection_has_done_is_known_though_the_journal_is_at_rest() {
    let world = World::new();
    world.gc.seal().unwrap();
    world.gc.snapshot().unwrap();
    // Packs become others, and no segment ends.
    let other = world.writer.gc(&World::options(NOW_MS - DAY_MS)).unwrap();
    assert_eq!((other.set_aside.count(), other.dropped), (4, 0));
    let report = world.gc.gc(&World::options(NOW_MS)).unwrap();
    assert_eq!((report.set_aside.count(), report.dropped), (0, 4));
    assert_eq!(world.check("after both"), 40);
}
