//! Branching, switching and forking cost the same at any depth; making sessions, however many there
//! are.

use std::path::Path;
use std::sync::Arc;

use sapwood::codec::Value;
use sapwood::ops::{self, BranchOptions, ForkOptions, Goal, SwitchOptions, Target};
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Durability, Operation};
use sapwood::{Repo, session};

use crate::sim::SimDisk;
use crate::support::{ROOT, options};

/// What a step may add.
const STEP_BYTES_MAX: usize = 1024;

fn operation(command: &str) -> Operation {
    Operation { time: 5, actor: "tester".to_owned(), command: command.to_owned() }
}

/// A session that is so deep, in a pack or in the journal, and a new handle on it.
fn session_of(depth: usize, packed: bool) -> (SimDisk, Repo) {
    let disk = SimDisk::new(1);
    let options = Options { segment_bytes_min: 8 << 20, segment_bytes_max: 8 << 20, ..options() };
    let shared: Arc<SimDisk> = Arc::new(disk.clone());
    let init = LocalStore::init(shared.clone(), Path::new(ROOT), options.clone());
    let store = Arc::new(init.unwrap().0);
    let repo = Repo::on(store.clone());
    let pin = session::pin(&repo, Some("3ectjywlcbm7"), None, 0, "tester").unwrap();
    let body = |number| Value::map([("content", Value::Integer(number))]);
    let bodies = (0..depth as i64).map(body).collect();
    session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
    if packed {
        store.repack().unwrap();
    }
    let store = LocalStore::open(shared, Path::new(ROOT), options).unwrap();
    let repo = Repo::on(Arc::new(store));
    // A handle hashes the journal at its first commit, and goes beyond the short segment of a store
    // at rest.
    let long = Value::map([("content", Value::Text("long ".repeat(4000)))]);
    session::append(&repo, &pin, vec![long], Durability::Full, 0).unwrap();
    (disk, repo)
}

/// Counts the bytes that journal and logs hold: what follows is zeros, made in advance.
fn bytes(disk: &SimDisk) -> usize {
    let kept = |path: &&std::path::PathBuf| {
        path.starts_with(format!("{ROOT}/objects")) || path.starts_with(format!("{ROOT}/logs"))
    };
    let files = disk.files();
    let used = files.iter().filter(kept).map(|path| {
        let content = disk.read(path);
        content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    });
    used.sum()
}

type Step = fn(&Repo);

/// Each step, by name.
const STEPS: [(&str, Step); 5] = [
    ("branch", |repo| {
        let options = BranchOptions { name: "a".to_owned(), ..BranchOptions::default() };
        ops::branch(repo, &options, &operation("branch a")).unwrap();
    }),
    ("switch", |repo| {
        let options = SwitchOptions::to(Target::default(), Goal::Revision("a".to_owned()));
        ops::switch(repo, &options, &operation("switch a")).unwrap();
    }),
    ("switch to an entry", |repo| {
        let options = SwitchOptions::to(Target::default(), Goal::Revision("main~3".to_owned()));
        ops::switch(repo, &options, &operation("switch main~3")).unwrap();
    }),
    ("switch back", |repo| {
        let options = SwitchOptions::to(Target::default(), Goal::Previous);
        ops::switch(repo, &options, &operation("switch -")).unwrap();
    }),
    ("fork", |repo| {
        let options = ForkOptions { use_it: true, ..ForkOptions::default() };
        ops::fork(repo, &options, &operation("fork")).unwrap();
    }),
];

#[test]
fn steps_cost_the_same_at_any_depth_and_add_less_than_a_kibibyte() {
    let measure = |depth, packed| {
        let (disk, repo) = session_of(depth, packed);
        disk.count_reads(true);
        let mut costs = Vec::new();
        for (name, step) in STEPS {
            let (calls, used) = (disk.calls(), bytes(&disk));
            step(&repo);
            let added = bytes(&disk) - used;
            assert!(added < STEP_BYTES_MAX, "{name} at depth {depth} adds {added} bytes");
            costs.push((name, disk.calls() - calls));
        }
        costs
    };
    assert_eq!(measure(10, true), measure(5_000, true));
    // The whole of a shorter journal is in memory.
    assert_eq!(measure(1_000, false), measure(5_000, false));
}

#[test]
fn a_session_is_made_and_found_by_name_at_the_same_cost_however_many_there_are() {
    let measure = |count| {
        let disk = SimDisk::new(1);
        let segment_bytes = 8 << 20;
        let options = Options {
            segment_bytes_min: segment_bytes,
            segment_bytes_max: segment_bytes,
            // Whatever is read is read from the disk.
            cache_bytes: 0,
            ..options()
        };
        let store = LocalStore::init(Arc::new(disk.clone()), Path::new(ROOT), options).unwrap().0;
        let repo = Repo::on(Arc::new(store));
        let make = |name: &str| drop(session::pin(&repo, Some(name), None, 0, "tester").unwrap());
        (0..count).for_each(|number| make(&format!("session-{number}")));
        ops::rename_session(&repo, "session-3", Some("a name"), &operation("rename")).unwrap();
        disk.count_reads(true);
        let steps: [&dyn Fn(); 2] = [&|| make("another"), &|| {
            let snapshot = repo.snapshot().unwrap();
            let found = sapwood::repo::find_session(&*snapshot, "a name");
            assert_eq!(found.unwrap(), "session-3");
        }];
        steps.map(|step| {
            let calls = disk.calls();
            step();
            disk.calls() - calls
        })
    };
    assert_eq!(measure(10), measure(300));
}
