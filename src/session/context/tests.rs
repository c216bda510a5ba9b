//! The table of types, compactions of all sorts, and tools whose results are elsewhere or nowhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::codec::json;
use crate::disk::OsDisk;
use crate::repo::Repo;
use crate::session::{self, Change};
use crate::store::local::{LocalStore, Options};
use crate::store::{Durability, Store as _};

/// A session that is told entry by entry, each with a name.
struct Story {
    repo: Repo,
    ids: BTreeMap<String, Id>,
}

impl Story {
    fn new() -> Story {
        let repo = Repo::in_memory();
        session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        Story { repo, ids: BTreeMap::new() }
    }

    /// Adds an entry; the name of another entry after `@` in its body becomes a link.
    fn add(&mut self, name: &str, parent: &str, label: &str, body: &str) {
        let mut body = json::parse(body.as_bytes()).unwrap();
        if let Value::Map(pairs) = &mut body {
            for (_, value) in pairs {
                if let Some(link) = value.as_text().and_then(|text| text.strip_prefix('@')) {
                    *value = Value::Link(self.ids[link]);
                }
            }
        }
        let parents: Vec<Id> = self.ids.get(parent).copied().into_iter().collect();
        let mut id = None;
        let commit = self.repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 1)?;
            let entry = Entry {
                label: label.to_owned(),
                time: 1,
                parents: parents.clone(),
                body: body.clone(),
                raw: None,
            };
            id = Some(change.append_entry("main", entry)?);
            change.finish(None)
        });
        commit.unwrap();
        self.ids.insert(name.to_owned(), id.unwrap());
    }

    fn say(&mut self, name: &str, parent: &str, role: &str) {
        let body = format!(r#"{{"role":"{role}","content":"{name}","uuid":"{name}"}}"#);
        self.add(name, parent, "message", &body);
    }

    /// Says each name after the one before it, user and assistant in turn.
    fn chain(&mut self, parent: &str, names: &[&str]) {
        let mut parent = parent;
        for (place, name) in names.iter().enumerate() {
            self.say(name, parent, ["user", "assistant"][place % 2]);
            parent = name;
        }
    }

    fn context(&self, at: &str) -> Context {
        context(&*self.repo.snapshot().unwrap(), Some("s"), self.ids[at]).unwrap()
    }

    /// Gives the texts of a context, answers as `<call`.
    fn texts(&self, at: &str) -> Vec<String> {
        texts(&self.context(at))
    }
}

fn texts(context: &Context) -> Vec<String> {
    let text = |shown: &Shown| match shown.message.answers().next() {
        Some(answer) => format!("<{}:{}", answer.call, answer.text),
        None => shown.message.text(),
    };
    context.messages.iter().map(text).collect()
}

