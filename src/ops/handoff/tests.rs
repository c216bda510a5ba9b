//! Handoffs: what is in them, and that they stay within their budget.

use super::*;
use crate::codec::json;
use crate::object::Fact;
use crate::ops::{LabelOptions, MemoryCommitOptions};
use crate::repo::Repo;
use crate::session;
use crate::store::{Durability, Operation};

fn repo() -> Repo {
    let repo = Repo::in_memory();
    let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let mut lines = vec![
        r#"{"role":"user","content":"The parser must accept trailing commas."}"#.to_owned(),
        r#"{"role":"assistant","content":[{"type":"text","text":"Reading the parser."},
            {"type":"tool_use","id":"1","name":"read","input":{"path":"src/parser.rs"}},
            {"type":"tool_use","id":"2","name":"edit","input":{"file_path":"src/parser.rs"}},
            {"type":"tool_use","id":"3","name":"read","input":{"paths":["a.md","b.md"]}}]}"#
            .to_owned(),
    ];
    for number in 0..40 {
        let text = format!("We talk about the weather, day {number}.");
        lines.push(format!(r#"{{"role":"user","content":"{text}"}}"#));
    }
    let bodies = lines.iter().map(|line| json::parse(line.as_bytes()).unwrap()).collect();
    session::append(&repo, &pin, bodies, Durability::Full, 1).unwrap();
    let operation = Operation { time: 1, actor: "t".to_owned(), command: "c".to_owned() };
    let fact = Fact { value: "dislikes regexes".into(), key: None, source: None };
    let commit = MemoryCommitOptions { facts: vec![fact], ..Default::default() };
    crate::ops::memory_commit(&repo, &commit, &operation).unwrap();
    let label = LabelOptions {
        name: "decided".to_owned(),
        at: Some("msg:2".to_owned()),
        ..LabelOptions::default()
    };
    crate::ops::label(&repo, &label, &operation).unwrap();
    repo
}

fn hand(repo: &Repo, goal: &str, budget_tokens: usize) -> String {
    let options =
        HandoffOptions { goal: goal.to_owned(), budget_tokens, ..HandoffOptions::default() };
    handoff(&*repo.snapshot().unwrap(), &options).unwrap().markdown
}

#[test]
fn a_handoff_has_all_its_sections() {
    let text = hand(&repo(), "Make the parser accept commas", 1000);
    let parts = [
        "## Goal\n\nMake the parser accept commas\n",
        "## Facts\n\n- dislikes regexes\n",
        "## Decisions\n\n- label `decided` at ",
        "## Files touched\n\n- `src/parser.rs` (edit, read)\n- `a.md` (read)\n- `b.md` (read)\n",
        "## What matters to the goal\n\nuser, ",
        "> The parser must accept trailing commas.\n",
        "> Reading the parser.\n",
        "## The last exchanges\n",
        "> We talk about the weather, day 39.\n",
    ];
    let places: Vec<_> = parts.iter().map(|part| text.find(part)).collect();
    assert!(places.iter().all(Option::is_some), "{text}\n{places:?}");
    assert!(places.is_sorted(), "{text}");
    assert!(!text.contains("day 3.\n"), "what has nothing to do with it is left out");
    assert_eq!(text, hand(&repo(), "Make the parser accept commas", 1000));
}

#[test]
fn a_handoff_keeps_within_its_budget() {
    let repo = repo();
    for budget in [0, 1, 5, 20, 50, 100, 200, 400, 1000, 100_000] {
        let text = hand(&repo, "the weather and the parser", budget);
        assert!(text.chars().count() <= budget * TOKEN_CHARS, "{budget}: {}", text.len());
    }
    let long = hand(&repo, &"parser ".repeat(1000), 100);
    assert_eq!(long.chars().count(), 400);
}

#[test]
fn rare_words_count_more_and_the_newest_of_equals_comes_first() {
    let id = |number: u8| Id::of(Kind::Blob, &[number]);
    let mut passages = Passages::about("The blue Whale");
    for number in 0..20 {
        passages.add(id(number), "user", "the sea is blue");
    }
    passages.add(id(20), "user", "a whale, I say");
    passages.add(id(21), "user", "nothing of the kind");
    let best = passages.best(40 + 80, &[]);
    assert_eq!(best.iter().map(|found| found.entry).collect::<Vec<_>>(), [id(20)]);
    let best = passages.best(40 + 160, &[id(20)]);
    // Said in this order: the one read first is the newest.
    assert_eq!(best.iter().map(|found| found.entry).collect::<Vec<_>>(), [id(1), id(0)]);
    assert_eq!(Passages::about("").best(1000, &[]), []);
}

#[test]
fn long_texts_are_cut_between_words() {
    let mut passages = Passages::about("needle");
    let text = format!("{} needle {}", "hay ".repeat(1000), "straw ".repeat(1000));
    passages.add(Id::of(Kind::Blob, b"x"), "user", &text);
    passages.add(Id::of(Kind::Blob, b"y"), "user", &"ü".repeat(5000));
    let best = passages.best(10_000, &[]);
    assert_eq!(best.len(), 1);
    assert!(best[0].text.contains("needle") && best[0].text.len() <= 701);
}

#[test]
fn files_are_found_in_the_arguments_of_tools() {
    let cases = [
        (r#"{"path":"a"}"#, vec!["a"]),
        (r#"{"files":["a","b",1],"file":"c"}"#, vec!["a", "b", "c"]),
        (r#"{"content":"a","path":7}"#, vec![]),
        (r#"{"path":"two\nlines","filename":""}"#, vec![]),
        ("[]", vec![]),
        ("null", vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(files_of(&json::parse(text.as_bytes()).unwrap()), expected, "{text}");
    }
}
