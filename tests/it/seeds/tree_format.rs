//! The session tree format: in-place branching, pops, and compaction as a marker in the chain.

use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::ops::{self, Ground, Keep, SummaryKind, Target};
use sapwood::session::{self, Context, Draft, View};
use sapwood::store::Operation;
use sapwood::{Repo, Result};

/// A session in memory.
struct Talk {
    repo: Repo,
}

fn operation() -> Operation {
    Operation { time: 1_000, actor: "tester".to_owned(), command: "test".to_owned() }
}

fn target() -> Target {
    Target::of(Some("abc"))
}

impl Talk {
    fn new() -> Talk {
        Talk { repo: Repo::in_memory() }
    }

    fn write(&self, draft: Draft) -> Id {
        let ground = Ground::find(&*self.repo.snapshot().unwrap(), &target()).unwrap();
        ops::append(&self.repo, &ground, &[draft], false, &operation()).unwrap().entries[0]
    }

    fn user(&self, text: &str) -> Id {
        self.write(Draft::message("user", text))
    }

    fn assistant(&self, text: &str) -> Id {
        self.write(Draft::message("assistant", text))
    }

    /// Writes messages of the two in turn.
    fn say(&self, texts: &[&str]) -> Vec<Id> {
        let roles = ["user", "assistant"].into_iter().cycle();
        let turns = texts.iter().zip(roles);
        turns.map(|(text, role)| self.write(Draft::message(role, *text))).collect()
    }

    fn pop(&self, to: &Id, summary: &str, kind: SummaryKind) -> Id {
        let snapshot = self.repo.snapshot().unwrap();
        let plan = ops::plan_pop(&*snapshot, &target(), Some(&to.to_string()), false).unwrap();
        let done = ops::pop(&self.repo, &plan, Some(summary), kind, &operation()).unwrap();
        done.summary.unwrap()
    }

    fn compact(&self, keep: Keep, summary: &str) -> Result<Id> {
        let plan = ops::plan_compact(&*self.repo.snapshot()?, &target(), &keep)?;
        ops::compact(&self.repo, &plan, summary, &operation())
    }

    fn end(&self) -> Id {
        self.repo.resolve("abc:main").unwrap()
    }

    fn context(&self) -> Context {
        let snapshot = self.repo.snapshot().unwrap();
        session::context(&*snapshot, Some("abc"), self.end()).unwrap()
    }

    /// Lists what a model is shown, as `role: text`.
    fn shown(&self) -> Vec<String> {
        let messages = self.context().messages.into_iter();
        messages.map(|shown| format!("{}: {}", shown.message.role, shown.message.text())).collect()
    }

    /// Lists the texts that a model is shown.
    fn texts(&self) -> Vec<String> {
        self.context().messages.into_iter().map(|shown| shown.message.text()).collect()
    }

    fn transcript(&self) -> Vec<Id> {
        session::transcript(&*self.repo.snapshot().unwrap(), "abc").unwrap()
    }
}

#[test]
fn the_full_session_with_a_branch_summary() {
    let talk = Talk::new();
    let m1 = talk.user("Build a CLI");
    let m2 = talk.assistant("I'll create...");
    let m3 = talk.user("Add --verbose flag");
    let m4 = talk.assistant("Here's the flag...");
    let m5 = talk.user("Actually use Python");
    let m6 = talk.assistant("Converting to Python...");
    let summary = "Attempted Node.js CLI with --verbose flag";
    let bs1 = talk.pop(&m2, summary, SummaryKind::Branch);
    let m7 = talk.user("Use Rust instead");
    let m8 = talk.assistant("Creating Rust CLI...");

    assert_eq!(talk.repo.path(&talk.end()).unwrap(), [m8, m7, bs1, m2, m1]);
    assert_eq!(
        talk.shown(),
        [
            "user: Build a CLI",
            "assistant: I'll create...",
            "user: Attempted Node.js CLI with --verbose flag",
            "user: Use Rust instead",
            "assistant: Creating Rust CLI...",
        ]
    );
    assert_eq!(talk.transcript(), [m1, m2, m3, m4, m5, m6, bs1, m7, m8]);
    let entry = talk.repo.entry(&bs1).unwrap();
    assert_eq!(entry.label, "branch_summary");
    assert_eq!(entry.body.get("from").and_then(|from| from.as_link()), Some(m6));
}

