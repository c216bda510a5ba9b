//! Appending, against a model that is a list for each branch and a list for the transcript.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::codec::Value;
use crate::id::Id;
use crate::object::{Event, Object, Run};
use crate::repo::{Place, Repo};
use crate::store::{Durability, Expected, RefName, RefValue};

fn body(text: &str) -> Value {
    Value::map([("text", Value::from(text)), ("timestamp", Value::Integer(7))])
}

fn add(repo: &Repo, pin: &Pin, texts: &[&str]) -> Vec<Id> {
    let bodies = texts.iter().map(|text| body(text)).collect();
    append(repo, pin, bodies, Durability::Full, 1).unwrap()
}

fn head(repo: &Repo, pin: &Pin) -> Option<Id> {
    match repo.reference(pin.head()).unwrap() {
        Some(RefValue::Id(id)) => Some(id),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Few texts and one time, so that entries of two branches are often the same object.
    #[test]
    fn paths_and_transcript_agree_with_lists(
        steps in prop::collection::vec((0usize..4, 1usize..4, 0usize..3), 1..40),
    ) {
        let repo = Repo::in_memory();
        let mut paths: BTreeMap<&str, Vec<Id>> = BTreeMap::new();
        let mut said: Vec<Id> = Vec::new();
        let mut active = None;
        for (branch, count, text) in steps {
            let name = ["main", "a b", "main/x", "other"][branch];
            let pinned = pin(&repo, Some("s"), Some(name), 0, "tester").unwrap();
            // The first branch that was asked for is the active one, where others begin.
            let active = *active.get_or_insert(name);
            let begin = paths.get(active).cloned().unwrap_or_default();
            let path = paths.entry(name).or_insert(begin);
            let ids = add(&repo, &pinned, &vec![["x", "y", "z"][text]; count]);
            path.extend(&ids);
            said.extend(&ids);
        }
        let snapshot = repo.snapshot().unwrap();
        for (name, path) in &paths {
            let pinned = Pin::new("s".to_owned(), (*name).to_owned()).unwrap();
            let mut found = repo.path(&head(&repo, &pinned).unwrap()).unwrap();
            found.reverse();
            prop_assert_eq!(&found, path, "{}", name);
        }
        prop_assert_eq!(transcript(&*snapshot, "s").unwrap(), said);
    }
}

#[test]
fn a_first_pin_creates_a_session_and_the_heads() {
    let repo = Repo::in_memory();
    let first = pin(&repo, None, None, 5, "tester").unwrap();
    assert_eq!(first.session().len(), ID_CHARACTERS);
    assert_eq!(first.branch(), "main");
    assert_eq!(pin(&repo, None, None, 6, "tester").unwrap(), first);
    let snapshot = repo.snapshot().unwrap();
    let mut commands = Vec::new();
    snapshot
        .operations(&mut |record| {
            commands.push((record.operation.command.clone(), record.moves.len()));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(commands, [("append".to_owned(), 3)]);
    let meta = RefName::of_session(first.session(), "meta").unwrap();
    let Some(RefValue::Id(meta)) = repo.reference(&meta).unwrap() else {
        panic!("a session has metadata");
    };
    assert_eq!(repo.session(&meta).unwrap().sid, first.session());
    let ids = add(&repo, &first, &["hello"]);
    assert_eq!(repo.resolve("HEAD").unwrap(), ids[0]);
}

#[test]
fn a_second_session_leaves_the_stores_head_alone() {
    let repo = Repo::in_memory();
    let one = pin(&repo, Some("one"), None, 0, "tester").unwrap();
    let two = pin(&repo, Some("two"), Some("dev"), 0, "tester").unwrap();
    let ids = add(&repo, &one, &["a"]);
    let others = add(&repo, &two, &["b"]);
    assert_eq!(repo.resolve("@").unwrap(), ids[0]);
    assert_eq!(repo.resolve_at(&Place::in_session("two"), "@").unwrap(), others[0]);
    for name in ["a/b", "", "x..y", "a\nb", "x.lock"] {
        assert!(pin(&repo, Some(name), None, 0, "tester").is_err(), "{name:?}");
        assert!(name == "a/b" || pin(&repo, None, Some(name), 0, "tester").is_err());
    }
}

#[test]
fn bodies_give_type_and_time_and_lose_long_strings_to_blobs() {
    let repo = Repo::in_memory();
    let pinned = pin(&repo, None, None, 0, "tester").unwrap();
    let long = "long ".repeat(1000);
    let bodies = vec![
        Value::map([("type", Value::from("user")), ("text", Value::from(long.as_str()))]),
        Value::map([("type", Value::from("")), ("timestamp", Value::from("1970-01-01T00:00:01Z"))]),
        Value::map([("type", Value::Integer(1)), ("timestamp", Value::from("yesterday"))]),
    ];
    let ids = append(&repo, &pinned, bodies.clone(), Durability::Relaxed, 99).unwrap();
    let entries: Vec<_> = ids.iter().map(|id| repo.entry(id).unwrap()).collect();
    let facts: Vec<_> = entries.iter().map(|entry| (entry.label.as_str(), entry.time)).collect();
    assert_eq!(facts, [("user", 99), ("message", 1000), ("message", 99)]);
    assert!(matches!(entries[0].body.get("text"), Some(Value::Link(_))));
    assert_eq!(repo.body(&ids[0]).unwrap(), bodies[0]);
    for bad in [Value::Null, Value::from("text"), Value::List(Vec::new())] {
        let refused = append(&repo, &pinned, vec![body("fine"), bad], Durability::Full, 0);
        assert!(matches!(refused, Err(Error::InvalidObject { .. })));
    }
    assert_eq!(head(&repo, &pinned), ids.last().copied());
}

#[test]
fn a_move_closes_the_run_before_it() {
    let repo = Repo::in_memory();
    let main = pin(&repo, Some("s"), Some("main"), 0, "tester").unwrap();
    let begun = add(&repo, &main, &["a", "b"]);
    let events = RefName::of_session("s", "events").unwrap();
    let last_event = || match repo.reference(&events).unwrap() {
        Some(RefValue::Id(event)) => repo.event(&event).unwrap(),
        _ => panic!("something happened"),
    };
    let other = pin(&repo, Some("s"), Some("other"), 0, "tester").unwrap();
    let record = View::of(&*repo.snapshot().unwrap(), "s").unwrap().record("other").unwrap();
    assert_eq!(record, Some(BranchRecord::at(Some(begun[1]), Some("main".to_owned()))));
    assert_eq!(last_event().runs.iter().map(|run| run.count).collect::<Vec<_>>(), [2]);
    add(&repo, &other, &["c"]);
    assert_eq!(last_event().label, "branch", "it extends the tip");
    let last = add(&repo, &main, &["d"])[0];
    let event = last_event();
    assert_eq!((event.label.as_str(), event.priors.len()), ("move", 1));
    assert_eq!(event.runs.iter().map(|run| run.count).collect::<Vec<_>>(), [1]);
    assert_eq!(event.links, [begun[1]]);
    assert_eq!(event.body.get("to"), Some(&Value::from(begun[1].to_string())));
    assert_eq!(repo.resolve("s:tip").unwrap(), last);
}

#[test]
fn a_branch_that_begins_with_nothing_is_recorded_once() {
    let repo = Repo::in_memory();
    pin(&repo, Some("s"), Some("main"), 0, "tester").unwrap();
    for _ in 0..2 {
        pin(&repo, Some("s"), Some("other"), 0, "tester").unwrap();
    }
    let snapshot = repo.snapshot().unwrap();
    let record = View::of(&*snapshot, "s").unwrap().record("other").unwrap().unwrap();
    assert_eq!((record.at, record.parent.as_deref()), (None, Some("main")));
    let free = View::of(&*snapshot, "s").unwrap().free_branch("other").unwrap();
    assert_eq!(free, "other-2", "a branch on record has its name");
    let found = find_pin(&*snapshot, None, Some("x")).unwrap().unwrap();
    assert_eq!((found.session(), found.branch()), ("s", "x"));
    assert_eq!(find_pin(&*snapshot, Some("t"), None).unwrap(), None);
    let Some(RefValue::Id(event)) =
        repo.reference(&RefName::of_session("s", "events").unwrap()).unwrap()
    else {
        panic!("the branch was recorded");
    };
    assert_eq!(repo.event(&event).unwrap().priors, []);
}

#[test]
fn what_was_removed_is_not_written_to() {
    let repo = Repo::in_memory();
    let main = pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let side = pin(&repo, Some("s"), Some("side"), 0, "tester").unwrap();
    add(&repo, &main, &["a"]);
    add(&repo, &side, &["b"]);
    let remove = |rests: &[&str]| {
        let mut transaction = repo.transaction();
        for rest in rests {
            transaction.update(RefName::of_session("s", rest).unwrap(), Expected::Any, None);
        }
        transaction.commit(Durability::Full).unwrap();
        repo.snapshot().unwrap().references("").unwrap()
    };
    for (pinned, gone) in [(&side, vec!["heads/side", "records/side"]), (&main, vec!["meta"])] {
        let before = remove(&gone);
        let lost = append(&repo, pinned, vec![body("c")], Durability::Full, 1).unwrap_err();
        assert!(matches!(lost, Error::RefConflict { .. }), "{lost}");
        assert_eq!(repo.snapshot().unwrap().references("").unwrap(), before);
    }
}

#[test]
fn threads_that_share_a_branch_lose_nothing() {
    let repo = Repo::in_memory();
    let shared = pin(&repo, Some("s"), None, 0, "tester").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (repo, shared) = (&repo, &shared);
            scope.spawn(move || {
                for step in 0..50 {
                    add(repo, shared, &[&format!("{thread} {step}")]);
                }
            });
        }
    });
    let said = transcript(&*repo.snapshot().unwrap(), "s").unwrap();
    assert_eq!(said.len(), 200);
    assert_eq!(repo.path(&said[199]).unwrap().len(), 200);
}

