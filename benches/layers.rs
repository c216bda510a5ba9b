//! The layers one by one: hashing, encoding, committing, walking.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sapwood::codec::json;
use sapwood::disk::OsDisk;
use sapwood::id::{Id, Kind};
use sapwood::object::Entry;
use sapwood::store::Store;
use sapwood::store::local::{LocalStore, Options};
use sapwood::{Durability, Repo, session};

/// A message of about 700 bytes.
fn line(number: usize) -> String {
    let content = "a message that says nothing new, ".repeat(18);
    format!(r#"{{"type":"message","role":"user","n":{number},"content":"{content}"}}"#)
}

fn entry() -> Entry {
    let body = json::parse(line(1).as_bytes()).unwrap();
    Entry { label: "message".to_owned(), time: 1, parents: vec![], body, raw: None }
}

fn codec(criterion: &mut Criterion) {
    let text = line(1);
    let encoded = entry().encode().unwrap();
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse JSON", |bench| {
        bench.iter(|| json::parse(black_box(text.as_bytes())).unwrap());
    });
    group.bench_function("encode an entry", |bench| {
        let entry = entry();
        bench.iter(|| black_box(&entry).encode().unwrap());
    });
    group.bench_function("decode an entry", |bench| {
        bench.iter(|| Entry::decode(black_box(encoded.content())).unwrap());
    });
    group.bench_function("hash", |bench| {
        bench.iter(|| Id::of(Kind::Entry, black_box(encoded.content())));
    });
    group.finish();
}

fn store(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default()).unwrap();
    let store = Arc::new(store);
    let repo = Repo::on(store.clone());
    let pin = session::pin(&repo, None, None, 0, "bench").unwrap();
    let mut group = criterion.benchmark_group("store");
    for (name, durability) in [("durable", Durability::Full), ("relaxed", Durability::Relaxed)] {
        let mut number = 0;
        group.bench_function(format!("append, {name}"), |bench| {
            bench.iter(|| {
                number += 1;
                let body = json::parse(line(number).as_bytes()).unwrap();
                session::append(&repo, &pin, vec![body], durability, 0).unwrap()
            });
        });
    }
    store.repack().unwrap();
    let snapshot = store.snapshot().unwrap();
    let tip = repo.resolve("HEAD").unwrap();
    let count = snapshot.path(&tip, usize::MAX).unwrap().len();
    group.throughput(Throughput::Elements(count as u64));
    group.bench_function("walk, ids", |bench| {
        bench.iter(|| snapshot.path(&tip, usize::MAX).unwrap());
    });
    group.bench_function("walk, decoded", |bench| {
        bench.iter(|| {
            snapshot.read_path(&tip, &mut |_, stored| {
                black_box(Entry::decode(&stored.content)?);
                Ok(ControlFlow::Continue(()))
            })
        });
    });
    group.finish();
}

criterion_group!(layers, codec, store);
criterion_main!(layers);
