//! Loom-style trees: branches because the model changed, a message was edited, an answer retried.

use sapwood::codec::{Value, json};
use sapwood::id::Id;
use sapwood::ops::{self, Ground, Target, Variation, Varied, Way};
use sapwood::session::{self, Draft, Settings, View, Wanted, settings};
use sapwood::store::Operation;
use sapwood::{Repo, Snapshot};

const SONNET: &str = "anthropic/claude-sonnet-4";
const HAIKU: &str = "anthropic/claude-haiku-4";
const OPUS: &str = "anthropic/claude-opus-4";

fn operation() -> Operation {
    Operation { time: 1_000, actor: "tester".to_owned(), command: "test".to_owned() }
}

fn say(repo: &Repo, session: &str, role: &str, text: &str) -> Id {
    let target = Target::of(Some(session));
    let ground = Ground::find(&*repo.snapshot().unwrap(), &target).unwrap();
    let drafts = [Draft::message(role, text)];
    ops::append(repo, &ground, &drafts, false, &operation()).unwrap().entries[0]
}

fn model(name: &str) -> Settings {
    Settings { model: Some(name.to_owned()), ..Settings::default() }
}

/// A session in which the model is sonnet, "hello" was said and answered.
fn root() -> (Repo, [Id; 2]) {
    let repo = Repo::in_memory();
    let begin = Draft {
        label: "config_change".to_owned(),
        body: json::parse(br#"{"model":"claude-sonnet-4","provider":"anthropic"}"#).unwrap(),
        time: None,
    };
    let ground = Ground::find(&*repo.snapshot().unwrap(), &Target::of(Some("abc-123"))).unwrap();
    ops::append(&repo, &ground, &[begin], false, &operation()).unwrap();
    let hello = say(&repo, "abc-123", "user", "hello");
    let hi = say(&repo, "abc-123", "assistant", "hi there");
    (repo, [hello, hi])
}

fn vary(
    repo: &Repo,
    way: &Way,
    plan: impl Fn(&dyn Snapshot) -> sapwood::Result<Variation>,
) -> Varied {
    let variation = plan(&*repo.snapshot().unwrap()).unwrap();
    ops::vary(repo, &variation, way, &operation()).unwrap()
}

fn reconfigured(repo: &Repo, session: &str, name: &str, way: &Way) -> Varied {
    let target = Target::of(Some(session));
    vary(repo, way, |snapshot| ops::reconfigure(snapshot, &target, &model(name), false))
}

fn texts(repo: &Repo, session: &str, branch: &str) -> Vec<String> {
    let snapshot = repo.snapshot().unwrap();
    let end = View::of(&*snapshot, session).unwrap().branch(branch).unwrap().unwrap();
    let context = session::context(&*snapshot, Some(session), end).unwrap();
    context.messages.into_iter().map(|shown| shown.message.text()).collect()
}

fn model_at(repo: &Repo, entry: Id) -> Option<String> {
    let wanted = Wanted { model: true, ..Wanted::default() };
    settings(&*repo.snapshot().unwrap(), entry, wanted).unwrap().full_model()
}

#[test]
fn a_config_change_forks_a_session() {
    let (repo, [_, hi]) = root();
    let fork = Way { fork: true, ..Way::default() };
    let haiku = reconfigured(&repo, "abc-123", HAIKU, &fork);
    say(&repo, &haiku.session, "user", "test with haiku");
    say(&repo, &haiku.session, "assistant", "testing...");

    let expected = ["hello", "hi there", "test with haiku", "testing..."];
    assert_eq!(texts(&repo, &haiku.session, "main"), expected, "it is whole by itself");
    assert_eq!(texts(&repo, "abc-123", "main"), ["hello", "hi there"]);
    let snapshot = repo.snapshot().unwrap();
    let header = View::of(&*snapshot, &haiku.session).unwrap().meta().unwrap();
    assert_eq!(header.provider.as_deref(), Some("anthropic"));
    assert_eq!(header.model.as_deref(), Some("claude-haiku-4"));
    let lineage = header.fork.unwrap();
    assert_eq!((lineage.session.as_str(), lineage.entry), ("abc-123", Some(hi)));
    assert_eq!(lineage.reason.as_deref(), Some("config_change"));
    assert_eq!(
        json::to_string(&lineage.metadata),
        format!(r#"{{"old_model":"{SONNET}","new_model":"{HAIKU}"}}"#)
    );
    assert_eq!(
        repo.resolve("HEAD").unwrap(),
        repo.resolve(&format!("{}:main", haiku.session)).unwrap()
    );

    let opus = reconfigured(&repo, &haiku.session, OPUS, &fork);
    assert_eq!(opus.parent.as_deref(), Some(haiku.session.as_str()));
    assert_eq!(model_at(&repo, opus.entries[0]).as_deref(), Some(OPUS));
    let transcript = session::transcript(&*repo.snapshot().unwrap(), &opus.session).unwrap();
    assert_eq!(transcript.len(), 3 + 3 + 1, "the path to its fork point, then its own");
}

#[test]
fn a_message_edit_forks_a_session() {
    let (repo, [hello, _]) = root();
    let fork = Way { fork: true, ..Way::default() };
    let target = Target::of(Some("abc-123"));
    let edited =
        vary(&repo, &fork, |snapshot| ops::edit(snapshot, &target, "msg:1", "hi (edited)", false));
    assert_eq!(texts(&repo, &edited.session, "main"), ["hi (edited)"]);
    let snapshot = repo.snapshot().unwrap();
    let lineage = View::of(&*snapshot, &edited.session).unwrap().meta().unwrap().fork.unwrap();
    assert_eq!(lineage.reason.as_deref(), Some("message_edit"));
    assert_eq!(lineage.metadata.get("edits"), Some(&Value::Link(hello)));
}

#[test]
fn the_same_as_branches_of_one_session() {
    let (repo, [hello, hi]) = root();
    let here = Way::default();
    let haiku = reconfigured(&repo, "abc-123", HAIKU, &here);
    assert_eq!((haiku.branch.as_str(), haiku.at), ("claude-haiku-4", Some(hi)));
    assert_eq!(repo.resolve("abc-123:@").unwrap(), haiku.entries[0], "HEAD goes there");
    say(&repo, "abc-123", "user", "test with haiku");
    let opus = reconfigured(&repo, "abc-123", OPUS, &here);
    assert_eq!(model_at(&repo, opus.entries[0]).as_deref(), Some(OPUS));
    let again = reconfigured(&repo, "abc-123", HAIKU, &here);
    assert_eq!(again.branch, "claude-haiku-4-2");
    let target = Target::of(Some("abc-123"));
    let stay = Way { stay: true, ..Way::default() };
    let head = repo.resolve("abc-123:@").unwrap();
    let edited = vary(&repo, &stay, |snapshot| ops::edit(snapshot, &target, "msg:1", "hi", false));
    assert_eq!(edited.branch, "edit");
    assert_eq!(repo.resolve("abc-123:@").unwrap(), head, "HEAD stays");
    assert_eq!(texts(&repo, "abc-123", "edit"), ["hi"]);
    assert_eq!(texts(&repo, "abc-123", "claude-haiku-4"), ["hello", "hi there", "test with haiku"]);

    let snapshot = repo.snapshot().unwrap();
    let view = View::of(&*snapshot, "abc-123").unwrap();
    let record = view.record("claude-opus-4").unwrap().unwrap();
    assert_eq!(record.reason.as_deref(), Some("config_change"));
    assert_eq!(record.parent.as_deref(), Some("claude-haiku-4"));
    assert_eq!(
        json::to_string(&record.metadata),
        format!(r#"{{"old_model":"{HAIKU}","new_model":"{OPUS}"}}"#)
    );
    let found = ops::siblings(&*snapshot, "abc-123", hello).unwrap();
    let reasons: Vec<(Option<Id>, Option<&str>)> =
        found.iter().map(|sibling| (sibling.entry, sibling.reason.as_deref())).collect();
    assert_eq!(
        reasons,
        [(Some(hello), None), (Some(edited.entries[0]), Some("message_edit"))],
        "the original and the edit"
    );
}

#[test]
fn a_retry_begins_at_what_was_asked() {
    let (repo, [hello, hi]) = root();
    let target = Target::of(Some("abc-123"));
    let first = vary(&repo, &Way::default(), |snapshot| {
        ops::retry(snapshot, &target, &hi.to_string(), false)
    });
    assert_eq!((first.branch.as_str(), first.at), ("retry", Some(hello)));
    let other = say(&repo, "abc-123", "assistant", "good day");
    let fork = Way { fork: true, name: Some("third".to_owned()), ..Way::default() };
    let second = vary(&repo, &fork, |snapshot| ops::retry(snapshot, &target, "msg:1", false));
    let third = say(&repo, &second.session, "assistant", "hey");
    let snapshot = repo.snapshot().unwrap();
    let found = ops::siblings(&*snapshot, "abc-123", hi).unwrap();
    let listed: Vec<_> = found
        .iter()
        .map(|sibling| (sibling.session.as_str(), sibling.branch.as_str(), sibling.entry))
        .collect();
    let sorted = |mut list: Vec<(String, String, Option<Id>)>| {
        list.sort();
        list
    };
    let owned = |list: Vec<(&str, &str, Option<Id>)>| {
        sorted(list.into_iter().map(|(a, b, id)| (a.to_owned(), b.to_owned(), id)).collect())
    };
    let expected = vec![
        ("abc-123", "main", Some(hi)),
        ("abc-123", "retry", Some(other)),
        (second.session.as_str(), "main", Some(third)),
    ];
    assert_eq!(owned(listed), owned(expected));
    assert!(found[1..].iter().all(|sibling| sibling.reason.as_deref() == Some("retry")));
}

#[test]
fn what_can_not_be_varied_is_refused() {
    let (repo, [_, hi]) = root();
    let target = Target::of(Some("abc-123"));
    let snapshot = repo.snapshot().unwrap();
    let same = ops::reconfigure(&*snapshot, &target, &model(SONNET), false);
    assert!(same.is_err(), "it is sonnet already");
    let config = format!("{hi}~2");
    assert!(ops::edit(&*snapshot, &target, &config, "x", false).is_err(), "no message");
    assert!(ops::retry(&*snapshot, &target, &config, false).is_err(), "the root answers nothing");
    assert!(ops::edit(&*snapshot, &target, "msg:9", "x", false).is_err());
    let plan = ops::edit(&*snapshot, &target, "msg:2", "x", false).unwrap();
    let taken = Way { name: Some("main".to_owned()), ..Way::default() };
    assert!(ops::vary(&repo, &plan, &taken, &operation()).is_err(), "the name is taken");
    let outrun = Target { parent: Some("msg:1".to_owned()), ..Target::of(Some("abc-123")) };
    let outrun = Target { branch: Some("main".to_owned()), ..outrun };
    let plan = ops::edit(&*snapshot, &outrun, "msg:2", "x", false).unwrap();
    assert!(ops::vary(&repo, &plan, &Way::default(), &operation()).is_err());
    assert_eq!(
        View::of(&*repo.snapshot().unwrap(), "abc-123").unwrap().branches().unwrap().len(),
        1
    );
}
