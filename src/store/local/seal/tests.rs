//! Where objects lie once they are sealed and merged.

mod sweep;

use super::merge::MERGE_PACKS;
use super::*;
use crate::codec::Value;
use crate::disk::OsDisk;
use crate::object::{Entry, Event, NewObject};
use crate::store::local::anew::{Form, Source};
use crate::store::local::{LocalStore, Options};
use crate::store::{Durability, Snapshot, Store, Transaction};

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
        commit(&store, number);
        store.seal().unwrap();
        packs.push(store.inner.refresh().unwrap().packs.len());
    }
    assert!(packs.is_sorted() && packs[1] == 2, "{packs:?}");
    store.inner.merge_packs().unwrap();
    check_that_sessions_lie_apart(&store);
}

#[test]
fn so_it_does_when_all_is_packed_anew() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { background: false, ..Options::default() };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
    // Half of it sealed, half still in the journal.
    for number in 0..MERGE_PACKS {
        commit(&store, number);
        if number < MERGE_PACKS / 2 {
            store.seal().unwrap();
        }
    }
    store.repack().unwrap();
    check_that_sessions_lie_apart(&store);
}

#[test]
fn and_when_a_pack_is_packed_again_as_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { background: false, ..Options::default() };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
    (0..MERGE_PACKS).for_each(|number| commit(&store, number));
    store.repack().unwrap();
    let (inner, state) = (&store.inner, store.inner.refresh().unwrap());
    let source = Source { pack: &state.packs[0], is_wanted: &|_| true };
    let again = inner.pack_again(&state, &source, Form::TIDY).unwrap().unwrap();
    let old = HashSet::from([state.packs[0].info().id]);
    inner.edit_manifest(|manifest| manifest.replace_packs(&old, &[again])).unwrap();
    check_that_sessions_lie_apart(&store);
}

fn commit(store: &LocalStore, number: usize) {
    let objects = objects(number);
    let mut plan = |_: &dyn Snapshot| {
        let objects = objects.to_vec();
        Ok(Transaction { objects, refs: vec![], operation: None })
    };
    store.commit(Durability::Full, &mut plan).unwrap();
}

/// Checks that all is in one pack, in which no block has both what is about sessions and what is in
/// them, and few blocks have either.
fn check_that_sessions_lie_apart(store: &LocalStore) {
    let state = store.inner.refresh().unwrap();
    let [merged] = &state.packs[..] else {
        panic!("{} packs", state.packs.len());
    };
    assert_eq!(merged.len() as usize, 2 * MERGE_PACKS);
    for block in 0..merged.blocks() {
        let rows = merged.block_rows(block).unwrap();
        assert!(rows.len() >= MERGE_PACKS, "together");
        let about = |row: &u32| merged.kind(*row).unwrap().is_about_sessions();
        assert!(rows.iter().all(about) || !rows.iter().any(about));
    }
}