#[test]
fn multiple_pops() {
    let talk = Talk::new();
    let first = talk.say(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    let [a, b, c] = first[..3] else { panic!("eight were written") };
    let i = talk.pop(&c, "summary of d to h", SummaryKind::Stack);
    let second = talk.say(&["j", "k", "l"]);
    let [j, k, _l] = second[..] else { panic!("three were written") };
    let m = talk.pop(&k, "summary of l", SummaryKind::Stack);
    let n = talk.user("n");

    assert_eq!(talk.repo.path(&talk.end()).unwrap(), [n, m, k, j, i, c, b, a]);
    let expected = ["a", "b", "c", "summary of d to h", "j", "k", "summary of l", "n"];
    assert_eq!(talk.texts(), expected);
    assert_eq!(talk.repo.entry(&m).unwrap().label, "stack_summary");
    let said = [&first[..], &[i], &second, &[m, n]].concat();
    assert_eq!(talk.transcript(), said);
}

#[test]
fn compaction_is_a_marker_in_the_chain() {
    let talk = Talk::new();
    let texts = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"];
    let ids = talk.say(&texts);
    let marker = talk.compact(Keep::From(ids[5].to_string()), "summary").unwrap();

    assert_eq!(talk.texts(), ["summary", "m6", "m7", "m8", "m9", "m10"]);
    let path = talk.repo.path(&talk.end()).unwrap();
    assert_eq!((path.len(), path[0], path[1]), (11, marker, ids[9]));
    let entry = talk.repo.entry(&marker).unwrap();
    assert_eq!(entry.label, "compaction");
    assert_eq!(entry.body.get("firstKept").and_then(|kept| kept.as_link()), Some(ids[5]));
    assert_eq!(entry.body.get("tokensBefore").and_then(|count| count.as_i64()), Some(6));
}

#[test]
fn compaction_and_stacking() {
    let talk = Talk::new();
    let ids = talk.say(&["m1", "m2", "m3", "m4", "m5"]);
    talk.compact(Keep::Last(1), "compaction1").unwrap();
    talk.say(&["m6", "m7", "m8"]);
    assert_eq!(talk.texts(), ["compaction1", "m5", "m6", "m7", "m8"]);
    talk.pop(&ids[2], "stack_summary", SummaryKind::Stack);
    assert_eq!(talk.texts(), ["m1", "m2", "m3", "stack_summary"], "each branch has its own");
    talk.say(&["m9", "m10"]);
    talk.compact(Keep::Last(2), "compaction2").unwrap();
    talk.user("m11");
    assert_eq!(talk.texts(), ["compaction2", "m9", "m10", "m11"]);
}

#[test]
fn compactions_can_be_repeated_and_taken_back() {
    let talk = Talk::new();
    let ids = talk.say(&["m1", "m2", "m3", "m4"]);
    talk.compact(Keep::Last(2), "first").unwrap();
    talk.say(&["m5", "m6"]);
    let plan = ops::plan_compact(&*talk.repo.snapshot().unwrap(), &target(), &Keep::Last(3));
    let replaced: Vec<String> =
        plan.unwrap().replaced.iter().map(|shown| shown.message.text()).collect();
    assert_eq!(replaced, ["first", "m3"], "the summary before is summarised again");
    talk.compact(Keep::Last(3), "second").unwrap();
    talk.user("m7");
    assert_eq!(talk.texts(), ["second", "m4", "m5", "m6", "m7"]);
    ops::uncompact(&talk.repo, &target(), &operation()).unwrap();
    talk.user("m8");
    assert_eq!(talk.texts(), ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"]);
    let refused = ops::uncompact(&talk.repo, &target(), &operation()).unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    talk.compact(Keep::Last(0), "all").unwrap();
    assert_eq!(talk.texts(), ["all"]);
    assert_eq!(talk.repo.path(&talk.end()).unwrap().last(), Some(&ids[0]));
    let refused = talk.compact(Keep::Last(0), "again").unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
}

#[test]
fn a_pop_stops_before_the_last_question_and_gives_it_back() {
    let talk = Talk::new();
    let ids = talk.say(&["one", "two", "three", "four"]);
    let snapshot = talk.repo.snapshot().unwrap();
    let plan = ops::plan_pop(&*snapshot, &target(), None, false).unwrap();
    assert_eq!((plan.at, plan.text.as_deref()), (Some(ids[1]), Some("three")));
    ops::pop(&talk.repo, &plan, None, SummaryKind::Branch, &operation()).unwrap();
    assert_eq!(talk.end(), ids[1], "without a summary it only moves");
    let again = ops::pop(&talk.repo, &plan, None, SummaryKind::Branch, &operation()).unwrap_err();
    assert!(matches!(again, Error::RefConflict { .. }), "{again}");
    let snapshot = talk.repo.snapshot().unwrap();
    let plan = ops::plan_pop(&*snapshot, &target(), None, false).unwrap();
    assert_eq!((plan.at, plan.text.as_deref()), (None, Some("one")));
    let done = ops::pop(&talk.repo, &plan, Some("all"), SummaryKind::Branch, &operation()).unwrap();
    assert_eq!(talk.repo.path(&talk.end()).unwrap(), [done.summary.unwrap()]);
    assert_eq!(talk.transcript(), [&ids[..], &[done.summary.unwrap()]].concat());
    let snapshot = talk.repo.snapshot().unwrap();
    assert!(ops::plan_pop(&*snapshot, &target(), None, false).is_err(), "no question is left");
    assert_eq!(View::of(&*snapshot, "abc").unwrap().branches().unwrap().len(), 1);
    for elsewhere in [ids[3], talk.end()] {
        let text = elsewhere.to_string();
        assert!(ops::plan_pop(&*snapshot, &target(), Some(&text), false).is_err());
    }
}

/// A message with a call, or with its result.
fn tool(is_call: bool, id: &str) -> Draft {
    let json = match is_call {
        true => format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"ls","input":{{}}}}]}}"#
        ),
        false => format!(r#"{{"role":"tool","toolCallId":"{id}","content":"result"}}"#),
    };
    let body = sapwood::codec::json::parse(json.as_bytes()).unwrap();
    Draft { body, ..Draft::message("user", "") }
}

