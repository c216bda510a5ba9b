//! Who is at work at the same time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::object::Object;
use sapwood::store::local::{GcOptions, LocalStore, Options};
use sapwood::store::{Durability, RefValue, Snapshot, Store};

use super::schedule::{Actor, Stepped};
use crate::faults::{attachment, commit, file};
use crate::sim::SimDisk;
use crate::support::{ROOT, append, init, open_read_only, options, ref_name, texts, update};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) disk: SimDisk,
    pub(super) actors: Vec<Actor>,
    /// What must be there in the end, whatever the order.
    pub(super) check: fn(&SimDisk) -> Result<()>,
}

/// Opens a handle of a process, which waits for others as long as it takes.
fn open(disk: &Stepped) -> Result<LocalStore> {
    let options = Options { lock_timeout: Duration::from_secs(60), ..options() };
    LocalStore::open(Arc::new(disk.clone()), Path::new(ROOT), options)
}

fn actor(
    name: &'static str,
    run: impl Fn(&Stepped) -> Result<()> + Send + Sync + 'static,
) -> Actor {
    Actor { name, run: Box::new(run) }
}

/// Appends one message after the other to a branch.
fn writer(name: &'static str, messages: &'static [&'static str]) -> Actor {
    actor(name, move |disk| {
        let store = open(disk)?;
        messages.iter().try_for_each(|text| append(&store, name, text).map(drop))
    })
}

fn maintainer() -> Actor {
    actor("maintain", |disk| open(disk)?.maintain())
}

fn repacker() -> Actor {
    actor("repack", |disk| open(disk)?.repack().map(drop))
}

fn ref_packer() -> Actor {
    actor("pack-refs", |disk| open(disk)?.pack_refs().map(drop))
}

/// Sets garbage aside, and drops it in a second run.
fn collector() -> Actor {
    actor("gc", |disk| {
        let store = open(disk)?;
        for day in [10, 20] {
            let now_ms = day * DAY_MS;
            store.gc(&GcOptions { prune_ms: now_ms - DAY_MS, ..GcOptions::at(now_ms) })?;
        }
        Ok(())
    })
}

/// Drops garbage in the run that finds it.
fn pruner() -> Actor {
    actor("gc --prune=now", |disk| {
        let now_ms = 10 * DAY_MS;
        let options = GcOptions { prune_ms: now_ms, ..GcOptions::at(now_ms) };
        open(disk)?.gc(&options).map(drop)
    })
}

/// Reads all that is reachable, twice.
fn reader() -> Actor {
    actor("reader", |disk| {
        let options = Options { read_only: true, ..options() };
        let store = LocalStore::open(Arc::new(disk.clone()), Path::new(ROOT), options)?;
        let first = store.snapshot()?;
        read_all(&*first)?;
        read_all(&*store.snapshot()?)?;
        // What was opened stays as it was.
        read_all(&*first).map(drop)
    })
}

/// Follows every link from every ref.
///
/// # Panics
/// If an object is missing.
pub(super) fn read_all(snapshot: &dyn Snapshot) -> Result<usize> {
    let refs = snapshot.references("")?.into_iter();
    let mut open: Vec<Id> = refs.filter_map(|(_, value)| id_of(value)).collect();
    let mut seen: std::collections::HashSet<Id> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        let stored = snapshot.get(&id)?.unwrap_or_else(|| panic!("{id} is missing"));
        let object = Object::decode(stored.kind, &stored.content)?.encode()?;
        open.extend(object.links().iter().filter(|link| seen.insert(**link)));
    }
    Ok(seen.len())
}

fn id_of(value: RefValue) -> Option<Id> {
    match value {
        RefValue::Id(id) => Some(id),
        RefValue::Symbolic(_) => None,
    }
}

/// Links an object that nothing else links, and supplies it.
fn relinker() -> Actor {
    actor("relink", |disk| {
        let store = open(disk)?;
        let link = attachment(garbage().id());
        let refs = [update(ref_name("notes/link"), link.id())];
        commit(&store, Durability::Full, &[garbage(), link], &refs)
    })
}

fn garbage() -> sapwood::object::NewObject {
    sapwood::object::NewObject::blob(b"nothing points here yet".to_vec()).unwrap()
}

