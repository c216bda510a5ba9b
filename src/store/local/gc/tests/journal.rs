//! The journal, which is packed as it lies.

use super::*;

/// Runs out of time once everything is marked. Gives the world and the report.
fn run_cut_off() -> (World, GcReport) {
    let mut max_time = Duration::from_millis(20);
    loop {
        let world = World::filled(false);
        let options = GcOptions { max_time: Some(max_time), ..World::options(NOW_MS) };
        let mut is_marked = false;
        let mut watch = |step: Step| {
            if step == Step::Marked {
                is_marked = true;
                std::thread::sleep(max_time);
            }
        };
        let report = Collection::new(&world.gc.inner, &options).run_watched(&mut watch).unwrap();
        if is_marked {
            return (world, report);
        }
        // On a slow machine, it was cut off before.
        max_time *= 2;
    }
}

#[test]
fn a_journal_that_there_was_no_time_for_is_sealed_as_it_is() {
    let (world, report) = run_cut_off();
    assert_eq!((report.is_finished, report.dropped), (false, 0));
    let state = world.gc.inner.refresh().unwrap();
    assert_eq!((state.segments.len(), state.packs.len()), (1, 1));
    assert!(world.has(&world.garbage.id), "it was not sorted out");
    assert_eq!(world.check("it was sealed"), 40);
    let report = world.gc.gc(&World::options(NOW_MS)).unwrap();
    assert_eq!((report.is_finished, report.dropped, report.packs_after), (true, 4, 1));
    assert_eq!(world.check("it was packed"), 40);
}

#[test]
fn a_run_that_dies_with_the_journal_in_hand_leaves_a_journal() {
    let world = World::filled(false);
    let options = World::options(NOW_MS);
    let mut run = Collection::new(&world.gc.inner, &options);
    run.take_journal().unwrap();
    assert!(run.passing.is_some());
    drop(run);
    let state = world.gc.inner.refresh().unwrap();
    assert_eq!((state.segments.len(), state.packs.len()), (2, 0));
    assert_eq!(world.check("it was not packed"), 40);
    let report = world.gc.gc(&options).unwrap();
    assert_eq!((report.dropped, report.packs_after), (4, 1));
    assert_eq!(world.gc.inner.refresh().unwrap().segments.len(), 1);
    assert_eq!(world.check("it was packed"), 40);
}

#[test]
fn what_is_damaged_in_the_journal_is_named_and_packed_nowhere() {
    let world = World::filled(false);
    world.gc.inner.close_journal().unwrap();
    let path = world.gc.inner.refresh().unwrap().segments[0].path.clone();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = memchr::memmem::find(&bytes, b"a long string").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let found = world.gc.gc(&World::options(NOW_MS));
    assert!(
        matches!(&found, Err(Error::Corrupt { path: named, .. }) if *named == path),
        "{found:?}"
    );
    let state = world.gc.inner.refresh().unwrap();
    assert_eq!((state.segments.len(), state.packs.len()), (3, 0));
}
