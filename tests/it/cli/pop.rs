//! `pop`, `compact`, `uncompact`.

use super::*;

fn talk() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let roles = ["user", "assistant"].into_iter().cycle();
    let texts = ["one", "two", "three", "four"].into_iter().zip(roles);
    let ids = texts.map(|(text, role)| sandbox.ok(&["append", "-s", "s1", "-r", role, "-m", text]));
    let ids = ids.collect();
    (sandbox, ids)
}

#[test]
fn a_pop_gives_the_question_back() {
    let (sandbox, ids) = talk();
    assert_eq!(sandbox.ok(&["pop"]), "three");
    assert_eq!(sandbox.ok(&["rev-parse", "main"]), ids[1]);
    assert_eq!(sandbox.ok(&["rewind", "--summary", "all"]), "one");
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "1");
    let body = sandbox.ok(&["cat-file", "-p", "--json", "main"]);
    assert!(body.contains("\"branch_summary\"") && body.contains("\"summary\":\"all\""), "{body}");
    let said = sandbox.fails(3, &["pop"]);
    assert!(said.contains("no message of the user"), "{said}");
    assert_eq!(sandbox.ok(&["rev-parse", "main@{2}"]), ids[3], "it is an operation");
}

#[test]
fn a_summary_can_come_from_a_command() {
    let (sandbox, ids) = talk();
    let args = ["pop", "msg:1", "--stack", "--with", "grep -c '^## '", "--json"];
    let out = sandbox.ok(&args);
    let end = sandbox.ok(&["rev-parse", "main"]);
    let expected = format!(
        r#"{{"v":1,"session":"s1","branch":"main","from":"{}","to":"{}","end":"{end}","summary":"{end}","selectedText":"three"}}"#,
        ids[3], ids[0]
    );
    assert_eq!(out, expected);
    let body = sandbox.ok(&["cat-file", "-p", "--json", "main"]);
    assert!(body.contains("\"stack_summary\"") && body.contains("\"summary\":\"3\""), "{body}");
    let refs = sandbox.ok(&["for-each-ref"]);
    sandbox.fails(3, &["pop", "--with", "false"]);
    sandbox.fails(3, &["pop", &ids[3]]);
    sandbox.fails(3, &["pop", "HEAD"]);
    sandbox.fails(1, &["pop", "nowhere"]);
    sandbox.fails(4, &["pop", "-b", "main", "--parent", &ids[0]]);
    assert_eq!(sandbox.ok(&["for-each-ref"]), refs);
}

#[test]
fn compaction_and_back() {
    let (sandbox, ids) = talk();
    let args = ["compact", "--keep", "1", "--with", "grep -c '^## '", "--json"];
    let out = sandbox.ok(&args);
    let marker = sandbox.ok(&["rev-parse", "main"]);
    let expected = format!(
        r#"{{"v":1,"id":"{marker}","session":"s1","branch":"main","summary":"3","firstKept":"{}","tokensBefore":4,"replaced":3,"kept":1}}"#,
        ids[3]
    );
    assert_eq!(out, expected);
    let asked = ["ask", "-m", "five", "--with", "printf 'got '; tr '\\n' ' '"];
    assert_eq!(sandbox.ok(&asked), "got ## User  3  ## Assistant  four  ## User  five ");
    sandbox.ok(&["compact", "--first-kept", "HEAD", "--summary", "again"]);
    sandbox.ok(&["uncompact"]);
    let all = sandbox.ok(&["ask", "-m", "six", "--with", "grep -c '^## '"]);
    assert_eq!(all, "7");
    sandbox.fails(3, &["uncompact"]);
    sandbox.fails(2, &["compact"]);
    sandbox.fails(2, &["compact", "--keep", "1", "--first-kept", "main", "--summary", "x"]);
    sandbox.fails(3, &["compact", "--keep", "100", "--summary", "x"]);
    sandbox.fails(3, &["compact", "--keep", "1", "--summary", " "]);
    sandbox.fails(3, &["compact", "--keep", "1", "--with", "exit 1"]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "11");
}

#[test]
fn what_is_not_there_can_not_be_popped_or_compacted() {
    let sandbox = Sandbox::with_store();
    for args in [["pop", "-q"].as_slice(), &["compact", "--summary", "x"], &["uncompact"]] {
        let said = sandbox.fails(3, args);
        assert!(said.contains("no current session"), "{said}");
    }
}