/// A store with two packs, a closed segment, an open one, and an object that nothing points to.
fn prepared() -> SimDisk {
    let disk = SimDisk::new(1);
    let store = init(&disk).unwrap();
    append(&store, "main", "one").unwrap();
    store.pack_refs().unwrap();
    commit(&store, Durability::Full, &[garbage()], &[]).unwrap();
    append(&store, "main", "two").unwrap();
    store.pack_refs().unwrap();
    append(&store, "main", "three").unwrap();
    drop(store);
    disk
}

/// A store whose journal is at rest: what `gc` does then shows in the manifest alone.
fn rested() -> SimDisk {
    let disk = prepared();
    init(&disk).unwrap().gc(&GcOptions::at(DAY_MS)).unwrap();
    disk
}

/// A store whose open segment has no room for the next message.
fn crowded() -> SimDisk {
    let mut disk = prepared();
    let journal = |disk: &SimDisk| {
        let files = disk.files().into_iter();
        files.filter(|path| path.starts_with(file("objects/journal"))).collect::<Vec<_>>()
    };
    loop {
        let next = disk.copy();
        append(&init(&next).unwrap(), "filler", "fill").unwrap();
        if journal(&next) != journal(&disk) {
            return disk;
        }
        disk = next;
    }
}

fn check_main(disk: &SimDisk) -> Result<()> {
    let store = open_read_only(disk)?;
    assert_eq!(texts(&store, "main")?, ["one", "two", "three", "four", "five"]);
    read_all(&*store.snapshot()?).map(drop)
}

fn check_both(disk: &SimDisk) -> Result<()> {
    assert_eq!(texts(&open_read_only(disk)?, "other")?, ["six", "seven"]);
    check_main(disk)
}

fn check_relinked(disk: &SimDisk) -> Result<()> {
    let store = open_read_only(disk)?;
    let snapshot = store.snapshot()?;
    assert!(snapshot.get(&garbage().id())?.is_some(), "what was linked again is gone");
    assert!(snapshot.reference(&ref_name("notes/link"))?.is_some());
    read_all(&*snapshot).map(drop)
}

fn check_all_read(disk: &SimDisk) -> Result<()> {
    read_all(&*open_read_only(disk)?.snapshot()?).map(drop)
}

fn check_collected(disk: &SimDisk) -> Result<()> {
    let store = open_read_only(disk)?;
    assert!(store.snapshot()?.get(&garbage().id())?.is_none(), "garbage is there");
    check_all_read(disk)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let main = || writer("main", &["four", "five"]);
    let other = || writer("other", &["six", "seven"]);
    let (disk, crowd) = (prepared(), crowded());
    let scenario = |name, disk: &SimDisk, actors, check| {
        let disk = disk.copy();
        Scenario { name, disk, actors, check }
    };
    vec![
        scenario("two writers", &disk, vec![main(), other()], check_both),
        scenario("two writers that rotate", &crowd, vec![main(), other()], check_both),
        scenario("writer and maintenance", &crowd, vec![main(), maintainer()], check_main),
        scenario("writer and pack-refs", &disk, vec![main(), ref_packer()], check_main),
        scenario("writer and repack", &disk, vec![main(), repacker()], check_main),
        scenario("relinking and repack", &disk, vec![relinker(), repacker()], check_relinked),
        scenario("writer and gc", &crowd, vec![main(), collector()], check_main),
        scenario("relinking and gc", &disk, vec![relinker(), collector()], check_relinked),
        scenario("gc and relinking", &disk, vec![collector(), relinker()], check_relinked),
        scenario("reader and gc", &crowd, vec![reader(), collector()], check_all_read),
        scenario("gc and repack", &disk, vec![collector(), repacker()], check_all_read),
        scenario("gc and gc", &crowd, vec![collector(), collector()], check_all_read),
        scenario("gc and gc that drops now", &disk, vec![collector(), pruner()], check_collected),
        scenario("two gc that drop now", &crowd, vec![pruner(), pruner()], check_collected),
        scenario("two gc at rest", &rested(), vec![pruner(), pruner()], check_collected),
        scenario(
            "relinking, writer and gc",
            &disk,
            vec![relinker(), main(), collector()],
            check_relinked,
        ),
        scenario("reader and pack-refs", &crowd, vec![reader(), ref_packer()], check_all_read),
        scenario("reader and repack", &disk, vec![reader(), repacker()], check_all_read),
        scenario(
            "writer, reader and repack",
            &disk,
            vec![main(), reader(), repacker()],
            check_main,
        ),
        scenario("repack and pack-refs", &disk, vec![repacker(), ref_packer()], check_all_read),
    ]
}
