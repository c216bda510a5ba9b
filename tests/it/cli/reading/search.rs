//! `grep` and `stats`.

use super::*;

#[test]
fn what_was_said_is_found_on_all_branches() {
    let (sandbox, ids) = forked();
    let grep = |args: &[&str]| masked(&sandbox.ok(&[&["grep"], args].concat()), &ids);
    assert_eq!(grep(&["Python"]), "s1 <5~> user: Use Python\ns1 <6~> assistant: Python");
    assert_eq!(grep(&["-i", "RUST", "--role", "assistant"]), "s1 <8~> assistant: Rust");
    assert_eq!(grep(&["-F", "create...", "-l"]), "s1 <2~>");
    assert_eq!(
        grep(&["-C", "1", "^and"]),
        "s1 <7~> user- Use Rust\ns1 <7~> user: and\ns1 <7~> user- test"
    );
    assert_eq!(grep(&["-C", "0", "and|it$"]), "s1 <7~> user: and\ns1 <7~> user: it");
    assert_eq!(grep(&["-c", "Rust|Python"]), "s1:4");
    insta::assert_snapshot!(
        grep(&["--json", "^test"]),
        @r#"{"v":1,"session":"s1","id":"<7>","role":"user","timestamp":"2023-11-14T22:13:27.000Z","matches":[{"line":3,"text":"test"}]}"#
    );
    sandbox.append("s2", "main", &["Python too"]);
    assert_eq!(grep(&["-c", "Python", "--all-sessions"]), "s1:2\ns2:1");
    assert_eq!(sandbox.fails(1, &["grep", "nowhere"]), "");
    assert_eq!(sandbox.fails(1, &["grep", "Python", "--since", "1h"]), "");
    assert!(sandbox.fails(3, &["grep", "["]).contains("hint: -F"));
    sandbox.fails(2, &["grep"]);
    sandbox.fails(2, &["grep", "x", "-s", "s1", "--all-sessions"]);
}

#[test]
fn a_long_session_is_searched_in_order() {
    let sandbox = Sandbox::with_store();
    let lines: String =
        (0..3000).map(|number| format!("{{\"content\":\"number {number}\"}}\n")).collect();
    sandbox.feed_ok(&["append", "--stdin", "--batch", "3000"], lines);
    let found = sandbox.ok(&["grep", "number .*77"]);
    let numbers: Vec<u32> =
        found.lines().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers.len(), 57);
    assert!(numbers.is_sorted());
}

#[test]
fn what_it_took_is_counted() {
    let sandbox = Sandbox::with_store();
    let reply = |model: &str, cost: f64| {
        format!(
            r#"{{"role":"assistant","content":"x","metadata":{{"model":"{model}","cost":{cost},"tokens":100}}}}"#
        )
    };
    sandbox.feed_ok(&["append", "--stdin", "-s", "s1"], r#"{"role":"user","content":"hello"}"#);
    sandbox.feed_ok(&["append", "--stdin", "-s", "s1", "-b", "a"], reply("haiku", 0.1));
    sandbox.feed_ok(&["append", "--stdin", "-s", "s1", "-b", "b"], reply("opus", 0.2));
    let stats = sandbox.ok(&["stats"]);
    assert!(stats.starts_with("1 session, 3 messages, 200 tokens, cost 0.3\n"), "{stats}");
    assert!(stats.contains("\n  haiku: 1 message, 100 tokens, cost 0.1\n"), "{stats}");
    assert!(stats.contains("\n  b: 2 messages, 100 tokens, cost 0.2\n"), "{stats}");
    let json = sandbox.ok(&["stats", "--all", "--json"]);
    let begin = r#"{"v":1,"sessions":1,"entries":3,"messages":3,"tokens":200,"cost":0.3,"bytes":"#;
    assert!(json.starts_with(begin), "{json}");
    assert!(json.contains(r#""branches":[{"session":"s1","branch":"a","entries":2,"#), "{json}");
}