#[test]
fn tool_calls_are_not_torn_apart() {
    let talk = Talk::new();
    talk.say(&["m1", "m2", "m3"]);
    let call = talk.write(tool(true, "c1"));
    let second = talk.write(tool(true, "c2"));
    talk.write(tool(false, "c1"));
    let snapshot = talk.repo.snapshot().unwrap();
    let refused = ops::plan_pop(&*snapshot, &target(), Some(&call.to_string()), false);
    assert!(matches!(refused, Err(Error::Unanswered { .. })));
    assert!(ops::plan_pop(&*snapshot, &target(), Some(&call.to_string()), true).is_ok());
    let plan = ops::plan_compact(&*snapshot, &target(), &Keep::Last(0)).unwrap();
    assert_eq!(plan.first_kept, Some(call), "c2 is still open, and c1 was called before it");
    talk.write(tool(false, "c2"));
    talk.assistant("m4");
    let snapshot = talk.repo.snapshot().unwrap();
    let kept =
        |count| ops::plan_compact(&*snapshot, &target(), &Keep::Last(count)).unwrap().first_kept;
    assert_eq!(kept(1), Some(talk.end()));
    assert_eq!(kept(2), Some(second).map(|_| call), "c2, then c1");
    assert_eq!(kept(0), None);
}
