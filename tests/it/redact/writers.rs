//! Others write while something is redacted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood::codec::Value;
use sapwood::disk::OsDisk;
use sapwood::session;
use sapwood::store::local::{LocalStore, Options};
use sapwood::{Durability, Repo};

use super::redact_literal;
use super::search::found_in;
use crate::support::{append, texts};

const SECRET: &str = "vault-Kx9-7731-pass";

/// Two who say the same would write one object, and what was redacted is refused to the second.
fn say(name: &str, number: usize) -> String {
    match number % 5 {
        1 => format!("message {number} of {name} with {SECRET}"),
        _ => format!("message {number} of {name}"),
    }
}

#[test]
fn two_writers_lose_nothing_and_what_they_wrote_before_is_redacted_too() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".sapwood");
    let open = |root: &Path| {
        let disk = Arc::new(OsDisk);
        LocalStore::init(disk, root, Options::default()).map(|(store, _)| store).unwrap()
    };
    let store = open(&root);
    for number in 0..50 {
        append(&store, "a", &say("a", number)).unwrap();
    }
    let done = AtomicBool::new(false);
    let written: Vec<usize> = std::thread::scope(|scope| {
        let writers: Vec<_> = ["a", "b"]
            .into_iter()
            .map(|name| {
                let (root, done) = (&root, &done);
                scope.spawn(move || {
                    let store = open(root);
                    let mut number = if name == "a" { 50 } else { 0 };
                    while !done.load(Ordering::Relaxed) {
                        append(&store, name, &say(name, number)).unwrap();
                        number += 1;
                    }
                    number
                })
            })
            .collect();
        for _ in 0..6 {
            redact_literal(&store, SECRET).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let outcome = redact_literal(&store, SECRET).unwrap();
    assert_eq!(outcome.left, Vec::<String>::new());
    for (name, count) in ["a", "b"].into_iter().zip(written) {
        let expected: Vec<String> =
            (0..count).map(|number| say(name, number).replace(SECRET, "[gone]")).collect();
        assert_eq!(texts(&store, name).unwrap(), expected, "{name}");
    }
    assert_eq!(found_in(&OsDisk, &root, &[SECRET]), Vec::<String>::new());
}

/// The file of a large text is written before the lock is taken, by what the writer knows then.
#[test]
fn a_large_text_that_comes_back_by_who_does_not_know_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".sapwood");
    let open = || LocalStore::init(Arc::new(OsDisk), &root, Options::default()).unwrap().0;
    let (store, writer) = (open(), Repo::on(Arc::new(open())));
    let large = format!("{SECRET} {}", "and so on ".repeat(30_000));
    let pin = session::pin(&writer, Some("a"), None, 0, "tester").unwrap();
    let say = || {
        let body = Value::map([("content", Value::from(large.as_str()))]);
        session::append(&writer, &pin, vec![body], Durability::Full, 0)
    };
    say().unwrap();
    redact_literal(&store, SECRET).unwrap();
    say().expect_err("it is refused");
    assert_eq!(found_in(&OsDisk, &root, &[SECRET]), Vec::<String>::new());
}
