//! Every form of revision, on one small session.

use super::*;
use crate::repo::Repo;
use crate::session::{self, Pin};
use crate::store::{Durability, Expected, Operation};

/// `main`: m1 m2 m3 m4; `dev` from m2: d1; label `good` at m2; a branch called `odd~2` at m1.
struct Fixture {
    repo: Repo,
    main: Vec<Id>,
    dev: Id,
}

fn fixture() -> Fixture {
    let repo = Repo::in_memory();
    let add = |pin: &Pin, texts: &[&str]| {
        let bodies = texts.iter().map(|text| Value::map([("id", Value::from(*text))]));
        session::append(&repo, pin, bodies.collect(), Durability::Full, 1).unwrap()
    };
    let pin = |branch: &str| session::pin(&repo, Some("s1"), Some(branch), 0, "tester").unwrap();
    let mut main = add(&pin("main"), &["m1", "m2"]);
    let dev = add(&pin("dev"), &["d1"])[0];
    main.extend(add(&pin("main"), &["m3", "m4"]));
    set(&repo, "sessions/s1/labels/good", main[1]);
    set(&repo, "sessions/s1/heads/odd~2", main[0]);
    let other = session::pin(&repo, Some("s2"), None, 0, "tester").unwrap();
    add(&other, &["o1"]);
    Fixture { repo, main, dev }
}

fn set(repo: &Repo, name: &str, id: Id) {
    let mut transaction = repo.transaction();
    let name = RefName::new(name).unwrap();
    transaction.update(name, Expected::Any, Some(RefValue::Id(id)));
    transaction.operation(Operation {
        time: 0,
        actor: "tester".to_owned(),
        command: "update-ref".to_owned(),
    });
    transaction.commit(Durability::Full).unwrap();
}

#[test]
fn a_whole_id_comes_before_a_branch_of_that_name_and_its_begin_after() {
    let Fixture { repo, main, .. } = fixture();
    let digits = main[0].to_string();
    for name in [digits.as_str(), &digits[..12]] {
        set(&repo, &format!("sessions/s1/heads/{name}"), main[3]);
    }
    assert_eq!(repo.resolve(&digits).unwrap(), main[0]);
    assert_eq!(repo.resolve(&digits[..12]).unwrap(), main[3]);
    assert_eq!(repo.resolve(&digits[..13]).unwrap(), main[0]);
}

#[test]
fn every_form_is_found() {
    let Fixture { repo, main, dev } = fixture();
    let digits = main[2].to_string();
    let cases = [
        ("@", main[3]),
        ("HEAD~1", main[2]),
        ("main", main[3]),
        ("main~3", main[0]),
        ("main~~1~", main[0]),
        ("dev~1", main[1]),
        ("good", main[1]),
        ("good~", main[0]),
        ("odd~2", main[0]),
        ("s1:dev", dev),
        ("s1:odd~2", main[0]),
        ("s1:@~1", main[2]),
        ("s1:msg:2", main[1]),
        ("s1:id:m3", main[2]),
        ("msg:1", main[0]),
        ("msg:4~2", main[1]),
        ("turn:3", dev),
        ("turn:5", main[3]),
        ("id:d1", dev),
        ("heads/dev", dev),
        ("tip", main[3]),
        ("sessions/s1/heads/dev~1", main[1]),
        ("refs/sessions/s1/labels/good", main[1]),
        (&digits, main[2]),
        (&digits[..20], main[2]),
    ];
    for (text, expected) in cases {
        assert_eq!(repo.resolve(text).unwrap(), expected, "{text}");
    }
    let place = Place::in_session("s2");
    let other = repo.resolve("s2:main").unwrap();
    assert_eq!(repo.resolve_at(&place, "@").unwrap(), other);
    assert_eq!(repo.resolve_at(&place, "s1:dev").unwrap(), dev);
    let range = repo.range_at(&Place::default(), "dev..main~1").unwrap();
    assert_eq!((range.hide, range.show), (Some(dev), main[2]));
    let range = repo.range_at(&Place::default(), "odd~2").unwrap();
    assert_eq!((range.hide, range.show), (None, main[0]));
}

#[test]
fn what_is_not_there_is_said() {
    let Fixture { repo, .. } = fixture();
    let cases = [
        ("nothing", "no branch, label, ref or object"),
        ("main~4", "only 3 lie before"),
        ("main~18446744073709551615", "only 3 lie before"),
        ("main~18446744073709551616", "too large"),
        ("main..dev", "a range can't stand here"),
        ("s:main", "'s' is ambiguous: 2 sessions begin with it"),
        ("s3:main", "no session has this id or name"),
        ("s1:nothing", "no branch, label, ref or object"),
        ("msg:5", "there are 4 messages"),
        ("turn:6", "there are 5 turns"),
        ("id:o1", "no entry of session 's1'"),
        ("main@{9}", "only 0 operations moved"),
        ("good@{1}", "did not exist then"),
        ("main~1@{1}", "must follow a ref"),
        ("", "names nothing"),
    ];
    for text in ["main..dev", "main~x", "HEAD^", "msg:-1", "turn:x", "turn:0"] {
        let error = repo.resolve(text).unwrap_err();
        assert!(matches!(error, Error::RevisionMalformed { .. }), "{text}: {error}");
    }
    for (text, why) in cases {
        let error = repo.resolve(text).unwrap_err();
        let is_said = matches!(
            error,
            Error::RevisionUnknown { .. }
                | Error::RevisionMalformed { .. }
                | Error::AmbiguousSession { .. }
        );
        assert!(is_said, "{text}: {error}");
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
    let missing = Id::of(Kind::Blob, b"missing");
    let error = repo.resolve(&missing.to_string()).unwrap_err();
    assert!(matches!(error, Error::ObjectMissing { id } if id == missing));
    let error = Repo::in_memory().resolve("@").unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(error.to_string().contains("no current session"), "{error}");
}

#[test]
fn a_ref_remembers_what_operations_did_to_it() {
    let Fixture { repo, main, .. } = fixture();
    let name = "sessions/s1/heads/main";
    set(&repo, name, main[0]);
    set(&repo, name, main[1]);
    for (text, expected) in [
        ("main@{0}", main[1]),
        ("main@{1}", main[0]),
        ("main@{2}", main[3]),
        ("@{2}~1", main[2]),
        ("HEAD@{1}", main[0]),
    ] {
        assert_eq!(repo.resolve(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn an_ambiguous_prefix_lists_candidates() {
    let repo = Repo::in_memory();
    let mut transaction = repo.transaction();
    let mut ids = Vec::new();
    for number in 0..3000u32 {
        let blob = crate::object::Object::Blob(number.to_le_bytes().to_vec());
        ids.push(transaction.put(&blob).unwrap());
    }
    transaction.commit(Durability::Full).unwrap();
    ids.sort_unstable();
    let twins = ids.windows(2).find(|pair| pair[0].short(4) == pair[1].short(4));
    let prefix = twins.expect("3000 ids share some 4 digits")[0].short(4);
    let expected: Vec<Id> = ids.into_iter().filter(|id| id.short(4) == prefix).collect();
    match repo.resolve(&prefix).unwrap_err() {
        Error::Ambiguous { candidates, .. } => assert_eq!(candidates, expected),
        other => panic!("{other}"),
    }
    // A branch of that name wins.
    let pin = session::pin(&repo, Some("s"), Some(&prefix), 0, "tester").unwrap();
    let body = Value::map([("text", Value::from("x"))]);
    let entry = session::append(&repo, &pin, vec![body], Durability::Full, 0).unwrap()[0];
    assert_eq!(repo.resolve(&prefix).unwrap(), entry);
}
