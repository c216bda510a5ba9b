//! `append -m` and its kin: one entry, written by hand.

use super::*;

fn body(sandbox: &Sandbox, revision: &str) -> String {
    let printed = sandbox.ok(&["cat-file", "-p", "--json", revision]);
    let at = printed.find("\"body\":").expect("it has a body");
    printed[at + 7..].to_owned()
}

#[test]
fn a_message_has_the_shape_of_the_documents() {
    let sandbox = Sandbox::with_store();
    let id = sandbox.ok(&["append", "-s", "s1", "-m", "Hello"]);
    assert_eq!(sandbox.ok(&["rev-parse", "HEAD"]), id);
    assert!(body(&sandbox, "HEAD").starts_with(r#"{"role":"user","content":"Hello"}"#));
    let args = "append -r assistant -m Hi! --model kimi-k2.5 --provider moonshot --cost 0.001 \
                --tokens 150 --phase conversation --self Architect --meta {\"x\":[1]}";
    sandbox.ok(&args.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    let expected = r#"{"role":"assistant","content":"Hi!","metadata":{"model":"kimi-k2.5","provider":"moonshot","cost":0.001,"tokens":150,"x":[1]},"phase":"conversation","self":"Architect"}"#;
    assert!(body(&sandbox, "HEAD").starts_with(expected), "{}", body(&sandbox, "HEAD"));
    sandbox.ok(&["append", "-r", "tool", "--call", "c1", "-m", "42"]);
    let expected = r#"{"role":"tool","content":"42","toolCallId":"c1"}"#;
    assert!(body(&sandbox, "HEAD").starts_with(expected));
}

#[test]
fn the_text_comes_from_anywhere() {
    let sandbox = Sandbox::with_store();
    std::fs::write(sandbox.join("prompt.txt"), "from a file\n").unwrap();
    sandbox.ok(&["append", "-F", "prompt.txt"]);
    assert!(body(&sandbox, "HEAD").contains(r#""content":"from a file""#));
    for args in [["append", "-"].as_slice(), &["append", "-F", "-"]] {
        sandbox.feed_ok(args, "two\nlines\n");
        assert!(body(&sandbox, "HEAD").contains(r#""content":"two\nlines""#));
    }
    let blocks = r#"[{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"ls"}]"#;
    sandbox.ok(&["append", "--json-content", "-r", "assistant", "-m", blocks]);
    assert!(body(&sandbox, "HEAD").contains(blocks));
    sandbox.ok(&["append", "-m", "-x", "--time", "2024-01-01T00:00:00Z"]);
    let printed = sandbox.ok(&["cat-file", "-p", "--json", "HEAD"]);
    assert!(printed.contains("1704067200000"), "{printed}");
}

#[test]
fn other_types_are_checked_or_kept() {
    let sandbox = Sandbox::with_store();
    let spawn = r#"{"action":"spawn","agentId":"agent-123","data":{"task":"x"}}"#;
    sandbox.ok(&["append", "--type", "agent_action", "--data", spawn]);
    assert!(body(&sandbox, "HEAD").starts_with(spawn));
    sandbox.ok(&["append", "--type", "my.own", "--data", "{}"]);
    sandbox.ok(&["append", "--type", "custom_message", "-m", "shown"]);
    let bad = r#"{"action":"dance","agentId":"a"}"#;
    let said = sandbox.fails(3, &["append", "--type", "agent_action", "--data", bad]);
    assert!(said.contains("'action' must be one of spawn, complete, fork, branch"), "{said}");
    sandbox.fails(3, &["append", "--type", "branch_point", "--data", "{}"]);
    sandbox.fails(2, &["append", "--type", "agent_action"]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "3");
}

#[test]
fn what_is_bad_creates_nothing() {
    let cases: &[(i32, &[&str], &str)] = &[
        (3, &["append", "-m", ""], ""),
        (3, &["append", "-"], "\n \n"),
        (3, &["append", "-"], ""),
        (2, &["append"], ""),
        (2, &["append", "-m", "x", "--time", "yesterday"], ""),
        (2, &["append", "-m", "x", "--cost", "cheap"], ""),
        (2, &["append", "-m", "x", "--call", "c1"], ""),
        (2, &["append", "-m", "x", "--stdin"], ""),
        (2, &["append", "-r", "user", "--stdin"], ""),
        (2, &["append", "--batch", "2", "-m", "x"], ""),
        (2, &["append", "--data", "{}"], ""),
        (3, &["append", "-m", "x", "--meta", "[]"], ""),
        (3, &["append", "-m", "x", "--meta", "{"], ""),
        (3, &["append", "-m", "{}", "--json-content"], ""),
        (3, &["append", "-m", "x", "--type", ""], ""),
        (3, &["append", "-m", "x", "-s", "a/b"], ""),
        (7, &["append", "-F", "missing.txt"], ""),
        (3, &["append", "--stdin"], "nonsense\n"),
        (0, &["append", "--stdin"], "\n\n"),
        (1, &["append", "-m", "x", "--parent", "main~1"], ""),
        (3, &["append", "--stdin", "--parent", "main"], "{}\n"),
    ];
    for (code, args, input) in cases {
        let sandbox = Sandbox::with_store();
        let ran = sandbox.feed(args, input);
        assert_eq!(ran.code, *code, "{args:?}: {}", ran.err);
        assert_eq!(sandbox.ok(&["for-each-ref"]), "", "{args:?}");
    }
}

#[test]
fn a_parent_is_what_the_branch_must_end_in() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "two"]);
    let said = sandbox.fails(4, &["append", "-b", "main", "--parent", &ids[0], "-m", "x"]);
    assert!(said.contains("expected"), "{said}");
    sandbox.ok(&["append", "--parent", &ids[1], "-m", "three"]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "3");
    sandbox.ok(&["append", "-b", "idea", "--parent", &ids[0], "-m", "else"]);
    assert_eq!(sandbox.ok(&["rev-parse", "idea~1"]), ids[0]);
    assert_eq!(sandbox.ok(&["rev-parse", "HEAD"]), sandbox.ok(&["rev-parse", "main"]));
    let stream = ["append", "--stdin", "-b", "more", "--parent", &ids[0]];
    sandbox.feed_ok(&stream, "{\"a\":1}\n{\"a\":2}\n");
    assert_eq!(sandbox.ok(&["rev-parse", "more~2"]), ids[0]);
    assert_eq!(sandbox.feed(&stream, "{\"a\":1}\n").code, 4);
}

#[test]
fn a_timestamp_that_is_none_is_pointed_out() {
    let sandbox = Sandbox::with_store();
    let lines = "{\"timestamp\":7}\n{\"timestamp\":\"soon\"}\n{\"timestamp\":[]}\n";
    let ran = sandbox.feed(&["append", "--stdin"], lines);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3));
    let said: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        said,
        [
            "warning: line 2: 'timestamp' is no RFC 3339 time; taking the time of now",
            "2 lines in all have such a timestamp",
        ]
    );
}

#[test]
fn json_says_where_it_went() {
    let sandbox = Sandbox::with_store();
    let out = sandbox.ok(&["append", "--json", "-s", "s1", "-m", "x"]);
    let id = sandbox.ok(&["rev-parse", "HEAD"]);
    assert_eq!(out, format!(r#"{{"v":1,"id":"{id}","session":"s1","branch":"main"}}"#));
}

#[test]
fn a_compaction_that_would_hide_everything_is_refused() {
    let sandbox = Sandbox::with_store();
    let id = sandbox.ok(&["append", "-s", "s1", "-m", "one"]);
    let data = |kept: &str| format!(r#"{{"summary":"s","firstKept":"{kept}"}}"#);
    let said = sandbox.fails(3, &["append", "--type", "compaction", "--data", &data("nope")]);
    assert!(said.contains("'nope', is not on the branch"), "{said}");
    sandbox.fails(3, &["append", "--type", "merge", "--data", "{}"]);
    sandbox.fails(3, &["append", "--type", "model_change", "--data", r#"{"model":5}"#]);
    assert_eq!(sandbox.ok(&["rev-parse", "HEAD"]), id);
    sandbox.ok(&["append", "--type", "compaction", "--data", &data(&id)]);
    assert!(sandbox.ok(&["context"]).contains("one"));
}
