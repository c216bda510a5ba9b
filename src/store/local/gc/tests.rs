//! Writers between the steps of a collection: whatever they do, nothing that is reached is lost,
//! and what is missing to them is refused, not committed.

use super::*;
use crate::codec::Value;
use crate::disk::{Disk, OsDisk};
use crate::error::Error;
use crate::object::{Entry, NewObject};
use crate::store::local::{FsckOptions, Options, Severity, fsck};
use crate::store::{
    Durability, Expected, Operation, RefName, RefUpdate, RefValue, Store, Transaction,
};
use crate::walk;

mod groups;
mod journal;
mod others;
mod threads;
mod twins;

const DAY_MS: i64 = 86_400_000;
/// A time at which every file of a test is old.
const NOW_MS: i64 = 4_000_000_000_000;

fn entry(text: &str, parents: &[Id], links: &[Id]) -> NewObject {
    let links = links.iter().map(|link| Value::Link(*link)).collect();
    let body = Value::map([("content", Value::from(text)), ("links", Value::List(links))]);
    let (label, parents) = ("message".to_owned(), parents.to_vec());
    Entry { label, time: 1, parents, body, raw: None }.encode().unwrap()
}

fn branch(name: &str) -> RefName {
    RefName::of_session("s", &format!("heads/{name}")).unwrap()
}

/// Commits objects and points a branch to the last of them, or to nothing.
fn commit(store: &LocalStore, objects: &[NewObject], name: &str, to: Option<Id>) -> Result<()> {
    store.commit(Durability::Full, &mut |_| {
        let new = to.map(RefValue::Id);
        let refs = vec![RefUpdate { name: branch(name), expected: Expected::Any, new }];
        Ok(Transaction { objects: objects.to_vec(), refs, operation: None })
    })
}

/// A store with a path that is kept, and one that nothing leads to any more.
struct World {
    dir: tempfile::TempDir,
    gc: LocalStore,
    writer: LocalStore,
    /// Garbage in a pack: a blob, an entry that links it, one that follows that.
    blob: NewObject,
    parent: NewObject,
    garbage: NewObject,
    /// Garbage in a file of its own.
    large: NewObject,
}

fn open(dir: &tempfile::TempDir) -> LocalStore {
    let options = Options { background: false, ..Options::default() };
    LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0
}

impl World {
    fn new() -> World {
        World::filled(true)
    }

    fn filled(is_packed: bool) -> World {
        let dir = tempfile::tempdir().unwrap();
        let (gc, writer) = (open(&dir), open(&dir));
        let blob = NewObject::blob(b"a long string".repeat(99)).unwrap();
        let parent = entry("parent", &[], &[blob.id]);
        let garbage = entry("garbage", &[parent.id], &[]);
        let large = NewObject::blob(vec![7; 300_000]).unwrap();
        let objects = [blob.clone(), parent.clone(), garbage.clone()];
        commit(&writer, &objects, "gone", Some(garbage.id)).unwrap();
        writer.put_alone(&large).unwrap();
        let mut last = Vec::new();
        for number in 0..40 {
            let kept = entry(&format!("message {number}"), &last, &[]);
            commit(&writer, std::slice::from_ref(&kept), "main", Some(kept.id)).unwrap();
            last = vec![kept.id];
        }
        commit(&writer, &[], "gone", None).unwrap();
        if is_packed {
            gc.repack().unwrap();
        }
        writer.snapshot().unwrap();
        World { dir, gc, writer, blob, parent, garbage, large }
    }

