//! `ask`: question and answer are kept together, or not at all.

use super::*;

fn texts(sandbox: &Sandbox, branch: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for id in sandbox.ok(&["rev-list", branch]).lines().rev() {
        let body = sandbox.ok(&["cat-file", "-p", "--json", id]);
        let content = body.split("\"content\":\"").nth(1).unwrap();
        texts.push(content.split("\"}").next().unwrap().to_owned());
    }
    texts
}

#[test]
fn the_command_gets_the_conversation_and_its_answer_is_kept() {
    let sandbox = Sandbox::with_store();
    let reply = sandbox.ok(&["ask", "-s", "s1", "-m", "one", "--with", "sed 's/^/> /'; echo done"]);
    assert_eq!(reply, "> ## User\n> \n> one\ndone");
    sandbox.ok(&["ask", "-m", "two", "--with", "echo 2"]);
    let reply = sandbox.feed_ok(&["ask", "--with", "grep -c '^## '"], "three\n");
    assert_eq!(reply, "5");
    assert_eq!(texts(&sandbox, "s1:main")[2..], ["two", "2", "three", "5"]);
    let script = "printf '%s ' $SAPWOOD_COMMAND $SAPWOOD_SESSION $SAPWOOD_BRANCH; \
                  test -e $SAPWOOD_DIR/current && echo here";
    let said = sandbox.feed_ok(&["ask", "-", "--with", script, "-b", "idea"], "four");
    assert_eq!(said, "ask s1 idea here");
    assert_eq!(texts(&sandbox, "s1:idea").len(), 8, "a branch is made where there is none");
}

#[test]
fn json_in_and_out() {
    let sandbox = Sandbox::with_store();
    let args = ["ask", "-s", "s1", "-m", "one", "--with", "cat", "--json-input", "--json"];
    let out = sandbox.ok(&args);
    let ids = sandbox.ok(&["rev-list", "main"]);
    let ids: Vec<&str> = ids.lines().rev().collect();
    let input = r#"{\"command\":\"ask\",\"session\":\"s1\",\"branch\":\"main\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}"#;
    let expected = format!(
        r#"{{"v":1,"session":"s1","branch":"main","message":"{}","entry":"{}","reply":"{input}"}}"#,
        ids[0], ids[1]
    );
    assert_eq!(out, expected);
}

#[test]
fn a_command_that_fails_changes_nothing() {
    let cases = [
        ("exit 3", "failed (exit status: 3)"),
        ("true", "printed nothing"),
        ("sleep 30", "took more than 0.1 s"),
    ];
    for (command, why) in cases {
        let sandbox = Sandbox::with_store();
        let args = ["ask", "-m", "x", "--with", command, "--timeout", "0.1"];
        let said = sandbox.fails(3, &args);
        let expected = format!("error: the command '{command}' {why}\nhint: nothing was changed\n");
        assert_eq!(said, expected);
        assert_eq!(sandbox.ok(&["for-each-ref"]), "");
    }
}

#[test]
fn a_branch_that_went_on_meanwhile_is_a_lost_race() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    let sapwood = env!("CARGO_BIN_EXE_sapwood");
    let command = format!("{sapwood} append -q -m between >&2; echo reply");
    let ran = sandbox.run(&["ask", "-m", "x", "--with", &command]);
    assert_eq!((ran.code, ran.out.as_str()), (4, "reply\n"), "{}", ran.err);
    assert!(ran.err.contains("branch 'main' went on meanwhile"), "{}", ran.err);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "2", "only what came between");
}

#[test]
fn nothing_is_kept_without_a_session() {
    let sandbox = Sandbox::new();
    let args = ["ask", "-m", "quick", "--with", "cat", "--no-session"];
    assert_eq!(sandbox.ok(&args), "## User\n\nquick");
    assert!(!sandbox.join("home/.sapwood").exists());
    sandbox.fails(2, &["ask", "-m", "x"]);
    sandbox.fails(2, &["ask", "-m", "x", "--with", "cat", "--timeout", "0"]);
    sandbox.fails(3, &["ask", "--with", "cat"]);
    assert!(!sandbox.join("home/.sapwood").exists(), "bad input creates nothing");
}
