//! Real threads on a real disk.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use sapwood::disk::OsDisk;
use sapwood::store::Durability;
use sapwood::store::local::{LocalStore, Options};

use super::long;
use crate::support::{append_with, texts};

const THREADS: usize = 8;

fn options() -> Options {
    Options { segment_bytes_min: 16 << 10, segment_bytes_max: 64 << 10, ..Options::default() }
}

fn open(path: &Path) -> LocalStore {
    LocalStore::init(Arc::new(OsDisk), path, options()).unwrap().0
}

fn name(thread: usize) -> String {
    format!("branch {thread}")
}

/// Appends to one branch per thread, through the handle that `store_of` gives each.
fn race(stores: &[LocalStore], durability: Durability, messages: usize) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &stores[thread % stores.len()];
            scope.spawn(move || {
                for number in 0..messages {
                    let text = format!("{thread}: {number}");
                    append_with(store, &name(thread), &text, durability).unwrap();
                }
            });
        }
    });
}

fn check(store: &LocalStore, messages: usize) {
    for thread in 0..THREADS {
        let expected: Vec<String> = (0..messages).map(|n| format!("{thread}: {n}")).collect();
        assert_eq!(texts(store, &name(thread)).unwrap(), expected);
    }
}

fn run(durability: Durability, handles: usize) {
    let messages = if long() { 500 } else { 40 };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".sapwood");
    let stores: Vec<LocalStore> = (0..handles).map(|_| open(&path)).collect();
    race(&stores, durability, messages);
    for store in &stores {
        check(store, messages);
    }
    drop(stores);
    let store = open(&path);
    check(&store, messages);
    store.repack().unwrap();
    check(&store, messages);
}

#[test]
fn eight_threads_on_one_handle_lose_nothing_and_keep_their_order_full() {
    run(Durability::Full, 1);
}

#[test]
fn eight_threads_on_one_handle_lose_nothing_and_keep_their_order_relaxed() {
    run(Durability::Relaxed, 1);
}

#[test]
fn eight_threads_on_one_branch_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".sapwood");
    let stores: Vec<LocalStore> = (0..4).map(|_| open(&path)).collect();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &stores[thread % stores.len()];
            scope.spawn(move || {
                for number in 0..20 {
                    let text = format!("{thread}: {number:02}");
                    append_with(store, "shared", &text, Durability::Full).unwrap();
                }
            });
        }
    });
    let found = texts(&stores[0], "shared").unwrap();
    assert_eq!(found.len(), THREADS * 20);
    for thread in 0..THREADS {
        let own = |text: &&String| text.starts_with(&format!("{thread}:"));
        let own: Vec<&String> = found.iter().filter(own).collect();
        assert!(own.len() == 20 && own.is_sorted(), "{own:?}");
    }
}

#[test]
fn eight_threads_on_four_handles_lose_nothing_and_keep_their_order() {
    run(Durability::Full, 4);
    run(Durability::Relaxed, 4);
}
