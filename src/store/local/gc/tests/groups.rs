//! Packs that are written in groups: garbage of a later one leads to that of the first.

use super::threads::text;
use super::*;

/// Makes a world with a second pack, longer than the first: garbage that follows garbage of that.
/// Each is a group of its own for a run with little time.
fn with_child() -> (World, Id) {
    let world = World::new();
    let long: String = (0..30).map(text).collect();
    let long = NewObject::blob(long.into_bytes()).unwrap();
    let child = entry("child", &[world.garbage.id], &[long.id, world.large.id]);
    commit(&world.writer, &[long, child.clone()], "gone", Some(child.id)).unwrap();
    commit(&world.writer, &[], "gone", None).unwrap();
    world.gc.seal().unwrap();
    std::fs::create_dir_all(world.gc.cache_file("")).unwrap();
    std::fs::write(world.gc.cache_file("gc-cut"), "0\n").unwrap();
    (world, child.id)
}

/// Runs with so much time, and does something after the first group.
fn run(world: &World, max_time: Duration, act: &mut dyn FnMut()) -> GcReport {
    let options = GcOptions { max_time: Some(max_time), ..World::options(NOW_MS) };
    let mut groups = 0;
    let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |step| {
        if step == Step::GroupWritten {
            groups += 1;
            act();
        }
    });
    assert_eq!(groups, 1);
    run.unwrap()
}

/// Stops a run after the first group.
fn cut(world: &World) {
    let most = Duration::from_secs(2);
    let report = run(world, most, &mut || std::thread::sleep(most));
    assert_eq!((report.is_finished, report.set_aside.count(), report.dropped), (false, 3, 0));
}

#[test]
fn garbage_of_a_group_that_was_not_written_can_be_brought_back() {
    let (world, child) = with_child();
    cut(&world);
    commit(&world.writer, &[], "back", Some(child)).unwrap();
    world.gc.gc(&World::options(NOW_MS)).unwrap();
    assert_eq!(world.check("pointed to after the cut"), 46);
}

#[test]
fn garbage_of_a_group_that_is_not_written_yet_can_be_brought_back() {
    let (world, child) = with_child();
    let hour = Duration::from_secs(3600);
    let report = run(&world, hour, &mut || {
        commit(&world.writer, &[], "back", Some(child)).unwrap();
    });
    assert_eq!((report.is_finished, report.brought_back), (true, 6));
    assert_eq!(world.check("pointed to between groups"), 46);
}

#[test]
fn after_a_cut_the_next_run_drops_all_of_it_but_not_before_all_is_set_aside() {
    let (world, child) = with_child();
    cut(&world);
    let options = World::options(NOW_MS);
    let mut left = Vec::new();
    let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |step| {
        left.push((step, world.has(&world.blob.id), world.has(&child)));
    });
    let steps = [Step::Marked, Step::PacksWritten, Step::SetAside].map(|step| (step, true, true));
    assert_eq!(left[..3], steps);
    assert_eq!(left[3..], [(Step::Settled, false, false)]);
    assert_eq!(run.unwrap().dropped, 6);
    assert_eq!(world.check("all is dropped"), 40);
}

#[test]
fn garbage_that_came_since_does_not_hold_old_cruft_back() {
    let world = World::new();
    world.gc.gc(&World::options(NOW_MS - DAY_MS)).unwrap();
    let since = entry("since", &[world.main()], &[]);
    commit(&world.writer, std::slice::from_ref(&since), "gone", Some(since.id)).unwrap();
    commit(&world.writer, &[], "gone", None).unwrap();
    let options = GcOptions { prune_ms: NOW_MS + DAY_MS, ..GcOptions::at(NOW_MS + 2 * DAY_MS) };
    let mut left = None;
    let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |step| {
        if step == Step::PacksWritten {
            left = Some((world.has(&world.blob.id), world.has(&since.id)));
        }
    });
    assert_eq!((run.unwrap().dropped, left), (4, Some((false, true))));
    assert_eq!(world.check("dropped first"), 40);
}

#[test]
fn a_large_entry_on_what_was_dropped_leaves_nothing_to_build_on() {
    let world = World::new();
    let texts = (0..400).map(|number| Value::from(format!("{number:0900}").as_str())).collect();
    let body = Value::map([("content", Value::List(texts))]);
    let parents = vec![world.garbage.id];
    let large = Entry { label: "message".to_owned(), time: 1, parents, body, raw: None };
    let large = large.encode().unwrap();
    // Another process collects; the writer does not know it yet.
    world.gc.gc(&World::options(NOW_MS)).unwrap();
    let child = entry("child", &[large.id], &[]);
    for object in [large, child] {
        let done = commit(&world.writer, std::slice::from_ref(&object), "back", Some(object.id));
        assert!(matches!(done, Err(Error::Dangling { .. })), "{done:?}");
    }
    world.check("refused");
    world.gc.gc(&World::options(NOW_MS)).unwrap();
}