    fn options(prune_ms: i64) -> GcOptions<'static> {
        GcOptions { prune_ms, ..GcOptions::at(NOW_MS) }
    }

    /// Checks that all refs lead to whole objects that writers see, and gives how many there are.
    fn check(&self, context: &str) -> usize {
        let store = open(&self.dir);
        let snapshot = store.snapshot().unwrap();
        let refs = snapshot.references("").unwrap();
        let roots: Vec<Id> = refs
            .into_iter()
            .filter_map(|(_, value)| match value {
                RefValue::Id(id) => Some(id),
                RefValue::Symbolic(_) => None,
            })
            .collect();
        let reached = walk::reachable(&*snapshot, &roots).unwrap_or_else(|error| {
            panic!("{context}: {error}");
        });
        let ids: Vec<Id> = reached.into_iter().collect();
        for id in &ids {
            assert!(snapshot.get(id).unwrap().is_some(), "{context}: {id}");
        }
        let planned = store.commit(Durability::Full, &mut |plan| {
            assert!(!plan.kinds(&ids).unwrap().contains(&None), "{context}: missing to writers");
            Ok(Transaction::default())
        });
        planned.unwrap();
        let report = fsck(Arc::new(OsDisk), self.dir.path(), &FsckOptions::default()).unwrap();
        let faults = report.findings.iter().filter(|found| found.severity > Severity::Notice);
        assert_eq!(faults.collect::<Vec<_>>(), Vec::<&super::super::Finding>::new(), "{context}");
        ids.len()
    }

    /// Gives where the path ends that is kept.
    fn main(&self) -> Id {
        match self.gc.snapshot().unwrap().reference(&branch("main")).unwrap() {
            Some(RefValue::Id(id)) => id,
            _ => panic!("main is there"),
        }
    }

    fn has(&self, id: &Id) -> bool {
        open(&self.dir).snapshot().unwrap().get(id).unwrap().is_some()
    }
}

#[test]
fn what_nothing_leads_to_is_set_aside_and_dropped_after_its_time() {
    let world = World::new();
    let report = world.gc.gc(&World::options(NOW_MS - 14 * DAY_MS)).unwrap();
    assert_eq!((report.set_aside.count(), report.dropped, report.objects_after), (4, 0, 40));
    assert_eq!(report.set_aside.each().map(|(_, count)| count).sum::<u64>(), 4);
    let waiting: u64 = report.waiting.iter().map(|waiting| waiting.objects).sum();
    assert_eq!((waiting, report.waiting[0].since_ms), (4, NOW_MS));
    for object in [&world.blob, &world.parent, &world.garbage, &world.large] {
        assert!(world.has(&object.id));
    }
    assert_eq!(world.check("set aside"), 40);

    let later = |now_ms| GcOptions { prune_ms: now_ms - 14 * DAY_MS, ..GcOptions::at(now_ms) };
    let report = world.gc.gc(&later(NOW_MS + 13 * DAY_MS)).unwrap();
    assert_eq!((report.set_aside.count(), report.dropped), (0, 0), "not yet");
    let report = world.gc.gc(&later(NOW_MS + 14 * DAY_MS)).unwrap();
    assert_eq!((report.dropped, report.waiting.len()), (4, 0));
    for object in [&world.blob, &world.parent, &world.garbage, &world.large] {
        assert!(!world.has(&object.id));
    }
    assert_eq!(world.check("dropped"), 40);
}

#[test]
fn a_second_run_changes_nothing() {
    let world = World::new();
    for prune_ms in [NOW_MS - DAY_MS, NOW_MS] {
        world.gc.gc(&World::options(prune_ms)).unwrap();
        let before = world.gc.inner.state().manifest.clone();
        let report = world.gc.gc(&World::options(prune_ms)).unwrap();
        assert_eq!(world.gc.inner.state().manifest, before);
        assert_eq!((report.set_aside.count(), report.dropped, report.brought_back), (0, 0, 0));
        assert_eq!(report.bytes_before, report.bytes_after);
    }
}

