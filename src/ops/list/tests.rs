use super::*;
use crate::codec::Value;
use crate::object::Fork;
use crate::repo::Repo;
use crate::session::{self, Change};
use crate::store::{Durability, Operation};

/// Makes a session with a message for each text, each of which costs a half.
fn say(repo: &Repo, sid: &str, texts: &[&str], time: i64) {
    let pin = session::pin(repo, Some(sid), None, time, "tester").unwrap();
    let body = |text: &&str| {
        let usage = crate::codec::json::parse(br#"{"cost":0.5}"#).unwrap();
        let text = Value::from(*text);
        Value::map([("role", Value::from("user")), ("content", text), ("usage", usage)])
    };
    let bodies = texts.iter().map(body).collect();
    session::append(repo, &pin, bodies, Durability::Full, time).unwrap();
}

fn change(repo: &Repo, sid: &str, edit: &dyn Fn(&mut Session)) {
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, sid, 0)?;
        edit(change.meta()?);
        change.finish(None)
    })
    .unwrap();
}

fn forked_from(parent: &str) -> impl Fn(&mut Session) {
    move |meta| {
        meta.fork = Some(Fork {
            session: parent.to_owned(),
            entry: None,
            reason: None,
            metadata: Value::Null,
        });
    }
}

fn list(repo: &Repo, options: &ListOptions, summaries: &mut Summaries) -> Vec<SessionInfo> {
    list_sessions(&*repo.snapshot().unwrap(), options, summaries).unwrap()
}

#[test]
fn the_latest_stands_first_with_what_a_picker_shows() {
    let repo = Repo::in_memory();
    say(&repo, "a", &["  first\n words ", "more"], 10);
    say(&repo, "a-b", &["other"], 20);
    session::pin(&repo, Some("empty"), None, 5, "tester").unwrap();
    change(&repo, "a", &|meta| meta.cwd = Some("/here".to_owned()));
    change(&repo, "a-b", &|meta| meta.status = Some("done".to_owned()));
    let mut summaries = Summaries::default();
    let all = list(&repo, &ListOptions::default(), &mut summaries);
    let ids: Vec<&str> = all.iter().map(|info| info.meta.sid.as_str()).collect();
    assert_eq!(ids, ["a-b", "a", "empty"]);
    assert_eq!(all[1].summary.words, "first words");
    assert_eq!((all[1].summary.messages, all[1].summary.cost), (2, Some(1.0)));
    assert_eq!((all[2].summary.messages, all[2].end), (0, None));
    assert_eq!(all[2].branch.as_deref(), Some("main"));
    let here = ListOptions { cwd: Some("/here".to_owned()), ..ListOptions::default() };
    assert_eq!(list(&repo, &here, &mut summaries).len(), 1);
    let done = ListOptions { status: Some("done".to_owned()), ..ListOptions::default() };
    assert_eq!(list(&repo, &done, &mut summaries)[0].meta.sid, "a-b");
    let snapshot = repo.snapshot().unwrap();
    assert_eq!(latest_session(&*snapshot, "/here", &mut summaries).unwrap().unwrap(), "a");
    assert_eq!(latest_session(&*snapshot, "/there", &mut summaries).unwrap(), None);
}

#[test]
fn a_fork_in_which_nothing_was_said_is_not_gone_on_with() {
    let repo = Repo::in_memory();
    say(&repo, "a", &["one"], 10);
    session::pin(&repo, Some("later"), None, 20, "tester").unwrap();
    for sid in ["a", "later"] {
        change(&repo, sid, &|meta| meta.cwd = Some("/here".to_owned()));
    }
    let latest = || {
        let snapshot = repo.snapshot().unwrap();
        latest_session(&*snapshot, "/here", &mut Summaries::default()).unwrap().unwrap()
    };
    assert_eq!(latest(), "a");
    say(&repo, "later", &["two"], 30);
    assert_eq!(latest(), "later");
}

#[test]
fn what_is_remembered_is_what_would_be_read() {
    let repo = Repo::in_memory();
    let many: Vec<String> = (0..2500).map(|number| format!("message {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    say(&repo, "long", &many, 10);
    let mut first = Summaries::default();
    let options = ListOptions::default();
    let before = list(&repo, &options, &mut first);
    assert_eq!(before[0].summary.messages, 2500);
    let bytes = first.encode().unwrap();
    let mut kept = Summaries::decode(&bytes);
    assert_eq!(list(&repo, &options, &mut kept), before);
    assert_eq!(kept.learned(), 0);
    say(&repo, "long", &["one more"], 20);
    let after = list(&repo, &options, &mut kept);
    assert_eq!(kept.learned(), 1, "only what is new is read");
    assert_eq!(after, list(&repo, &options, &mut Summaries::default()));
    for at in [0, 9, 60, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let mut damaged = Summaries::decode(&damaged);
        assert_eq!(list(&repo, &options, &mut damaged), after);
        assert!(damaged.learned() > 1000, "damaged bytes are as good as none");
        assert_eq!(list(&repo, &options, &mut Summaries::decode(&bytes[..at])), after);
    }
}

#[test]
fn forks_hang_under_their_parents_and_a_missing_parent_means_root() {
    let repo = Repo::in_memory();
    for (sid, time) in [("root", 50), ("b", 40), ("c", 30), ("lost", 20), ("x", 11), ("y", 10)] {
        say(&repo, sid, &["hi"], time);
    }
    let forks = [("b", "root"), ("c", "b"), ("lost", "gone"), ("x", "y"), ("y", "x")];
    for (sid, parent) in forks {
        change(&repo, sid, &forked_from(parent));
    }
    let all = list(&repo, &ListOptions::default(), &mut Summaries::default());
    let forest = session_forest(&all);
    let shown: Vec<(usize, &str)> =
        forest.iter().map(|(depth, place)| (*depth, all[*place].meta.sid.as_str())).collect();
    let expected = [(0, "root"), (1, "b"), (2, "c"), (0, "lost"), (0, "x"), (1, "y")];
    assert_eq!(shown, expected);
    let snapshot = repo.snapshot().unwrap();
    let snapshot = &*snapshot;
    assert_eq!(children_of(snapshot, "root").unwrap(), ["b"]);
    assert_eq!(root_of(snapshot, "c").unwrap(), "root");
    assert_eq!(root_of(snapshot, "lost").unwrap(), "lost");
    assert_eq!(root_of(snapshot, "x").unwrap(), "y", "a circle ends");
    assert!(root_of(snapshot, "gone").is_err());
}

#[test]
fn milestones_go_with_the_last_path_that_passes_them() {
    let repo = Repo::in_memory();
    let texts = vec!["x"; 3000];
    say(&repo, "long", &texts, 10);
    say(&repo, "other", &["y"], 20);
    let mut summaries = Summaries::default();
    list(&repo, &ListOptions::default(), &mut summaries);
    let mut kept = Summaries::decode(&summaries.encode().unwrap());
    assert_eq!(kept.path_count(), 4, "two ends and two milestones");
    list(&repo, &ListOptions::default(), &mut kept);
    assert_eq!((kept.path_count(), kept.learned()), (4, 0), "milestones of a known path stay");
    say(&repo, "long", &["z"], 30);
    list(&repo, &ListOptions::default(), &mut kept);
    assert_eq!(kept.path_count(), 4);
    let gone = Operation { time: 40, actor: "tester".to_owned(), command: "rm".to_owned() };
    crate::ops::remove_session(&repo, "long", &gone).unwrap();
    list(&repo, &ListOptions::default(), &mut kept);
    assert_eq!(kept.path_count(), 1);
}
