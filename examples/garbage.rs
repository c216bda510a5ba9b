//! Makes a store with many objects, half of which nothing leads to: what `gc` is measured on.
//!
//! `cargo run --release --example garbage -- DIRECTORY OBJECTS`, then `/usr/bin/time -v sapwood
//! --store DIRECTORY gc --prune=now`.

use std::path::Path;
use std::sync::Arc;

use sapwood::codec::Value;
use sapwood::disk::OsDisk;
use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::object::{Entry, NewObject};
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Durability, Expected, RefName, RefUpdate, RefValue, Store, Transaction};

/// How many messages one transaction has, of each side.
const BATCH: usize = 1000;

const WORDS: [&str; 16] = [
    "the", "store", "keeps", "every", "message", "and", "no", "branch", "copies", "what",
    "another", "has", "said", "before", "it", "parted",
];

/// Says something of about 300 bytes that nobody said before.
fn text(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = format!("message {number}:");
    while text.len() < 300 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(' ');
        text.push_str(WORDS[(state >> 60) as usize]);
    }
    text
}

fn message(number: u64, parent: Option<Id>) -> Result<NewObject> {
    let text = text(number);
    let body = Value::map([("role", Value::from("user")), ("content", Value::from(text.as_str()))]);
    let (label, time) = ("message".to_owned(), 1_700_000_000_000 + number as i64);
    Entry { label, time, parents: parent.into_iter().collect(), body, raw: None }.encode()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "garbage".to_owned());
    let objects: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let options = Options::default();
    let (store, _) = LocalStore::init(Arc::new(OsDisk), Path::new(&directory), options)?;
    let names = ["kept", "gone"].map(|name| RefName::of_session("s", &format!("heads/{name}")));
    let [kept, gone] = names;
    let sides = [kept?, gone?];
    let mut tips: [Option<Id>; 2] = [None, None];
    let mut number = 0;
    for _ in 0..objects / BATCH / 2 {
        let mut objects = Vec::with_capacity(2 * BATCH);
        for _ in 0..BATCH {
            for tip in &mut tips {
                let object = message(number, *tip)?;
                *tip = Some(object.id());
                objects.push(object);
                number += 1;
            }
        }
        let refs = sides.iter().zip(tips).map(|(name, tip)| RefUpdate {
            name: name.clone(),
            expected: Expected::Any,
            new: tip.map(RefValue::Id),
        });
        let refs: Vec<RefUpdate> = refs.collect();
        store.commit(Durability::Relaxed, &mut |_| {
            Ok(Transaction { objects: objects.clone(), refs: refs.clone(), operation: None })
        })?;
    }
    let update = RefUpdate { name: sides[1].clone(), expected: Expected::Any, new: None };
    store.commit(Durability::Full, &mut |_| {
        Ok(Transaction { refs: vec![update.clone()], ..Transaction::default() })
    })?;
    store.seal()
}