#[test]
fn what_is_young_stays_with_all_that_it_leads_to() {
    let world = World::new();
    let modified = |path: &std::path::Path| OsDisk.modified(path).unwrap().unwrap();
    let now_ms = modified(&world.gc.inner.layout.current());
    let two_weeks = GcOptions { prune_ms: now_ms - 14 * DAY_MS, ..GcOptions::at(now_ms) };
    assert_eq!(world.gc.gc(&two_weeks).unwrap().set_aside.count(), 0, "all is young");
    let an_hour_later = GcOptions { now_ms: now_ms + 2 * 3_600_000, ..two_weeks };
    // An unreached entry in the journal is packed by the run, and young; it links garbage.
    let young = entry("young", &[world.garbage.id], &[]);
    let committed = world.writer.commit(Durability::Full, &mut |_| {
        Ok(Transaction { objects: vec![young.clone()], ..Transaction::default() })
    });
    committed.unwrap();
    let pack = world.gc.inner.layout.pack_dir();
    world.gc.seal().unwrap();
    for file in std::fs::read_dir(pack).unwrap() {
        let path = file.unwrap().path();
        let is_new = world.gc.inner.state().packs.last().unwrap().info().id.to_string();
        if !path.to_string_lossy().contains(&is_new) {
            let times = std::fs::File::options().write(true).open(&path).unwrap();
            times.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
    }
    let report = world.gc.gc(&GcOptions { now_ms: now_ms + 1000, ..two_weeks }).unwrap();
    assert_eq!(report.set_aside.count(), 0, "the young entry leads to all of it");
    let report = world.gc.gc(&an_hour_later).unwrap();
    assert_eq!(report.set_aside.count(), 5, "nobody pointed to it");
}

/// What a writer does between two steps, and whether that must be refused once all is set aside.
type Act = (&'static str, fn(&World) -> Result<()>, bool);

const ACTS: [Act; 7] = [
    ("link", |world| follow(world, &[]), true),
    ("supply", |world| follow(world, &[&world.blob, &world.parent, &world.garbage]), false),
    ("point", |world| commit(&world.writer, &[], "back", Some(world.garbage.id)), true),
    ("supply in part", |world| follow(world, &[&world.garbage]), true),
    ("link a file", |world| attach(world, false), true),
    ("supply a file", |world| attach(world, true), false),
    (
        "put alone",
        |world| world.writer.put_alone(&entry("alone", &[world.garbage.id], &[world.large.id])),
        true,
    ),
];

fn follow(world: &World, supplied: &[&NewObject]) -> Result<()> {
    let next = entry("it goes on", &[world.garbage.id], &[]);
    let mut objects: Vec<NewObject> = supplied.iter().map(|object| (*object).clone()).collect();
    objects.push(next.clone());
    commit(&world.writer, &objects, "back", Some(next.id))
}

fn attach(world: &World, is_supplied: bool) -> Result<()> {
    let holder = entry("a picture", &[], &[world.large.id]);
    let mut objects = vec![holder.clone()];
    if is_supplied {
        objects.push(world.large.clone());
    }
    commit(&world.writer, &objects, "picture", Some(holder.id))
}

#[test]
fn a_writer_between_any_two_steps_loses_nothing() {
    let later = NOW_MS - 14 * DAY_MS;
    let cases = [(NOW_MS, true), (NOW_MS, false), (later, true), (later, false)];
    for (name, act, is_refused) in ACTS {
        for step in [Step::Marked, Step::PacksWritten, Step::SetAside, Step::Settled] {
            for (prune_ms, is_packed) in cases {
                let now = prune_ms == NOW_MS;
                let context = format!("{name} after {step:?}, prune {now}, packed {is_packed}");
                let world = World::filled(is_packed);
                let options = World::options(prune_ms);
                let mut outcome = None;
                let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |done| {
                    if done == step {
                        outcome = Some(act(&world));
                    }
                });
                run.unwrap_or_else(|error| panic!("{context}: {error}"));
                let outcome = outcome.expect("the step was taken");
                let is_late = match name {
                    "link a file" => step != Step::Marked && step != Step::PacksWritten,
                    _ => step != Step::Marked,
                };
                match outcome {
                    Ok(()) => assert!(!(is_refused && is_late), "{context}: committed"),
                    Err(Error::Dangling { .. }) => assert!(is_refused && is_late, "{context}"),
                    Err(error) => panic!("{context}: {error}"),
                }
                let found = world.check(&context);
                world.gc.gc(&World::options(NOW_MS)).unwrap();
                assert_eq!(world.check(&context), found, "{context}: after the next run");
            }
        }
    }
}

#[test]
fn what_operations_speak_of_stays_until_they_expire() {
    let world = World::new();
    let back = entry("moved by an operation", &[world.garbage.id], &[]);
    let move_ref = |time, objects: Vec<NewObject>, to: Option<Id>| {
        let moved = world.writer.commit(Durability::Full, &mut |_| {
            let (actor, command) = ("ada".to_owned(), "move".to_owned());
            let new = to.map(RefValue::Id);
            let refs = vec![RefUpdate { name: branch("op"), expected: Expected::Any, new }];
            let operation = Some(Operation { time, actor, command });
            Ok(Transaction { objects: objects.clone(), refs, operation })
        });
        moved.unwrap();
    };
    move_ref(1_000, vec![back.clone()], Some(back.id));
    move_ref(2_000, vec![], None);
    move_ref(3_000, vec![], Some(world.main()));
    let numbers = || {
        let mut numbers = Vec::new();
        let snapshot = world.gc.snapshot().unwrap();
        let visited = snapshot.operations(&mut |record| {
            numbers.push(record.number);
            Ok(std::ops::ControlFlow::Continue(()))
        });
        visited.map(|()| numbers).unwrap()
    };
    let report = world.gc.gc(&World::options(NOW_MS)).unwrap();
    assert_eq!((report.set_aside.count(), report.operations), (1, 0), "the large file alone");
    assert_eq!(numbers(), [3, 2, 1]);
    let expiring = GcOptions { operations_ms: 3_000, ..World::options(NOW_MS) };
    assert_eq!(world.gc.gc_dry_run(&expiring, &[]).unwrap().operations, 2);
    let report = world.gc.gc(&expiring).unwrap();
    assert_eq!((report.operations, report.set_aside.count()), (2, 4));
    assert_eq!(numbers(), [3], "numbers stay");
    move_ref(4_000, vec![], None);
    assert_eq!(numbers(), [4, 3]);
    world.check("expired");
    let all = GcOptions { operations_ms: 9_000, ..World::options(NOW_MS) };
    assert_eq!(world.gc.gc(&all).unwrap().operations, 2);
    move_ref(9_500, vec![], Some(world.main()));
    assert_eq!(numbers(), [5]);
}

#[test]
fn no_time_changes_nothing_and_says_so() {
    let world = World::new();
    let before = world.gc.inner.state().manifest.clone();
    let no_time = Some(Duration::ZERO);
    let options = GcOptions { max_time: no_time, ..World::options(NOW_MS) };
    let report = world.gc.gc(&options).unwrap();
    assert!(!report.is_finished);
    assert_eq!(world.gc.inner.state().manifest, before);
    assert!(world.gc.gc(&World::options(NOW_MS)).unwrap().is_finished);
}

#[test]
fn what_is_missing_stops_a_collection_before_anything_is_dropped() {
    let world = World::new();
    let lost = world.gc.snapshot().unwrap().path(&world.main(), 5).unwrap()[4];
    world.gc.drop_objects(&[lost].into()).unwrap();
    let before = world.gc.inner.state().manifest.clone();
    let found = world.gc.gc(&World::options(NOW_MS));
    assert!(matches!(found, Err(Error::Dangling { target, .. }) if target == lost), "{found:?}");
    assert_eq!(world.gc.inner.state().manifest.packs, before.packs);
}

#[test]
fn a_collection_is_due_by_what_can_be_seen() {
    let world = World::new();
    let due = |thresholds: GcThresholds| world.gc.gc_due(&thresholds).unwrap();
    let never = GcThresholds { objects: 0, packs: 0, loose: 0, prune_ms: i64::MIN };
    assert_eq!(due(GcThresholds { objects: 1, packs: 1, ..never }), None, "all is tidy");
    let more = entry("more", &[], &[]);
    commit(&world.writer, std::slice::from_ref(&more), "more", Some(more.id)).unwrap();
    world.gc.seal().unwrap();
    assert_eq!(due(never), None);
    assert_eq!(due(GcThresholds { packs: 1, ..never }), Some(GcDue::Packs(1)));
    assert_eq!(due(GcThresholds { objects: 1, ..never }), Some(GcDue::Objects(1)));
    world.gc.gc(&World::options(NOW_MS - DAY_MS)).unwrap();
    assert_eq!(due(GcThresholds { packs: 1, prune_ms: NOW_MS - 1, ..never }), None);
    assert_eq!(due(GcThresholds { prune_ms: NOW_MS, ..never }), Some(GcDue::Cruft(3)));
}

#[test]
fn what_was_left_clean_is_not_looked_at_until_something_changes() {
    let world = World::new();
    let options = World::options(NOW_MS);
    let looks = || {
        let mut steps = 0;
        let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |_| steps += 1);
        (steps > 0, run.unwrap().set_aside.count())
    };
    assert_eq!(looks(), (true, 4));
    assert_eq!(looks(), (false, 0));
    let large = NewObject::blob(vec![8; 300_000]).unwrap();
    world.writer.put_alone(&large).unwrap();
    assert_eq!(looks(), (true, 1));
    assert_eq!(looks(), (false, 0));
    commit(&world.writer, &[], "main", None).unwrap();
    assert_eq!(looks(), (true, 40));
    assert_eq!(looks(), (false, 0));
    let note = world.gc.cache_file("clean");
    std::fs::write(&note, b"torn").unwrap();
    assert_eq!(looks(), (true, 0));
    std::fs::remove_file(&note).unwrap();
    assert_eq!(looks(), (true, 0));
    let aggressive = GcOptions { aggressive: true, ..options };
    let mut steps = 0;
    let run = Collection::new(&world.gc.inner, &aggressive).report_watched(&mut |_| steps += 1);
    assert!(run.is_ok() && steps > 0);
}

