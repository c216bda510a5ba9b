//! Where entries go, and that they go there together.

use super::*;
use crate::codec::Value;
use crate::ops;
use crate::session::transcript;

fn operation() -> Operation {
    Operation { time: 5, actor: "tester".to_owned(), command: "append".to_owned() }
}

fn target(session: Option<&str>, branch: Option<&str>, parent: Option<&str>) -> Target {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Target { session: own(session), branch: own(branch), parent: own(parent) }
}

fn say(repo: &Repo, target: &Target, text: &str) -> Result<AppendOutcome> {
    let ground = Ground::find(&*repo.snapshot()?, target)?;
    append(repo, &ground, &[Draft::message("user", text)], false, &operation())
}

fn operations(repo: &Repo) -> usize {
    let mut count = 0;
    let snapshot = repo.snapshot().unwrap();
    let visited = snapshot.operations(&mut |_| {
        count += 1;
        Ok(std::ops::ControlFlow::Continue(()))
    });
    visited.unwrap();
    count
}

#[test]
fn what_is_not_there_is_created_with_the_entry_or_not_at_all() {
    let repo = Repo::in_memory();
    let bad = Draft { body: Value::map::<&str>([]), ..Draft::message("user", "") };
    let ground = Ground::find(&*repo.snapshot().unwrap(), &Target::default()).unwrap();
    assert!(append(&repo, &ground, &[bad], false, &operation()).is_err());
    assert_eq!(repo.snapshot().unwrap().references("").unwrap(), []);
    let first = say(&repo, &Target::default(), "a").unwrap();
    assert!(first.is_new_session && first.branch == "main");
    assert_eq!(repo.resolve("HEAD").unwrap(), first.entries[0]);
    assert_eq!(operations(&repo), 1);
    let second = say(&repo, &Target::default(), "b").unwrap();
    assert_eq!((second.is_new_session, operations(&repo)), (false, 1), "a plain append");
    assert_eq!(repo.path(&second.entries[0]).unwrap(), [second.entries[0], first.entries[0]]);
    let other = say(&repo, &target(None, Some("idea"), Some("msg:1")), "c").unwrap();
    assert_eq!(repo.path(&other.entries[0]).unwrap(), [other.entries[0], first.entries[0]]);
    let snapshot = repo.snapshot().unwrap();
    let record = View::of(&*snapshot, &first.session).unwrap().record("idea").unwrap().unwrap();
    assert_eq!((record.at, record.parent.as_deref()), (Some(first.entries[0]), Some("main")));
    let said = [first.entries[0], second.entries[0], other.entries[0]];
    assert_eq!(transcript(&*snapshot, &first.session).unwrap(), said);
    let named = say(&repo, &target(Some("s9"), Some("dev"), None), "d").unwrap();
    assert_eq!((named.session.as_str(), named.branch.as_str()), ("s9", "dev"));
    assert_eq!(repo.resolve("HEAD").unwrap(), second.entries[0], "the store's HEAD stays");
}

#[test]
fn whoever_was_outrun_learns_of_it() {
    let repo = Repo::in_memory();
    say(&repo, &target(Some("s"), None, None), "a").unwrap();
    let ground = Ground::find(&*repo.snapshot().unwrap(), &target(Some("s"), None, None)).unwrap();
    say(&repo, &target(Some("s"), None, None), "b").unwrap();
    let drafts = [Draft::message("user", "q"), Draft::message("assistant", "a")];
    let lost = append(&repo, &ground, &drafts, true, &operation()).unwrap_err();
    assert!(matches!(lost, Error::RefConflict { .. }), "{lost}");
    assert!(say(&repo, &target(Some("s"), Some("main"), Some("main~1")), "c").is_err());
    assert!(say(&repo, &target(Some("t"), None, Some("main~1")), "c").is_err());
    assert_eq!(transcript(&*repo.snapshot().unwrap(), "s").unwrap().len(), 2);
    assert_eq!(append(&repo, &ground, &drafts, false, &operation()).unwrap().entries.len(), 2);
}

#[test]
fn a_branch_made_before_the_first_word_begins_with_nothing() {
    let repo = Repo::in_memory();
    let options = ops::CreateOptions { use_it: true, ..Default::default() };
    ops::create(&repo, &options, &operation()).unwrap();
    let options = ops::BranchOptions { name: "idea".to_owned(), ..Default::default() };
    ops::branch(&repo, &options, &operation()).unwrap();
    let first = say(&repo, &Target::default(), "a").unwrap();
    let other = say(&repo, &target(None, Some("idea"), None), "b").unwrap();
    assert_eq!(repo.path(&other.entries[0]).unwrap(), other.entries);
    assert_ne!(first.entries, other.entries);
    let snapshot = repo.snapshot().unwrap();
    let view = View::of(&*snapshot, &first.session).unwrap();
    assert_eq!(view.record("idea").unwrap().unwrap().parent.as_deref(), Some("main"));
    assert_eq!(view.free_branch("idea").unwrap(), "idea-2");
}

#[test]
fn a_compaction_keeps_what_the_branch_has() {
    let repo = Repo::in_memory();
    let main = target(Some("s"), None, None);
    let first = say(&repo, &main, "a").unwrap().entries[0];
    let foreign = Value::map([("content", Value::from("b")), ("uuid", "u1".into())]);
    let add = |target: &Target, label: &str, body: Value| {
        let ground = Ground::find(&*repo.snapshot()?, target)?;
        let draft = Draft { label: label.to_owned(), body, time: None };
        append(&repo, &ground, &[draft], false, &operation())
    };
    add(&main, "message", foreign).unwrap();
    let side = target(Some("s"), Some("side"), Some(&first.to_string()));
    let other = say(&repo, &side, "c").unwrap().entries[0];
    let (first, other) = (first.to_string(), other.to_string());
    let cases = [
        ("firstKept", first.as_str(), true),
        ("firstKept", "u1", true),
        ("firstKeptEntryUuid", "u1", true),
        ("firstKept", "nope", false),
        ("firstKeptEntryId", "nope", false),
        ("firstKept", &other, false),
        ("firstKept", &first[..12], false),
    ];
    for (key, kept, is_fine) in cases {
        let body = Value::map([("summary", Value::from("s")), (key, kept.into())]);
        let added = add(&main, "compaction", body);
        assert_eq!(added.is_ok(), is_fine, "{key} {kept}");
        assert!(matches!(added, Ok(_) | Err(Error::Refused { .. })));
    }
    let empty = target(Some("new"), None, None);
    let body = Value::map([("summary", Value::from("s")), ("firstKept", "u1".into())]);
    assert!(add(&empty, "compaction", body).is_err());
}