#[test]
fn each_type_is_read_as_the_table_says() {
    let mut story = Story::new();
    let cases = [
        ("message", r#"{"role":"user","content":"a"}"#, Some("a")),
        ("user", r#"{"message":{"content":"b"}}"#, Some("b")),
        ("assistant", r#"{"message":{"content":"c"}}"#, Some("c")),
        ("model_change", r#"{"model":"m","provider":"p"}"#, None),
        ("thinking_level_change", r#"{"thinkingLevel":"high"}"#, None),
        ("config_change", r#"{"tools":["x"]}"#, None),
        ("branch_summary", r#"{"summary":"d"}"#, Some("d")),
        ("branch_summary", r#"{"summary":" "}"#, None),
        ("stack_summary", r#"{"summary":"e"}"#, Some("e")),
        ("custom_message", r#"{"content":"f"}"#, Some("f")),
        ("bash_execution", r#"{"command":"ls","output":"g"}"#, Some("$ ls\ng")),
        ("bash_execution", r#"{"command":"x","output":"","excludeFromContext":true}"#, None),
        ("merge", r#"{"summary":"h"}"#, Some("h")),
        ("custom", r#"{"content":"no"}"#, None),
        ("branch_point", r#"{"content":"no"}"#, None),
        ("agent_action", r#"{"action":"spawn"}"#, None),
        ("progress", r#"{"content":"no"}"#, None),
        ("memory", r#"{"content":"no"}"#, None),
        ("never heard of", r#"{"content":"no","summary":"no"}"#, None),
    ];
    let (mut parent, mut expected) = (String::new(), Vec::new());
    for (place, (label, body, text)) in cases.iter().enumerate() {
        let name = format!("e{place}");
        story.add(&name, &parent, label, body);
        expected.extend(text.map(str::to_owned));
        parent = name;
    }
    let context = story.context(&parent);
    assert_eq!(texts(&context), expected);
    let state = (context.model.as_deref(), context.provider.as_deref());
    assert_eq!((state, context.thinking.as_deref()), ((Some("m"), Some("p")), Some("high")));
    assert!(context.messages[3..].iter().all(|shown| shown.message.role == "user"));
}

#[test]
fn a_compaction_shows_its_summary_and_what_it_keeps() {
    for first_kept in [r#""firstKept":"@m6""#, r#""firstKeptEntryUuid":"m6""#] {
        let mut story = Story::new();
        story.chain("", &["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"]);
        let body = format!(r#"{{"summary":"sum",{first_kept},"tokensBefore":50000}}"#);
        story.add("c1", "m10", "compaction", &body);
        assert_eq!(story.texts("c1"), ["sum", "m6", "m7", "m8", "m9", "m10"]);
        story.chain("c1", &["m11", "m12"]);
        assert_eq!(story.texts("m12"), ["sum", "m6", "m7", "m8", "m9", "m10", "m11", "m12"]);
        assert_eq!(story.texts("m3"), ["m1", "m2", "m3"]);
        // The next one keeps something from before the last: the last wins.
        story.add("c2", "m12", "compaction", r#"{"summary":"sum2","firstKept":"@m10"}"#);
        assert_eq!(story.texts("c2"), ["sum2", "m10", "m11", "m12"]);
    }
}

#[test]
fn a_compaction_that_keeps_nothing_it_can_find_shows_its_summary_only() {
    let mut story = Story::new();
    story.chain("", &["m1", "m2", "m3", "m4"]);
    story.chain("m1", &["x2", "x3", "x4", "x5"]);
    let bodies = [
        r#"{"summary":"sum","firstKept":"@x3"}"#,
        r#"{"summary":"sum","firstKept":"@x5"}"#,
        r#"{"summary":"sum","firstKept":"@m1","summary2":""}"#,
        r#"{"summary":"sum","firstKeptEntryId":"gone"}"#,
        r#"{"summary":"sum"}"#,
        r#"{"firstKept":"@m4"}"#,
    ];
    let expected: [&[&str]; 6] = [
        &["sum", "n"],
        &["sum", "n"],
        &["sum", "m1", "m2", "m3", "m4", "n"],
        &["sum", "n"],
        &["sum", "n"],
        &["m4", "n"],
    ];
    for (body, expected) in bodies.iter().zip(expected) {
        story.add("c", "m4", "compaction", body);
        story.say("n", "c", "user");
        assert_eq!(story.texts("n"), expected, "{body}");
    }
}

#[test]
fn a_compaction_may_bring_its_own_history() {
    let mut story = Story::new();
    story.chain("", &["m1", "m2"]);
    let body = r#"{"type":"compacted","payload":{"message":"sum","replacement_history":[
        {"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"sum"}]}]}}"#;
    for (body, expected) in [
        (body, ["old", "sum", "n"].as_slice()),
        (r#"{"type":"compacted","payload":{"message":"sum"}}"#, &["sum", "n"]),
        (r#"{"type":"compacted","payload":{"message":"","replacement_history":[]}}"#, &["n"]),
    ] {
        story.add("c", "m2", "compaction", body);
        story.say("n", "c", "user");
        assert_eq!(story.texts("n"), expected, "{body}");
    }
}

#[test]
fn the_first_kept_may_be_an_id_in_words() {
    let mut story = Story::new();
    story.chain("", &["m1", "m2", "m3"]);
    let body = format!(r#"{{"summary":"sum","firstKept":"{}"}}"#, story.ids["m2"]);
    story.add("c", "m3", "compaction", &body);
    assert_eq!(story.texts("c"), ["sum", "m2", "m3"]);
    assert_eq!(story.context("c").lost, None);
    let nobody = "0".repeat(64);
    for lost in ["gone", nobody.as_str(), "@x"] {
        story.say("x", "m1", "user");
        let body = format!(r#"{{"summary":"sum","firstKept":"{lost}"}}"#);
        story.add("c", "m3", "compaction", &body);
        assert_eq!(story.texts("c"), ["sum"]);
        let lost = if lost == "@x" { story.ids["x"].to_string() } else { lost.to_owned() };
        assert_eq!(story.context("c").lost, Some(lost));
    }
}

#[test]
fn the_first_kept_is_found_near_and_far_and_lost_where_it_is_not() {
    let names: Vec<String> = (1..=9).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for first in 0..names.len() {
        let mut story = Story::new();
        story.chain("", &names);
        story.say("x", names[first], "user");
        let body = |kept: &str| format!(r#"{{"summary":"sum","firstKept":"@{kept}"}}"#);
        story.add("c", "m9", "compaction", &body(names[first]));
        story.say("n", "c", "user");
        let expected = [&["sum"], &names[first..], &["n"]].concat();
        assert_eq!(story.texts("n"), expected);
        assert_eq!(story.context("n").lost, None);
        story.add("c", "m9", "compaction", &body("x"));
        story.say("n", "c", "user");
        assert_eq!(story.texts("n"), ["sum", "n"], "beside {}", names[first]);
        assert_eq!(story.context("n").lost, Some(story.ids["x"].to_string()));
    }
}

#[test]
fn the_last_word_on_the_model_counts() {
    let mut story = Story::new();
    story.add("a", "", "config_change", r#"{"endpoint":{"model":"m1","provider":"p1"}}"#);
    assert_eq!(story.context("a").model.as_deref(), Some("m1"));
    story.add("b", "a", "assistant", r#"{"message":{"content":"x","model":"m2"}}"#);
    let context = story.context("b");
    assert_eq!((context.model.as_deref(), context.provider), (Some("m2"), None));
    story.add("c", "b", "config_change", r#"{"provider":"p3","thinking":"low"}"#);
    let context = story.context("c");
    assert_eq!((context.model.as_deref(), context.provider.as_deref()), (Some("m2"), Some("p3")));
    assert_eq!(context.thinking.as_deref(), Some("low"));
    let state = r#"{"summary":"s","state":{"model":"m4","provider":null,"thinking":null}}"#;
    story.add("d", "c", "compaction", state);
    let context = story.context("d");
    assert_eq!((context.model.as_deref(), context.thinking), (Some("m4"), None));
    story.add("e", "c", "compaction", r#"{"summary":"s"}"#);
    let context = story.context("e");
    assert_eq!((context.model.as_deref(), context.thinking.as_deref()), (Some("m2"), Some("low")));
    // What was set before a message is looked for where the message itself says the model.
    story.add("f", "c", "assistant", r#"{"message":{"content":"x","model":"m5"}}"#);
    let context = story.context("f");
    assert_eq!((context.model.as_deref(), context.thinking.as_deref()), (Some("m5"), Some("low")));
    // Neither a program in the model's place nor a user is the model.
    story.add("g", "f", "assistant", r#"{"message":{"content":"x","model":"<synthetic>"}}"#);
    story.add("h", "g", "user", r#"{"message":{"role":"user","content":"x","model":"m6"}}"#);
    assert_eq!(story.context("h").model.as_deref(), Some("m5"));
}

const CALL: &str = r#"{"role":"assistant","content":[
    {"type":"tool_use","id":"c1","name":"ls","input":{}},
    {"type":"tool_use","id":"c2","name":"cat","input":{}}]}"#;

fn result(call: &str, text: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{call}","content":"{text}"}}"#)
}

#[test]
fn results_join_their_calls_wherever_they_hang() {
    let mut story = Story::new();
    story.say("u", "", "user");
    story.add("call", "u", "message", CALL);
    story.add("r2", "call", "message", &result("c2", "two"));
    story.add("note", "r2", "custom", "{}");
    story.add("r1", "note", "message", &result("c1", "one"));
    story.say("on", "r2", "assistant");
    let context = story.context("on");
    assert_eq!(texts(&context), ["u", "", "<c2:two", "<c1:one", "on"]);
    assert_eq!(context.dangling, []);
    // Beside another path: each call gets one result, the first that there was.
    story.add("again", "call", "message", &result("c1", "uno"));
    story.say("other", "call", "user");
    assert_eq!(story.texts("other"), ["u", "", "<c2:two", "<c1:one", "other"]);
    assert_eq!(story.texts("again"), ["u", "", "<c1:uno", "<c2:two"]);
}

#[test]
fn what_nothing_answers_is_told_and_can_be_closed() {
    let mut story = Story::new();
    story.say("u", "", "user");
    story.add("orphan", "u", "message", &result("c9", "for nobody"));
    story.add("call", "orphan", "message", CALL);
    story.add("r1", "call", "message", &result("c1", "one"));
    story.say("on", "r1", "user");
    let mut context = story.context("on");
    let dangling: Vec<_> = context.dangling.iter().map(|open| open.call.id.as_str()).collect();
    assert_eq!(dangling, ["c2"]);
    context.repair();
    let closed = format!("<c2:{}", "No result: the call was interrupted.");
    assert_eq!(texts(&context), ["u", "", "<c1:one", &closed, "on"]);
    assert_eq!(context.dangling.len(), 1);
    let before = story.context("on");
    assert_eq!(texts(&before).len(), 5, "only the output is repaired");
}

#[test]
fn ids_of_calls_may_come_again() {
    let mut story = Story::new();
    story.say("u", "", "user");
    let call = r#"{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}"#;
    story.add("a", "u", "message", call);
    story.add("b", "a", "message", &result("1", "first"));
    story.add("c", "b", "message", call);
    let context = story.context("c");
    assert_eq!(context.dangling.len(), 1);
    assert_eq!(context.dangling[0].entry, story.ids["c"]);
    let snapshot = story.repo.snapshot().unwrap();
    assert_eq!(unanswered(&*snapshot, story.ids["c"]).unwrap().len(), 1);
    assert_eq!(unanswered(&*snapshot, story.ids["b"]).unwrap(), []);
    assert!(check_answered(&*snapshot, story.ids["a"]).is_err());
    assert!(check_answered(&*snapshot, story.ids["u"]).is_ok());
}

#[test]
fn calls_of_one_turn_in_entries_of_their_own_are_all_looked_at() {
    let mut story = Story::new();
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{id}","name":"f"}}]}}"#
        )
    };
    story.say("u", "", "user");
    story.add("a", "u", "message", &call("1"));
    story.add("b", "a", "message", &call("2"));
    story.add("c", "b", "message", &result("1", "x"));
    let snapshot = story.repo.snapshot().unwrap();
    let open = unanswered(&*snapshot, story.ids["c"]).unwrap();
    assert_eq!(open.iter().map(|open| open.call.id.as_str()).collect::<Vec<_>>(), ["2"]);
}

#[test]
fn a_context_is_read_across_a_merge_by_first_parents() {
    let mut story = Story::new();
    story.chain("", &["a", "b"]);
    story.chain("a", &["x"]);
    story.add("m", "b", "merge", r#"{"summary":"and x","other":"@x"}"#);
    story.say("n", "m", "user");
    assert_eq!(story.texts("n"), ["a", "b", "and x", "n"]);
    assert!(context(&*story.repo.snapshot().unwrap(), Some("nobody"), story.ids["n"]).is_err());
}

#[test]
fn what_is_lost_behind_an_answer_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { background: false, ..Options::default() };
    let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
    let put = |parents: Vec<Id>, body: &str| {
        let body = json::parse(body.as_bytes()).unwrap();
        let entry = Entry { label: "message".to_owned(), time: 1, parents, body, raw: None };
        let object = entry.encode().unwrap();
        store.put_alone(&object).unwrap();
        object.id()
    };
    let calls = r#"{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}},
        {"id":"2","function":{"name":"g"}}]}"#;
    let call = put(vec![], calls);
    let answer = put(vec![call], &result("1", "one of two"));
    assert_eq!(unanswered(&*store.snapshot().unwrap(), answer).unwrap().len(), 1);
    let name = call.to_string();
    std::fs::remove_file(dir.path().join("objects").join(&name[..2]).join(&name[2..])).unwrap();
    let store = LocalStore::open(Arc::new(OsDisk), dir.path(), Options::default()).unwrap();
    assert!(unanswered(&*store.snapshot().unwrap(), answer).is_err());
}
