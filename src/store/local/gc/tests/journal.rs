//! The journal, which is packed as it lies.

use std::sync::mpsc::Sender;

use super::*;
use crate::id::Kind;
use crate::store::local::pack::{HeldPack, Unchecked};

impl Collection<'_> {
    /// Runs, and tells when a step is done.
    pub(super) fn report_watched(mut self, watch: &mut dyn FnMut(Step)) -> Result<GcReport> {
        self.run_watched(watch)?;
        Ok(self.report)
    }
}

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
        let report = Collection::new(&world.gc.inner, &options).report_watched(&mut watch).unwrap();
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
    for is_outrun in [false, true] {
        let world = World::filled(false);
        let options = World::options(NOW_MS);
        let mut run = Collection::new(&world.gc.inner, &options);
        run.take_journal(is_outrun).unwrap();
        assert!(run.passing.is_some());
        drop(run);
        let state = world.gc.inner.refresh().unwrap();
        assert_eq!((state.segments.len(), state.packs.len()), (1 + usize::from(is_outrun), 0));
        assert_eq!(world.check("it was not packed"), 40);
        let report = world.gc.gc(&options).unwrap();
        assert_eq!((report.dropped, report.packs_after), (4, 1));
        assert_eq!(world.gc.inner.refresh().unwrap().segments.len(), 1);
        assert_eq!(world.check("it was packed"), 40);
    }
}

#[test]
fn a_journal_that_nobody_writes_to_is_closed_by_the_manifest_that_packs_it() {
    let world = World::filled(false);
    let (reader, generation) = (open(&world.dir), || {
        let state = world.gc.inner.refresh().unwrap();
        (state.manifest.generation, state.segments.len(), state.packs.len())
    });
    let (before, ..) = generation();
    world.gc.gc(&World::options(NOW_MS - DAY_MS)).unwrap();
    // The other one sets a file aside.
    assert_eq!(generation(), (before + 2, 1, 1));
    let next = entry("by one that knew the old segment", &[world.main()], &[]);
    commit(&world.writer, std::slice::from_ref(&next), "main", Some(next.id)).unwrap();
    let found = reader.snapshot().unwrap().reference(&branch("main")).unwrap();
    assert_eq!(found, Some(RefValue::Id(next.id)), "so does who reads");
    assert_eq!(world.check("written to"), 41);
}

#[test]
fn a_journal_that_somebody_writes_to_is_closed_and_read_again() {
    let world = World::filled(false);
    let next = entry("meanwhile", &[world.main()], &[]);
    let (options, mut marked) = (World::options(NOW_MS), 0);
    let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |step| {
        if step == Step::Marked {
            marked += 1;
            commit(&world.writer, std::slice::from_ref(&next), "main", Some(next.id)).unwrap();
        }
    });
    let report = run.unwrap();
    assert_eq!((marked, report.set_aside.count(), report.dropped), (2, 4, 4));
    assert_eq!((report.packs_after, report.is_finished), (1, true));
    assert_eq!(world.check("packed again"), 41);
}

#[test]
fn packs_are_unpacked_while_the_journal_is_closed() {
    let world = World::new();
    let state = world.gc.inner.refresh().unwrap();
    for one_thread in [false, true] {
        let options = GcOptions { one_thread, ..World::options(NOW_MS) };
        let run = Collection::new(&world.gc.inner, &options);
        let begun = Instant::now();
        let wait = |_to_check| {
            while !one_thread && run.unpacked.bytes() == 0 {
                assert!(begun.elapsed() < Duration::from_secs(60), "nobody unpacks");
                std::thread::yield_now();
            }
            Ok(())
        };
        assert_eq!(run.checked(&state, true, wait).unwrap(), ((), true));
        assert_eq!(run.unpacked.bytes() == 0, one_thread);
    }
}

#[test]
fn every_block_of_the_journal_is_checked() {
    let world = World::new();
    let state = world.gc.inner.refresh().unwrap();
    for (one_thread, wrong) in [(false, None), (false, Some(0)), (true, None), (true, Some(8))] {
        let options = GcOptions { one_thread, ..World::options(NOW_MS) };
        let run = Collection::new(&world.gc.inner, &options);
        let read = |to_check: Sender<Unchecked>| {
            let mut held = HeldPack::default();
            for number in 0..9u8 {
                let content = vec![number; 200_000];
                let said = if Some(number) == wrong { 99 } else { number };
                let id = Id::of(Kind::Blob, &vec![said; 200_000]);
                let full = held.add(&id, Kind::Blob, &content);
                full.into_iter().for_each(|block| to_check.send(block).unwrap());
            }
            to_check.send(held.end_block().unwrap()).unwrap();
            Ok(())
        };
        assert_eq!(run.checked(&state, true, read).unwrap(), ((), wrong.is_none()), "{wrong:?}");
    }
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
    assert_eq!((state.segments.len(), state.packs.len()), (2, 0));
}
