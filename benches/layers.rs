//! The layers one by one: codec, hash, journal, pack, walk, refs.
//!
//! ```text
//!   cargo bench --bench layers [-- LAYER]
//! ```
//!
//! Not here: comparisons with other programs (`benches/peers`).

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sapwood::codec::json;
use sapwood::disk::OsDisk;
use sapwood::id::{Id, Kind};
use sapwood::object::Entry;
use sapwood::session::{self, Pin};
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Expected, RefName, RefUpdate, RefValue, Store, Transaction};
use sapwood::{Durability, Repo};

/// How many messages there are to read.
const MESSAGES: usize = 5_000;
/// How many branches there are.
const BRANCHES: usize = 1_000;

/// A message of about 700 bytes.
fn line(number: usize) -> String {
    let content = format!("message {number} says something like what others say, ").repeat(12);
    format!(r#"{{"type":"message","role":"user","n":{number},"content":"{content}"}}"#)
}

fn entry() -> Entry {
    let body = json::parse(line(1).as_bytes()).unwrap();
    Entry { label: "message".to_owned(), time: 1, parents: vec![], body, raw: None }
}

/// A store on disk, and a branch of it.
struct World {
    store: Arc<LocalStore>,
    repo: Repo,
    pin: Pin,
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(open(dir.path()));
        let repo = Repo::on(store.clone());
        let pin = session::pin(&repo, Some("s"), None, 0, "bench").unwrap();
        World { store, repo, pin, dir }
    }

    /// A store with a long branch.
    fn filled() -> World {
        let world = World::new();
        let bodies = (0..MESSAGES).map(|number| json::parse(line(number).as_bytes()).unwrap());
        world.append(bodies.collect(), Durability::Relaxed);
        world
    }

    fn append(&self, bodies: Vec<sapwood::codec::Value>, durability: Durability) -> Vec<Id> {
        session::append(&self.repo, &self.pin, bodies, durability, 0).unwrap()
    }
}

fn open(dir: &Path) -> LocalStore {
    LocalStore::init(Arc::new(OsDisk), dir, Options::default()).unwrap().0
}

fn codec(criterion: &mut Criterion) {
    let text = line(1);
    let entry = entry();
    let encoded = entry.encode().unwrap();
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse JSON", |bench| {
        bench.iter(|| json::parse(black_box(text.as_bytes())).unwrap());
    });
    group.bench_function("encode an entry", |bench| {
        bench.iter(|| black_box(&entry).encode().unwrap());
    });
    group.bench_function("decode an entry", |bench| {
        bench.iter(|| Entry::decode(black_box(encoded.content())).unwrap());
    });
    group.finish();
}

fn hash(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hash");
    for bytes in [700, 1 << 16] {
        let content = vec![7; bytes];
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(format!("{bytes} bytes"), |bench| {
            bench.iter(|| Id::of(Kind::Entry, black_box(&content)));
        });
    }
    group.finish();
}

fn journal(criterion: &mut Criterion) {
    let world = World::new();
    let mut group = criterion.benchmark_group("journal");
    let mut number = 0;
    for (name, durability) in [("durable", Durability::Full), ("relaxed", Durability::Relaxed)] {
        group.bench_function(format!("append, {name}"), |bench| {
            bench.iter(|| {
                number += 1;
                let body = json::parse(line(number).as_bytes()).unwrap();
                world.append(vec![body], durability)
            });
        });
    }
    group.bench_function("open", |bench| bench.iter(|| open(world.dir.path())));
    group.finish();
}

fn pack(criterion: &mut Criterion) {
    let world = World::filled();
    let mut group = criterion.benchmark_group("pack");
    group.sample_size(10);
    group.throughput(Throughput::Elements(MESSAGES as u64));
    group.bench_function("repack", |bench| {
        bench.iter_batched(
            World::filled,
            |world| {
                world.store.repack().unwrap();
                world
            },
            BatchSize::PerIteration,
        );
    });
    world.store.repack().unwrap();
    let snapshot = world.store.snapshot().unwrap();
    let tip = world.repo.resolve("HEAD").unwrap();
    let ids = snapshot.path(&tip, usize::MAX).unwrap();
    let mut place = 0;
    group.throughput(Throughput::Elements(1));
    group.bench_function("get", |bench| {
        bench.iter(|| {
            place = (place + 7919) % ids.len();
            snapshot.get(&ids[place]).unwrap().unwrap()
        });
    });
    let prefix = ids[0].short(12).parse().unwrap();
    group.bench_function("find a prefix", |bench| {
        bench.iter(|| snapshot.with_prefix(black_box(&prefix), 2).unwrap());
    });
    group.finish();
}

fn walk(criterion: &mut Criterion) {
    let world = World::filled();
    world.store.repack().unwrap();
    let snapshot = world.store.snapshot().unwrap();
    let tip = world.repo.resolve("HEAD").unwrap();
    let mut group = criterion.benchmark_group("walk");
    group.throughput(Throughput::Elements(MESSAGES as u64));
    group.bench_function("ids", |bench| {
        bench.iter(|| snapshot.path(&tip, usize::MAX).unwrap());
    });
    group.bench_function("decoded", |bench| {
        bench.iter(|| {
            snapshot.read_path(&tip, &mut |_, stored| {
                black_box(Entry::decode(&stored.content)?);
                Ok(ControlFlow::Continue(()))
            })
        });
    });
    group.finish();
}

fn refs(criterion: &mut Criterion) {
    let world = World::new();
    let tip = world.append(vec![json::parse(line(0).as_bytes()).unwrap()], Durability::Relaxed)[0];
    let name = |number: usize| RefName::of_session("s", &format!("heads/b{number}")).unwrap();
    let new = Some(RefValue::Id(tip));
    let update = |name, expected| RefUpdate { name, expected, new: new.clone() };
    let commit = |refs: Vec<RefUpdate>| {
        let transaction = Transaction { refs, ..Transaction::default() };
        world.store.commit(Durability::Relaxed, &mut |_| Ok(transaction.clone())).unwrap();
    };
    commit((0..BRANCHES).map(|number| update(name(number), Expected::Missing)).collect());
    world.store.pack_refs().unwrap();
    let mut group = criterion.benchmark_group("refs");
    let snapshot = world.store.snapshot().unwrap();
    group.bench_function("read one", |bench| {
        bench.iter(|| snapshot.reference(black_box(&name(500))).unwrap().unwrap());
    });
    group.bench_function(format!("list {BRANCHES}"), |bench| {
        bench.iter(|| snapshot.references("sessions/s/heads/").unwrap());
    });
    let mut made = BRANCHES;
    group.bench_function("make one", |bench| {
        bench.iter(|| {
            made += 1;
            commit(vec![update(name(made), Expected::Missing)]);
        });
    });
    group.finish();
}

/// Short: a look at each layer, not a proof.
fn quick() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = layers;
    config = quick();
    targets = codec, hash, journal, pack, walk, refs
}
criterion_main!(layers);