/// Puts an event at the end of the transcript of `s` by hand.
fn tell(repo: &Repo, event: Event) -> Id {
    let mut transaction = repo.transaction();
    let id = transaction.put(&Object::Event(event)).unwrap();
    let events = RefName::of_session("s", "events").unwrap();
    transaction.update(events, Expected::Any, Some(RefValue::Id(id)));
    transaction.commit(Durability::Full).unwrap();
    id
}

#[test]
fn odd_events_are_refused_and_never_read_as_something_else() {
    let repo = Repo::in_memory();
    let pinned = pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let ids = add(&repo, &pinned, &["a", "b"]);
    let event = |priors: &[Id], links: &[Id], count: u64| Event {
        label: "odd".to_owned(),
        time: 1,
        priors: priors.to_vec(),
        runs: vec![Run { tip: ids[1], count }],
        links: links.to_vec(),
        body: Value::Null,
    };
    let long = i64::MAX as u64;
    let mut last = tell(&repo, event(&[], &ids[1..], long));
    for _ in 0..2 {
        last = tell(&repo, event(&[last], &ids[1..], long));
    }
    let snapshot = repo.snapshot().unwrap();
    assert_eq!(crate::walk::turn_count(&*snapshot, "s").unwrap(), u64::MAX);
    let first = tell(&repo, event(&[], &ids[1..], 2));
    tell(&repo, event(&[first, last], &ids[1..], 2));
    let snapshot = repo.snapshot().unwrap();
    assert_eq!(transcript(&*snapshot, "s").unwrap(), ids, "two lines are told as one");
    assert_eq!(crate::walk::transcript_since(&*snapshot, "s", &ids[1]).unwrap(), ids[1..]);
    assert!(crate::walk::transcript_since(&*snapshot, "s", &first).unwrap().is_empty());
    let other = tell(&repo, event(&[], &ids[1..], 1));
    tell(&repo, event(&[last, other], &ids[1..], 2));
    let long = transcript(&*repo.snapshot().unwrap(), "s").unwrap_err();
    assert!(matches!(long, Error::Corrupt { .. }), "{long}");
    tell(&repo, event(&[], &[first], 2));
    let wrong = transcript(&*repo.snapshot().unwrap(), "s").unwrap_err();
    assert!(matches!(wrong, Error::Corrupt { .. }), "{wrong}");
}

#[test]
fn ids_of_sessions_use_all_their_bits() {
    assert_eq!(id_from([0; 8]), "aaaaaaaaaaaa");
    assert_eq!(id_from([0xff; 8]), "777777777777");
    assert_ne!(random_id().unwrap(), random_id().unwrap());
}