#[test]
fn old_cruft_goes_before_packs_are_written_to_make_room_for_them() {
    let world = World::new();
    world.gc.gc(&World::options(NOW_MS - DAY_MS)).unwrap();
    let more = entry("more", &[world.main()], &[]);
    commit(&world.writer, std::slice::from_ref(&more), "main", Some(more.id)).unwrap();
    let options = GcOptions { prune_ms: NOW_MS + DAY_MS, ..GcOptions::at(NOW_MS + 2 * DAY_MS) };
    let mut cruft = Vec::new();
    let run = Collection::new(&world.gc.inner, &options).report_watched(&mut |step| {
        if step == Step::PacksWritten {
            cruft = world.gc.inner.state().manifest.cruft.clone();
        }
    });
    assert_eq!((run.unwrap().dropped, cruft), (4, Vec::new()));
    assert_eq!(world.check("dropped first"), 41);
}

/// Makes a world with three packs more, none of them tidy.
fn with_packs() -> World {
    let world = World::new();
    for number in 0..3 {
        let more = entry(&format!("more {number}"), &[world.main()], &[]);
        commit(&world.writer, std::slice::from_ref(&more), "main", Some(more.id)).unwrap();
        world.gc.seal().unwrap();
    }
    world
}

#[test]
fn a_run_that_has_too_little_time_lets_the_next_one_take_smaller_steps() {
    let world = with_packs();
    let packs = || {
        let manifest = world.gc.inner.refresh().unwrap().manifest.clone();
        manifest.packs.iter().map(|info| info.id).collect::<std::collections::BTreeSet<Id>>()
    };
    let note = world.gc.cache_file("gc-cut");
    let hour = Some(Duration::from_secs(3600));
    let short = GcOptions { max_time: Some(Duration::from_millis(200)), ..World::options(NOW_MS) };
    let run = Collection::new(&world.gc.inner, &short).report_watched(&mut |step| {
        if step == Step::Marked {
            std::thread::sleep(Duration::from_millis(250));
        }
    });
    assert!(!run.unwrap().is_finished);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), format!("{NOW_MS}\n"));
    let before = packs();
    let aggressive = GcOptions { max_time: hour, aggressive: true, ..World::options(NOW_MS) };
    let report = world.gc.gc(&aggressive).unwrap();
    assert!(report.is_finished && !note.exists());
    let after = packs();
    assert_eq!((after.len(), after.intersection(&before).count()), (before.len(), 0), "each anew");
    // What was written since then is done.
    std::fs::write(&note, "0\n").unwrap();
    assert!(world.gc.gc(&aggressive).unwrap().is_finished && !note.exists());
    assert_eq!(packs(), after);
    // With all the time in the world it is one step.
    std::fs::write(&note, "0\n").unwrap();
    world.gc.gc(&GcOptions { max_time: None, ..aggressive }).unwrap();
    assert_eq!((packs().len(), note.exists()), (1, false));
    assert_eq!(world.check("one by one"), 43);
}
