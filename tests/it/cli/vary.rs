//! `edit`, `retry`, `reconfigure`: branches because something changed.

use super::*;

/// A session with two exchanges.
fn talk() -> Sandbox {
    let sandbox = Sandbox::with_store();
    let lines = [("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four")];
    for (role, text) in lines {
        sandbox.ok(&["append", "-s", "s1", "-r", role, "-m", text]);
    }
    sandbox
}

fn head(sandbox: &Sandbox) -> String {
    sandbox.ok(&["symbolic-ref", "sessions/s1/HEAD"])
}

#[test]
fn an_edit_is_a_branch_beside_the_message() {
    let sandbox = talk();
    assert_eq!(sandbox.ok(&["edit", "msg:3", "-m", "drei"]), "edit");
    assert_eq!(head(&sandbox), "sessions/s1/heads/edit");
    assert_eq!(sandbox.ok(&["rev-parse", "edit~1"]), sandbox.ok(&["rev-parse", "main~2"]));
    let reply = sandbox.ok(&["edit", "msg:3", "-m", "tres", "--with", "grep -c '^## '"]);
    assert_eq!(reply, "3", "what came before, and the new message");
    assert_eq!(sandbox.ok(&["rev-list", "--count", "edit-2"]), "4");
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "4", "the old one stays");
    let listed = sandbox.ok(&["edit", "main~1", "--siblings"]);
    let mut listed: Vec<&str> = listed.lines().map(|line| &line[9..]).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["edit message_edit drei", "edit-2 message_edit tres", "main - three"]);
    let turns = sandbox.ok(&["transcript", "--from", "5", "--to", "5"]);
    assert!(turns.contains(" switch from=main to=edit phase=backtrack"), "{turns}");
}

#[test]
fn head_stays_where_it_is_told_to() {
    let sandbox = talk();
    assert_eq!(sandbox.ok(&["edit", "msg:3", "-m", "x", "--no-switch", "--as", "idea"]), "idea");
    assert_eq!(sandbox.ok(&["retry", "-b", "main"]), "retry");
    assert_eq!(head(&sandbox), "sessions/s1/heads/main");
    assert_eq!(sandbox.ok(&["rev-parse", "retry"]), sandbox.ok(&["rev-parse", "main~1"]));
    sandbox.fails(3, &["edit", "msg:3", "-m", "x", "--as", "idea"]);
    sandbox.fails(4, &["retry", "-b", "main", "--parent", "main~1"]);
}

#[test]
fn a_fork_is_a_session_with_its_lineage() {
    let sandbox = talk();
    let at = sandbox.ok(&["rev-parse", "main"]);
    let args = ["reconfigure", "--model", "anthropic/claude-haiku-4", "--fork", "--json"];
    let out = sandbox.ok(&args);
    let id = sandbox.ok(&["symbolic-ref", "HEAD"]);
    let id = id.strip_prefix("sessions/").unwrap().strip_suffix("/HEAD").unwrap();
    assert_ne!(id, "s1", "the new session is the current one");
    let entry = sandbox.ok(&["rev-parse", "HEAD"]);
    let expected = format!(
        r#"{{"v":1,"session":"{id}","branch":"main","parent_id":"s1","branch_point":3,"branch_entry":"{at}","branch_reason":"config_change","branch_metadata":{{"old_model":null,"new_model":"anthropic/claude-haiku-4"}},"entries":["{entry}"],"reply":null}}"#
    );
    assert_eq!(out, expected);
    let named = ["reconfigure", "--thinking", "high", "--fork", "--as", "second try"];
    let second = sandbox.ok(&named);
    assert_eq!(sandbox.ok(&["rev-list", "--count", &format!("{second}:main")]), "6");
}

#[test]
fn settings_are_kept_and_named() {
    let sandbox = talk();
    let args = ["reconfigure", "--model", "opus", "--provider", "anthropic", "--tools", "a,b"];
    assert_eq!(sandbox.ok(&args), "opus");
    let body = sandbox.ok(&["cat-file", "-p", "--json", "HEAD"]);
    let expected = r#""body":{"model":"opus","provider":"anthropic","tools":["a","b"]}"#;
    assert!(body.contains(expected), "{body}");
    let said = sandbox.fails(3, &args);
    assert!(said.contains("nothing would change"), "{said}");
    assert_eq!(sandbox.ok(&["reconfigure", "--environment", "coding"]), "coding");
    sandbox.fails(2, &["reconfigure"]);
}

#[test]
fn a_reply_that_fails_changes_nothing() {
    let sandbox = talk();
    let refs = sandbox.ok(&["for-each-ref"]);
    let commands: [&[&str]; 3] = [
        &["edit", "msg:1", "-m", "x", "--with", "false"],
        &["retry", "--with", "false"],
        &["reconfigure", "--model", "x", "--with", "false"],
    ];
    for args in commands {
        sandbox.fails(3, args);
        assert_eq!(sandbox.ok(&["for-each-ref"]), refs);
    }
    sandbox.fails(3, &["edit", "msg:1", "-m", " "]);
    sandbox.fails(1, &["edit", "msg:9", "-m", "x"]);
    sandbox.fails(2, &["edit", "-m", "x"]);
}

#[test]
fn an_open_tool_call_is_in_the_way() {
    let sandbox = talk();
    let call = r#"[{"type":"tool_use","id":"c1","name":"ls","input":{}}]"#;
    sandbox.ok(&["append", "-r", "assistant", "--json-content", "-m", call]);
    let said = sandbox.fails(3, &["reconfigure", "--model", "x"]);
    assert!(said.contains("ls (c1)"), "{said}");
    assert_eq!(sandbox.ok(&["reconfigure", "--model", "x", "--force"]), "x");
}

#[test]
fn settings_say_something_and_the_command_learns_the_new_branch() {
    let sandbox = talk();
    for flag in ["--model", "--provider", "--thinking", "--tools", "--environment"] {
        sandbox.fails(3, &["reconfigure", flag, ""]);
    }
    let args = ["reconfigure", "--model", "haiku", "--with", "echo $SAPWOOD_BRANCH"];
    assert_eq!(sandbox.ok(&args), "haiku");
    let args = ["retry", "--as", "again", "--with", "echo $SAPWOOD_BRANCH"];
    assert_eq!(sandbox.ok(&args), "again");
}
