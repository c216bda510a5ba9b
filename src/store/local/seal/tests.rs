//! Where objects lie once they are sealed and merged.

mod sweep;

use super::merge::MERGE_PACKS;
use super::*;
use crate::codec::Value;
use crate::disk::OsDisk;
use crate::object::{Entry, Event, NewObject};
use crate::store::local::{LocalStore, Options};
use crate::store::{Durability, Store, Transaction};

fn objects(number: usize) -> [NewObject; 2] {
    let (label, time) = ("message".to_owned(), number as i64);
    let text = format!("message {number}, {}", "and so on, ".repeat(50));
    let body = Value::map([("content", Value::from(text.as_str()))]);
    let entry = Entry { label: label.clone(), time, parents: vec![], body, raw: None };
    let (priors, runs, links, body) = Default::default();
    let event = Event { label, time, priors, runs, links, body };
    [entry.encode().unwrap(), event.encode().unwrap()]
}

#[test]
fn what_is_about_sessions_lies_by_itself_also_when_packs_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { background: false, ..Options::default() };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
    let mut packs = Vec::new();
    for number in 0..MERGE_PACKS {
        store
            .commit(Durability::Full, &mut |_| {
                let objects = objects(number).to_vec();
                Ok(Transaction { objects, refs: vec![], operation: None })
            })
            .unwrap();
        store.seal().unwrap();
        packs.push(store.inner.refresh().unwrap().packs.len());
    }
    assert!(packs.is_sorted() && packs[1] == 2, "{packs:?}");
    store.inner.merge_packs().unwrap();
    let state = store.inner.refresh().unwrap();
    let [merged] = &state.packs[..] else {
        panic!("{} packs", state.packs.len());
    };
    assert_eq!(merged.len() as usize, 2 * MERGE_PACKS);
    for block in 0..merged.blocks() {
        let rows = merged.block_rows(block).unwrap();
        assert!(rows.len() >= MERGE_PACKS, "together");
        let about = |row: &u32| is_about(merged.kind(*row).unwrap());
        assert!(rows.iter().all(about) || !rows.iter().any(about));
    }
}
